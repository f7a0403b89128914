//! Objects in the author's types. Only declared fields are read, for speed and size.

use std::time::Duration;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::labels::Labels;
use crate::plan::ConditionStatus;
use crate::time::Time;

/// An object. Fields that `Spec` and `Status` do not declare are ignored.
#[derive(Clone, Debug)]
pub struct Object<Spec, Status = NoStatus> {
    /// The metadata.
    pub metadata: Metadata,
    /// The spec.
    pub spec: Spec,
    /// The status, `None` until it is first written.
    pub status: Option<Status>,
    /// The whole status, from which the conditions are read.
    stored: Option<Box<RawValue>>,
}

impl<Spec, Status> Object<Spec, Status> {
    /// Returns an object for a test, in the namespace `default`, with a UID and the generation 1.
    pub fn new(name: impl Into<String>, spec: Spec) -> Self {
        let name = name.into();
        let metadata = Metadata {
            uid: format!("uid-of-{name}"),
            name,
            namespace: Some("default".to_owned()),
            generation: 1,
            ..Metadata::default()
        };
        Self { metadata, spec, status: None, stored: None }
    }

    /// Returns this object with conditions that an earlier plan has set, for a test.
    pub fn with_conditions(mut self, conditions: impl IntoIterator<Item = ObservedCondition>) -> Self {
        let status = serde_json::json!({ "conditions": conditions.into_iter().map(Value::from).collect::<Vec<Value>>() });
        self.stored = RawValue::from_string(status.to_string()).ok();
        self
    }

    /// Returns the condition of this type, if the status has it: of the host, of this plugin, or of
    /// others.
    pub fn condition(&self, kind: &str) -> Option<ObservedCondition> {
        #[derive(Deserialize)]
        struct Conditions {
            #[serde(default)]
            conditions: Vec<ObservedCondition>,
        }
        let Conditions { conditions } = serde_json::from_slice(self.stored.as_ref()?.get().as_bytes()).ok()?;
        conditions.into_iter().find(|condition| condition.kind == kind)
    }
}

impl<'de, Spec: Deserialize<'de>, Status: DeserializeOwned> Deserialize<'de> for Object<Spec, Status> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields { metadata, spec, status: stored } = Fields::<Spec>::deserialize(deserializer)?;
        let own = |stored: &RawValue| serde_json::from_slice(stored.get().as_bytes());
        let status = stored.as_deref().map(own).transpose().map_err(D::Error::custom)?;
        Ok(Self { metadata, spec, status, stored })
    }
}

#[derive(Deserialize)]
struct Fields<Spec> {
    metadata: Metadata,
    spec: Spec,
    status: Option<Box<RawValue>>,
}

/// A condition that the status has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedCondition {
    /// The type, e.g. `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status.
    pub status: ConditionStatus,
    /// The reason, for programs.
    #[serde(default)]
    pub reason: String,
    /// The sentence for people.
    #[serde(default)]
    pub message: String,
    /// Since when it has this status.
    pub last_transition_time: Option<Time>,
}

impl From<ObservedCondition> for Value {
    fn from(condition: ObservedCondition) -> Self {
        let ObservedCondition { kind, status, reason, message, last_transition_time } = condition;
        let since = last_transition_time.map(|time| time.to_string());
        serde_json::json!({
            "type": kind,
            "status": format!("{status:?}"),
            "reason": reason,
            "message": message,
            "lastTransitionTime": since,
        })
    }
}

/// The metadata that a plan may depend on. It lacks `resourceVersion` and `managedFields`, which
/// change on every write.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// The namespace, `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The UID, which distinguishes the object from an earlier one of the same name.
    #[serde(default)]
    pub uid: String,
    /// The generation, which each change of the spec increments.
    #[serde(default)]
    pub generation: i64,
    /// The labels.
    #[serde(default)]
    pub labels: Labels,
    /// The annotations.
    #[serde(default)]
    pub annotations: Labels,
    /// The time of its creation; only tests have objects without one.
    pub creation_timestamp: Option<Time>,
    /// The time of the request to delete it.
    pub deletion_timestamp: Option<Time>,
    /// The owners.
    #[serde(default)]
    pub owner_references: Vec<OwnerReference>,
    /// The finalizers.
    #[serde(default)]
    pub finalizers: Vec<String>,
}

impl Metadata {
    /// Returns the time from its creation to `now`.
    pub fn age(&self, now: Time) -> Duration {
        self.creation_timestamp.map_or(Duration::ZERO, |created| now - created)
    }
}

/// An owner of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// The `apiVersion` of the owner.
    pub api_version: String,
    /// The kind of the owner.
    pub kind: String,
    /// The name of the owner.
    pub name: String,
    /// The UID of the owner.
    pub uid: String,
    /// Whether the owner is the controller.
    pub controller: bool,
}

/// The type of a status that is not read, which accepts any value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct NoStatus {}
