//! The verbs: get, list, watch, create, update, patch, delete and scale.

mod admission;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod scale;
mod warnings;
pub(crate) mod write;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::conversion::convert;
use crate::kinds::{Kind, Kinds, Scope, Subresource};
use crate::object;
use crate::request::options::DryRun;
use crate::status::{Named, Status};
use crate::store::{Key, Store, Stored};
use crate::user::User;

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) now: Timestamp,
    pub(crate) kind: Arc<Kind>,
    /// Empty for cluster-scoped kinds, and for requests across namespaces.
    pub(crate) namespace: String,
    /// Empty for collections.
    pub(crate) name: String,
    pub(crate) subresource: Option<Subresource>,
    pub(crate) manager: String,
    /// `None`: a controller.
    pub(crate) user: Option<User>,
    pub(crate) dry_run: DryRun,
    pub(crate) warnings: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Written {
    Stored(Arc<Stored>),
    /// The object that would be stored without the dry run, or the last state of a removed one.
    Tried(Value),
}

impl Written {
    pub(crate) fn value(&self) -> &Value {
        match self {
            Self::Stored(stored) => &stored.value,
            Self::Tried(value) => value,
        }
    }
}

impl Call {
    pub(crate) fn key(&self) -> Key {
        Key::new(&self.namespace, &self.name)
    }

    /// The name of the resource in most messages.
    pub(crate) fn named(&self) -> Named<'_> {
        Named { group: self.kind.group(), resource: &self.kind.resource.plural, name: &self.name }
    }

    /// The name of the kind in the messages of validation.
    pub(crate) fn named_by_kind(&self) -> Named<'_> {
        // Internally, the Events of both groups are one kind, in the core group.
        let group = if self.kind.storage() == self.kind.resource { self.kind.group() } else { "" };
        Named { group, resource: &self.kind.kind, name: &self.name }
    }

    /// The subresource, e.g. `status`; empty for the object itself.
    pub(crate) fn subresource_name(&self) -> &'static str {
        self.subresource.map_or("", Subresource::name)
    }

    /// Returns the object of the request, or `NotFound`.
    pub(crate) fn live(&self, store: &Store) -> Result<Arc<Stored>, Status> {
        let live = store.get(&self.kind.storage(), &self.key());
        live.cloned().ok_or_else(|| Status::not_found(self.named()))
    }

    pub(crate) fn served(&self, kinds: &Kinds, stored: &Stored) -> Value {
        convert(kinds, &self.kind, &stored.value).into_owned()
    }

    /// Sets the object's namespace to that of the request. `BadRequest` if it has another.
    pub(crate) fn settle_namespace(&self, value: &mut Value) -> Result<(), Status> {
        let of_object = object::namespace(value);
        if self.kind.scope == Scope::Cluster {
            if !of_object.is_empty() {
                object::remove_metadata(value, "namespace");
            }
            return Ok(());
        }
        if of_object.is_empty() {
            object::set_metadata(value, "namespace", Value::from(self.namespace.as_str()));
        } else if of_object != self.namespace {
            let message = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Status::bad_request(message));
        }
        Ok(())
    }
}
