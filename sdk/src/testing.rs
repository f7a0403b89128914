//! Tests of plugins as plain Rust: no host, no cluster, no Wasm.
//!
//! ```text
//!   Cluster: made-up objects ──┐
//!   parent, settings ──────────┴──▶ reconcile::<R> ──▶ Result<Response, Failure> ──▶ Response::{applied, keeps, …}
//! ```
//!
//! A plugin may read here what the host would let it read: its children, and kinds that its manifest declares.

mod crd;
#[doc(hidden)]
pub mod hosted;
mod reads;

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::SystemTime;

use serde_json::Value;

use crate::call;
use crate::host::Imports;
use crate::kind::{Kind, ObjectRef};
use crate::reconciler::Reconciler;
use crate::response::{Child, Condition, Failure, Response, Teardown};

use reads::Reads;

pub use crd::assert_crd_file;

pub use crate::host::{LogLine, take_log};

/// A made-up cluster for a plugin to read from.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    objects: Vec<Value>,
    not_served: BTreeSet<Kind>,
    not_granted: BTreeSet<Kind>,
    now: Option<SystemTime>,
}

impl Cluster {
    /// An empty cluster that serves every kind.
    pub fn new() -> Self {
        Self::default()
    }

    /// Holds this object too. It needs `apiVersion`, `kind` and `metadata.name`; one without `metadata.namespace` is
    /// cluster-scoped. It is a child of the parent that its controller `ownerReference` names by UID, or, without one, its label
    /// `gyre.dev/owner-uid`.
    pub fn with(mut self, object: Value) -> Self {
        self.objects.push(object);
        self
    }

    /// Does not serve this kind, as if its CRD were not installed.
    pub fn not_serving(mut self, kind: Kind) -> Self {
        self.not_served.insert(kind);
        self
    }

    /// Removes the grant of this kind.
    pub fn not_granting(mut self, kind: Kind) -> Self {
        self.not_granted.insert(kind);
        self
    }

    /// Sets the time. Without it, a plugin that reads the clock fails the test: no answer depends on the clock unless a test
    /// allows it.
    pub fn at(mut self, now: SystemTime) -> Self {
        self.now = Some(now);
        self
    }
}

/// Calls [`Reconciler::reconcile`] as the host does. The parent needs no more than the fields that the plugin reads.
///
/// # Errors
///
/// The failure of the plugin, also if the parent or the settings do not fit its types.
pub fn reconcile<R: Reconciler>(parent: Value, settings: Value, cluster: &Cluster) -> Result<Response, Failure> {
    Native::<R>::new(&parent, cluster).reconcile(parent.to_string().as_bytes(), settings.to_string().as_bytes())
}

/// Calls [`Reconciler::finalize`] as the host does.
///
/// # Errors
///
/// The failure of the plugin, also if the parent or the settings do not fit its types.
pub fn finalize<R: Reconciler>(parent: Value, settings: Value, cluster: &Cluster) -> Result<Teardown, Failure> {
    let native = Native::<R>::new(&parent, cluster);
    call::finalize::<R>(parent.to_string().as_bytes(), settings.to_string().as_bytes(), &native.cluster)
}

/// Calls [`Reconciler::validate_settings`] as the host does. The schema in the manifest is not looked at.
///
/// # Errors
///
/// The sentence for the operator.
pub fn validate_settings<R: Reconciler>(settings: Value) -> Result<(), String> {
    call::validate_settings::<R>(settings.to_string().as_bytes())
}

/// A plugin as native code, to be called over and over with JSON texts for one parent: what a benchmark compares a component
/// with.
pub struct Native<R> {
    cluster: crate::cluster::Cluster,
    reconciler: PhantomData<R>,
}

impl<R: Reconciler> Native<R> {
    /// Prepares calls for this parent.
    pub fn new(parent: &Value, cluster: &Cluster) -> Self {
        let reads = Reads::new(cluster, R::manifest(), parent);
        Self { cluster: crate::cluster::Cluster::new(Imports(Rc::new(reads))), reconciler: PhantomData }
    }

    /// Calls [`Reconciler::reconcile`].
    ///
    /// # Errors
    ///
    /// The failure of the plugin, also if the parent or the settings do not fit its types.
    pub fn reconcile(&self, parent: &[u8], settings: &[u8]) -> Result<Response, Failure> {
        call::reconcile::<R>(parent, settings, &self.cluster)
    }
}

/// Functions with which tests inspect an answer.
impl Response {
    /// The child of this kind and name that should exist; none if there is no such child.
    ///
    /// # Panics
    ///
    /// If a child is not JSON, which the host would refuse.
    pub fn applied(&self, kind: Kind, name: &str) -> Option<Value> {
        self.all_applied().into_iter().find(|object| {
            let is = |pointer: &str, text: &str| object.pointer(pointer).and_then(Value::as_str) == Some(text);
            is("/apiVersion", kind.api_version) && is("/kind", kind.kind) && is("/metadata/name", name)
        })
    }

    /// All children that should exist with given fields, in order.
    ///
    /// # Panics
    ///
    /// If a child is not JSON, which the host would refuse.
    pub fn all_applied(&self) -> Vec<Value> {
        let children = self.children.iter().flatten();
        children
            .filter_map(|child| match child {
                Child::Apply(object) => Some(from_json(object)),
                Child::Keep(_) => None,
            })
            .collect()
    }

    /// Returns whether this child stays if it exists and is not created if it does not.
    pub fn keeps(&self, object: &ObjectRef) -> bool {
        self.children.iter().flatten().any(|child| matches!(child, Child::Keep(kept) if kept == object))
    }

    /// The status, without the conditions; `null` if it is left as it is.
    ///
    /// # Panics
    ///
    /// If it is not JSON, which the host would refuse.
    pub fn status_json(&self) -> Value {
        self.status.as_deref().map_or(Value::Null, from_json)
    }

    /// The condition of this type, if it is set.
    pub fn condition_of(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}

#[expect(clippy::panic, reason = "a test should fail at an answer that the host would refuse")]
fn from_json(json: &[u8]) -> Value {
    match serde_json::from_slice(json) {
        Ok(value) => value,
        Err(error) => panic!("the plugin returned invalid JSON: {error}: {}", String::from_utf8_lossy(json)),
    }
}

#[cfg(test)]
mod tests;
