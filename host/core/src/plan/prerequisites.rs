//! Holds back children whose Namespace or CustomResourceDefinition is among the same children and
//! is not the parent's.
//!
//! ```text
//!   answer for a Tenant "kube-system":  Namespace kube-system ─▶ refused: it is foreign
//!                                       RoleBinding in it ─────▶ held back
//! ```
//!
//! A plan holds back what is known beforehand. Whether a Namespace can be created is known only
//! once it is tried, so the host tells [`Holds`] how each step ended, and asks before the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

use super::desired::kind_of;
use super::observed::ByIdentity;
use super::ownership::Metadata;
use super::refusals::{Refusal, RefusalReason};
use super::step::{Cause, Step};
use super::{Input, Plan, Waiting, is_owned, ours_if_wanted};
use crate::object::{GroupVersionKind, ObjectKey, ObjectRef};
use crate::response::{Child, DesiredChild};

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// The object is as desired.
    Done,
    /// The step was refused. An object that existed is unchanged.
    Refused,
    /// Something else must happen first, e.g. the end of an object that is being deleted.
    Waits,
    /// No object has the UID of the step any more.
    Gone,
    /// It failed otherwise. An object that existed still exists.
    Failed,
}

/// Why a step is held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// Its prerequisite is not the parent's.
    Refused(Refusal),
    /// Its prerequisite does not exist yet, or is being deleted.
    Waiting(Waiting),
}

/// The prerequisites of one plan that are not the parent's, or not yet.
#[derive(Clone, Debug, Default)]
pub struct Holds(BTreeMap<Prerequisite, Missing>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Prerequisite {
    Namespace(String),
    Kind { group: String, kind: String },
}

impl fmt::Display for Prerequisite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(name) => write!(f, "its Namespace {name}"),
            Self::Kind { .. } => f.write_str("the CustomResourceDefinition of its kind"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Refused,
    Awaited,
}

impl Holds {
    /// Records how a step ended.
    pub fn record(&mut self, step: &Step, end: StepEnd) {
        let missing = match (end, step) {
            (StepEnd::Done, _) => return,
            // Until then, the object was not the parent's.
            (StepEnd::Refused, Step::Create { .. } | Step::Apply { cause: Cause::Adopted, .. }) => Missing::Refused,
            (StepEnd::Failed, Step::Apply { cause: Cause::Adopted, .. }) => Missing::Awaited,
            (StepEnd::Refused, _) | (StepEnd::Failed, Step::Apply { .. } | Step::Label { .. }) => return,
            (StepEnd::Waits | StepEnd::Gone | StepEnd::Failed, _) => Missing::Awaited,
        };
        if let Some(prerequisite) = provided_by(step) {
            self.0.insert(prerequisite, missing);
        }
    }

    /// Returns why this step must not be carried out, or `None` if it may be. Deletions always may.
    pub fn held(&self, step: &Step) -> Option<Held> {
        if self.0.is_empty() || matches!(step, Step::Delete { .. }) {
            return None;
        }
        let child = step.child();
        let found = prerequisites_of(child).find_map(|prerequisite| self.0.get_key_value(&prerequisite));
        let (prerequisite, missing) = found?;
        Some(match missing {
            Missing::Refused => Held::Refused(Refusal {
                child: Some(child.clone()),
                reason: RefusalReason::PrerequisiteRefused,
                message: format!(
                    "{child} is not written, because {prerequisite} is a child, too, and does not belong to this parent: \
                     give it another name, or hand it over to this parent"
                ),
            }),
            Missing::Awaited => Held::Waiting(Waiting {
                child: child.clone(),
                message: format!("{child} is written once {prerequisite}, which is a child, too, exists"),
            }),
        })
    }

    /// The prerequisites of `children` of which the caches say that they are not the parent's.
    /// Those that a step will create or adopt are not among them.
    pub(super) fn known(input: &Input<'_>, children: &[Child], observed: &ByIdentity<'_>, steps: &[Step]) -> Self {
        let mut holds = Self::default();
        let written: BTreeSet<&ObjectRef> = steps.iter().map(Step::child).filter(|child| comes_first(&child.kind)).collect();
        for (prerequisite, child) in children.iter().filter_map(named) {
            let ours = observed.find(&child).find_map(|object| {
                let metadata = ours_if_wanted(input, object, Metadata::read(object.json))?;
                Some((metadata.deletion_timestamp.is_some(), is_owned(input, object)))
            });
            let missing = match ours {
                Some((true, _)) => Missing::Awaited,
                Some((false, true)) => continue,
                _ if written.contains(&child) => continue,
                _ => Missing::Refused,
            };
            holds.0.insert(prerequisite, missing);
        }
        holds
    }

    /// Takes the steps that are held back out of the plan.
    pub(super) fn take_from(&self, plan: &mut Plan) {
        let Plan { steps, refusals, waiting, .. } = plan;
        steps.retain(|step| match self.held(step) {
            None => true,
            Some(Held::Refused(refusal)) => {
                refusals.push(refusal);
                false
            }
            Some(Held::Waiting(child)) => {
                waiting.push(child);
                false
            }
        });
    }
}

/// Returns whether children of this kind are written before others: Namespaces, and
/// CustomResourceDefinitions.
pub(super) fn comes_first(kind: &GroupVersionKind) -> bool {
    kind.is_namespace() || is_definition(kind)
}

fn is_definition(kind: &GroupVersionKind) -> bool {
    (kind.group.as_str(), kind.kind.as_str()) == ("apiextensions.k8s.io", "CustomResourceDefinition")
}

fn prerequisites_of(child: &ObjectRef) -> impl Iterator<Item = Prerequisite> + use<> {
    let ObjectRef { kind, key } = child;
    let namespace = key.namespace.clone().map(Prerequisite::Namespace);
    namespace.into_iter().chain([Prerequisite::Kind { group: kind.group.clone(), kind: kind.kind.clone() }])
}

fn provided_by(step: &Step) -> Option<Prerequisite> {
    match step {
        Step::Create { desired } | Step::Apply { desired, .. } | Step::Replace { desired, .. } => {
            provided(&desired.child.kind, &desired.child.key.name, Some(&desired.object))
        }
        Step::Label { child, .. } | Step::Delete { child, .. } => provided(&child.kind, &child.key.name, None),
    }
}

/// A definition that is kept names no kind, so nothing depends on it.
fn provided(kind: &GroupVersionKind, name: &str, object: Option<&Map<String, Value>>) -> Option<Prerequisite> {
    if kind.is_namespace() {
        return Some(Prerequisite::Namespace(name.to_owned()));
    }
    let spec = object.filter(|_| is_definition(kind))?.get("spec")?;
    let text = |pointer: &str| spec.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(Prerequisite::Kind { group: text("/group")?, kind: text("/names/kind")? })
}

/// The prerequisite that a child is, whether or not it is refused.
fn named(child: &Child) -> Option<(Prerequisite, ObjectRef)> {
    let (kind, name, object) = match child {
        Child::Apply(DesiredChild { object, .. }) => {
            let kind = kind_of(object).ok().filter(comes_first)?;
            let name = object.get("metadata")?.get("name")?.as_str()?;
            (kind, name, Some(object))
        }
        Child::Keep(reference) => (reference.kind.clone(), reference.key.name.as_str(), None),
    };
    let prerequisite = provided(&kind, name, object)?;
    Some((prerequisite, ObjectRef { key: ObjectKey::new(None::<String>, name), kind }))
}
