//! The run without changes: the objects of the files, and the host.

use std::time::Duration;

use gyre_core::answer::schema_violations;
use gyre_devcluster::Controllers;
use serde_json::Value;

use super::finding::{Flaw, Tally, Tried};
use super::setup::{CheckSetup, ConvergedState, ExperimentResult, MOST_CALLS, is_about_form, is_of_child, last};
use super::{calls, compare};
use crate::call_log::CallLog;
use crate::host_run::End;
use crate::plan::{Action, Subject, Verb};
use crate::simulation::{Simulation, simulate};

/// A host that writes after each restart never converges.
const RESTARTS: usize = 3;
/// By this time, all that a plugin may wait for has happened: early requeues are useless.
const COOLS: Duration = Duration::from_secs(10);

impl CheckSetup {
    /// Returns also whether the host stopped writing.
    pub(super) fn undisturbed(&self) -> anyhow::Result<(ExperimentResult, ConvergedState, bool)> {
        simulate(async {
            let case = "the files as they are";
            let mut results = ExperimentResult::default();
            let simulation = self.simulation(Controllers::Absent)?;
            let log = CallLog::new(MOST_CALLS);
            let happens = async {
                let end = simulation.until_converged().await;
                if !calls::hot_loops(&log.calls()).is_empty() {
                    tokio::time::sleep(COOLS).await;
                }
                end
            };
            let end = simulation.with_host(&self.programs, log.recordings.clone(), happens).await?;
            let mut actions = simulation.actions();
            self.refused(&mut results, case, &actions);
            let converged = self.converged_state(&simulation, &log.calls()).await?;
            results.judge(self, &log, case);
            for (parent, after) in calls::hot_loops(&log.calls()) {
                let what = format!("{parent}: nothing changes, but each answer requests a requeue after {after:?}.");
                results.add(Flaw::HotLoop, case, what, self.all());
            }
            let is_sound = !results.findings.iter().any(|finding| finding.flaw.is_fault());
            let mut keeps_writing = end == End::NonConverging;
            if !keeps_writing && is_sound {
                keeps_writing = self.writes_at_each_start(&simulation, &mut actions, &mut results.tally).await?;
            }
            if keeps_writing {
                results.add(Flaw::KeepsWriting, case, compare::flapping(&actions), self.all());
            }
            Ok((results, converged, end == End::Converged))
        })?
    }

    async fn writes_at_each_start(
        &self,
        simulation: &Simulation,
        all: &mut Vec<Action>,
        tally: &mut Tally,
    ) -> anyhow::Result<bool> {
        for _ in 0..RESTARTS {
            tally.add(Tried::Restarts, 1);
            let log = CallLog::new(MOST_CALLS);
            let before = self.parents(simulation).await?;
            let end = simulation.with_host(&self.programs, log.recordings.clone(), simulation.until_converged()).await?;
            let after = self.parents(simulation).await?;
            let calls = log.calls();
            let last = last(&calls);
            // Refused writes are retried, and change nothing. The conditions of a failing parent
            // say at first that it is retried, and then that it is not. Each start writes fields
            // again that the API server drops.
            let is_write = |action: &Action| {
                let fails = || last.get(&action.subject).is_some_and(|call| call.answer.result.is_err());
                let is_status_of_failing =
                    action.verb == Verb::Status && fails() && is_same_status(&action.subject, &before, &after);
                action.verb != Verb::Event && action.refusal.is_none() && !is_status_of_failing && dropped(action).is_empty()
            };
            let writes: Vec<Action> = simulation.actions().into_iter().filter(is_write).collect();
            if writes.is_empty() && end == End::Converged {
                return Ok(false);
            }
            all.extend(writes);
        }
        Ok(true)
    }

    fn refused(&self, results: &mut ExperimentResult, case: &str, actions: &[Action]) {
        let mut seen = Vec::new();
        for action in actions {
            match &action.refusal {
                Some(refusal) if is_of_child(action) && is_about_form(refusal) && !seen.contains(&refusal) => {
                    seen.push(refusal);
                    let why = schema_violations(refusal).unwrap_or_else(|| refusal.clone());
                    let what = format!("The API server rejects the child {}: {why}.", action.subject);
                    results.add(Flaw::InvalidChild, case, what, self.all());
                }
                Some(refusal) if action.verb == Verb::Status && is_about_form(refusal) && !seen.contains(&refusal) => {
                    seen.push(refusal);
                    let what = format!("The API server rejects the status of {}: {refusal}.", action.subject);
                    results.add(Flaw::InvalidStatus, case, what, self.all());
                }
                // The host refuses these without a request.
                None if action.verb == Verb::Event && is_word(action, "InvalidChild") => {
                    results.add(Flaw::InvalidChild, case, action.to_string(), self.all());
                }
                None if action.verb == Verb::Event && is_word(action, "NotServed") => {
                    results.add(Flaw::KindNotServed, case, action.to_string(), self.all());
                }
                None if !dropped(action).is_empty() => {
                    let (subject, fields) = (&action.subject, dropped(action).join(", "));
                    let what = format!(
                        "The API server drops fields of the status of {subject}, because the schema lacks them: {fields}."
                    );
                    results.add(Flaw::DroppedStatus, case, what, self.all());
                }
                _ => {}
            }
        }
    }
}

/// The fields of a written status that the API server did not store.
fn dropped(action: &Action) -> Vec<String> {
    let mut fields = Vec::new();
    let [_, after] = &action.states;
    if action.verb == Verb::Status && action.refusal.is_none() {
        find_dropped(action.object.get("status").unwrap_or(&Value::Null), after.get("status"), "status", &mut fields);
    }
    fields
}

/// A merge patch removes the fields that are null.
fn find_dropped(sent: &Value, stored: Option<&Value>, path: &str, into: &mut Vec<String>) {
    match (sent, stored) {
        (Value::Null, _) => {}
        (_, None) => into.push(path.to_owned()),
        (Value::Object(fields), Some(stored)) => {
            fields.iter().for_each(|(name, field)| find_dropped(field, stored.get(name), &format!("{path}.{name}"), into));
        }
        (Value::Array(items), Some(stored)) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| find_dropped(item, stored.get(index), &format!("{path}[{index}]"), into)),
        _ => {}
    }
}

/// Returns whether a parent has the same status as before, except for times of transitions.
fn is_same_status(subject: &Subject, before: &[Value], after: &[Value]) -> bool {
    let status = |parents: &[Value]| {
        let mut status = parents.iter().find(|parent| Subject::of(parent) == *subject)?.get("status")?.clone();
        let conditions = status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten();
        for condition in conditions.filter_map(Value::as_object_mut) {
            condition.remove("lastTransitionTime");
        }
        Some(status)
    };
    status(before) == status(after)
}

fn is_word(event: &Action, reason: &str) -> bool {
    event.object.get("reason").is_some_and(|said| said == reason)
}
