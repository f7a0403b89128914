//! Tests of plugins as plain Rust, without a host, a cluster or Wasm.
//!
//! ```text
//!   parent, objects ──▶ given::<R> ──▶ reconcile ──▶ Answer: applies, waits, is_ready, …
//!   the same as JSON ─────────────────▶ reconcile::<R> ──▶ Result<Plan, Failure>
//! ```
//!
//! A plugin can read its children and the kinds that its manifest declares, as in the host.

mod crd;
mod declared;
mod given;
#[doc(hidden)]
pub mod hosted;
mod observed;
mod reads;
mod settings;

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use serde_json::Value;

use crate::bytes::Bytes;
use crate::call;
use crate::condition::Condition;
use crate::failure::Failure;
use crate::host::Imports;
use crate::kind::{Kind, ObjectRef};
use crate::plan::{Child, Plan};
use crate::reconciler::Reconciler;
use crate::time::Time;
use crate::typed::fields as typed;

use reads::Reads;

pub use crd::assert_crd_file;
pub use given::{Answer, Given, given};
pub use settings::IntoSettings;

pub use crate::parent::{Missing, Parent};

pub use crate::host::{LogLine, take_log};

/// A made-up cluster that the plugin reads from.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    objects: Vec<Value>,
    not_served: BTreeSet<Kind>,
    not_granted: BTreeSet<Kind>,
    now: Option<Time>,
}

impl Cluster {
    /// Returns an empty cluster that serves every kind.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object, which needs `apiVersion`, `kind` and `metadata.name`. Without
    /// `metadata.namespace` it is cluster-scoped. It is a child of the parent whose UID is in its
    /// controller `ownerReference` or, without one, in its label `gyre.dev/owner-uid`. The
    /// `stringData` of a Secret becomes `data`, as in the API server.
    pub fn with(mut self, object: impl Into<Value>) -> Self {
        self.objects.push(stored(object.into()));
        self
    }

    /// Stops serving this kind, as if its CRD were not installed.
    pub fn not_serving(mut self, kind: Kind) -> Self {
        self.not_served.insert(kind);
        self
    }

    /// Removes the grant of this kind.
    pub fn not_granting(mut self, kind: Kind) -> Self {
        self.not_granted.insert(kind);
        self
    }

    /// Sets the time: a [`Time`], or a text in RFC 3339. Without it, a plugin that reads the clock
    /// fails the test.
    ///
    /// # Panics
    ///
    /// If the text is no time.
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    #[track_caller]
    pub fn at(mut self, now: impl TryInto<Time, Error: fmt::Display>) -> Self {
        self.now = Some(now.try_into().unwrap_or_else(|error| panic!("the time of the test: {error}")));
        self
    }
}

/// Returns an object as the API server stores it.
fn stored(mut object: Value) -> Value {
    let is_secret = object.get("apiVersion") == Some(&"v1".into()) && object.get("kind") == Some(&"Secret".into());
    let texts = object.as_object_mut().filter(|_| is_secret).and_then(|fields| fields.remove("stringData"));
    let texts = texts.unwrap_or_default();
    for (key, text) in texts.as_object().into_iter().flatten() {
        let encoded = Bytes::default().with(key, text.as_str().unwrap_or_default());
        let encoded = encoded.encoded().get(key).unwrap_or_default().into();
        typed::set_inside(&mut object, "data", key, encoded);
    }
    object
}

/// Calls [`Reconciler::reconcile`] like the host. The parent needs only the fields that are read.
///
/// # Errors
///
/// The failure of the plugin, also if the parent or the settings do not fit its types.
pub fn reconcile<R: Reconciler>(parent: Value, settings: Value, cluster: &Cluster) -> Result<Plan, Failure> {
    Native::<R>::new(&parent, cluster).reconcile(parent.to_string().as_bytes(), settings.to_string().as_bytes())
}

/// Calls [`Reconciler::finalize`] like the host.
///
/// # Errors
///
/// The failure of the plugin, also if the parent or the settings do not fit its types.
pub fn finalize<R: Reconciler>(parent: Value, settings: Value, cluster: &Cluster) -> Result<Plan, Failure> {
    let native = Native::<R>::new(&parent, cluster);
    call::finalize::<R>(parent.to_string().as_bytes(), settings.to_string().as_bytes(), &native.cluster)
}

/// Calls [`Reconciler::validate_settings`] like the host, but without the schema of the manifest.
///
/// # Errors
///
/// The sentence for the operator.
pub fn validate_settings<R: Reconciler>(settings: Value) -> Result<(), String> {
    call::validate_settings::<R>(settings.to_string().as_bytes())
}

/// A native plugin that benchmarks call repeatedly with JSON texts for one parent.
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
    pub fn reconcile(&self, parent: &[u8], settings: &[u8]) -> Result<Plan, Failure> {
        call::reconcile::<R>(parent, settings, &self.cluster)
    }
}

/// Functions that inspect a response in tests.
impl Plan {
    /// Returns the applied child of this kind and name, or `None` if the response has none.
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

    /// Returns all applied children, in order.
    pub fn all_applied(&self) -> Vec<Value> {
        let children = self.children.iter().flatten();
        children
            .filter_map(|child| match child {
                Child::Apply(child) => Some(child.object.clone()),
                Child::Keep(_) | Child::Bytes(_) => None,
            })
            .collect()
    }

    /// Returns whether the response [keeps](Plan::keep) this child.
    pub fn keeps(&self, object: &ObjectRef) -> bool {
        self.children.iter().flatten().any(|child| matches!(child, Child::Keep(kept) if kept == object))
    }

    /// Returns the status without the conditions, or `null` if it is left as it is.
    ///
    /// # Panics
    ///
    /// If it is not JSON, which the host would refuse.
    pub fn status_json(&self) -> Value {
        let status = self.status.as_ref().and_then(|status| status.as_ref().ok());
        status.map_or(Value::Null, |status| from_json(status))
    }

    /// Returns the condition of this type, if the response sets it.
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
mod sentences;
#[cfg(test)]
mod tests;
