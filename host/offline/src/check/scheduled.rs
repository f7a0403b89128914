//! Schedules: parents about which the plugin asks to be called again.
//!
//! ```text
//!   due times pass ─┬─ children that never end ─────────▶ does more than one run at once?
//!                   └─ children that end after a second ─▶ the timeline
//!                                                            │
//!       the host is killed after a write, or is down ────────┼─▶ as many children?
//!       the API server refuses the children ─────────────────┴─▶ does the status hide it?
//! ```
//!
//! What is absent: knowledge of the schedule. The due times are those that the answers ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gyre_core::object::GroupVersionKind;
use gyre_devcluster::Controllers;
use gyre_devcluster::server::Origin;
use gyre_engine::record::CallRecord;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::compare;
use super::finding::{Flaw, Tried};
use super::setup::{CheckSetup, ConvergedState, ExperimentResult, MOST_CALLS, OWNER_UID, last};
use crate::call_log::CallLog;
use crate::host_run::End;
use crate::plan::{Action, Subject, Verb};
use crate::simulation::{Simulation, simulate};

/// The due times that pass: enough for two runs and what follows them.
const DUE_TIMES: usize = 4;
/// The run time of Pods, shorter than any interval that is tried.
const POD_RUN_TIME: Duration = Duration::from_secs(1);
/// The host is not interrupted if runs are closer than this, because it takes seconds to stop.
const LEAST_INTERVAL: SignedDuration = SignedDuration::from_secs(10);
/// The longest time before and after a due time for which the host is down.
const MOST_SLACK: SignedDuration = SignedDuration::from_secs(10);
/// The writes after which the host is killed, each in a simulation of its own.
const MOST_KILLS: usize = 5;
const MOST_SHOWN: usize = 10;
/// The types of the conditions that the host sets.
const CONDITIONS_OF_HOST: [&str; 3] = ["Ready", "Reconciling", "Stalled"];

/// The children that were created, by kind.
type Created = BTreeMap<String, BTreeSet<Subject>>;

/// The due times of a simulation without interruption.
struct Timeline {
    /// The due times at which children were created.
    runs: Vec<Timestamp>,
    /// The parent after the first of them.
    after_first: Value,
    created: Created,
    slack: SignedDuration,
    end: Timestamp,
}

#[derive(Clone, Copy)]
enum Interruption {
    /// The host ends after this number of writes of the first run.
    Killed { writes: usize },
    /// The host is down when the second run is due.
    Down,
}

impl CheckSetup {
    /// Returns the state after the first due time that leads to children other than those at first,
    /// and the number of due times until then.
    pub(super) fn state_with_later_children(
        &self,
        converged: &ConvergedState,
    ) -> anyhow::Result<Option<(usize, ConvergedState)>> {
        simulate(async {
            let simulation = self.simulation(Controllers::Absent)?;
            let log = CallLog::new(MOST_CALLS);
            let passes = async {
                simulation.until_converged().await;
                for due_times in 1..=DUE_TIMES {
                    if pass_due_time(&simulation, &log).await.is_none() {
                        break;
                    }
                    let state = self.converged_state(&simulation, &log.calls()).await?;
                    let is_new = |subject: &Subject| !converged.children.iter().any(|child| child.subject == *subject);
                    if state.children.iter().any(|child| is_new(&child.subject)) {
                        return Ok(Some((due_times, state)));
                    }
                }
                Ok(None)
            };
            simulation.with_host(&self.programs, log.recordings.clone(), passes).await?
        })?
    }

    pub(super) async fn scheduled(&self, parent: &Subject) -> anyhow::Result<ExperimentResult> {
        let mut results = ExperimentResult::default();
        self.with_endless_children(parent, &mut results).await?;
        let Some(timeline) = self.timeline(parent, &mut results).await? else { return Ok(results) };
        for writes in 1..=MOST_KILLS {
            if !self.interrupted(parent, &timeline, Interruption::Killed { writes }, &mut results).await? {
                break;
            }
        }
        self.interrupted(parent, &timeline, Interruption::Down, &mut results).await?;
        self.refused_children(parent, &timeline, &mut results).await?;
        Ok(results)
    }

    /// Lets due times pass while no child ends.
    async fn with_endless_children(&self, parent: &Subject, results: &mut ExperimentResult) -> anyhow::Result<()> {
        let case = format!("time passes for {parent}, and its children do not end");
        let simulation = self.simulation(Controllers::Absent)?;
        let log = CallLog::new(MOST_CALLS);
        let passes = async {
            let mut end = simulation.until_converged().await;
            for _ in 0..DUE_TIMES {
                if let Some(together) = self.running_together(&simulation).await? {
                    return anyhow::Ok((end, Some(together)));
                }
                let Some(passed) = pass_due_time(&simulation, &log).await else { break };
                end = passed;
                results.tally.add(Tried::DueTimes, 1);
            }
            Ok((end, self.running_together(&simulation).await?))
        };
        let (end, together) = simulation.with_host(&self.programs, log.recordings.clone(), passes).await??;
        results.judge_run(self, end, &case, &simulation.actions(), &log);
        if let Some(together) = together {
            results.add(Flaw::MoreThanOne, &case, together, self.all());
        }
        Ok(())
    }

    /// Describes children that run at once although their kind is one of `at_most_one`.
    async fn running_together(&self, simulation: &Simulation) -> anyhow::Result<Option<String>> {
        let mut running: BTreeMap<(&GroupVersionKind, String), Vec<Subject>> = BTreeMap::new();
        for (subject, object) in self.owned(simulation).await? {
            let is_meant = |kind: &&GroupVersionKind| kind.api_version() == subject.api_version && kind.kind == subject.kind;
            let Some(kind) = self.at_most_one.iter().find(is_meant).filter(|_| is_running(&object)) else { continue };
            let owner = object.pointer(OWNER_UID).and_then(Value::as_str).unwrap_or_default().to_owned();
            running.entry((kind, owner)).or_default().push(subject);
        }
        let together = running.into_values().find(|running| running.len() > 1);
        Ok(together.map(|running| format!("These run at the same time: {}.", names(&running))))
    }

    /// Lets due times pass while children end; `None` if fewer than one leads to children.
    async fn timeline(&self, parent: &Subject, results: &mut ExperimentResult) -> anyhow::Result<Option<Timeline>> {
        let case = format!("time passes for {parent}");
        let simulation = self.simulation_with_pods()?;
        let controllers = tokio::spawn(simulation.controllers());
        let log = CallLog::new(MOST_CALLS);
        let (mut runs, mut all, mut created) = (Vec::new(), Vec::new(), Created::new());
        let mut after_first = Value::Null;
        let passes = async {
            let mut end = simulation.until_converged().await;
            let mut last_due = simulation.now();
            let mut actions = simulation.actions();
            while end == End::Converged && all.len() < DUE_TIMES {
                self.add_created(&actions, &mut created);
                let Some(due) = next_due(&simulation, &log) else { break };
                let Some(passed) = pass_due_time(&simulation, &log).await else { break };
                end = passed;
                actions = simulation.actions();
                all.push(due);
                last_due = due;
                if self.add_created(&actions, &mut created) {
                    if runs.is_empty() {
                        after_first = self.parent(&simulation, parent).await?;
                    }
                    runs.push(due);
                }
            }
            let gap = all.windows(2).filter_map(|pair| Some(pair.last()?.duration_since(*pair.first()?))).min();
            let slack = gap.map(|gap| (gap / 4).min(MOST_SLACK)).filter(|_| gap >= Some(LEAST_INTERVAL));
            let Some(slack) = slack else { return anyhow::Ok((end, actions, None)) };
            let until = last_due.saturating_add(slack)?;
            sleep_until(&simulation, until).await;
            let later = simulation.actions();
            self.add_created(&later, &mut created);
            actions.extend(later);
            Ok((end, actions, Some((slack, until))))
        };
        let passed = simulation.with_host(&self.programs, log.recordings.clone(), passes).await?;
        controllers.abort();
        let (end, actions, slack) = passed?;
        results.judge_run(self, end, &case, &actions, &log);
        let Some((slack, until)) = slack.filter(|_| end == End::Converged && !runs.is_empty()) else { return Ok(None) };
        Ok(Some(Timeline { runs, after_first, created, slack, end: until }))
    }

    /// Returns whether the interruption could be made.
    async fn interrupted(
        &self,
        parent: &Subject,
        timeline: &Timeline,
        interruption: Interruption,
        results: &mut ExperimentResult,
    ) -> anyhow::Result<bool> {
        let Timeline { runs, slack, end, .. } = timeline;
        let mut runs = runs.iter();
        let due = match interruption {
            Interruption::Killed { .. } => runs.next(),
            Interruption::Down => runs.nth(1),
        };
        let Some(due) = due else { return Ok(false) };
        let (before, after) = (due.saturating_sub(*slack)?, due.saturating_add(*slack)?);
        let simulation = self.simulation_with_pods()?;
        let controllers = tokio::spawn(simulation.controllers());
        let first_host = async {
            simulation.until_converged().await;
            sleep_until(&simulation, before).await;
            match interruption {
                Interruption::Killed { writes } => {
                    let most = Duration::try_from(*slack * 2).unwrap_or_default();
                    tokio::time::timeout(most, simulation.journal.cut_after(writes)).await.is_ok()
                }
                Interruption::Down => true,
            }
        };
        let is_made = simulation.with_host(&self.programs, Default::default(), first_host).await?;
        if !is_made {
            controllers.abort();
            return Ok(false);
        }
        if matches!(interruption, Interruption::Down) {
            sleep_until(&simulation, after).await;
        }
        simulation.journal.mend();
        simulation.with_host(&self.programs, Default::default(), sleep_until(&simulation, *end)).await?;
        controllers.abort();
        results.tally.add(Tried::Interruptions, 1);
        let mut created = Created::new();
        self.add_created(&simulation.actions(), &mut created);
        let case = match interruption {
            Interruption::Killed { writes } => {
                format!("the host is killed after write {writes} at the due time {due} of {parent}, and another one starts")
            }
            Interruption::Down => format!("the host is down from {before} to {after}, and {due} is a due time of {parent}"),
        };
        for what in differences(&timeline.created, &created) {
            results.add(Flaw::NotResumed, &case, what, self.all());
        }
        Ok(true)
    }

    async fn refused_children(
        &self,
        parent: &Subject,
        timeline: &Timeline,
        results: &mut ExperimentResult,
    ) -> anyhow::Result<()> {
        let Timeline { runs, after_first, slack, .. } = timeline;
        let Some(due) = runs.first() else { return Ok(()) };
        let simulation = self.simulation_with_pods()?;
        let controllers = tokio::spawn(simulation.controllers());
        let passes = async {
            simulation.until_converged().await;
            sleep_until(&simulation, due.saturating_sub(*slack)?).await;
            simulation.actions();
            let before = self.parent(&simulation, parent).await?;
            simulation.refuse_creations(self.child_kinds()).await?;
            sleep_until(&simulation, due.saturating_add(*slack)?).await;
            anyhow::Ok((before, simulation.actions(), self.parent(&simulation, parent).await?))
        };
        let passed = simulation.with_host(&self.programs, Default::default(), passes).await?;
        controllers.abort();
        let (before, actions, after) = passed?;
        let is_refused = |action: &&Action| self.is_creation(action) && action.refusal.is_some();
        let refused: BTreeSet<Subject> = actions.iter().filter(is_refused).map(|action| action.subject.clone()).collect();
        if refused.is_empty() {
            return Ok(());
        }
        results.tally.add(Tried::Refusals, 1);
        let mut lines = changes_in_both(&before, after_first, &after);
        lines.extend(conditions_in_both(&before, after_first, &after, &refused));
        if !lines.is_empty() {
            let case = format!("at the due time {due} of {parent}, the API server refuses its children");
            lines.truncate(MOST_SHOWN);
            let refused = names(&refused);
            let what = format!(
                "The status says the same as if {refused} had been created, which the API server refuses.\n{}",
                lines.join("\n")
            );
            results.add(Flaw::ClaimsRefused, &case, what, self.all());
        }
        Ok(())
    }

    fn simulation_with_pods(&self) -> anyhow::Result<Simulation> {
        let simulation = Simulation::with(&self.programs, self.start, Controllers::Run, Some(POD_RUN_TIME))?;
        simulation.put_all(Origin::Written, self.objects.clone())?;
        Ok(simulation)
    }

    async fn parent(&self, simulation: &Simulation, parent: &Subject) -> anyhow::Result<Value> {
        let parents = self.parents(simulation).await?;
        Ok(parents.into_iter().find(|object| Subject::of(object) == *parent).unwrap_or_default())
    }

    fn child_kinds(&self) -> impl Iterator<Item = &GroupVersionKind> {
        self.programs.iter().flat_map(|program| &program.manifest().children).map(|child| &child.kind)
    }

    fn is_creation(&self, action: &Action) -> bool {
        let Subject { api_version, kind, .. } = &action.subject;
        action.verb == Verb::Create
            && self.child_kinds().any(|child| child.api_version() == *api_version && child.kind == *kind)
    }

    /// Adds the children that were created. Returns whether there were any.
    fn add_created(&self, actions: &[Action], into: &mut Created) -> bool {
        let mut any = false;
        for action in actions.iter().filter(|action| self.is_creation(action) && action.refusal.is_none()) {
            into.entry(action.subject.kind.clone()).or_default().insert(action.subject.clone());
            any = true;
        }
        any
    }
}

/// When the last answers ask for the next call.
fn next_due(simulation: &Simulation, log: &CallLog) -> Option<Timestamp> {
    let (calls, now) = (log.calls(), simulation.now());
    last(&calls).values().filter_map(|call| due(call)).filter(|due| *due > now).min()
}

/// When a call asks for the next one about its parent.
pub(super) fn due(call: &CallRecord) -> Option<Timestamp> {
    let delay = call.answer.result.as_ref().ok()?.requeue_after?;
    Timestamp::try_from(call.now).ok()?.checked_add(delay).ok()
}

/// Lets time pass until the next due time, and until the host has converged; `None` if nothing is
/// due.
pub(super) async fn pass_due_time(simulation: &Simulation, log: &CallLog) -> Option<End> {
    let due = next_due(simulation, log)?;
    sleep_until(simulation, due).await;
    Some(simulation.until_converged().await)
}

async fn sleep_until(simulation: &Simulation, time: Timestamp) {
    let wait = Duration::try_from(time.duration_since(simulation.now())).unwrap_or_default();
    tokio::time::sleep(wait).await;
}

fn is_running(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let is = |value: &Value, field: &str, words: &[&str]| {
        value.get(field).and_then(Value::as_str).is_some_and(|word| words.contains(&word))
    };
    let has_ended = conditions
        .into_iter()
        .any(|condition| is(condition, "type", &["Complete", "Failed"]) && is(condition, "status", &["True"]))
        || object.get("status").is_some_and(|status| is(status, "phase", &["Succeeded", "Failed"]));
    !has_ended && object.pointer("/metadata/deletionTimestamp").is_none()
}

/// Describes how the numbers of created children differ.
fn differences(expected: &Created, actual: &Created) -> Vec<String> {
    let empty = BTreeSet::new();
    let kinds: BTreeSet<&String> = expected.keys().chain(actual.keys()).collect();
    let of_kind = |kind: &String| {
        let [expected, actual] = [expected, actual].map(|created| created.get(kind).unwrap_or(&empty));
        (expected.len() != actual.len()).then(|| {
            let [missing, more] = [(expected, actual), (actual, expected)]
                .map(|(one, other)| one.difference(other).take(MOST_SHOWN).collect::<Vec<_>>());
            let mut what = format!(
                "{} objects of the kind {kind} are created in all, and {} if the host is not interrupted.",
                actual.len(),
                expected.len()
            );
            if !missing.is_empty() {
                what.push_str(&format!("\nmissing: {}", names(missing)));
            }
            if !more.is_empty() {
                what.push_str(&format!("\nmore: {}", names(more)));
            }
            what
        })
    };
    kinds.into_iter().filter_map(of_kind).collect()
}

fn names<'a>(subjects: impl IntoIterator<Item = &'a Subject>) -> String {
    subjects.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The changes of the plugin's fields of a status that two later states have in common.
fn changes_in_both(before: &Value, one: &Value, other: &Value) -> Vec<String> {
    let fields = |parent: &Value| {
        let mut status = parent.get("status").cloned().unwrap_or_else(|| json!({}));
        if let Some(fields) = status.as_object_mut() {
            fields.retain(|field, _| field != "conditions" && field != "observedGeneration");
        }
        status
    };
    let changes = |after: &Value| {
        let mut changes = Vec::new();
        compare::differences(&fields(before), &fields(after), "status", &mut changes);
        changes
    };
    let mut both = changes(one);
    let others = changes(other);
    both.retain(|change| others.contains(change));
    both
}

/// The new conditions of the plugin that two later states have in common, and that mention one of
/// these children.
fn conditions_in_both(before: &Value, one: &Value, other: &Value, children: &BTreeSet<Subject>) -> Vec<String> {
    let conditions = |parent: &Value| -> Vec<String> {
        let conditions = parent.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
        let text = |condition: &Value, field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let of_plugin = conditions.filter(|condition| !CONDITIONS_OF_HOST.contains(&text(condition, "type").as_str()));
        of_plugin
            .map(|condition| {
                let [kind, status, reason, message] =
                    ["type", "status", "reason", "message"].map(|field| text(condition, field));
                format!("condition {kind} is {status}: {reason}: {message}")
            })
            .collect()
    };
    let (before, others) = (conditions(before), conditions(other));
    let mut both = conditions(one);
    both.retain(|condition| {
        let mentions = children.iter().any(|child| condition.contains(&child.name));
        mentions && others.contains(condition) && !before.contains(condition)
    });
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(status: Value) -> Value {
        json!({ "status": status })
    }

    #[test]
    fn changes_in_both_are_those_of_the_plugins_fields() {
        let before = parent(json!({ "last": 1, "next": 2, "observedGeneration": 1, "conditions": [] }));
        let normal = parent(json!({ "last": 2, "next": 3, "observedGeneration": 2, "conditions": [1] }));
        let claims = parent(json!({ "last": 2, "next": 2, "observedGeneration": 2, "conditions": [1] }));
        assert_eq!(changes_in_both(&before, &normal, &claims), ["status.last: 1 becomes 2"]);
        assert!(changes_in_both(&before, &normal, &before).is_empty());
    }

    #[test]
    fn a_condition_counts_if_it_mentions_a_refused_child_and_is_not_of_the_host() {
        let with = |kind: &str, message: &str| {
            parent(json!({ "conditions": [{ "type": kind, "status": "True", "reason": "Created", "message": message }] }))
        };
        let child = |name: &str| Subject::of(&json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name } }));
        let claims = |kind: &str, message: &str, name: &str| {
            let after = with(kind, message);
            conditions_in_both(&Value::Null, &after, &after, &BTreeSet::from([child(name)]))
        };
        assert_eq!(claims("Started", "Job a-1 runs", "a-1"), ["condition Started is True: Created: Job a-1 runs"]);
        assert!(claims("Started", "Job a-1 runs", "b-1").is_empty());
        assert!(claims("Ready", "Job a-1 runs", "a-1").is_empty());
    }

    #[test]
    fn differences_name_the_kind_and_the_children() {
        let created = |names: &[&str]| {
            let subject =
                |name: &&str| Subject::of(&json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name } }));
            Created::from([("Job".to_owned(), names.iter().map(subject).collect())])
        };
        assert!(differences(&created(&["a", "b"]), &created(&["a", "c"])).is_empty(), "a name may depend on the time");
        assert_eq!(
            differences(&created(&["a", "b"]), &created(&["a"])),
            ["1 objects of the kind Job are created in all, and 2 if the host is not interrupted.\nmissing: Job b"]
        );
        assert_eq!(differences(&Created::new(), &created(&["a"])).len(), 1);
    }
}
