//! The result of a plugin.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::condition::{Condition, ConditionStatus};
use crate::dynamic::DynamicObject;
use crate::fields::{fields, object};
use crate::group::Member;
use crate::kind::ObjectRef;
use crate::manifest::{Propagation, Strategy};
use crate::time::Time;

/// A child that should exist.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredChild {
    /// The object, with these fields. Other fields belong to other managers.
    pub object: Value,
    /// The strategy of this child. `None` is that of its kind.
    pub strategy: Option<Strategy>,
}

/// The desired state of one child.
#[derive(Clone, Debug, PartialEq)]
pub enum Child {
    /// It should exist.
    Apply(DesiredChild),
    /// If it exists, it stays as it is; if not, it is not created.
    Keep(ObjectRef),
    /// Bytes in place of an object, for tests of how the host takes invalid ones.
    #[doc(hidden)]
    Bytes(Vec<u8>),
}

/// An object with `apiVersion`, `kind` and `metadata.name`: a type of [`k8s`](crate::k8s), an
/// [`Object`](crate::Object) of another kind, a [`DynamicObject`], or JSON. The namespace defaults
/// to the parent's. The host adds the owner reference and its labels.
impl<T: Into<Value>> From<T> for Child {
    fn from(object: T) -> Self {
        Self::Apply(DesiredChild { object: object.into(), strategy: None })
    }
}

impl Child {
    /// Sets the strategy of this child, where it differs from that of its kind. The manifest must
    /// declare a stronger one than that of the kind: [`ChildKind::up_to`](crate::ChildKind::up_to).
    /// It has no effect on a child that is kept.
    ///
    /// ```
    /// use gyre_sdk::k8s::Job;
    /// use gyre_sdk::{ChildKind, Child, Strategy};
    ///
    /// let jobs = ChildKind::new(Job::KIND, Strategy::CreateOnly).up_to(Strategy::Recreate);
    /// let migration: Child = Job::new("migration").strategy(Strategy::Recreate);
    /// # let _ = (jobs, migration);
    /// ```
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        if let Self::Apply(child) = &mut self {
            child.strategy = Some(strategy);
        }
        self
    }
}

impl DynamicObject {
    /// Returns it as a child with a strategy other than that of its kind: see
    /// [`Child::strategy`].
    pub fn strategy(self, strategy: Strategy) -> Child {
        Child::from(self).strategy(strategy)
    }
}

impl From<DynamicObject> for Value {
    fn from(object: DynamicObject) -> Self {
        object.into_json()
    }
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

/// An Event about the parent. Return it whenever it applies; the host does not repeat it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The type of the event.
    pub severity: Severity,
    /// A reason in CamelCase, for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

impl Event {
    /// Returns an event of type `Normal`.
    pub fn normal(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Normal, reason: reason.into(), message: message.into() }
    }

    /// Returns an event of type `Warning`.
    pub fn warning(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::normal(reason, message) }
    }
}

/// A condition, and an event with the same reason and message. [`Plan::report`] sets both.
///
/// ```
/// use gyre_sdk::{Plan, Report};
///
/// let report = Report::not_ready("TemplateMissing", "there is no ConfigMap welcome");
/// let plan = Plan::keep_children().report(report);
/// assert_eq!(plan.conditions[0].kind, "Ready");
/// assert_eq!(plan.events[0].reason, "TemplateMissing");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The condition.
    pub condition: Condition,
    /// The event's severity.
    pub severity: Severity,
}

impl Report {
    /// Returns a report. The event is `Normal` if the status is `True`, otherwise a `Warning`.
    pub fn new(
        kind: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let condition = Condition::new(kind, status, reason, message);
        let severity = if condition.status == ConditionStatus::True { Severity::Normal } else { Severity::Warning };
        Self { condition, severity }
    }

    /// Returns the condition `Ready` with status `True`, and a `Normal` event.
    pub fn ready(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("Ready", ConditionStatus::True, reason, message)
    }

    /// Returns the condition `Ready` with status `False`, and a `Warning` event.
    pub fn not_ready(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("Ready", ConditionStatus::False, reason, message)
    }

    /// Sets the severity of the event.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

/// The deletion of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParentDeletion {
    /// When it is due. If that is later than now, the plugin is called again then.
    pub after: Duration,
    /// The way in which objects owned by the parent are deleted.
    pub propagation: Propagation,
}

/// The children and the status that should exist.
///
/// While the parent is being deleted, [`Reconciler::finalize`](crate::Reconciler::finalize) returns
/// what should still exist, until [`Plan::finalized`] lets the parent go.
///
/// ```
/// use gyre_sdk::k8s::{ConfigMap, Job};
/// use gyre_sdk::{Child, Plan};
///
/// let config_map = ConfigMap::new("hello").with_data([("message", "Good day.")]);
/// let plan = Plan::children([Child::from(config_map), Child::Keep(Job::named("done"))])
///     .ready("Written", "ConfigMap hello holds the message");
/// assert_eq!(plan.children.unwrap().len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Plan {
    /// All children that should exist; other children are deleted. `None` leaves all as they are.
    pub children: Option<Vec<Child>>,
    /// The complete status of the plugin, without `conditions` and `observedGeneration`. `None`
    /// leaves it as it is. An error if it could not be serialised.
    pub status: Option<Result<Vec<u8>, String>>,
    /// Conditions to set in the status. Conditions of other types are left as they are.
    pub conditions: Vec<Condition>,
    /// Events that apply.
    pub events: Vec<Event>,
    /// The plugin is called again after this time, even if nothing changes.
    pub requeue_after: Option<Duration>,
    /// A mistake in the use of this type, e.g. `Plan::wait(…).apply(…)`. The call is then a
    /// [`Failure::Terminal`](crate::Failure::Terminal).
    pub mistake: Option<&'static str>,
    /// All fields of the parent that the plugin sets. `None` is none, if the plan lists the
    /// children; otherwise they stay as they are.
    pub parent: Option<Value>,
    /// The deletion of the parent, if it should not exist any longer.
    pub delete_parent: Option<ParentDeletion>,
    /// The statuses of members of a group: see [`Self::member`].
    pub members: Vec<Member>,
    /// Whether a parent that is being deleted goes: see [`Self::release_parent`].
    pub releases_parent: bool,
    /// Whether the first child that is added begins the list of all children: see `Plan::new`.
    #[doc(hidden)]
    pub is_begun: bool,
}

/// Other children than those in a plan are deleted, and this plan says that they stay.
const LEAVES_CHILDREN: &str = "a child was added to a plan that leaves the children as they are (Plan::wait or Plan::keep_children): begin with \
     Plan::children or Plan::no_children, and list all children that should exist";

impl Plan {
    /// Returns a plan in which these are **all** children that should exist. Children that are
    /// neither in this list nor added by [`Self::apply`] or [`Self::keep_child`] are deleted.
    /// Return [`Self::wait`] or [`Self::keep_children`] where they are not known yet.
    pub fn children<T: Into<Child>>(children: impl IntoIterator<Item = T>) -> Self {
        Self { children: Some(children.into_iter().map(Into::into).collect()), ..Self::keep_children() }
    }

    /// Returns a plan without children: **all are deleted**.
    pub fn no_children() -> Self {
        Self { children: Some(Vec::new()), ..Self::keep_children() }
    }

    /// Returns a plan that leaves the children and the status as they are.
    #[doc(alias = "await_change")]
    pub fn keep_children() -> Self {
        Self {
            children: None,
            status: None,
            conditions: Vec::new(),
            events: Vec::new(),
            requeue_after: None,
            parent: None,
            delete_parent: None,
            members: Vec::new(),
            mistake: None,
            releases_parent: false,
            is_begun: false,
        }
    }

    /// Returns the last plan of [`Reconciler::finalize`](crate::Reconciler::finalize): all children
    /// are deleted, and then the parent goes.
    #[doc(alias = "RemoveFinalizer")]
    pub fn finalized() -> Self {
        Self::no_children().release_parent()
    }

    /// Returns a plan for a parent that waits, e.g. for an object that is missing: the children and
    /// the status stay as they are, `Ready` is `False` with this reason, and a `Normal` event tells
    /// it. The plugin is called again when something changes that it has read.
    pub fn wait(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::keep_children().report(Report::not_ready(reason, message).severity(Severity::Normal))
    }

    /// Adds a child that should exist with these fields; see [`Child`].
    ///
    /// A plan that [waits](Self::wait) or [keeps the children](Self::keep_children) lists none, and
    /// to add one would delete all others. So the call is then a
    /// [`Failure::Terminal`](crate::Failure::Terminal).
    #[doc(alias = "CreateOrUpdate")]
    #[doc(alias = "SetControllerReference")]
    #[doc(alias = "create")]
    #[doc(alias = "patch")]
    pub fn apply(self, child: impl Into<Child>) -> Self {
        self.list(child.into())
    }

    /// Adds a child that stays if it exists, e.g. a finished Job; it is not created if it does not.
    /// Like [`Self::apply`], it belongs to a plan that lists the children.
    pub fn keep_child(self, object: ObjectRef) -> Self {
        self.list(Child::Keep(object))
    }

    fn list(mut self, child: Child) -> Self {
        if self.is_begun {
            self.children.get_or_insert_default();
        }
        match &mut self.children {
            Some(children) => children.push(child),
            None => self.mistake = Some(LEAVES_CHILDREN),
        }
        self
    }

    /// Sets the complete status of the plugin. The host adds `conditions` and `observedGeneration`.
    /// If it cannot be serialised, the call is a [`Failure::Terminal`](crate::Failure::Terminal).
    #[doc(alias = "patch_status")]
    #[doc(alias = "replace_status")]
    pub fn status(mut self, status: impl Serialize) -> Self {
        self.status = Some(serde_json::to_vec(&status).map_err(|error| error.to_string()));
        self
    }

    /// Sets the condition `Ready` to `True`, and adds a `Normal` event with the same reason and
    /// message.
    pub fn ready(self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.report(Report::ready(reason, message))
    }

    /// Sets the condition `Ready` to `False`, and adds a `Warning` event with the same reason and
    /// message.
    pub fn not_ready(self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.report(Report::not_ready(reason, message))
    }

    /// Adds a condition.
    #[doc(alias = "SetStatusCondition")]
    pub fn condition(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Adds a condition, and an event with the same reason and message.
    pub fn report(self, report: Report) -> Self {
        let Report { condition, severity } = report;
        let event = Event { severity, reason: condition.reason.clone(), message: condition.message.clone() };
        self.condition(condition).event(event)
    }

    /// Adds an event: `plan.event(Event::normal("Scaled", "it has three replicas"))`.
    #[doc(alias = "EventRecorder")]
    #[doc(alias = "Recorder")]
    #[doc(alias = "publish")]
    pub fn event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Sets a label of the parent. See [`Self::parent_fields`].
    pub fn parent_label(self, key: &str, value: impl Into<String>) -> Self {
        self.parent_text("labels", key, value.into())
    }

    /// Sets an annotation of the parent. See [`Self::parent_fields`].
    pub fn parent_annotation(self, key: &str, value: impl Into<String>) -> Self {
        self.parent_text("annotations", key, value.into())
    }

    fn parent_text(self, map: &str, key: &str, value: String) -> Self {
        let texts = fields([(key, Value::String(value))]);
        self.parent_fields(fields([("metadata", fields([(map, texts)]))]))
    }

    /// Sets fields of the parent, beside those that are set already: a part of the object, as a
    /// type of [`k8s`](crate::k8s) or JSON. The manifest must declare them ([`Manifest::sets`]),
    /// and the operator must grant them. The host applies them, and never overwrites fields of
    /// others: these are refused and reported.
    ///
    /// A plan is complete: fields that it does not set any longer are withdrawn. They keep the
    /// values that others gave them, or get their defaults. Only a plan that
    /// [leaves the children](Self::keep_children) and sets no field leaves the fields, too.
    ///
    /// ```
    /// use gyre_sdk::Plan;
    /// use gyre_sdk::k8s::{Deployment, DeploymentSpec};
    ///
    /// let asleep = Deployment::new("web").with_spec(DeploymentSpec::new().with_replicas(0));
    /// let plan = Plan::keep_children().parent_fields(asleep).parent_label("asleep", "true");
    /// assert_eq!(plan.parent.unwrap()["spec"]["replicas"], 0);
    /// ```
    ///
    /// [`Manifest::sets`]: crate::Manifest::sets
    pub fn parent_fields(mut self, fields: impl Into<Value>) -> Self {
        merge(self.parent.get_or_insert_with(object), fields.into());
        self
    }

    /// Deletes the parent, once everything else in this plan is done, and only if nobody has
    /// changed it since this call. The manifest must say [`Manifest::deletes_parent`], and the
    /// operator must grant it. Objects that the parent owns are deleted after it.
    ///
    /// [`Manifest::deletes_parent`]: crate::Manifest::deletes_parent
    pub fn delete_parent(self) -> Self {
        self.deleting_parent_after(Duration::ZERO)
    }

    /// Deletes the parent at this time, e.g. an hour after its end:
    /// `plan.delete_parent_at(end + HOUR, cluster.now())`. Until then, the plugin is called again,
    /// and decides again.
    pub fn delete_parent_at(self, due: Time, now: Time) -> Self {
        self.deleting_parent_after(due - now)
    }

    fn deleting_parent_after(mut self, after: Duration) -> Self {
        self.delete_parent = Some(ParentDeletion { after, propagation: Propagation::Background });
        self
    }

    /// Sets the status of a member of the [`Group`](crate::Group). Members without one stay as they
    /// are.
    pub fn member(mut self, member: Member) -> Self {
        self.members.push(member);
        self
    }

    /// Sets the statuses of members of the [`Group`](crate::Group).
    pub fn members(mut self, members: impl IntoIterator<Item = Member>) -> Self {
        self.members.extend(members);
        self
    }

    /// Lets a parent go that is being deleted: its finalizer is removed once the children are gone
    /// that this plan deletes. In [`Reconciler::finalize`](crate::Reconciler::finalize) alone; in
    /// `reconcile`, the call is a [`Failure::Terminal`](crate::Failure::Terminal).
    pub fn release_parent(mut self) -> Self {
        self.releases_parent = true;
        self
    }

    /// Sets the time after which the plugin is called again, even if nothing changes.
    #[doc(alias = "requeue")]
    #[doc(alias = "Action::requeue")]
    #[doc(alias = "RequeueAfter")]
    pub fn requeue_after(mut self, delay: Duration) -> Self {
        self.requeue_after = Some(delay);
        self
    }
}

/// Adds fields to an object. Not inlined, so that a component contains it only once.
#[inline(never)]
fn merge(into: &mut Value, fields: Value) {
    match (into, fields) {
        (Value::Object(into), Value::Object(fields)) => {
            for (name, value) in fields {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, value) => *into = value,
    }
}
