//! Objects in the author's own types: only the fields that are named are read, which is what keeps a plugin fast and small.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::kind::Kind;

/// An object as the cluster holds it. What `Spec` and `Status` do not name is ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct Object<Spec, Status> {
    /// Its metadata.
    pub metadata: Metadata,
    /// Its spec.
    pub spec: Spec,
    /// Its status; none as long as nobody has written one.
    pub status: Option<Status>,
}

/// The part of an object's metadata on which an answer may depend.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// None for a cluster-scoped object.
    pub namespace: Option<String>,
    /// Tells an object from an earlier one of the same name.
    #[serde(default)]
    pub uid: String,
    /// Counts the changes of the spec.
    #[serde(default)]
    pub generation: i64,
    /// The labels.
    #[serde(default)]
    pub labels: Labels,
    /// The annotations.
    #[serde(default)]
    pub annotations: Labels,
    /// Since when the object is being deleted, in RFC 3339.
    pub deletion_timestamp: Option<String>,
}

/// Labels or annotations, in the order in which they were given. They are few, and mostly not looked at: a list is less to make
/// and less code than a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(pub Vec<(String, String)>);

impl Labels {
    /// The value under this key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(candidate, _)| candidate == key).map(|(_, value)| value.as_str())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelsVisitor;

        impl<'de> Visitor<'de> for LabelsVisitor {
            type Value = Labels;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Vec::new();
                while let Some(label) = map.next_entry()? {
                    labels.push(label);
                }
                Ok(Labels(labels))
            }
        }

        deserializer.deserialize_map(LabelsVisitor)
    }
}

/// Conditions as a status holds them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct ObservedConditions(pub Vec<ObservedCondition>);

impl ObservedConditions {
    /// Whether there is a condition of this type with the status `True`.
    pub fn is_true(&self, kind: &str) -> bool {
        self.0.iter().any(|condition| condition.kind == kind && condition.status == "True")
    }
}

/// One condition as a status holds it.
#[derive(Clone, Debug, Deserialize)]
pub struct ObservedCondition {
    /// The condition's type, e.g. `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

/// A child as it should be, of a kind whose objects have a `spec`. Children of other kinds are written as any other struct, or
/// with `serde_json::json!`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Desired<'a, Spec> {
    api_version: &'static str,
    kind: &'static str,
    metadata: DesiredMetadata<'a>,
    spec: Spec,
}

#[derive(Clone, Debug, Serialize)]
struct DesiredMetadata<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    labels: Pairs<'a>,
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    annotations: Pairs<'a>,
}

impl<'a, Spec> Desired<'a, Spec> {
    /// A child of this kind and name, in the parent's namespace.
    pub fn new(kind: Kind, name: &'a str, spec: Spec) -> Self {
        let metadata = DesiredMetadata { name, namespace: None, labels: Pairs(&[]), annotations: Pairs(&[]) };
        Self { api_version: kind.api_version, kind: kind.kind, metadata, spec }
    }

    /// Puts it into a namespace other than the parent's. Whether it may be there is the operator's to grant.
    pub fn namespace(mut self, namespace: &'a str) -> Self {
        self.metadata.namespace = Some(namespace);
        self
    }

    /// Its labels, beside those that the host adds. No key may be there twice.
    pub fn labels(mut self, labels: &'a [(&'a str, &'a str)]) -> Self {
        self.metadata.labels = Pairs(labels);
        self
    }

    /// Its annotations, beside those that the host adds. No key may be there twice.
    pub fn annotations(mut self, annotations: &'a [(&'a str, &'a str)]) -> Self {
        self.metadata.annotations = Pairs(annotations);
        self
    }
}

#[derive(Clone, Copy, Debug)]
struct Pairs<'a>(&'a [(&'a str, &'a str)]);

impl Pairs<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
