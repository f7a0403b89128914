//! Tries to break a plugin in simulated clusters: `gyre fuzz`.
//!
//! ```text
//!   files ──▶ setup ──▶ undisturbed: converges? also after a restart? ─▶ children, parents
//!                                                                          │
//!        ┌──────────────────┬───────────────────┬──────────────────────────┤
//!        ▼                  ▼                   ▼                          ▼
//!   child removed,     spec A, B, A        parent deleted,         specs generated from the schema
//!   changed, finished  due times pass      stored as other versions        │
//!        └──────────────────┴─────────┬─────────┴──────────────────────────┘
//!                                     ▼
//!                      findings; every call repeated
//! ```
//!
//! Each experiment has its own cluster and host, so it can be repeated alone. It leaves out parents
//! that it is not about, unless a plugin reads their kind.
//!
//! What is absent: knowledge of a plugin's purpose. Any plugin has to converge, restore its
//! children and finish its teardown.

mod calls;
pub mod compare;
mod dice;
mod disturb;
mod draw;
mod drawn;
mod experiment;
mod finding;
mod narrow;
mod scheduled;
mod setup;
mod stored;
mod texts;
mod undisturbed;
mod untried;

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use self::dice::Dice;
pub use self::drawn::generated_parents;
use self::experiment::Experiment;
pub use self::finding::{Finding, Flaw};
use self::narrow::Focus;
pub use self::setup::CheckSetup;
use self::setup::{ConvergedChild, ConvergedState, ExperimentResult, MOST_PARENTS, is_named};
use crate::parallel;
use crate::plan::Subject;

/// The number of other specs that each parent is changed to, and back.
const MOST_SPECS: usize = 3;
const MOST_SHOWN: usize = 3;

/// The number of experiments, and their seed.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// The seed of the generated specs.
    pub seed: u64,
    /// The number of specs that are generated from the schema.
    pub cases: usize,
}

/// The result of a check.
pub struct CheckReport {
    results: ExperimentResult,
    /// The number of similar findings that are left out.
    alike: usize,
    /// Whether all experiments were run. They are skipped if the host never stops writing.
    is_complete: bool,
}

impl CheckSetup {
    /// Tries to break the plugins.
    ///
    /// # Errors
    /// When there is nothing to check, or an experiment cannot be run.
    pub fn check(&self, options: CheckOptions) -> anyhow::Result<CheckReport> {
        let (mut results, converged, mut is_complete) = self.undisturbed()?;
        if converged.parents.is_empty() {
            bail!("every parent in the files is deleted before anything can be checked: add one that is not being deleted");
        }
        is_complete &= !results.findings.iter().any(|finding| finding.flaw.is_fault() || finding.flaw == Flaw::HotLoop);
        if is_complete {
            let experiments = experiments(self, &converged, options, &mut results)?;
            let made = parallel::each(&experiments, |experiment| {
                self.run(experiment).with_context(|| format!("cannot run this experiment: {}", experiment.name()))
            });
            for one in made {
                results.merge(one?);
            }
        }
        let alike = thin_out(&mut results.findings);
        Ok(CheckReport { results, alike, is_complete })
    }
}

impl CheckReport {
    /// The findings.
    pub fn findings(&self) -> &[Finding] {
        &self.results.findings
    }

    /// As JSON, with a command line for each finding that reproduces it.
    pub fn json(&self, reproductions: &[Value], seed: u64) -> Value {
        let findings = self.results.findings.iter().zip(reproductions);
        let findings: Vec<Value> = findings.map(|(finding, reproduction)| finding.json(reproduction)).collect();
        json!({
            "tried": self.results.tally.json(), "notes": self.results.notes, "complete": self.is_complete, "findings": findings,
            "alike": self.alike, "seed": seed,
        })
    }

    /// As text, with a sentence for each finding about how to reproduce it.
    pub fn text(&self, reproductions: &[String]) -> String {
        let mut text = self.results.tally.to_string();
        self.results.notes.iter().for_each(|note| text.push_str(&format!("Note: {note}\n")));
        for (finding, reproduction) in self.results.findings.iter().zip(reproductions) {
            text.push_str(&format!("\n{}", finding.text(reproduction)));
        }
        match self.results.findings.len() {
            0 => text.push_str("No findings.\n"),
            count => {
                let findings = if count == 1 { "finding" } else { "findings" };
                let alike = if self.alike > 0 { format!(", and {} similar ones", self.alike) } else { String::new() };
                text.push_str(&format!("\n{count} {findings}{alike}.\n"));
            }
        }
        if !self.is_complete {
            text.push_str("The other experiments were skipped: they start only after the host has stopped writing.\n");
        }
        text
    }
}

fn experiments(
    setup: &CheckSetup,
    converged: &ConvergedState,
    options: CheckOptions,
    results: &mut ExperimentResult,
) -> anyhow::Result<Vec<Experiment>> {
    let mut disturbed = disturb::disturbances(converged.children.iter(), 0);
    let asks_again =
        |parent: &&Value| converged.calls.get(&Subject::of(parent)).is_some_and(|call| scheduled::due(call).is_some());
    let schedules: Vec<Subject> = converged.parents.iter().filter(asks_again).take(MOST_PARENTS).map(Subject::of).collect();
    for parent in &schedules {
        if let Some((due_times, later)) = setup.narrowed(Focus::One(parent)).state_with_later_children(converged)? {
            let is_new = |child: &&ConvergedChild| !converged.children.iter().any(|known| known.subject == child.subject);
            disturbed.extend(disturb::disturbances(later.children.iter().filter(is_new), due_times));
        }
    }
    let mut experiments: Vec<Experiment> = disturbed.into_iter().map(Experiment::Disturbed).collect();
    experiments.extend(schedules.into_iter().map(Experiment::Scheduled));
    results.notes.extend(untried::notes(setup, converged));
    let mut alone = 0;
    let mut dice = Dice::new(options.seed);
    for parent in converged.parents.iter().take(MOST_PARENTS) {
        let subject = Subject::of(parent);
        let is_alike =
            |other: &Subject| *other != subject && (&other.api_version, &other.kind) == (&subject.api_version, &subject.kind);
        let others =
            converged.parents.iter().filter(|other| is_alike(&Subject::of(other))).filter_map(|other| other.get("spec"));
        let mut specs: Vec<Value> = others.filter(|spec| Some(*spec) != parent.get("spec")).take(MOST_SPECS).cloned().collect();
        if let Some(schema) = drawn::schema(setup, parent) {
            while specs.len() < MOST_SPECS
                && let Some(drawn) = drawn::other_spec(schema, parent, &mut dice)
            {
                specs.push(drawn);
            }
        }
        alone += usize::from(specs.is_empty());
        experiments.extend(specs.into_iter().map(|other| Experiment::Restored { parent: subject.clone(), other }));
        // The cluster has others by itself, and forbids the deletion of e.g. the Namespace default.
        if setup.objects.iter().any(|(_, given)| is_named(given, &subject)) {
            experiments.push(Experiment::TornDown(subject));
        }
    }
    if alone > 0 {
        let all = converged.parents.len().min(MOST_PARENTS);
        results
            .notes
            .push(format!("The specs of {alone} of {all} parents were not changed: no other valid spec is known for them."));
    }
    let stored = stored::experiments(setup, converged, options.seed, options.cases);
    experiments.extend(stored.into_iter().map(|stored| Experiment::Stored(Box::new(stored))));
    let drawn = drawn::worlds(setup, &converged.parents, options.seed, options.cases, results)?;
    experiments.extend(drawn.into_iter().map(Experiment::Drawn));
    Ok(experiments)
}

fn thin_out(findings: &mut Vec<Finding>) -> usize {
    let mut kept: Vec<Finding> = Vec::new();
    let mut others = BTreeSet::new();
    for finding in findings.drain(..) {
        // Retried calls cause the same finding again.
        if kept.iter().any(|other| other.gist() == finding.gist()) {
            continue;
        }
        if kept.iter().filter(|other| other.flaw == finding.flaw).count() < MOST_SHOWN {
            kept.push(finding);
        } else {
            let (flaw, what) = finding.gist();
            others.insert((flaw, what.to_owned()));
        }
    }
    kept.sort_by_key(|finding| finding.flaw);
    *findings = kept;
    others.len()
}
