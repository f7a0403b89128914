//! Parents in tests, whose metadata are completed.

use serde_json::Value;

use crate::group::Group;
use crate::object::Object;
use crate::time::Time;

/// A parent whose metadata is known: an [`Object`], or a type of [`k8s`](crate::k8s). For other
/// types, [`testing::reconcile`](crate::testing::reconcile) takes the parent as JSON.
#[diagnostic::on_unimplemented(
    message = "the metadata of a `{Self}` is not known",
    note = "use `gyre_sdk::Object` as the parent's type, or `gyre_sdk::testing::reconcile` with the parent as JSON"
)]
pub trait Parent {
    /// Returns the UID, or an empty text.
    fn uid(&self) -> &str;
    /// Returns the namespace.
    fn namespace(&self) -> Option<&str>;
    /// Sets the metadata that are not set.
    fn complete(&mut self, missing: &Missing);
}

/// The metadata of a parent of which the test does not say it.
#[derive(Debug, Default)]
pub struct Missing {
    /// The namespace.
    pub namespace: Option<String>,
    /// The time of creation.
    pub creation_timestamp: Option<Time>,
}

impl<Spec, Status> Parent for Object<Spec, Status> {
    fn uid(&self) -> &str {
        &self.metadata.uid
    }

    fn namespace(&self) -> Option<&str> {
        self.metadata.namespace.as_deref()
    }

    fn complete(&mut self, missing: &Missing) {
        let metadata = &mut self.metadata;
        if metadata.uid.is_empty() {
            metadata.uid = uid_of(&metadata.name);
        }
        if metadata.generation == 0 {
            metadata.generation = 1;
        }
        if metadata.namespace.is_none() {
            metadata.namespace.clone_from(&missing.namespace);
        }
        if let Some(created) = missing.creation_timestamp.filter(|_| metadata.creation_timestamp == Time::default()) {
            metadata.creation_timestamp = created;
        }
    }
}

/// A group is completed with its members.
impl<P: Parent> Parent for Group<P> {
    fn uid(&self) -> &str {
        "uid-of-the-group"
    }

    fn namespace(&self) -> Option<&str> {
        None
    }

    fn complete(&mut self, missing: &Missing) {
        self.members.iter_mut().for_each(|member| member.complete(missing));
    }
}

fn uid_of(name: &str) -> String {
    format!("uid-of-{name}")
}

/// The UID of an object of a type of [`k8s`](crate::k8s).
#[doc(hidden)]
pub fn typed_uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

/// Completes an object of a type of [`k8s`](crate::k8s).
#[doc(hidden)]
pub fn complete_typed(object: &mut Value, missing: &Missing) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let uid = uid_of(metadata.get("name").and_then(Value::as_str).unwrap_or_default());
    let mut complete = |name: &str, value: Value| {
        metadata.entry(name).or_insert(value);
    };
    complete("uid", uid.into());
    complete("generation", 1.into());
    if let Some(namespace) = &missing.namespace {
        complete("namespace", namespace.as_str().into());
    }
    if let Some(created) = missing.creation_timestamp {
        complete("creationTimestamp", created.to_string().into());
    }
}
