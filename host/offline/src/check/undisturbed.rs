//! The run without changes: the objects of the files, and the host.

use std::time::Duration;

use gyre_core::answer::schema_violations;
use gyre_devcluster::Controllers;

use super::finding::{Flaw, Tally, Tried};
use super::setup::{CheckSetup, ConvergedState, ExperimentResult, MOST_CALLS, is_about_form, is_of_child};
use super::{calls, compare};
use crate::call_log::CallLog;
use crate::host_run::End;
use crate::plan::{Action, Verb};
use crate::simulation::{Simulation, simulate};

/// A host that writes after each restart never converges.
const RESTARTS: usize = 3;
/// By this time, all that a plugin may wait for has happened: early requeues are useless.
const COOLS: Duration = Duration::from_secs(10);

impl CheckSetup {
    pub(super) fn undisturbed(&self) -> anyhow::Result<(ExperimentResult, ConvergedState)> {
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
            Ok((results, converged))
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
            let host_run = simulation.run(&self.programs).await?;
            // Refused writes are retried, and change nothing.
            let is_write = |action: &Action| action.verb != Verb::Event && action.refusal.is_none();
            let writes: Vec<Action> = host_run.actions.into_iter().filter(is_write).collect();
            if writes.is_empty() && host_run.end == End::Converged {
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
                // The host refuses it without a request.
                None if action.verb == Verb::Event && is_word(action, "InvalidChild") => {
                    let what = action.to_string();
                    results.add(Flaw::InvalidChild, case, what, self.all());
                }
                _ => {}
            }
        }
    }
}

fn is_word(event: &Action, reason: &str) -> bool {
    event.object.get("reason").is_some_and(|said| said == reason)
}
