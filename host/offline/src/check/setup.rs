//! The initial objects, recorded calls and findings of experiments.

use std::collections::BTreeMap;
use std::sync::Arc;

use gyre_core::answer::schema_violations;
use gyre_core::manifest::Strategy;
use gyre_core::object::{GroupVersionKind, ObjectRef};
use gyre_core::plan::OWNER_UID_LABEL;
use gyre_core::response::Child;
use gyre_devcluster::Controllers;
use gyre_devcluster::server::Origin;
use gyre_engine::program::Program;
use gyre_engine::record::CallRecord;
use gyre_sandbox::Plugin;
use jiff::Timestamp;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::calls::{self, kind_of, wanted};
use super::compare;
use super::finding::{Finding, Flaw, Tally};
use crate::call_log::{CallLog, parent_of};
use crate::host_run::End;
use crate::plan::{Action, Subject, Verb};
use crate::simulation::Simulation;

/// The most parents that are changed or deleted; further ones are treated alike.
pub(super) const MOST_PARENTS: usize = 10;
/// The label with the owner of a child that can have no owner reference.
pub(super) const OWNER_UID: &str = "/metadata/labels/gyre.dev~1owner-uid";
/// The most calls of one simulation that are kept, because some plugins never stop.
pub(super) const MOST_CALLS: usize = 500;

/// The plugins and the initial objects of all experiments.
pub struct CheckSetup {
    /// The plugins.
    pub programs: Vec<Program>,
    /// Other builds of plugins, whose answers must be the same.
    pub other_builds: Vec<Plugin>,
    /// The time at which each simulation begins.
    pub start: Timestamp,
    /// The initial objects, each with the name of its file.
    pub objects: Vec<(String, Value)>,
    /// The kinds of children of which at most one of each parent may run.
    pub at_most_one: Vec<GroupVersionKind>,
}

#[derive(Default)]
pub(super) struct ExperimentResult {
    pub(super) findings: Vec<Finding>,
    pub(super) tally: Tally,
    pub(super) notes: Vec<String>,
}

#[derive(Clone)]
pub(super) struct ConvergedChild {
    pub(super) parent: Subject,
    pub(super) subject: Subject,
    pub(super) wanted: Wanted,
    pub(super) live: Value,
}

/// The answer of the plugin about a child.
#[derive(Clone)]
pub(super) enum Wanted {
    Applied { strategy: Strategy, desired: Value },
    Kept,
}

impl ConvergedChild {
    /// The desired object, if the host restores it.
    pub(super) fn restored(&self) -> Option<&Value> {
        match &self.wanted {
            Wanted::Applied { strategy: Strategy::Apply | Strategy::Recreate, desired } => Some(desired),
            Wanted::Applied { strategy: Strategy::CreateOnly, .. } | Wanted::Kept => None,
        }
    }
}

#[derive(Default)]
pub(super) struct ConvergedState {
    pub(super) parents: Vec<Value>,
    /// The last call about each parent.
    pub(super) calls: BTreeMap<Subject, Arc<CallRecord>>,
    pub(super) children: Vec<ConvergedChild>,
}

impl ExperimentResult {
    pub(super) fn merge(&mut self, other: Self) {
        self.tally.merge(&other.tally);
        self.findings.extend(other.findings);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    pub(super) fn add(&mut self, flaw: Flaw, case: &str, what: String, objects: Vec<Value>) {
        self.findings.push(Finding { flaw, case: case.to_owned(), what, objects });
    }

    pub(super) fn judge_run(&mut self, setup: &CheckSetup, end: End, case: &str, actions: &[Action], log: &CallLog) {
        self.judge_end(end, case, actions, || setup.all());
        self.judge(setup, log, case);
    }

    pub(super) fn judge_end(&mut self, end: End, case: &str, actions: &[Action], objects: impl FnOnce() -> Vec<Value>) {
        if end == End::NonConverging {
            self.add(Flaw::KeepsWriting, case, compare::flapping(actions), objects());
        }
    }

    pub(super) fn judge(&mut self, setup: &CheckSetup, log: &CallLog, case: &str) {
        let remarks = calls::remarks(&log.calls(), &setup.other_builds, &mut self.tally);
        for remark in remarks {
            self.add(remark.flaw, case, remark.what, setup.all());
        }
    }
}

impl CheckSetup {
    pub(super) fn all(&self) -> Vec<Value> {
        self.objects.iter().map(|(_, object)| object.clone()).collect()
    }

    pub(super) fn program_of(&self, parent: &Value) -> Option<&Program> {
        self.programs.iter().find(|program| program.reconciles(parent))
    }

    /// The parents that users write, without the objects that the host keeps for groups.
    pub(super) async fn parents(&self, simulation: &Simulation) -> anyhow::Result<Vec<Value>> {
        let mut parents = simulation.parents(&self.programs).await?;
        parents.retain(|parent| self.program_of(parent).is_some());
        Ok(parents)
    }

    pub(super) fn simulation(&self, controllers: Controllers) -> anyhow::Result<Simulation> {
        let simulation = Simulation::new(&self.programs, self.start, controllers)?;
        simulation.put_all(Origin::Written, self.objects.clone())?;
        Ok(simulation)
    }

    pub(super) async fn owned(&self, simulation: &Simulation) -> anyhow::Result<BTreeMap<Subject, Value>> {
        let mut owned = BTreeMap::new();
        let parameters = ListParams::default().labels(OWNER_UID_LABEL);
        for declared in self.programs.iter().flat_map(|program| &program.manifest().children) {
            let objects = simulation.list(&declared.kind, parameters.clone()).await?;
            owned.extend(objects.into_iter().map(|object| (Subject::of(&object), object)));
        }
        Ok(owned)
    }

    fn strategy(&self, desired: &Value) -> Option<Strategy> {
        let kind = kind_of(desired.as_object()?);
        let mut declared = self.programs.iter().flat_map(|program| &program.manifest().children);
        declared.find(|child| child.kind == kind).map(|child| child.strategy)
    }

    pub(super) async fn converged_state(
        &self,
        simulation: &Simulation,
        calls: &[Arc<CallRecord>],
    ) -> anyhow::Result<ConvergedState> {
        let owned = self.owned(simulation).await?;
        let mut children = Vec::new();
        for call in last(calls).values() {
            for child in wanted(call) {
                let parent = parent_of(call);
                let (named, wanted) = match child {
                    Child::Apply(child) => {
                        let desired = Value::Object(child.object.clone());
                        let Some(strategy) = child.strategy.or_else(|| self.strategy(&desired)) else { continue };
                        (desired.clone(), Wanted::Applied { strategy, desired })
                    }
                    Child::Keep(kept) => (reference(kept), Wanted::Kept),
                };
                if let Some((subject, live)) = find(&owned, &named, &parent) {
                    children.push(ConvergedChild { parent, subject: subject.clone(), wanted, live: live.clone() });
                }
            }
        }
        let calls = last(calls).into_iter().map(|(subject, call)| (subject, Arc::clone(call))).collect();
        Ok(ConvergedState { parents: self.parents(simulation).await?, calls, children })
    }
}

pub(super) fn last(calls: &[Arc<CallRecord>]) -> BTreeMap<Subject, &Arc<CallRecord>> {
    calls.iter().map(|call| (parent_of(call), call)).collect()
}

/// An object with only the name of a kept child.
fn reference(kept: &ObjectRef) -> Value {
    let ObjectRef { kind, key } = kept;
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": key.name, "namespace": key.namespace },
    })
}

/// The live object of a desired child, which may lack its namespace.
pub(super) fn find<'a>(
    owned: &'a BTreeMap<Subject, Value>,
    desired: &Value,
    parent: &Subject,
) -> Option<(&'a Subject, &'a Value)> {
    let wanted = Subject::of(desired);
    let namespace = wanted.namespace.as_ref().or(parent.namespace.as_ref());
    owned.iter().find(|(subject, _)| {
        let is_named =
            (&subject.api_version, &subject.kind, &subject.name) == (&wanted.api_version, &wanted.kind, &wanted.name);
        is_named && (subject.namespace.is_none() || subject.namespace.as_ref() == namespace)
    })
}

pub(super) fn is_of_child(action: &Action) -> bool {
    matches!(action.verb, Verb::Create | Verb::Update)
}

/// Returns whether a refusal is about the form of an object, which is the plugin's fault.
pub(super) fn is_about_form(refusal: &str) -> bool {
    let is_of_schema = schema_violations(refusal).is_some() || refusal.contains("unknown field");
    is_of_schema || (refusal.contains("is invalid") && !refusal.contains("immutable"))
}

/// Returns whether the subject names this object. Objects in files may lack their namespace.
pub(super) fn is_named(object: &Value, subject: &Subject) -> bool {
    let own = Subject::of(object);
    (own.kind == subject.kind && own.name == subject.name) && (own.namespace.is_none() || own.namespace == subject.namespace)
}
