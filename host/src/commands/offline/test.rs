//! `gyre test`: golden cases.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args;
use gyre_core::text::list;
use gyre_engine::difference::to_yaml;
use gyre_engine::difference::unified::unified;
use gyre_engine::error::error_chain;
use gyre_engine::program::Program;
use gyre_engine::telemetry::time::Took;
use gyre_offline::cases::{Case, CaseInput, EXPECTED, SETTINGS, cases_in, text};
use gyre_offline::parallel;
use gyre_offline::rendered::rendered;
use serde_json::{Map, Value};

use crate::commands::build::{build_projects, is_project};
use crate::config::arguments::mounts::tools::{PluginMounts, SOME_PLUGIN};
use crate::config::arguments::mounts::{MountArguments, SettingsCheck};
use crate::config::values::{MissingArgument, WrongArguments};
use crate::config::{Error, Source, mounted_by_case};
use crate::plugins::source::PluginSource;

pub(crate) const TEST_EXAMPLES: &str = "\
Examples:
  gyre test                                    # builds the project in this folder, and runs the cases in cases/
  gyre test echo.wasm cases/
  gyre test echo.wasm cases/ --update          # writes what the plugin does now; review it with `git diff`
  gyre test echo.wasm cases/ --filter suspended --junit results.xml

Each directory with objects in it is a case. Its expected.yaml contains the expected result; --update writes it. Its other .yaml, .yml and
.json files contain the parents and all other objects that the plugin reads; settings.yaml contains the settings of the plugin in this case
(--settings is for cases without it), mount.yaml other keys of its mount, such as grants, and time.txt the simulated time
(2026-01-01T00:00:00Z if there is no such file).
The comparison covers everything that the host would do: the plan, the children, and the status of the parents.
Exit codes: 0 all cases pass, 1 some fail, 2 the arguments are wrong.";

#[derive(Debug, Args)]
#[command(mut_arg("plugins", |plugins| plugins.value_name("PLUGIN|DIRECTORY").help(
    "Plugins (.wasm) or folders of projects, which are built [default: the project in this folder], and the directory that contains a \
     directory for each case [default: cases in the project]"
)))]
pub(crate) struct TestArguments {
    /// Run only cases whose names contain this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Write the actual results into the cases as their expected results.
    #[arg(short, long, aliases = ["accept", "bless", "overwrite", "write"])]
    update: bool,
    /// File to write the results to, in the JUnit format.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    mount: PluginMounts,
}

/// The directory of the cases in a project.
const CASES: &str = "cases";

struct Outcome {
    name: String,
    took: Duration,
    verdict: Verdict,
}

enum Verdict {
    AsExpected,
    Updated,
    Differs(String),
    Failed(String),
}

pub(crate) fn test(arguments: TestArguments) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let mut mount = MountArguments::from(arguments.mount);
    let is_folder = |plugin: &mut PluginSource| plugin.path().is_some_and(|path| !is_plugin(path));
    let folders: Vec<PluginSource> = mount.named.plugins.extract_if(.., is_folder).collect();
    let folders: Vec<&Path> = folders.iter().filter_map(|folder| folder.path()).collect();
    let projects = build_projects(&mut mount)?;
    let own_cases = projects.first().cloned().unwrap_or_default().join(CASES);
    if mount.is_empty() {
        bail!(MissingArgument { command: "test", argument: SOME_PLUGIN });
    }
    let folder: &Path = match &folders[..] {
        [] => &own_cases,
        [folder] => folder,
        _ => bail!(WrongArguments(format!(
            "there are several directories, {}: give one, which contains a directory for each case",
            list(folders.iter().map(|folder| folder.display()))
        ))),
    };
    let mut cases = cases_in(folder)?;
    let filter = arguments.filter.as_deref().unwrap_or_default();
    cases.retain(|case| case.name.contains(filter));
    if cases.is_empty() {
        let folder = folder.display();
        match filter {
            "" => {
                bail!(
                    "there is no case in {folder}: create a directory with objects in it, and use --update to write its {EXPECTED}"
                )
            }
            _ => bail!("there is no case in {folder} whose name contains {filter:?}: leave --filter out to run all"),
        }
    }
    if cases.iter().all(|case| case.folder.join(SETTINGS).exists()) {
        mount.settings = SettingsCheck::Later;
    }
    let programs = Source::open(&mount)?.programs();
    // Fail before the cases run if the file cannot be written.
    let cannot = |path: &Path| format!("cannot write {}; name a file in a directory that exists", path.display());
    let results =
        arguments.junit.as_deref().map(|path| File::create(path).map(|file| (path, file)).with_context(|| cannot(path)));
    let results = results.transpose()?;
    let outcomes = parallel::each(&cases, |case| outcome(&programs, &mount, case, arguments.update));
    let failed = report(&outcomes, began).context("cannot write to standard output")?;
    if let Some((path, mut file)) = results {
        file.write_all(junit(&outcomes).as_bytes()).with_context(|| cannot(path))?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Tells plugins from the directory of the cases.
fn is_plugin(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm") || path.is_file() || is_project(path)
}

fn outcome(programs: &[Program], mount: &MountArguments, case: &Case, update: bool) -> Outcome {
    let began = Instant::now();
    let verdict = one(programs, mount, case, update).unwrap_or_else(|error| Verdict::Failed(error_chain(error.as_ref())));
    Outcome { name: case.name.clone(), took: began.elapsed(), verdict }
}

fn one(programs: &[Program], mount: &MountArguments, case: &Case, update: bool) -> anyhow::Result<Verdict> {
    let CaseInput { objects, settings, mount: keys, time } = CaseInput::read(&case.folder)?;
    let own;
    let programs = match (keys, settings) {
        (None, None) => programs,
        (None, Some(settings)) => {
            own = with_settings(programs, mount, &settings, &objects)?;
            &own
        }
        (Some(keys), settings) => {
            own = with_keys(programs, mount, &keys, settings.as_ref(), &objects)?;
            &own
        }
    };
    let actual = to_yaml(&rendered(programs, objects, time)?.summary())?;
    match text(&case.folder, EXPECTED)? {
        Some(expected) if actual == expected => Ok(Verdict::AsExpected),
        _ if update => {
            std::fs::write(case.folder.join(EXPECTED), actual).with_context(|| format!("cannot write {EXPECTED}"))?;
            Ok(Verdict::Updated)
        }
        Some(expected) => Ok(Verdict::Differs(new_warnings(&expected, &actual) + &unified(&expected, &actual))),
        None => bail!("there is no {EXPECTED}: use --update to write it, and review it"),
    }
}

/// The warnings of the host that were not expected, a line each: often the cause of the other
/// differences.
fn new_warnings(expected: &str, actual: &str) -> String {
    let is_new = |line: &&str| line.contains(": Warning ") && !expected.lines().any(|other| other == *line);
    let text = |line: &str| line.trim_start_matches("- ").trim_matches(['"', '\'']).to_owned();
    actual.lines().filter(is_new).map(|line| text(line) + "\n").collect()
}

/// Mounts the reconcilers with these settings; of several, those that reconcile an object of the
/// case, because each has settings of its own.
fn with_settings(
    programs: &[Program],
    mount: &MountArguments,
    settings: &Value,
    objects: &[(String, Value)],
) -> anyhow::Result<Vec<Program>> {
    let mut mount = mount.clone();
    mount.settings = SettingsCheck::Known;
    for program in fitting(programs, objects) {
        let name = &program.manifest().name;
        mount.set(name, settings, SETTINGS);
        mount.named.reconcilers.push(name.clone());
    }
    match Source::open(&mount) {
        Ok(source) => Ok(source.programs().to_vec()),
        Err(Error::Refused(problems)) => Err(problems.into()),
        Err(error) => Err(error.into()),
    }
}

/// The same with other keys of the mount, too.
fn with_keys(
    programs: &[Program],
    mount: &MountArguments,
    keys: &Map<String, Value>,
    settings: Option<&Value>,
    objects: &[(String, Value)],
) -> anyhow::Result<Vec<Program>> {
    let sandbox = mount.code.sandbox()?;
    let with_keys = |program: &Program| mounted_by_case(&sandbox, program.plugin.clone(), keys, settings, mount);
    Ok(fitting(programs, objects).map(with_keys).collect::<Result<_, _>>()?)
}

/// The programs that reconcile an object of the case, or all if none does.
fn fitting<'a>(programs: &'a [Program], objects: &[(String, Value)]) -> impl Iterator<Item = &'a Program> {
    let fits = |program: &Program| objects.iter().any(|(_, object)| program.reconciles(object));
    let is_any_fitting = programs.iter().any(fits);
    programs.iter().filter(move |program| !is_any_fitting || fits(program))
}

fn report(outcomes: &[Outcome], began: Instant) -> anyhow::Result<usize> {
    let mut output = std::io::stdout().lock();
    let mut failed = 0;
    for Outcome { name, took, verdict } in outcomes {
        let (word, details) = match verdict {
            Verdict::AsExpected => ("ok", ""),
            Verdict::Updated => ("updated", ""),
            Verdict::Differs(details) | Verdict::Failed(details) => {
                failed += 1;
                ("FAILED", details.as_str())
            }
        };
        writeln!(output, "{word:<8} {name} ({})", Took(*took))?;
        details.lines().try_for_each(|line| writeln!(output, "         {line}"))?;
    }
    let (all, took) = (outcomes.len(), Took(began.elapsed()));
    writeln!(output, "{} of {all} cases passed in {took}", all - failed)?;
    if outcomes.iter().any(|outcome| matches!(outcome.verdict, Verdict::Differs(_))) {
        writeln!(output, "If the actual results are right, use --update to write them into the cases.")?;
    }
    Ok(failed)
}

fn junit(outcomes: &[Outcome]) -> String {
    let failures =
        outcomes.iter().filter(|outcome| matches!(outcome.verdict, Verdict::Differs(_) | Verdict::Failed(_))).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"gyre\" tests=\"{}\" failures=\"{failures}\">\n",
        outcomes.len()
    );
    for Outcome { name, took, verdict } in outcomes {
        let begin = format!("<testcase classname=\"gyre\" name=\"{}\" time=\"{:.3}\"", escape(name), took.as_secs_f64());
        match verdict {
            Verdict::Differs(details) | Verdict::Failed(details) => {
                text.push_str(&format!(
                    "{begin}><failure message=\"not as expected\">{}</failure></testcase>\n",
                    escape(details)
                ));
            }
            Verdict::AsExpected | Verdict::Updated => text.push_str(&format!("{begin}/>\n")),
        }
    }
    text + "</testsuite>\n</testsuites>\n"
}

/// Escapes a text for XML, which does not allow most control characters.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            _ if letter.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}
