//! The world of the files as they are, to which nothing happens but the plugin.

use std::time::Duration;

use gyre_devcluster::Controllers;
use gyre_engine::writes::apply::schema_violations;

use super::finding::{Flaw, Tally, Tried};
use super::setup::{Found, CheckSetup, Listener, ConvergedState, is_about_form, is_of_child};
use super::{calls, compare};
use crate::plan::{Action, Verb};
use crate::simulation::{End, Simulation, simulate};

/// A host that writes after each restart never converges.
const RESTARTS: usize = 3;
/// Whoever still asks for calls after this waits for nothing: what a plugin may wait for so closely has come by then.
const COOLS: Duration = Duration::from_secs(10);

impl CheckSetup {
    /// Nothing happens to the world but the plugin.
    pub(super) fn undisturbed(&self) -> anyhow::Result<(Found, ConvergedState)> {
        simulate(async {
            let case = "the files as they are";
            let mut found = Found::default();
            let simulation = self.simulation(Controllers::Absent)?;
            let listener = Listener::new();
            let happens = async {
                let end = simulation.until_converged().await;
                if !calls::hot_loops(&listener.calls()).is_empty() {
                    tokio::time::sleep(COOLS).await;
                }
                end
            };
            let end = simulation.with_host(&self.programs, listener.recordings.clone(), happens).await?;
            let mut actions = simulation.actions();
            self.refused(&mut found, case, &actions);
            let converged = self.converged_state(&simulation, &listener.calls()).await?;
            found.judge(self, &listener, case);
            for (parent, after) in calls::hot_loops(&listener.calls()) {
                let what = format!("{parent}: nothing changes, but each answer requests a requeue after {after:?}.");
                found.add(Flaw::HotLoop, case, what, self.all());
            }
            let is_sound = !found.findings.iter().any(|finding| finding.flaw.is_fault());
            let mut restless = end == End::NonConverging;
            if !restless && is_sound {
                restless = self.writes_at_each_start(&simulation, &mut actions, &mut found.tally).await?;
            }
            if restless {
                found.add(Flaw::KeepsWriting, case, compare::flapping(&actions), self.all());
            }
            Ok((found, converged))
        })?
    }

    async fn writes_at_each_start(&self, simulation: &Simulation, all: &mut Vec<Action>, tally: &mut Tally) -> anyhow::Result<bool> {
        for _ in 0..RESTARTS {
            tally.add(Tried::Restarts, 1);
            let host_run = simulation.run(&self.programs).await?;
            // What is refused is tried again, and changes nothing.
            let is_write = |action: &Action| action.verb != Verb::Event && action.refusal.is_none();
            let writes: Vec<Action> = host_run.actions.into_iter().filter(is_write).collect();
            if writes.is_empty() && host_run.end == End::Converged {
                return Ok(false);
            }
            all.extend(writes);
        }
        Ok(true)
    }

    fn refused(&self, found: &mut Found, case: &str, actions: &[Action]) {
        let mut seen = Vec::new();
        for action in actions {
            match &action.refusal {
                Some(refusal) if is_of_child(action) && is_about_form(refusal) && !seen.contains(&refusal) => {
                    seen.push(refusal);
                    let why = schema_violations(refusal).unwrap_or_else(|| refusal.clone());
                    let what = format!("The API server rejects the child {}: {why}.", action.subject);
                    found.add(Flaw::InvalidChild, case, what, self.all());
                }
                // What the host does not even send.
                None if action.verb == Verb::Event && is_word(action, "InvalidChild") => {
                    let what = action.to_string();
                    found.add(Flaw::InvalidChild, case, what, self.all());
                }
                _ => {}
            }
        }
    }
}

fn is_word(event: &Action, reason: &str) -> bool {
    event.object.get("reason").is_some_and(|said| said == reason)
}
