//! Groups of parents, for plugins that are called about many parents at once.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::condition::{Condition, ConditionStatus};
use crate::object::Object;

/// The parents of one call, if the manifest [groups](crate::Manifest::grouped) them: what the
/// plugin returns exists because of all of them.
///
/// ```
/// use gyre_sdk::k8s::{ConfigMap, Namespace};
/// use gyre_sdk::{Cluster, Group, Manifest, Member, NoSettings, Plan};
/// use gyre_sdk::{Reconciler, Result, Strategy};
///
/// /// Lists all Namespaces in one ConfigMap.
/// struct Directory;
///
/// impl Reconciler for Directory {
///     type Parent = Group<Namespace>;
///     type Settings = NoSettings;
///
///     fn manifest() -> Manifest {
///         Manifest::new("directory", "1.0.0", Namespace::KIND)
///             .grouped()
///             .child::<ConfigMap>(Strategy::Apply)
///     }
///
///     fn reconcile(all: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
///         let names: Vec<&str> = all.members.iter().map(|namespace| namespace.name()).collect();
///         let list = ConfigMap::new("namespaces")
///             .with_namespace("platform")
///             .with_data([("names", names.join(" "))]);
///         Ok(Plan::children([list]))
///     }
/// }
///
/// let all = Group::of([Namespace::new("a"), Namespace::new("b")]);
/// let plan = gyre_sdk::testing::given::<Directory>(all).reconcile();
/// assert_eq!(plan.applies::<ConfigMap>("namespaces").data().get("names"), Some("a b"));
/// ```
#[derive(Clone, Debug, Deserialize)]
pub struct Group<P> {
    /// The parents, by namespace and name, also those that are being deleted.
    #[serde(default = "Vec::new")]
    pub members: Vec<P>,
    spec: GroupSpec,
    #[serde(default)]
    status: Value,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct GroupSpec {
    value: Option<String>,
}

impl<P> Group<P> {
    /// Returns a group with these members, for a test.
    pub fn of(members: impl IntoIterator<Item = P>) -> Self {
        Self { members: members.into_iter().collect(), spec: GroupSpec::default(), status: Value::Null }
    }

    /// Sets the value of the field that the members have in common, for a test.
    pub fn with_value(mut self, value: impl Into<String>) -> Self {
        self.spec.value = Some(value.into());
        self
    }

    /// Returns the value of the field that the members have in common; `None` if all parents are
    /// one group.
    pub fn value(&self) -> Option<&str> {
        self.spec.value.as_deref()
    }

    /// Returns the status that [`Plan::status`](crate::Plan::status) has written for the group, if
    /// it fits the type.
    pub fn status<Status: DeserializeOwned>(&self) -> Option<Status> {
        Status::deserialize(&self.status).ok()
    }
}

/// An object that can be a member of a [`Group`]: an [`Object`], or a type of
/// [`k8s`](crate::k8s).
pub trait Named {
    /// Returns the namespace, `None` for a cluster-scoped object.
    fn namespace(&self) -> Option<&str>;
    /// Returns the name.
    fn name(&self) -> &str;
}

impl<Spec, Status> Named for Object<Spec, Status> {
    fn namespace(&self) -> Option<&str> {
        self.metadata.namespace.as_deref()
    }

    fn name(&self) -> &str {
        &self.metadata.name
    }
}

/// The status of one member of a [`Group`], for [`Plan::member`](crate::Plan::member).
///
/// ```
/// # #[derive(serde::Serialize)]
/// # struct TenantStatus { address: String }
/// use gyre_sdk::k8s::Namespace;
/// use gyre_sdk::{Member, Plan};
///
/// let namespace = Namespace::new("a");
/// let status = TenantStatus { address: "10.0.0.1".to_owned() };
/// let plan = Plan::no_children()
///     .member(Member::of(&namespace).status(status).ready("Allocated", "it has an address"));
/// assert_eq!(plan.members[0].name, "a");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Member {
    /// The namespace, `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The complete status of the plugin, as in [`Plan::status`](crate::Plan::status).
    pub status: Option<Result<Vec<u8>, String>>,
    /// Conditions to set in its status.
    pub conditions: Vec<Condition>,
}

impl Member {
    /// Returns what leaves the status of this member as it is.
    pub fn of(member: &impl Named) -> Self {
        Self {
            namespace: member.namespace().map(str::to_owned),
            name: member.name().to_owned(),
            status: None,
            conditions: Vec::new(),
        }
    }

    /// Sets the complete status of the plugin, as [`Plan::status`](crate::Plan::status).
    pub fn status(mut self, status: impl serde::Serialize) -> Self {
        self.status = Some(serde_json::to_vec(&status).map_err(|error| error.to_string()));
        self
    }

    /// Adds a condition.
    pub fn condition(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Sets the condition `Ready` to `True`.
    pub fn ready(self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.condition(Condition::new("Ready", ConditionStatus::True, reason, message))
    }

    /// Sets the condition `Ready` to `False`.
    pub fn not_ready(self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.condition(Condition::new("Ready", ConditionStatus::False, reason, message))
    }
}
