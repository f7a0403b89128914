//! stub
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kinds::{Kinds, Subresource};
use crate::request::options::Propagation;
use crate::server::Options;
use crate::status::Status;
use crate::store::{Key, Resource, Store};

#[derive(Debug)]
pub(crate) struct Controllers;
#[derive(Debug)]
#[expect(dead_code, reason = "the controllers follow")]
pub(crate) enum Action {
    Create { resource: Resource, object: Value },
    Update { resource: Resource, subresource: Option<Subresource>, object: Value },
    Delete { resource: Resource, key: Key, uid: String, propagation: Option<Propagation>, grace_period_seconds: Option<i64> },
}
impl Action {
    pub(crate) fn resource(&self) -> &Resource {
        match self {
            Self::Create { resource, .. } | Self::Update { resource, .. } | Self::Delete { resource, .. } => resource,
        }
    }
    pub(crate) fn manager(&self) -> &str {
        "kube-controller-manager"
    }
}
impl Controllers {
    pub(crate) fn new(_: &Options) -> Self {
        Self
    }
    pub(crate) fn observe(&mut self, _: &Store, _: &[(Resource, Key)], _: Timestamp) {}
    pub(crate) fn next(&mut self, _: &Store, _: &Kinds, _: Timestamp) -> Vec<Action> {
        Vec::new()
    }
    pub(crate) fn wakeup(&self) -> Option<Timestamp> {
        None
    }
    pub(crate) fn failed(&mut self, _: &Action, _: &Status, _: Timestamp) {}
}
pub(crate) fn bootstrap_objects() -> Vec<Value> {
    ["default", "kube-system", "kube-public", "kube-node-lease"]
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        .to_vec()
}
