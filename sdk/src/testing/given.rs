//! Tests that read like a sentence: given a parent and objects, a plugin answers this.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;

use super::reads::Reads;
use super::settings::IntoSettings;
use super::{Cluster, declared};
use crate::call;
use crate::condition::{Condition, ConditionStatus};
use crate::failure::{Failure, Result};
use crate::group::Member;
use crate::host::Imports;
use crate::kind::{Kind, ObjectRef};
use crate::manifest::{Manifest, Strategy};
use crate::parent::{Missing, Parent};
use crate::plan::{Child, DesiredChild, Plan};
use crate::reconciler::Reconciler;
use crate::resource::Resource;
use crate::time::Time;

/// Begins a test with this parent. Where the test does not say it, the parent has a UID, the
/// generation 1 and, unless its kind is cluster-scoped, the namespace `default`; it was created at
/// the time of the test.
///
/// ```
/// # use gyre_sdk::{CustomResource, Cluster, Manifest, NoSettings, Object};
/// # use gyre_sdk::{Plan, Reconciler, Result, Strategy};
/// use gyre_sdk::k8s::{ConfigMap, Secret};
/// use gyre_sdk::testing::given;
/// # #[derive(serde::Deserialize, CustomResource)]
/// # #[resource(group = "example.com", version = "v1", kind = "Copy")]
/// # struct CopySpec { secret: String }
/// # struct CopyReconciler;
/// # impl Reconciler for CopyReconciler {
/// #     type Parent = Object<CopySpec>;
/// #     type Settings = NoSettings;
/// #     fn manifest() -> Manifest {
/// #         let manifest = gyre_sdk::manifest!(Self::Parent).reads::<Secret>();
/// #         manifest.child::<ConfigMap>(Strategy::Apply)
/// #     }
/// #     fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
/// #         let Some(_) = cluster.get::<Secret>(&parent.spec.secret)? else {
/// #             return Ok(Plan::wait("SecretMissing", "there is no Secret"));
/// #         };
/// #         Ok(Plan::children([ConfigMap::new("copy")]).ready("Copied", "it is copied"))
/// #     }
/// # }
///
/// let copy = || Object::new("it", CopySpec { secret: "source".to_owned() });
/// given::<CopyReconciler>(copy()).reconcile().waits("SecretMissing");
/// let plan = given::<CopyReconciler>(copy()).with(Secret::new("source")).reconcile();
/// plan.is_ready("Copied");
/// assert_eq!(plan.applies::<ConfigMap>("copy").name(), "copy");
/// ```
pub fn given<R: Reconciler>(mut parent: R::Parent) -> Given<R>
where
    R::Parent: Parent,
{
    let namespace = (!is_cluster_scoped(&R::manifest())).then(|| "default".to_owned());
    parent.complete(&Missing { namespace, creation_timestamp: None });
    Given { parent, settings: None, cluster: Cluster::new() }
}

/// The built-in kinds without namespaces.
const CLUSTER_SCOPED: [(&str, &str); 18] = [
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("networking.k8s.io", "IPAddress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "ServiceCIDR"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
];

/// Returns whether the parents have no namespace: a built-in kind, or one whose definition says so.
fn is_cluster_scoped(manifest: &Manifest) -> bool {
    let definitions = manifest.crds.iter().filter_map(|crd| serde_json::from_slice::<Value>(crd).ok());
    let is = |crd: &Value, pointer: &str, text: &str| crd.pointer(pointer).and_then(Value::as_str) == Some(text);
    let (group, kind) = (manifest.parent.group(), manifest.parent.kind);
    if CLUSTER_SCOPED.contains(&(group, kind)) {
        return true;
    }
    let mut of_parent = definitions.filter(|crd| is(crd, "/spec/group", group) && is(crd, "/spec/names/kind", kind));
    of_parent.any(|crd| is(&crd, "/spec/scope", "Cluster"))
}

/// A test of a reconciler.
pub struct Given<R: Reconciler> {
    parent: R::Parent,
    settings: Option<Result<R::Settings>>,
    cluster: Cluster,
}

impl<R: Reconciler> Given<R>
where
    R::Parent: Parent,
{
    /// Adds an object. Without a namespace, it is in the parent's, unless its kind is a built-in
    /// one that has no namespaces.
    pub fn with(mut self, object: impl Into<Value>) -> Self {
        self.cluster = self.cluster.with(in_namespace(object.into(), self.parent.namespace()));
        self
    }

    /// Adds a child of the parent. Without a namespace, it is in the parent's.
    pub fn with_child(mut self, child: impl Into<Value>) -> Self {
        let mut child = in_namespace(child.into(), self.parent.namespace());
        let owner = serde_json::json!([{ "controller": true, "uid": self.parent.uid() }]);
        crate::typed::fields::set_inside(&mut child, "metadata", "ownerReferences", owner);
        self.cluster = self.cluster.with(child);
        self
    }

    /// Stops serving this kind, as if its CRD were not installed.
    pub fn not_serving(mut self, kind: Kind) -> Self {
        self.cluster = self.cluster.not_serving(kind);
        self
    }

    /// Sets the time: a [`Time`], or a text in RFC 3339. Without it, a plugin that reads the clock
    /// fails the test.
    ///
    /// # Panics
    ///
    /// If the text is no time.
    #[track_caller]
    pub fn at(mut self, now: impl TryInto<Time, Error: fmt::Display>) -> Self {
        self.cluster = self.cluster.at(now);
        self
    }

    /// Sets the settings, which are otherwise empty: a value of their type, or JSON as the operator
    /// writes it.
    pub fn settings<Form>(mut self, settings: impl IntoSettings<R::Settings, Form>) -> Self {
        self.settings = Some(settings.into_settings());
        self
    }

    /// Calls [`Reconciler::reconcile`].
    ///
    /// # Panics
    ///
    /// If the manifest does not declare what the plan does: the host would refuse it.
    #[track_caller]
    pub fn reconcile(self) -> Answer {
        self.call(R::reconcile, call::reconciled)
    }

    /// Calls [`Reconciler::finalize`].
    ///
    /// # Panics
    ///
    /// If the manifest does not say that the plugin finalizes: the host would never make this call.
    /// If it does not declare what the plan does: the host would refuse it.
    #[track_caller]
    pub fn finalize(self) -> Answer {
        let manifest = R::manifest();
        assert!(manifest.finalizes, "the host does not call finalize: add `.finalizes()` to the manifest");
        self.call(R::finalize, call::whole)
    }

    #[track_caller]
    fn call(
        mut self,
        function: fn(&R::Parent, &R::Settings, &crate::cluster::Cluster) -> Result<Plan>,
        checked: fn(Plan) -> Result<Plan>,
    ) -> Answer {
        self.parent.complete(&Missing { namespace: None, creation_timestamp: self.cluster.now });
        let manifest = R::manifest();
        let parent = serde_json::json!({ "metadata": { "namespace": self.parent.namespace(), "uid": self.parent.uid() } });
        let reads = Rc::new(Reads::new(&self.cluster, manifest.clone(), &parent));
        let existing = reads.all_children();
        let cluster = crate::cluster::Cluster::new(Imports(reads));
        let settings = self.settings.unwrap_or_else(|| serde_json::json!({}).into_settings());
        let plan = settings.and_then(|settings| function(&self.parent, &settings, &cluster));
        Answer { answer: plan.and_then(checked), existing }.declared_by(&manifest)
    }
}

fn in_namespace(mut object: Value, namespace: Option<&str>) -> Value {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    if CLUSTER_SCOPED.contains(&(group, text("kind"))) {
        return object;
    }
    if let (Some(namespace), None) = (namespace, object.pointer("/metadata/namespace")) {
        crate::typed::fields::set_inside(&mut object, "metadata", "namespace", namespace.into());
    }
    object
}

/// The answer of a plugin. An assertion that fails prints the whole of it.
pub struct Answer {
    answer: Result<Plan>,
    /// The children that existed before the call.
    existing: Vec<Value>,
}

#[expect(clippy::panic, reason = "a test fails by panicking")]
impl Answer {
    /// Fails a test of a plan that the host would refuse.
    #[track_caller]
    fn declared_by(self, manifest: &Manifest) -> Self {
        if let Some(undeclared) = self.answer.as_ref().ok().and_then(|plan| declared::first_undeclared(plan, manifest)) {
            panic!("the host would refuse the plan: {undeclared}\n{self}");
        }
        self
    }

    /// Returns the plan.
    ///
    /// # Panics
    ///
    /// If the plugin failed.
    #[track_caller]
    pub fn plan(&self) -> &Plan {
        match &self.answer {
            Ok(plan) => plan,
            Err(_) => panic!("the plugin failed\n{self}"),
        }
    }

    /// Returns the failure.
    ///
    /// # Panics
    ///
    /// If the plugin did not fail.
    #[track_caller]
    pub fn failure(&self) -> &Failure {
        match &self.answer {
            Ok(_) => panic!("the plugin did not fail\n{self}"),
            Err(failure) => failure,
        }
    }

    /// Returns the applied child of this type and name.
    ///
    /// # Panics
    ///
    /// If there is none, or it is not of the type.
    #[track_caller]
    pub fn applies<T: Resource>(&self, name: &str) -> T {
        let Some(object) = self.plan().applied(T::KIND, name) else {
            panic!("{} {name} is not applied\n{self}", T::KIND);
        };
        serde_json::from_value(object).unwrap_or_else(|error| panic!("{} {name}: {error}\n{self}", T::KIND))
    }

    /// Asserts that the applied child of this type and name has this strategy, other than that of
    /// its kind.
    ///
    /// # Panics
    ///
    /// If there is no such child, or it has another strategy.
    #[track_caller]
    pub fn applies_with<T: Resource>(&self, name: &str, strategy: Strategy) -> &Self {
        self.applies::<T>(name);
        let mut children = self.plan().children.iter().flatten();
        let has = children.any(|child| match child {
            Child::Apply(DesiredChild { object, strategy: own }) => {
                is_of(object, T::KIND) && named(object) == Some(name) && *own == Some(strategy)
            }
            Child::Keep(_) | Child::Bytes(_) => false,
        });
        assert!(has, "{} {name} is not applied with {strategy:?}\n{self}", T::KIND);
        self
    }

    /// Returns what the plan says of the member of a group with this name.
    ///
    /// # Panics
    ///
    /// If it says nothing.
    #[track_caller]
    pub fn member(&self, name: &str) -> &Member {
        let found = self.plan().members.iter().find(|member| member.name == name);
        found.unwrap_or_else(|| panic!("the plan says nothing of the member {name}\n{self}"))
    }

    /// Asserts that this child is kept.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn keeps<T: Resource>(&self, name: &str) -> &Self {
        assert!(self.plan().keeps(&T::KIND.named(name)), "{} {name} is not kept\n{self}", T::KIND);
        self
    }

    /// Asserts that the host deletes this child: it exists, and the plan lists the children without
    /// it.
    ///
    /// # Panics
    ///
    /// If the test has no such child, or it stays.
    #[track_caller]
    pub fn deletes<T: Resource>(&self, name: &str) -> &Self {
        let is_meant = |object: &Value| is_of(object, T::KIND) && named(object) == Some(name);
        let exists = self.existing.iter().any(is_meant);
        assert!(exists, "the parent has no child {} {name}: add it by `with_child`\n{self}", T::KIND);
        let plan = self.plan();
        assert!(plan.children.is_some(), "the children stay as they are, and so does {} {name}\n{self}", T::KIND);
        let stays = plan.all_applied().iter().any(is_meant) || plan.keeps(&T::KIND.named(name));
        assert!(!stays, "{} {name} is not deleted\n{self}", T::KIND);
        self
    }

    /// Asserts that no child of this type is applied or kept.
    ///
    /// # Panics
    ///
    /// If there is one.
    #[track_caller]
    pub fn has_no<T: Resource>(&self) -> &Self {
        let mut children = self.plan().children.iter().flatten();
        let has = children.any(|child| match child {
            Child::Apply(DesiredChild { object, .. }) => is_of(object, T::KIND),
            Child::Keep(ObjectRef { kind, .. }) => *kind == T::KIND,
            Child::Bytes(_) => false,
        });
        assert!(!has, "there is a {}\n{self}", T::KIND);
        self
    }

    /// Asserts that the children stay as they are, and `Ready` is `False` with this reason.
    ///
    /// # Panics
    ///
    /// If it is otherwise.
    #[track_caller]
    pub fn waits(&self, reason: &str) -> &Self {
        assert!(self.plan().children.is_none(), "the children do not stay as they are\n{self}");
        self.is_not_ready(reason)
    }

    /// Asserts that `Ready` is `True` with this reason.
    ///
    /// # Panics
    ///
    /// If it is otherwise.
    #[track_caller]
    pub fn is_ready(&self, reason: &str) -> &Self {
        self.has_condition("Ready", ConditionStatus::True, reason)
    }

    /// Asserts that `Ready` is `False` with this reason.
    ///
    /// # Panics
    ///
    /// If it is otherwise.
    #[track_caller]
    pub fn is_not_ready(&self, reason: &str) -> &Self {
        self.has_condition("Ready", ConditionStatus::False, reason)
    }

    /// Asserts that this condition has this status and reason.
    ///
    /// # Panics
    ///
    /// If it is otherwise.
    #[track_caller]
    pub fn has_condition(&self, kind: &str, status: impl Into<ConditionStatus>, reason: &str) -> &Self {
        let status = status.into();
        let condition = self.condition(kind);
        assert!(condition.status == status && condition.reason == reason, "{kind} is not {status:?} with {reason}\n{self}");
        self
    }

    /// Returns the condition of this type.
    ///
    /// # Panics
    ///
    /// If the plugin sets none.
    #[track_caller]
    pub fn condition(&self, kind: &str) -> &Condition {
        match self.plan().condition_of(kind) {
            Some(condition) => condition,
            None => panic!("there is no condition {kind}\n{self}"),
        }
    }

    /// Asserts that there is an event with this reason.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[track_caller]
    pub fn has_event(&self, reason: &str) -> &Self {
        assert!(self.plan().events.iter().any(|event| event.reason == reason), "there is no event {reason}\n{self}");
        self
    }

    /// Returns a field of the parent that the plan sets, by its JSON Pointer.
    ///
    /// # Panics
    ///
    /// If it does not set the field.
    #[track_caller]
    pub fn sets(&self, pointer: &str) -> &Value {
        let field = self.plan().parent.as_ref().and_then(|fields| fields.pointer(pointer));
        match field {
            Some(value) => value,
            None => panic!("{pointer} of the parent is not set\n{self}"),
        }
    }

    /// Asserts that the parent is deleted now.
    ///
    /// # Panics
    ///
    /// If it stays, or is deleted later.
    #[track_caller]
    pub fn deletes_parent(&self) -> &Self {
        assert!(
            self.plan().delete_parent.is_some_and(|deletion| deletion.after.is_zero()),
            "the parent is not deleted\n{self}"
        );
        self
    }

    /// Asserts that the parent is deleted after this time.
    ///
    /// # Panics
    ///
    /// If it stays, or is deleted at another time.
    #[track_caller]
    pub fn deletes_parent_after(&self, after: Duration) -> &Self {
        let deletion = self.plan().delete_parent;
        assert!(deletion.is_some_and(|deletion| deletion.after == after), "the parent is not deleted after {after:?}\n{self}");
        self
    }

    /// Asserts that the parent is not deleted, neither now nor later.
    ///
    /// # Panics
    ///
    /// If it is.
    #[track_caller]
    pub fn keeps_parent(&self) -> &Self {
        assert!(self.plan().delete_parent.is_none(), "the parent is deleted\n{self}");
        self
    }

    /// Returns the status as JSON, without the conditions; `null` if it is left as it is.
    ///
    /// # Panics
    ///
    /// If the plugin failed.
    #[track_caller]
    pub fn status(&self) -> Value {
        self.plan().status_json()
    }

    /// Asserts that the plan lets the parent go, which is being deleted.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn is_finalized(&self) -> &Self {
        assert!(self.plan().releases_parent, "the parent does not go\n{self}");
        self
    }
}

fn is_of(object: &Value, kind: Kind) -> bool {
    let text = |field: &str| object.get(field).and_then(Value::as_str);
    text("apiVersion") == Some(kind.api_version) && text("kind") == Some(kind.kind)
}

fn named(object: &Value) -> Option<&str> {
    object.pointer("/metadata/name").and_then(Value::as_str)
}

/// The answer for people.
impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = match &self.answer {
            Ok(plan) => plan,
            Err(failure) => return write!(formatter, "answer: {failure:?}"),
        };
        writeln!(formatter, "answer:")?;
        match &plan.children {
            None => writeln!(formatter, "  the children stay as they are")?,
            Some(children) if children.is_empty() => writeln!(formatter, "  no children")?,
            Some(children) => {
                for child in children {
                    match child {
                        Child::Keep(ObjectRef { kind, name, .. }) => writeln!(formatter, "  keep {kind} {name}")?,
                        Child::Apply(DesiredChild { object, strategy: None }) => writeln!(formatter, "  apply {object:#}")?,
                        Child::Apply(DesiredChild { object, strategy: Some(strategy) }) => {
                            writeln!(formatter, "  apply with {strategy:?} {object:#}")?;
                        }
                        Child::Bytes(bytes) => writeln!(formatter, "  apply {}", String::from_utf8_lossy(bytes))?,
                    }
                }
            }
        }
        writeln!(formatter, "  status {}", plan.status_json())?;
        for Condition { kind, status, reason, message } in &plan.conditions {
            writeln!(formatter, "  condition {kind} {status:?} {reason}: {message}")?;
        }
        for event in &plan.events {
            writeln!(formatter, "  event {:?} {}: {}", event.severity, event.reason, event.message)?;
        }
        if let Some(delay) = plan.requeue_after {
            writeln!(formatter, "  again after {delay:?}")?;
        }
        if let Some(fields) = &plan.parent {
            writeln!(formatter, "  fields of the parent {fields:#}")?;
        }
        if let Some(deletion) = plan.delete_parent {
            writeln!(formatter, "  delete the parent after {:?}", deletion.after)?;
        }
        if plan.releases_parent { writeln!(formatter, "  release the parent") } else { Ok(()) }
    }
}
