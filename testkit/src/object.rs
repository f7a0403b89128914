//! Objects for tests.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// A builder of an object. It serializes as the object, and [`build`](Self::build) returns it as a [`Value`].
#[derive(Clone, Debug, PartialEq)]
pub struct Object(Value);

/// An object of this `apiVersion` and `kind`, called `namespace/name`; or only `name`, which is in the namespace `default` if its kind has
/// namespaces.
///
/// ```
/// use gyre_test::object;
/// use serde_json::json;
///
/// let echo = object("mmontes.io/v1alpha1", "Echo", "team-a/hello").label("tier", "web").spec(json!({"message": "Hello!"}));
/// assert_eq!(
///     echo.build(),
///     json!({
///         "apiVersion": "mmontes.io/v1alpha1",
///         "kind": "Echo",
///         "metadata": {"namespace": "team-a", "name": "hello", "labels": {"tier": "web"}},
///         "spec": {"message": "Hello!"},
///     })
/// );
/// ```
pub fn object(api_version: &str, kind: &str, name: &str) -> Object {
    let metadata = match name.split_once('/') {
        Some((namespace, name)) => json!({ "namespace": namespace, "name": name }),
        None => json!({ "name": name }),
    };
    Object(json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata }))
}

impl Object {
    /// The object.
    pub fn build(self) -> Value {
        self.0
    }

    /// A field beside the metadata, e.g. the `data` of a ConfigMap.
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        set(&mut self.0, name, value.into());
        self
    }

    /// Its spec.
    pub fn spec(self, spec: impl Into<Value>) -> Self {
        self.field("spec", spec)
    }

    /// Its status.
    pub fn status(self, status: impl Into<Value>) -> Self {
        self.field("status", status)
    }

    /// A label.
    pub fn label(self, key: &str, value: &str) -> Self {
        self.entry("labels", key, value)
    }

    /// An annotation.
    pub fn annotation(self, key: &str, value: &str) -> Self {
        self.entry("annotations", key, value)
    }

    /// Its UID; without it, one is generated.
    pub fn uid(self, uid: &str) -> Self {
        self.metadata("uid", uid)
    }

    /// Its generation; without it, 1.
    pub fn generation(self, generation: i64) -> Self {
        self.metadata("generation", generation)
    }

    /// When it was created, in RFC 3339; without it, now.
    pub fn created(self, time: &str) -> Self {
        self.metadata("creationTimestamp", time)
    }

    /// A finalizer.
    pub fn finalizer(self, name: &str) -> Self {
        self.push("finalizers", Value::from(name))
    }

    /// Makes it a child of this parent, created by the plugin of this name. The parent may lack its UID if it is put into the world, too.
    pub fn child_of(self, parent: impl Into<Value>, plugin: &str) -> Self {
        let parent = parent.into();
        let text = |pointer: &str| parent.pointer(pointer).cloned().unwrap_or_default();
        let mut owner = json!({
            "apiVersion": text("/apiVersion"),
            "kind": text("/kind"),
            "name": text("/metadata/name"),
            "controller": true,
            "blockOwnerDeletion": true,
        });
        if let uid @ Value::String(_) = text("/metadata/uid") {
            set(&mut owner, "uid", uid);
        }
        self.push("ownerReferences", owner).label("gyre.dev/plugin", plugin)
    }

    fn metadata(mut self, field: &str, value: impl Into<Value>) -> Self {
        if let Some(metadata) = self.0.get_mut("metadata") {
            set(metadata, field, value.into());
        }
        self
    }

    fn entry(mut self, map: &str, key: &str, value: &str) -> Self {
        if let Some(metadata) = self.0.get_mut("metadata").and_then(Value::as_object_mut) {
            let entries = metadata.entry(map).or_insert_with(|| Value::Object(Map::new()));
            set(entries, key, Value::from(value));
        }
        self
    }

    fn push(mut self, list: &str, item: Value) -> Self {
        if let Some(metadata) = self.0.get_mut("metadata").and_then(Value::as_object_mut) {
            let items = metadata.entry(list).or_insert_with(|| Value::Array(Vec::new()));
            if let Some(items) = items.as_array_mut() {
                items.push(item);
            }
        }
        self
    }
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        object.0
    }
}

impl From<&Object> for Value {
    fn from(object: &Object) -> Self {
        object.0.clone()
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
