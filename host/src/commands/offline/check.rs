//! `gyre check`: tries to break a plugin, in worlds of its own.
//!
//! ```text
//!   files ──▶ ground ──▶ undisturbed: rests? rests after a restart? ──▶ children, parents
//!                                                                          │
//!        ┌──────────────────┬───────────────────┬──────────────────────────┤
//!        ▼                  ▼                   ▼                          ▼
//!   child removed,     spec A, B, A        parent deleted,         specs drawn from the schema
//!   changed, finished                      stored otherwise                │
//!        └──────────────────┴─────────┬─────────┴──────────────────────────┘
//!                                     ▼
//!                      findings; every call made again
//! ```
//!
//! Each experiment has a cluster and a host of its own, so one does not disturb another, and each can be done again alone. Parents that it is not
//! about are not there, unless somebody reads their kind.
//! What is absent: an opinion on what a plugin is for. Whatever it does, it has to come to rest, to come back, and to end.

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
  gyre check echo.wasm -f samples/ --keep found/        # writes the objects of each finding, to see it again
  gyre check echo.wasm -f samples/ --json | jq '.findings[].finding'

The files hold parents and everything else that the plugin reads. Each call is made again, children are removed, changed and finished,
specs changed and changed back, parents deleted, stored as each other version that their CRD has (without a conversion webhook: the version's name
changes, and what a schema lacks is gone), and others drawn from the schema of the CRD.";

/// What the help of `gyre check` ends with.
pub(crate) fn check_examples() -> String {
    let names: Vec<&str> = Flaw::ALL.iter().map(|flaw| flaw.name()).collect();
    let codes = "Exit codes: 0 nothing was found, 1 something was, 2 the arguments are wrong.";
    format!("{EXAMPLES} A finding is one of:\n  {}.\n{codes}", names.join(", "))
}

/// A call that fails is tried again so often: enough to see whether it always does.
const RETRIES: u32 = 3;
/// Specs that a parent is changed to and back from.
const MOST_SPECS: usize = 3;
/// Of one flaw so many are told; the others are counted.
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
        bail!("every parent in the files is gone before there is something to check: give one that is not being deleted");
    }
    // Other experiments begin with a world at rest.
    let goes_on =
        !found.findings.iter().any(|finding| finding.flaw.is_fault() || matches!(finding.flaw, Flaw::Restless | Flaw::HotLoop));
    if goes_on {
        let experiments = experiments(&ground, &rested, &arguments, &mut found)?;
        let made = parallel::each(&experiments, |experiment| {
            ground.run(experiment).with_context(|| format!("cannot check this: {}", experiment.name()))
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
            .push(format!("The specs of {alone} of {all} parents were not changed: no other is known that they could have."));
    }
    let stored = stored::all(ground, rested, arguments.seed, arguments.cases as usize);
    experiments.extend(stored.into_iter().map(|stored| Experiment::Stored(Box::new(stored))));
    let drawn = drawn::worlds(ground, &rested.parents, arguments.seed, arguments.cases as usize, found)?;
    experiments.extend(drawn.into_iter().map(Experiment::Drawn));
    Ok(experiments)
}

/// Leaves some of each flaw; how many others there were.
fn thin_out(findings: &mut Vec<Finding>) -> usize {
    let mut kept: Vec<Finding> = Vec::new();
    let mut others = BTreeSet::new();
    for finding in findings.drain(..) {
        // Calls that are tried again say the same again.
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
            text.push_str("With --keep DIRECTORY the objects of each finding are written there.\n");
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
        0 => text.push_str("Nothing was found.\n"),
        count => {
            let alike = if more > 0 { format!(", and {more} more like them") } else { String::new() };
            text.push_str(&format!("\n{count} found{alike}.\n"));
        }
    }
    if !goes_on {
        text.push_str("The other checks were left out: they begin with a world at rest.\n");
    }
    text
}
