//! `gyre fuzz`: tries to break a plugin.

mod arguments;
mod reproduction;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use gyre_core::object::GroupVersionKind;
use gyre_core::text::list;
use gyre_engine::difference::to_yaml;
use gyre_engine::program::Program;
use gyre_input::manifests;
use gyre_offline::cases::START;
use gyre_offline::check::{CheckOptions, CheckReport, CheckSetup, Flaw, generated_parents};
use gyre_offline::rendered::check_parents;
use gyre_sandbox::Plugin;
use jiff::Timestamp;
use serde_json::Value;

pub(crate) use self::arguments::FuzzArguments;
use self::reproduction::{make_folder, reproduction};
use crate::commands::build::{build_projects, build_variants, or_samples};
use crate::config::Source;
use crate::config::arguments::mounts::MountArguments;
use crate::config::arguments::mounts::tools::SOME_PLUGIN;
use crate::config::values::MissingArgument;
use crate::plugins::open;
use crate::plugins::source::PluginSource;

const EXAMPLES: &str = "\
Examples:
  gyre fuzz                                             # builds the project in this folder, and uses its samples/
  gyre fuzz echo.wasm -f samples/
  gyre fuzz echo.wasm                                   # without files, begins with an object that is generated from the schema of the CRD
  gyre fuzz echo.wasm -f samples/ --cases 1000 --seed 7
  gyre fuzz cron.wasm -f samples/ --at-most-one Job    # also finds two Jobs of one parent that run at the same time
  gyre fuzz python.wasm --other-build other.wasm       # the other one from `gyre build --to other.wasm -- --hash-seed 1`: the order of sets differs
  gyre fuzz echo.wasm -f samples/ --keep found/        # writes the objects of each finding, to reproduce it
  gyre fuzz echo.wasm -f samples/ -o json | jq '.findings[].finding'

The files contain parents and all other objects that the plugin reads. The command repeats calls (at most 40 of each experiment); deletes
children, changes them, lets them finish, and removes those with a TTL; changes the specs of parents and changes them back; deletes parents;
stores parents as each other version of their CRD (without a conversion webhook: only the name of the version changes, and fields that the
schema lacks are dropped); and generates further parents from the schema of the CRD. If the plugin asks to be called again, due times pass:
with children that end and children that do not, with a host that is killed or down, and with an API server that refuses the children.";

pub(crate) fn fuzz_examples() -> String {
    let names: Vec<&str> = Flaw::ALL.iter().map(|flaw| flaw.name()).collect();
    let codes = "Exit codes: 0 no findings, 1 findings, 2 the arguments are wrong.";
    format!("{EXAMPLES} A finding is one of:\n  {}.\n{codes}", names.join(", "))
}

/// The retries of a failing call: enough to see whether it always fails.
const RETRIES: u32 = 3;

pub(crate) fn fuzz(mut arguments: FuzzArguments) -> anyhow::Result<ExitCode> {
    let objects = arguments.mount.take_objects();
    arguments.files.extend(objects);
    let mut mount = MountArguments::from(arguments.mount.clone());
    let projects = build_projects(&mut mount)?;
    if mount.is_empty() {
        bail!(MissingArgument { command: "fuzz", argument: SOME_PLUGIN });
    }
    let files = or_samples(arguments.files.clone(), &projects);
    mount.policy.max_retries = Some(mount.policy.max_retries.unwrap_or(RETRIES));
    let programs = Source::open(&mount)?.programs().to_vec();
    let start = arguments.time.unwrap_or(START);
    let objects = if files.is_empty() { generated(&programs, start, arguments.seed)? } else { manifests::read(&files)? };
    let at_most_one = arguments.at_most_one.iter().map(|kind| child_kind(&programs, kind)).collect::<anyhow::Result<_>>()?;
    let variants = build_variants(&projects)?.into_iter().map(PluginSource::from);
    let other_files: Vec<PluginSource> = arguments.other_builds.iter().cloned().chain(variants).collect();
    let other_builds = other_builds(&mount, &programs, &other_files)?;
    let setup = CheckSetup { programs, other_builds, at_most_one, start, objects };
    check_parents(&setup.programs, &setup.objects)?;
    if let Some(folder) = &arguments.keep {
        make_folder(folder)?;
    }
    let checked = setup.check(CheckOptions { seed: arguments.seed, cases: arguments.cases as usize })?;
    report(&arguments, &checked)?;
    Ok(if checked.findings().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Opens other builds of the plugins.
fn other_builds(mount: &MountArguments, programs: &[Program], others: &[PluginSource]) -> anyhow::Result<Vec<Plugin>> {
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let (sandbox, store) = (mount.code.sandbox()?, mount.code.registry.store());
    let is_checked = |plugin: &Plugin| programs.iter().any(|program| program.manifest().name == plugin.manifest().name);
    let mut builds = Vec::new();
    for other in others {
        let plugins: Vec<Plugin> = open(&sandbox, &store, other)?.iter().collect();
        if !plugins.iter().any(is_checked) {
            let names = list(plugins.iter().map(|plugin| &plugin.manifest().name));
            bail!(
                "--other-build {other}: it is a build of {names}, which is not checked: name another build of a plugin that is"
            );
        }
        builds.extend(plugins);
    }
    Ok(builds)
}

/// Returns generated parents, and prints them.
fn generated(programs: &[Program], start: Timestamp, seed: u64) -> anyhow::Result<Vec<(String, Value)>> {
    let parents = generated_parents(programs, start, seed)?;
    for (_, parent) in &parents {
        // A closed output is not a reason to stop.
        let _ = writeln!(
            std::io::stderr(),
            "No files were given: the search begins with a generated object.\n{}",
            to_yaml(parent)?
        );
    }
    Ok(parents)
}

/// Returns the child kind that a plugin declares by this name, such as `Job` or `Job.v1.batch`.
fn child_kind(programs: &[Program], named: &str) -> anyhow::Result<GroupVersionKind> {
    let declared: Vec<&GroupVersionKind> =
        programs.iter().flat_map(|program| &program.manifest().children).map(|child| &child.kind).collect();
    match declared.iter().find(|kind| kind.kind == named || kind.to_string() == named) {
        Some(kind) => Ok((*kind).clone()),
        None if declared.is_empty() => bail!("--at-most-one {named}: the plugin declares no kind of children: leave it out"),
        None => bail!(
            "--at-most-one {named}: the plugin declares no such kind of children, only {}: name one of these",
            list(declared)
        ),
    }
}

fn report(arguments: &FuzzArguments, checked: &CheckReport) -> anyhow::Result<()> {
    let mut reproductions = Vec::new();
    for (number, finding) in (1..).zip(checked.findings()) {
        reproductions.push(reproduction(arguments, number, finding)?);
    }
    let data = || {
        let reproductions: Vec<Value> = reproductions.iter().map(|reproduction| reproduction.json()).collect();
        checked.json(&reproductions, arguments.seed)
    };
    let text = || {
        let reproductions: Vec<String> = reproductions.iter().map(|reproduction| reproduction.text()).collect();
        let mut text = checked.text(&reproductions);
        if !checked.findings().is_empty() && arguments.keep.is_none() {
            text.push_str("To write the objects of each finding to a directory, use --keep DIRECTORY.\n");
        }
        Ok(text)
    };
    arguments.report.format.print(text, data)
}
