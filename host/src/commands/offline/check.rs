//! `gyre check`: tries to break a plugin.

mod arguments;
mod reproduction;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use gyre_input::manifests;
use gyre_offline::cases::START;
use gyre_offline::check::{CheckOptions, CheckReport, CheckSetup, Flaw};
use gyre_offline::rendered::check_parents;
use serde_json::Value;

pub(crate) use self::arguments::CheckArguments;
use self::reproduction::{make_folder, reproduction};
use crate::config::Source;
use crate::config::arguments::mounts::MountArguments;

const EXAMPLES: &str = "\
Examples:
  gyre check echo.wasm -f samples/
  gyre check echo.wasm -f samples/ --cases 1000 --seed 7
  gyre check echo.wasm -f samples/ --keep found/        # writes the objects of each finding, to reproduce it
  gyre check echo.wasm -f samples/ --json | jq '.findings[].finding'

The files contain parents and all other objects that the plugin reads. The command repeats calls (at most 40 of each experiment); deletes
children, changes them, and lets them finish; changes the specs of parents and changes them back; deletes parents; stores parents as each
other version of their CRD (without a conversion webhook: only the name of the version changes, and fields that the schema lacks are dropped);
and generates further parents from the schema of the CRD.";

pub(crate) fn check_examples() -> String {
    let names: Vec<&str> = Flaw::ALL.iter().map(|flaw| flaw.name()).collect();
    let codes = "Exit codes: 0 no findings, 1 findings, 2 the arguments are wrong.";
    format!("{EXAMPLES} A finding is one of:\n  {}.\n{codes}", names.join(", "))
}

/// The retries of a failing call: enough to see whether it always fails.
const RETRIES: u32 = 3;

pub(crate) fn check(arguments: CheckArguments) -> anyhow::Result<ExitCode> {
    let mut mount = MountArguments::from(arguments.mount.clone());
    mount.named.plugins.push(arguments.plugin.clone());
    mount.policy.max_retries = Some(mount.policy.max_retries.unwrap_or(RETRIES));
    let setup = CheckSetup {
        programs: Source::open(&mount)?.programs().to_vec(),
        start: arguments.time.unwrap_or(START),
        objects: manifests::read(&arguments.files)?,
    };
    check_parents(&setup.programs, &setup.objects)?;
    if let Some(folder) = &arguments.keep {
        make_folder(folder)?;
    }
    let checked = setup.check(CheckOptions { seed: arguments.seed, cases: arguments.cases as usize })?;
    report(&arguments, &checked)?;
    Ok(if checked.findings().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(arguments: &CheckArguments, checked: &CheckReport) -> anyhow::Result<()> {
    let mut reproductions = Vec::new();
    for (number, finding) in (1..).zip(checked.findings()) {
        reproductions.push(reproduction(arguments, number, finding)?);
    }
    let text = if arguments.json {
        let reproductions: Vec<Value> = reproductions.iter().map(|reproduction| reproduction.json()).collect();
        format!("{:#}\n", checked.json(&reproductions, arguments.seed))
    } else {
        let reproductions: Vec<String> = reproductions.iter().map(|reproduction| reproduction.text()).collect();
        let mut text = checked.text(&reproductions);
        if !checked.findings().is_empty() && arguments.keep.is_none() {
            text.push_str("To write the objects of each finding to a directory, use --keep DIRECTORY.\n");
        }
        text
    };
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")
}
