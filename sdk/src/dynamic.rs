//! Objects of any kind, without types for their fields.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fields::{fields, set_at, texts};
use crate::kind::Kind;
use crate::labels::Labels;

/// An object of any kind, to read or to build field by field.
///
/// Fields have JSON pointers ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)): `/spec/ports/0`.
/// The first `/` may be left out.
///
/// ```
/// use gyre_sdk::{DynamicObject, Kind};
/// use serde_json::json;
///
/// const INGRESS: Kind = Kind::new("networking.k8s.io/v1", "Ingress");
///
/// let spec = json!({"ingressClassName": "nginx"});
/// let ingress = DynamicObject::new(INGRESS, "hello").with_spec(spec);
/// let ingress = ingress.with("/metadata/labels/app", "web");
/// assert_eq!(ingress.field("/spec/ingressClassName"), Some("nginx"));
/// assert_eq!(ingress.field("metadata/labels/app"), Some("web"));
/// assert_eq!(ingress.field::<u32>("/status/replicas"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct DynamicObject(Value);

impl DynamicObject {
    /// Returns a child of this kind and name, in the parent's namespace.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self::named_by(kind, name.into())
    }

    fn named_by(kind: Kind, name: String) -> Self {
        let metadata = fields([("name", name.into())]);
        Self(fields([("apiVersion", kind.api_version.into()), ("kind", kind.kind.into()), ("metadata", metadata)]))
    }

    /// Sets a namespace other than the parent's. The operator must grant it.
    pub fn with_namespace(self, namespace: impl Into<String>) -> Self {
        self.with("/metadata/namespace", namespace.into())
    }

    /// Sets the labels. The host adds its own.
    pub fn with_labels(self, labels: impl Into<Labels>) -> Self {
        self.with("/metadata/labels", texts(&labels.into()))
    }

    /// Sets the annotations. The host adds its own.
    pub fn with_annotations(self, annotations: impl Into<Labels>) -> Self {
        self.with("/metadata/annotations", texts(&annotations.into()))
    }

    /// Sets the spec.
    pub fn with_spec(self, spec: impl Into<Value>) -> Self {
        self.with("/spec", spec)
    }

    /// Sets a field. Missing objects on its path are created, and other values there are replaced.
    pub fn with(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        set_at(&mut self.0, pointer, value.into());
        self
    }

    fn at(&self, pointer: &str) -> Option<&Value> {
        if pointer.is_empty() || pointer.starts_with('/') {
            self.0.pointer(pointer)
        } else {
            self.0.pointer(&format!("/{pointer}"))
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.field("/metadata/name").unwrap_or_default()
    }

    /// Returns a field, or `None` if it does not exist or has another type.
    pub fn field<'a, T: Deserialize<'a>>(&'a self, pointer: &str) -> Option<T> {
        T::deserialize(self.at(pointer)?).ok()
    }

    /// Returns the elements of a list, without any if there is no such list.
    pub fn list(&self, pointer: &str) -> impl Iterator<Item = &Value> {
        self.at(pointer).and_then(Value::as_array).into_iter().flatten()
    }

    /// Returns the element of a list with this `name`, e.g. a container or a port.
    pub fn named(&self, pointer: &str, name: &str) -> Option<&Value> {
        self.list(pointer).find(|element| element["name"] == name)
    }

    /// Returns whether the status has a condition of this type that is `True`.
    pub fn is_condition_true(&self, kind: &str) -> bool {
        self.list("/status/conditions").any(|condition| condition["type"] == kind && condition["status"] == "True")
    }

    /// Returns the object as JSON.
    pub fn into_json(self) -> Value {
        self.0
    }

    /// Returns the object as JSON.
    pub fn as_json(&self) -> &Value {
        &self.0
    }
}
