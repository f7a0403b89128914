//! Changes by another client: to children, specs and parents.

use std::fmt;
use std::time::Duration;

use gyre_core::plan::{OUTLIVES_ANNOTATION, finalizer};
use gyre_core::response::Child;
use gyre_devcluster::Controllers;
use serde_json::{Value, json};

use super::calls::wanted;
use super::compare::{self, brief};
use super::finding::{Flaw, Tried};
use super::scheduled::pass_due_time;
use super::setup::{
    CheckSetup, ConvergedChild, ConvergedState, ExperimentResult, MOST_CALLS, OWNER_UID, Wanted, find, is_named, is_of_child,
    last,
};
use crate::call_log::CallLog;
use crate::host_run::End;
use crate::live::record;
use crate::plan::{Action, Subject};
use crate::simulation::Simulation;

/// The most fields of each child that are changed; further ones are treated alike.
const MOST_CHANGES: usize = 3;
/// The most children that are changed; a plugin treats further ones alike.
pub(super) const MOST_CHILDREN: usize = 20;
/// A teardown that takes longer than this never ends. Controllers take a minute at most.
const TEARDOWN: Duration = Duration::from_secs(300);
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(super) struct Disturbed {
    pub(super) parent: Subject,
    pub(super) child: Subject,
    /// The due times that pass before.
    pub(super) due_times: usize,
    pub(super) disturbance: Disturbance,
}

#[derive(Clone, Debug)]
pub(super) enum Disturbance {
    Removed,
    /// `null` removes the field.
    Changed {
        pointer: String,
        value: Value,
    },
    Finished {
        word: &'static str,
        status: Value,
    },
    /// As the cluster does it after `ttlSecondsAfterFinished`.
    FinishedAndRemoved {
        word: &'static str,
        status: Value,
    },
}

impl fmt::Display for Disturbance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed => write!(formatter, "is removed"),
            Self::Changed { pointer, value: Value::Null } => write!(formatter, "loses {pointer}"),
            Self::Changed { pointer, value } => write!(formatter, "is changed: {pointer} becomes {}", brief(value)),
            Self::Finished { word, .. } => write!(formatter, "becomes {word}"),
            Self::FinishedAndRemoved { word, .. } => write!(formatter, "becomes {word}, and is removed after its TTL"),
        }
    }
}

/// The disturbances of these children, which exist after this number of due times.
pub(super) fn disturbances<'a>(children: impl Iterator<Item = &'a ConvergedChild>, due_times: usize) -> Vec<Disturbed> {
    let mut disturbances = Vec::new();
    for child in children.take(MOST_CHILDREN) {
        let mut all = vec![Disturbance::Removed];
        all.extend(ends(child));
        if let Some(desired) = child.restored() {
            all.extend(changes(child, desired));
        }
        let [parent, child] = [&child.parent, &child.subject];
        let disturbed = |disturbance| Disturbed { parent: parent.clone(), child: child.clone(), due_times, disturbance };
        disturbances.extend(all.into_iter().map(disturbed));
    }
    disturbances
}

fn changes(child: &ConvergedChild, desired: &Value) -> Vec<Disturbance> {
    let leaves = compare::leaves(desired);
    let (labels, fields): (Vec<_>, Vec<_>) = leaves.into_iter().partition(|leaf| leaf.starts_with("/metadata/"));
    let gone = labels.into_iter().take(1).map(|pointer| Disturbance::Changed { pointer, value: Value::Null });
    let other = |pointer: String| {
        let value = match child.live.pointer(&pointer)? {
            Value::String(text) => json!(format!("{text}-changed")),
            Value::Number(number) => json!(number.as_i64()?.checked_add(1)?),
            Value::Bool(is) => json!(!is),
            _ => return None,
        };
        Some(Disturbance::Changed { pointer, value })
    };
    gone.chain(fields.into_iter().filter_map(other).take(MOST_CHANGES)).collect()
}

fn ends(child: &ConvergedChild) -> Vec<Disturbance> {
    let condition = |kind: &str| json!([{ "type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
    let times = "2026-01-01T00:00:00Z";
    let statuses = match child.subject.kind.as_str() {
        "Job" => vec![
            (
                "complete",
                json!({ "startTime": times, "completionTime": times, "succeeded": 1, "conditions": condition("Complete") }),
            ),
            ("failed", json!({ "startTime": times, "failed": 1, "conditions": condition("Failed") })),
        ],
        "Pod" => vec![
            ("Running", json!({ "phase": "Running" })),
            ("Succeeded", json!({ "phase": "Succeeded" })),
            ("Failed", json!({ "phase": "Failed" })),
        ],
        "Deployment" => {
            let replicas = child.live.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1);
            let all = json!({ "replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas, "updatedReplicas": replicas });
            vec![("available", all)]
        }
        "PersistentVolumeClaim" => vec![("Bound", json!({ "phase": "Bound" }))],
        _ => Vec::new(),
    };
    let is_removed = child.live.pointer("/spec/ttlSecondsAfterFinished").is_some_and(Value::is_number);
    let removed = statuses.clone().into_iter().map(|(word, status)| Disturbance::FinishedAndRemoved { word, status });
    let removed: Vec<Disturbance> = removed.filter(|_| is_removed).collect();
    statuses.into_iter().map(|(word, status)| Disturbance::Finished { word, status }).chain(removed).collect()
}

enum Verdict {
    Fine,
    Unsure,
    Wrong(String),
}

impl CheckSetup {
    pub(super) async fn disturbed(&self, disturbed: &Disturbed) -> anyhow::Result<ExperimentResult> {
        let Disturbed { child, due_times, disturbance, .. } = disturbed;
        let case = format!("{child} {disturbance}");
        let mut results = ExperimentResult::default();
        let simulation = self.simulation(Controllers::Absent)?;
        let log = CallLog::new(MOST_CALLS);
        let happens = async {
            simulation.until_converged().await;
            for _ in 0..*due_times {
                pass_due_time(&simulation, &log).await;
            }
            let before = self.converged_state(&simulation, &log.calls()).await?;
            simulation.actions();
            let Some(made) = before.children.iter().find(|made| made.subject == *child) else { return Ok(None) };
            if !disturb(&simulation, made, disturbance).await {
                return Ok(None);
            }
            let mut end = simulation.until_converged().await;
            if matches!(disturbance, Disturbance::FinishedAndRemoved { .. }) && end == End::Converged {
                simulation.delete(child).await?;
                end = simulation.until_converged().await;
            }
            anyhow::Ok(Some((made.clone(), before, end)))
        };
        let happened = simulation.with_host(&self.programs, log.recordings.clone(), happens).await??;
        let Some((made, before, end)) = happened else {
            results.tally.add(Tried::NotDisturbed, 1);
            return Ok(results);
        };
        results.tally.add(Tried::Disturbances, 1);
        let actions = simulation.actions();
        results.judge_run(self, end, &case, &actions, &log);
        match disturbance {
            Disturbance::Finished { .. } => return Ok(results),
            Disturbance::FinishedAndRemoved { .. } => {
                if self.owned(&simulation).await?.contains_key(child) {
                    let what = "The host creates it again, although neither its parent has changed nor time has passed.";
                    results.add(Flaw::RunsAgain, &case, what.to_owned(), self.all());
                }
                return Ok(results);
            }
            // The plugin may return another child instead.
            Disturbance::Removed if matches!(made.wanted, Wanted::Kept) => return Ok(results),
            Disturbance::Removed | Disturbance::Changed { .. } => {}
        }
        match self.verdict(&simulation, &made, &before, &log, &actions).await? {
            Verdict::Fine => {}
            Verdict::Unsure => results.tally.add(Tried::Unsure, 1),
            Verdict::Wrong(what) => results.add(Flaw::ChangeNotReverted, &case, what, self.all()),
        }
        Ok(results)
    }

    async fn verdict(
        &self,
        simulation: &Simulation,
        made: &ConvergedChild,
        before: &ConvergedState,
        log: &CallLog,
        actions: &[Action],
    ) -> anyhow::Result<Verdict> {
        let ConvergedChild { subject, live, .. } = made;
        let owned = self.owned(simulation).await?;
        if actions.iter().any(|action| is_of_child(action) && action.subject == *subject && action.refusal.is_some()) {
            return Ok(Verdict::Unsure);
        }
        if let Some(after) = owned.get(subject) {
            let lost = made.restored().map(|desired| compare::lost(desired, live, after)).unwrap_or_default();
            return Ok(if lost.is_empty() {
                Verdict::Fine
            } else {
                Verdict::Wrong(format!("The host does not revert the change.\n{}", lost.join("\n")))
            });
        }
        let calls = log.calls();
        let says_why = last(&calls).values().any(|call| {
            let is_kept = |child: &Child| matches!(child, Child::Keep(kept) if kept.kind.kind == subject.kind && kept.key.name == subject.name);
            call.answer.result.is_err() || wanted(call).iter().any(is_kept)
        });
        let parents = self.parents(simulation).await?;
        let statuses = |parents: &[Value]| parents.iter().map(|parent| parent.get("status").cloned()).collect::<Vec<_>>();
        Ok(if says_why || statuses(&parents) != statuses(&before.parents) {
            Verdict::Fine
        } else {
            Verdict::Wrong("The host does not create it again, and the status of its parent does not mention it.".to_owned())
        })
    }

    /// Returns whether the host has made another value of a Secret since then. A lower epoch does
    /// not bring the earlier one back, so its digest differs by design.
    async fn raised_an_epoch(&self, simulation: &Simulation, before: &ConvergedState) -> anyhow::Result<bool> {
        let owned = self.owned(simulation).await?;
        let is_raised = |child: &ConvergedChild| {
            let earlier = record(&child.live);
            earlier.is_some() && earlier != owned.get(&child.subject).and_then(record)
        };
        Ok(before.children.iter().any(is_raised))
    }

    pub(super) async fn restored(&self, parent: &Subject, other: &Value) -> anyhow::Result<ExperimentResult> {
        let case = format!("the spec of {parent} changes to {}, and back", brief(other));
        let mut results = ExperimentResult::default();
        let simulation = self.simulation(Controllers::Absent)?;
        let log = CallLog::new(MOST_CALLS);
        let happens = async {
            simulation.until_converged().await;
            let before = self.converged_state(&simulation, &log.calls()).await?;
            let spec =
                before.parents.iter().find(|object| Subject::of(object) == *parent).and_then(|object| object.get("spec"));
            let Some(spec) = spec.cloned() else { return Ok(None) };
            if self.set_spec(&simulation, parent, other.clone()).await.is_err() {
                return Ok(None);
            }
            simulation.until_converged().await;
            simulation.actions();
            self.set_spec(&simulation, parent, spec).await?;
            let end = simulation.until_converged().await;
            anyhow::Ok(Some((before, end)))
        };
        let happened = simulation.with_host(&self.programs, log.recordings.clone(), happens).await??;
        let Some((before, end)) = happened else {
            results.tally.add(Tried::NotDrawn, 1);
            return Ok(results);
        };
        results.tally.add(Tried::Specs, 1);
        let actions = simulation.actions();
        results.judge_run(self, end, &case, &actions, &log);
        // The other spec alone reproduces a fault.
        for finding in results.findings.iter_mut().filter(|finding| finding.flaw.is_fault()) {
            for object in finding.objects.iter_mut().filter(|object| is_named(object, parent)) {
                object.as_object_mut().map(|fields| fields.insert("spec".to_owned(), other.clone()));
            }
        }
        let calls = log.calls();
        let fails = last(&calls).values().any(|call| call.answer.result.is_err());
        let is_refused = actions.iter().any(|action| is_of_child(action) && action.refusal.is_some());
        if fails || is_refused {
            results.tally.add(Tried::Unsure, 1);
            return Ok(results);
        }
        if self.raised_an_epoch(&simulation, &before).await? {
            results.tally.add(Tried::Unsure, 1);
            return Ok(results);
        }
        let lines = self.differs(&simulation, &before, &log).await?;
        if !lines.is_empty() {
            let what = format!("Its children are not the same as before.\n{}", lines.join("\n"));
            results.add(Flaw::SpecNotRestored, &case, what, self.all());
        }
        Ok(results)
    }

    async fn differs(&self, simulation: &Simulation, before: &ConvergedState, log: &CallLog) -> anyhow::Result<Vec<String>> {
        let owned = self.owned(simulation).await?;
        let calls = log.calls();
        let mut lines = Vec::new();
        for made in &before.children {
            match owned.get(&made.subject) {
                None => lines.push(format!("{} is gone.", made.subject)),
                Some(after) => {
                    let lost = made.restored().map(|desired| compare::lost(desired, &made.live, after)).unwrap_or_default();
                    lines.extend(lost.iter().map(|field| format!("{}: {field}", made.subject)));
                }
            }
        }
        for (subject, call) in last(&calls) {
            for child in wanted(call) {
                let Some(desired) = child.applied() else { continue };
                let there = find(&owned, &Value::Object(desired.object.clone()), &subject);
                if let Some((there, _)) = there.filter(|(there, _)| !before.children.iter().any(|made| made.subject == **there))
                {
                    lines.push(format!("{there} did not exist before."));
                }
            }
        }
        Ok(lines)
    }

    async fn set_spec(&self, simulation: &Simulation, parent: &Subject, spec: Value) -> anyhow::Result<()> {
        for program in &self.programs {
            let objects = simulation.list(program.manifest().users_kind(), kube::api::ListParams::default()).await?;
            let Some(mut object) = objects.into_iter().find(|object| Subject::of(object) == *parent) else { continue };
            let generation = object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(1);
            if let Some(fields) = object.as_object_mut() {
                fields.insert("spec".to_owned(), spec.clone());
            }
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("generation".to_owned(), json!(generation.saturating_add(1)));
            }
            simulation.put(object)?;
        }
        Ok(())
    }

    pub(super) async fn torn_down(&self, parent: &Subject) -> anyhow::Result<ExperimentResult> {
        let case = format!("{parent} is deleted");
        let mut results = ExperimentResult::default();
        let simulation = self.simulation(Controllers::Run)?;
        let controllers = tokio::spawn(simulation.controllers());
        let log = CallLog::new(MOST_CALLS);
        let happens = async {
            simulation.until_converged().await;
            let parents = self.parents(&simulation).await?;
            let uid =
                parents.iter().find(|object| Subject::of(object) == *parent).and_then(|object| object.pointer("/metadata/uid"));
            let uid = uid.and_then(Value::as_str).unwrap_or_default();
            results.notes.extend(self.without_others(&simulation, parent, uid).await?);
            simulation.delete(parent).await?;
            let began = tokio::time::Instant::now();
            loop {
                let left = self.left(&simulation, parent, uid).await?;
                if left.is_empty() || began.elapsed() >= TEARDOWN {
                    return anyhow::Ok(left);
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let left = simulation.with_host(&self.programs, log.recordings.clone(), happens).await??;
        controllers.abort();
        results.tally.add(Tried::Teardowns, 1);
        results.judge(self, &log, &case);
        if !left.is_empty() {
            let minutes = TEARDOWN.as_secs() / 60;
            let what = format!("After {minutes} minutes, these objects still exist:\n{}", left.join("\n"));
            results.add(Flaw::TeardownDoesNotEnd, &case, what, self.all());
        }
        Ok(results)
    }

    /// Removes finalizers of the files, which no controller here handles. Returns notes about them.
    async fn without_others(&self, simulation: &Simulation, parent: &Subject, uid: &str) -> anyhow::Result<Vec<String>> {
        let own: Vec<String> = self.programs.iter().map(|program| finalizer(&program.name)).collect();
        let mut notes = Vec::new();
        let parents = self.parents(simulation).await?.into_iter().map(|object| (Subject::of(&object), object));
        let owned = self.owned(simulation).await?.into_iter();
        let is_its = |object: &Value| object.pointer(OWNER_UID).and_then(Value::as_str) == Some(uid);
        for (subject, mut object) in
            parents.filter(|(subject, _)| subject == parent).chain(owned.filter(|(_, object)| is_its(object)))
        {
            let given = self.objects.iter().map(|(_, object)| object).find(|object| is_named(object, &subject));
            let Some(Value::Array(given)) = given.and_then(|given| given.pointer("/metadata/finalizers")) else { continue };
            let is_others = |name: &Value| given.contains(name) && !own.iter().any(|own| name == own);
            let Some(there) = object.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut) else { continue };
            let (others, kept): (Vec<Value>, Vec<Value>) = there.drain(..).partition(is_others);
            *there = kept;
            if !others.is_empty() {
                let names: Vec<&str> = others.iter().filter_map(Value::as_str).collect();
                notes.push(format!(
                    "{parent} was deleted after these finalizers of {subject} had been removed, which no controller here handles: {}.",
                    names.join(", ")
                ));
                simulation.put(object)?;
            }
        }
        Ok(notes)
    }

    async fn left(&self, simulation: &Simulation, parent: &Subject, uid: &str) -> anyhow::Result<Vec<String>> {
        let mut left = Vec::new();
        for object in self.parents(simulation).await?.iter().filter(|object| Subject::of(object) == *parent) {
            let finalizers = object.pointer("/metadata/finalizers").unwrap_or(&Value::Null);
            left.push(format!("{parent}, with the finalizers {}", brief(finalizers)));
        }
        for (subject, object) in self.owned(simulation).await? {
            let stays = object.pointer("/metadata/annotations").is_some_and(|all| all.get(OUTLIVES_ANNOTATION).is_some());
            if object.pointer(OWNER_UID).and_then(Value::as_str) == Some(uid) && !stays {
                left.push(subject.to_string());
            }
        }
        Ok(left)
    }
}

/// Changes a child. Returns whether the API server accepted the change.
async fn disturb(simulation: &Simulation, made: &ConvergedChild, disturbance: &Disturbance) -> bool {
    let mut object = made.live.clone();
    match disturbance {
        Disturbance::Removed => return simulation.delete(&made.subject).await.is_ok(),
        Disturbance::Changed { pointer, value: Value::Null } => {
            let Some((outer, name)) = pointer.rsplit_once('/') else { return false };
            let name = name.replace("~1", "/").replace("~0", "~");
            let Some(fields) = object.pointer_mut(outer).and_then(Value::as_object_mut) else { return false };
            fields.remove(&name);
        }
        Disturbance::Changed { pointer, value } => {
            let Some(field) = object.pointer_mut(pointer) else { return false };
            *field = value.clone();
        }
        Disturbance::Finished { status, .. } | Disturbance::FinishedAndRemoved { status, .. } => {
            let Some(fields) = object.as_object_mut() else { return false };
            fields.insert("status".to_owned(), status.clone());
        }
    }
    simulation.put(object).is_ok()
}
