//! Names of other frameworks, and names that authors guess. Each does what is meant, and the
//! compiler's warning says how it is called here.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
#[cfg(not(target_family = "wasm"))]
use serde_json::Value;

use crate::cluster::{Cluster, Name, Reads};
use crate::condition::Condition;
use crate::failure::Failure;
use crate::host::Error;
use crate::k8s::{Job, Secret};
use crate::kind::Kind;
use crate::manifest::{ChildKind, Manifest, Strategy};
use crate::object::Object;
use crate::plan::{Child, Event, Plan};
#[cfg(not(target_family = "wasm"))]
use crate::reconciler::Reconciler;
use crate::resource::Resource;
#[cfg(not(target_family = "wasm"))]
use crate::testing::{Answer, Given, IntoSettings, Parent};
use crate::time::Time;

impl Cluster {
    #[doc(hidden)]
    #[deprecated(note = "write `get`, which returns `None` if there is no such object")]
    pub fn get_opt<T: Resource>(&self, name: impl Name) -> Result<Option<T>, Error> {
        self.get(name)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `child`")]
    pub fn get_child<T: Resource>(&self, name: &str) -> Result<Option<T>, Error> {
        self.child(name)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `in_namespace`; the namespace of the parent is `parent.namespace()`, and `get` reads in it")]
    pub fn namespace<'a>(&'a self, namespace: &'a str) -> Reads<'a> {
        self.in_namespace(namespace)
    }
}

impl<Spec, Status> Object<Spec, Status> {
    #[doc(hidden)]
    #[deprecated(note = "write `name`")]
    pub fn name_any(&self) -> String {
        self.name().to_owned()
    }
}

impl Manifest {
    #[doc(hidden)]
    #[deprecated(note = "write `child`")]
    pub fn owns<T: Resource>(self, strategy: Strategy) -> Self {
        self.child::<T>(strategy)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `child_kind(ChildKind::new(kind, strategy))`")]
    pub fn dynamic_child(self, kind: Kind, strategy: Strategy) -> Self {
        self.child_kind(ChildKind::new(kind, strategy))
    }

    #[doc(hidden)]
    #[deprecated(note = "write `reads`: what was read is watched")]
    pub fn watches<T: Resource>(self) -> Self {
        self.reads::<T>()
    }

    #[doc(hidden)]
    #[deprecated(note = "write `reads`")]
    pub fn read<T: Resource>(self) -> Self {
        self.reads::<T>()
    }
}

#[expect(non_upper_case_globals, reason = "they are written like variants")]
impl Strategy {
    #[doc(hidden)]
    #[deprecated(note = "write `Strategy::CreateOnly`")]
    pub const Create: Self = Self::CreateOnly;
    #[doc(hidden)]
    #[deprecated(note = "write `Strategy::CreateOnly`")]
    pub const CreateOnce: Self = Self::CreateOnly;
}

impl Plan {
    /// Without children, it leaves them as they are, so that an early return deletes nothing. With
    /// the first one, the list of all children begins.
    #[doc(hidden)]
    #[deprecated(
        note = "write `Plan::children([…])` with all children that should exist, `Plan::no_children()`, or `Plan::wait(reason, message)`"
    )]
    pub fn new() -> Self {
        Self { is_begun: true, ..Self::keep_children() }
    }

    #[doc(hidden)]
    #[deprecated(note = "write `keep_children`")]
    pub fn keep() -> Self {
        Self::keep_children()
    }

    #[doc(hidden)]
    #[deprecated(note = "write `finalized`")]
    pub fn done() -> Self {
        Self::finalized()
    }

    #[doc(hidden)]
    #[deprecated(note = "write `apply(child.strategy(strategy))`")]
    pub fn child_with(self, child: impl Into<Child>, strategy: Strategy) -> Self {
        self.apply(child.into().strategy(strategy))
    }

    #[doc(hidden)]
    #[deprecated(note = "write `apply`")]
    pub fn child(self, child: impl Into<Child>) -> Self {
        self.apply(child)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `apply`")]
    pub fn with_child(self, child: impl Into<Child>) -> Self {
        self.apply(child)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `status`")]
    pub fn with_status(self, status: impl Serialize) -> Self {
        self.status(status)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `condition`")]
    pub fn with_condition(self, condition: Condition) -> Self {
        self.condition(condition)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `event`")]
    pub fn with_event(self, event: Event) -> Self {
        self.event(event)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `requeue_after`")]
    pub fn requeue(self, delay: Duration) -> Self {
        self.requeue_after(delay)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `keep_children`")]
    pub fn unchanged() -> Self {
        Self::keep_children()
    }

    #[doc(hidden)]
    #[deprecated(note = "write `event(Event::warning(reason, message))`")]
    pub fn warning(self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.event(Event::warning(reason, message))
    }

    #[doc(hidden)]
    #[deprecated(note = "write `delete_parent`")]
    pub fn delete_self(self) -> Self {
        self.delete_parent()
    }
}

impl Child {
    #[doc(hidden)]
    #[deprecated(note = "write the object itself, which is a child; `object.strategy(…)` names a strategy")]
    pub fn new(object: impl Into<Self>) -> Self {
        object.into()
    }

    #[doc(hidden)]
    #[deprecated(note = "write `strategy(Strategy::Recreate)`")]
    pub fn recreate(self) -> Self {
        self.strategy(Strategy::Recreate)
    }
}

/// Another name for a [`Time`].
#[doc(hidden)]
#[deprecated(note = "write `Time`")]
pub type Timestamp = Time;

/// Another name for a [`Plan`].
#[doc(hidden)]
#[deprecated(note = "write `Plan`")]
pub type Outcome = Plan;

/// Another name for a [`Plan`] of `finalize`.
#[doc(hidden)]
#[deprecated(note = "write `Plan`")]
pub type Finalize = Plan;

impl Condition {
    #[doc(hidden)]
    #[deprecated(note = "write `plan.ready(reason, message)`, which adds an event, or `Condition::new`")]
    pub fn ready(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("Ready", true, reason, message)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `plan.not_ready(reason, message)`, which adds an event, or `Condition::new`")]
    pub fn not_ready(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("Ready", false, reason, message)
    }
}

impl Time {
    #[doc(hidden)]
    #[deprecated(note = "subtract the earlier time: `now - earlier`; `age(now)` is that of an object or a condition")]
    pub fn duration_since(self, earlier: Self) -> Duration {
        self - earlier
    }
}

impl Manifest {
    #[doc(hidden)]
    #[deprecated(note = "write `finalizes`")]
    pub fn finalizer(self) -> Self {
        self.finalizes()
    }
}

#[cfg(not(target_family = "wasm"))]
impl<R: Reconciler> Given<R>
where
    R::Parent: Parent,
{
    #[doc(hidden)]
    #[deprecated(note = "write `with`")]
    pub fn object(self, object: impl Into<Value>) -> Self {
        self.with(object)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `with`")]
    pub fn with_object(self, object: impl Into<Value>) -> Self {
        self.with(object)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `with`")]
    pub fn exists(self, object: impl Into<Value>) -> Self {
        self.with(object)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `with_child`")]
    pub fn child(self, child: impl Into<Value>) -> Self {
        self.with_child(child)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `at`")]
    #[track_caller]
    pub fn now(self, now: impl TryInto<Time, Error: fmt::Display>) -> Self {
        self.at(now)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `settings`")]
    pub fn with_settings<Form>(self, settings: impl IntoSettings<R::Settings, Form>) -> Self {
        self.settings(settings)
    }
}

#[cfg(not(target_family = "wasm"))]
impl Answer {
    #[doc(hidden)]
    #[deprecated(note = "write `deletes`")]
    #[track_caller]
    pub fn prunes<T: Resource>(&self, name: &str) -> &Self {
        self.deletes::<T>(name)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `waits`")]
    #[track_caller]
    pub fn is_waiting(&self, reason: &str) -> &Self {
        self.waits(reason)
    }
}

impl Job {
    #[doc(hidden)]
    #[deprecated(note = "write `is_complete`")]
    pub fn succeeded(&self) -> bool {
        self.is_complete()
    }
}

impl Failure {
    #[doc(hidden)]
    #[deprecated(note = "write `terminal`")]
    pub fn permanent(message: impl fmt::Display) -> Self {
        Self::terminal(message)
    }
}

impl Secret {
    #[doc(hidden)]
    #[deprecated(note = "write `data().get(key)`")]
    pub fn text(&self, key: &str) -> Option<String> {
        self.data().get(key)
    }
}
