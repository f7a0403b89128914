//! `gyre check`: tries to break a plugin in simulated clusters.
//!
//! ```text
//!   files ──▶ ground ──▶ undisturbed: converges? also after a restart? ─▶ children, parents
//!                                                                          │
//!        ┌──────────────────┬───────────────────┬──────────────────────────┤
//!        ▼                  ▼                   ▼                          ▼
//!   child removed,     spec A, B, A        parent deleted,         specs generated from the schema
//!   changed, finished                      stored as other versions        │
//!        └──────────────────┴─────────┬─────────┴──────────────────────────┘
//!                                     ▼
//!                      findings; every call repeated
//! ```
//!
//! Each experiment has its own cluster and host, so that experiments do not affect each other and each can be repeated alone. Parents that
//! an experiment is not about are left out, unless somebody reads their kind.
//! What is absent: an opinion on the purpose of a plugin. Whatever it does, it has to converge, to restore its children, and to finish its
//! teardown.

mod arguments;
mod calls;
pub(crate) mod compare;
mod dice;
mod disturb;
mod draw;
mod drawn;
mod experiment;
mod finding;
mod ground;
mod narrow;
mod reproduction;
mod stored;
mod texts;
mod undisturbed;
mod untried;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

pub(crate) use self::arguments::CheckArguments;
use self::arguments::START;
use self::dice::Dice;
use self::experiment::Experiment;
use self::finding::{Finding, Flaw};
use self::ground::{Found, Ground, MOST_PARENTS, Rested};
use self::reproduction::{Reproduction, make_folder, reproduction};
use super::parallel;
use super::plan::Subject;
use super::render::check_parents;
use crate::config::Source;
use crate::config::arguments::mounts::MountArguments;
use crate::manifests;

const EXAMPLES: &str = "\
Examples:
  gyre check echo.wasm -f samples/
  gyre check echo.wasm -f samples/ --cases 1000 --seed 7
  gyre check echo.wasm -f samples/ --keep found/        # writes the objects of each finding, to reproduce it
  gyre check echo.wasm -f samples/ --json | jq '.findings[].finding'

The files contain parents and all other objects that the plugin reads. The command repeats each call; removes, changes and finishes
children; changes the specs of parents and changes them back; deletes parents; stores parents as each other version of their CRD (without a
conversion webhook: only the name of the version changes, and fields that the schema lacks are dropped); and generates further parents from
the schema of the CRD.";

/// The end of the help of `gyre check`.
pub(crate) fn check_examples() -> String {
    let names: Vec<&str> = Flaw::ALL.iter().map(|flaw| flaw.name()).collect();
    let codes = "Exit codes: 0 no findings, 1 findings, 2 the arguments are wrong.";
    format!("{EXAMPLES} A finding is one of:\n  {}.\n{codes}", names.join(", "))
}

/// How often a failing call is retried: enough to see whether it always fails.
const RETRIES: u32 = 3;
/// How many other specs each parent is changed to, and back.
const MOST_SPECS: usize = 3;
/// How many findings of one flaw are printed; the others are counted.
const MOST_TOLD: usize = 3;

/// Runs `gyre check`.
pub(crate) fn check(arguments: CheckArguments) -> anyhow::Result<ExitCode> {
    let mut mount = MountArguments::from(arguments.mount.clone());
    mount.named.plugins.push(arguments.plugin.clone());
    mount.policy.max_retries = Some(mount.policy.max_retries.unwrap_or(RETRIES));
    let ground = Ground {
        programs: Source::open(&mount)?.programs().to_vec(),
        start: arguments.time.unwrap_or(START),
        objects: manifests::read(&arguments.files)?,
    };
    check_parents(&ground.programs, &ground.objects)?;
    if let Some(folder) = &arguments.keep {
        make_folder(folder)?;
    }
    let (mut found, rested) = ground.undisturbed()?;
    if rested.parents.is_empty() {
        bail!("every parent in the files is deleted before anything can be checked: add one that is not being deleted");
    }
    // The other experiments start once the host has converged.
    let goes_on =
        !found.findings.iter().any(|finding| finding.flaw.is_fault() || matches!(finding.flaw, Flaw::Restless | Flaw::HotLoop));
    if goes_on {
        let experiments = experiments(&ground, &rested, &arguments, &mut found)?;
        let made = parallel::each(&experiments, |experiment| {
            ground.run(experiment).with_context(|| format!("cannot run this experiment: {}", experiment.name()))
        });
        for one in made {
            found.merge(one?);
        }
    }
    let more = thin_out(&mut found.findings);
    report(&arguments, &found, more, goes_on)?;
    Ok(if found.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn experiments(
    ground: &Ground,
    rested: &Rested,
    arguments: &CheckArguments,
    found: &mut Found,
) -> anyhow::Result<Vec<Experiment>> {
    let mut experiments: Vec<Experiment> = disturb::disturbances(rested).into_iter().map(Experiment::Disturbed).collect();
    found.notes.extend(untried::notes(ground, rested));
    let mut alone = 0;
    let mut dice = Dice::new(arguments.seed);
    for parent in rested.parents.iter().take(MOST_PARENTS) {
        let subject = Subject::of(parent);
        let is_alike =
            |other: &Subject| *other != subject && (&other.api_version, &other.kind) == (&subject.api_version, &subject.kind);
        let others = rested.parents.iter().filter(|other| is_alike(&Subject::of(other))).filter_map(|other| other.get("spec"));
        let mut specs: Vec<Value> = others.filter(|spec| Some(*spec) != parent.get("spec")).take(MOST_SPECS).cloned().collect();
        if let Some(schema) = drawn::schema(ground, parent) {
            while specs.len() < MOST_SPECS
                && let Some(drawn) = drawn::other_spec(schema, parent, &mut dice)
            {
                specs.push(drawn);
            }
        }
        alone += usize::from(specs.is_empty());
        experiments.extend(specs.into_iter().map(|other| Experiment::Restored { parent: subject.clone(), other }));
        experiments.push(Experiment::TornDown(subject));
    }
    if alone > 0 {
        let all = rested.parents.len().min(MOST_PARENTS);
        found
            .notes
            .push(format!("The specs of {alone} of {all} parents were not changed: no other valid spec is known for them."));
    }
    let stored = stored::all(ground, rested, arguments.seed, arguments.cases as usize);
    experiments.extend(stored.into_iter().map(|stored| Experiment::Stored(Box::new(stored))));
    let drawn = drawn::worlds(ground, &rested.parents, arguments.seed, arguments.cases as usize, found)?;
    experiments.extend(drawn.into_iter().map(Experiment::Drawn));
    Ok(experiments)
}

/// Keeps some findings of each flaw, and returns the number of the others.
fn thin_out(findings: &mut Vec<Finding>) -> usize {
    let mut kept: Vec<Finding> = Vec::new();
    let mut others = BTreeSet::new();
    for finding in findings.drain(..) {
        // Retried calls cause the same finding again.
        if kept.iter().any(|other| other.gist() == finding.gist()) {
            continue;
        }
        if kept.iter().filter(|other| other.flaw == finding.flaw).count() < MOST_TOLD {
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

fn report(arguments: &CheckArguments, found: &Found, more: usize, goes_on: bool) -> anyhow::Result<()> {
    let mut reproductions = Vec::new();
    for (number, finding) in (1..).zip(&found.findings) {
        reproductions.push(reproduction(arguments, number, finding)?);
    }
    let text = if arguments.json {
        let findings = found.findings.iter().zip(&reproductions);
        let findings: Vec<Value> = findings.map(|(finding, reproduce)| finding.json(&reproduce.json())).collect();
        let all = json!({
            "tried": found.tally.json(), "notes": found.notes, "complete": goes_on, "findings": findings, "alike": more,
            "seed": arguments.seed,
        });
        format!("{all:#}\n")
    } else {
        let mut text = text(found, &reproductions, more, goes_on);
        if !found.findings.is_empty() && arguments.keep.is_none() {
            text.push_str("To write the objects of each finding to a directory, use --keep DIRECTORY.\n");
        }
        text
    };
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")
}

fn text(found: &Found, reproductions: &[Reproduction], more: usize, goes_on: bool) -> String {
    let mut text = found.tally.to_string();
    found.notes.iter().for_each(|note| text.push_str(&format!("Note: {note}\n")));
    for (finding, reproduce) in found.findings.iter().zip(reproductions) {
        text.push_str(&format!("\n{}", finding.text(&reproduce.text())));
    }
    match found.findings.len() {
        0 => text.push_str("No findings.\n"),
        count => {
            let findings = if count == 1 { "finding" } else { "findings" };
            let alike = if more > 0 { format!(", and {more} similar ones") } else { String::new() };
            text.push_str(&format!("\n{count} {findings}{alike}.\n"));
        }
    }
    if !goes_on {
        text.push_str("The other experiments were skipped: they start only after the host has stopped writing.\n");
    }
    text
}
