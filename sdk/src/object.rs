//! Objects in the author's types. Only declared fields are read, for speed and size.

use std::time::Duration;

use serde::de::{DeserializeOwned, Error as _, IgnoredAny, Visitor, value};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_json::Value;

use crate::condition::ConditionStatus;
use crate::fields::{self, fields};
use crate::labels::Labels;
use crate::time::Time;

/// An object. Fields that `Spec` and `Status` do not declare are ignored.
///
/// It is a parent, an object that is [read](crate::Cluster::get), or a child whose kind has no type
/// in [`k8s`](crate::k8s):
///
/// ```
/// use gyre_sdk::{CustomResource, Object, Plan};
/// use serde::{Deserialize, Serialize};
///
/// /// The fields that this plugin sets of a Certificate of cert-manager.
/// #[derive(Deserialize, Serialize, CustomResource)]
/// #[resource(group = "cert-manager.io", version = "v1", kind = "Certificate")]
/// #[serde(rename_all = "camelCase")]
/// struct CertificateSpec {
///     secret_name: String,
/// }
///
/// let certificate = Object::new("web", CertificateSpec { secret_name: "web-tls".to_owned() });
/// let plan = Plan::children([certificate]);
/// let applied = plan.applied(CertificateSpec::KIND, "web").unwrap();
/// assert_eq!(applied["spec"]["secretName"], "web-tls");
/// ```
#[derive(Clone, Debug)]
pub struct Object<Spec, Status = NoStatus> {
    /// The metadata.
    pub metadata: Metadata,
    /// The spec.
    pub spec: Spec,
    /// The status, `None` until a plan has written it: the host's `conditions` and
    /// `observedGeneration` alone are no status, unless the type has fields of these names. Its
    /// type is the second one of the object: `Object<GreetingSpec, GreetingStatus>`.
    pub status: Option<Status>,
    /// The whole status, from which the conditions are read.
    stored: Value,
}

impl<Spec, Status> Object<Spec, Status> {
    /// Returns an object with this name: a child, or the parent of a test.
    pub fn new(name: impl Into<String>, spec: Spec) -> Self {
        let metadata = Metadata { name: name.into(), ..Metadata::default() };
        Self { metadata, spec, status: None, stored: Value::Null }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Returns the namespace, `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.metadata.namespace.as_deref()
    }

    /// Returns the time from its creation to `now`, which is [`Cluster::now`](crate::Cluster::now).
    pub fn age(&self, now: Time) -> Duration {
        self.metadata.age(now)
    }

    /// Sets the namespace. By default, it is the parent's.
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.metadata.namespace = Some(namespace.into());
        self
    }

    /// Sets the labels. The host adds its own to children.
    pub fn with_labels(mut self, labels: impl Into<Labels>) -> Self {
        self.metadata.labels = labels.into();
        self
    }

    /// Sets the annotations. The host adds its own to children.
    pub fn with_annotations(mut self, annotations: impl Into<Labels>) -> Self {
        self.metadata.annotations = annotations.into();
        self
    }

    /// Sets the status that an earlier plan has written, for a test.
    pub fn with_status(mut self, status: Status) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets conditions that an earlier plan has set, for a test.
    pub fn with_conditions(mut self, conditions: impl IntoIterator<Item = ObservedCondition>) -> Self {
        let conditions: Vec<Value> = conditions.into_iter().map(Value::from).collect();
        self.stored = fields([("conditions", conditions.into())]);
        self
    }

    /// Returns the condition of this type, if the status has it: of the host, of this plugin, or of
    /// others.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use gyre_sdk::{Object, Time};
    ///
    /// /// How long the object has not been ready.
    /// fn not_ready_for<Spec>(object: &Object<Spec>, now: Time) -> Option<Duration> {
    ///     let ready = object.condition("Ready")?;
    ///     ready.is_false().then(|| ready.age(now))
    /// }
    /// ```
    #[doc(alias = "FindStatusCondition")]
    pub fn condition(&self, kind: &str) -> Option<ObservedCondition> {
        ObservedCondition::find(&self.stored, kind, self.metadata.creation_timestamp)
    }

    /// Returns the conditions that the status has.
    pub fn conditions(&self) -> Vec<ObservedCondition> {
        let conditions = fields::list(&self.stored, "conditions").iter();
        conditions.filter_map(|condition| ObservedCondition::read(condition, self.metadata.creation_timestamp)).collect()
    }
}

impl<'de, Spec: Deserialize<'de>, Status: DeserializeOwned> Deserialize<'de> for Object<Spec, Status> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields { metadata, spec, status: stored } = Fields::<Spec>::deserialize(deserializer)?;
        let status =
            if is_unwritten::<Status>(&stored) { None } else { Option::deserialize(&stored).map_err(D::Error::custom)? };
        Ok(Self { metadata, spec, status, stored })
    }
}

/// The fields of a status that the host writes.
const OF_THE_HOST: [&str; 2] = ["conditions", "observedGeneration"];

/// Returns whether a status has only fields of the host, of which the type has none.
fn is_unwritten<Status: DeserializeOwned>(stored: &Value) -> bool {
    let Some(stored) = stored.as_object() else { return false };
    stored.keys().all(|field| OF_THE_HOST.contains(&field.as_str()))
        && fields_of::<Status>().is_some_and(|fields| !fields.iter().any(|field| OF_THE_HOST.contains(field)))
}

/// Returns the names of the fields of a struct, and `None` for another type.
fn fields_of<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    let mut fields = None;
    // It reads nothing, so the result is always an error.
    let _ = T::deserialize(FieldNames(&mut fields));
    fields
}

/// Learns the names of the fields for which a struct asks.
struct FieldNames<'a>(&'a mut Option<&'static [&'static str]>);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = Some(fields);
        Err(value::Error::custom(""))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(value::Error::custom(""))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[derive(Deserialize)]
struct Fields<Spec> {
    metadata: Metadata,
    spec: Spec,
    #[serde(default)]
    status: Value,
}

/// A condition that the status has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedCondition {
    /// The type, e.g. `Ready`.
    pub kind: String,
    /// The status.
    pub status: ConditionStatus,
    /// The reason, for programs.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
    /// Since when it has this status. If the condition does not say it, since the creation of the
    /// object.
    #[doc(alias = "since")]
    pub last_transition_time: Time,
}

impl ObservedCondition {
    pub(crate) fn find(status: &Value, kind: &str, created: Time) -> Option<Self> {
        let mut conditions = fields::list(status, "conditions").iter();
        Self::read(conditions.find(|condition| fields::text(condition, "type") == Some(kind))?, created)
    }

    fn read(condition: &Value, created: Time) -> Option<Self> {
        let text = |field: &str| fields::text(condition, field).unwrap_or_default().to_owned();
        let status = match fields::text(condition, "status")? {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        };
        let last_transition_time = fields::time(condition, "lastTransitionTime").unwrap_or(created);
        Some(Self { kind: text("type"), status, reason: text("reason"), message: text("message"), last_transition_time })
    }

    /// Returns whether the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }

    /// Returns whether the status is `False`.
    pub fn is_false(&self) -> bool {
        self.status == ConditionStatus::False
    }

    /// Returns how long it has had this status.
    pub fn age(&self, now: Time) -> Duration {
        now - self.last_transition_time
    }
}

impl From<ObservedCondition> for Value {
    fn from(condition: ObservedCondition) -> Self {
        let ObservedCondition { kind, status, reason, message, last_transition_time } = condition;
        fields([
            ("type", kind.into()),
            ("status", status.as_str().into()),
            ("reason", reason.into()),
            ("message", message.into()),
            ("lastTransitionTime", last_transition_time.to_string().into()),
        ])
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
    /// The time of its creation. In a test that does not set it, it is the time of the call.
    #[serde(default, deserialize_with = "time_or_null")]
    pub creation_timestamp: Time,
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
        now - self.creation_timestamp
    }
}

/// Reads a time that tools in Go write as `null` where there is none.
fn time_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// An owner of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// Read from JSON field by field, because that takes less code in a component than a derived
/// reader.
impl<'de> Deserialize<'de> for OwnerReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let owner = Value::deserialize(deserializer)?;
        let text = |field: &str| fields::text(&owner, field).unwrap_or_default().to_owned();
        let controller = fields::get(&owner, "controller").as_bool().unwrap_or_default();
        Ok(Self { api_version: text("apiVersion"), kind: text("kind"), name: text("name"), uid: text("uid"), controller })
    }
}

/// The type of a status that is not read, which accepts any value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoStatus {}

impl<'de> Deserialize<'de> for NoStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self {})
    }
}
