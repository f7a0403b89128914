//! `gyre render`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use gyre_engine::program::Program;
use gyre_input::manifests;
use gyre_offline::plan::Subject;
use gyre_offline::preview::{Preview, preview, texts_of_secrets};
use gyre_offline::render_output::RenderOutput;
use gyre_offline::rendered::rendered;
use gyre_offline::selection::{is_child, unselected, why};
use jiff::Timestamp;
use serde_json::Value;

use super::live;
use super::time;
use crate::commands::build::{build_projects, or_samples};
use crate::commands::connect::KubeconfigArguments;
use crate::commands::output::{ObjectFormat, ObjectsArguments, print};
use crate::commands::threads::threads;
use crate::config::Source;
use crate::config::arguments::mounts::MountArguments;
use crate::config::arguments::mounts::tools::{PreviewMounts, SOME_MOUNT};
use crate::config::values::MissingArgument;

pub(crate) const RENDER_EXAMPLES: &str = "\
Examples:
  gyre render                                                         # builds the project in this folder, and uses its samples/
  gyre render echo.wasm echo.yaml
  gyre render echo.wasm -f samples/
  gyre render echo.wasm -f echo.yaml | kubectl diff -f -
  gyre render echo.wasm -f echo.yaml -f job-that-finished.yaml     # what follows once its Job has finished
  gyre render website.wasm -f site.yaml -f template.yaml --time 2026-01-01T09:00:00Z -o json
  gyre render echo.wasm --from-cluster --namespace team-a             # what the host would do there now
  gyre render echo.wasm --from-cluster -f new-echo.yaml               # what the host would do if this object were added

The files contain the plugin's parents and all other objects that it reads. Objects keep the UIDs, owners and statuses that the files give
them; an owner may be named without its UID. With --from-cluster, the objects that the plugin reads are copied from the cluster, which is
only read (get, list), and the files are applied to the copy. Values of Secrets are then not printed, neither plain nor in base64; values
that a plugin computes from them are printed. A child that contains a hidden value is printed as a comment, because it cannot be applied
like that. With --secrets, the values are printed.
Children are printed as YAML for kubectl, the rest as comments: the plan, which lists what the host would do until nothing changes any
more; events; and the status of the parents. Owner references to objects whose UID is neither in the files nor in the cluster are left out
of the YAML, because the garbage collector would delete the children; -o json prints them with generated UIDs, as the host would send them.
With --from-cluster, kinds are as the cluster defines them now; kinds that it lacks are as the plugin defines them. The output says so where
it matters.
Warnings are printed to standard error.
Exit codes: 0 the output is complete, 1 it is not, because the plugin failed, something is refused, or the cluster lacks what the plugin reads
(with --strict, also because there are warnings), 2 the arguments are wrong, or the mounts select none of the parents in the files.";

#[derive(Debug, Args)]
#[command(mut_arg("config", |config| config.conflicts_with("plugins")))]
pub(crate) struct RenderArguments {
    /// Objects: files, directories (their .yaml, .yml and .json files), or "-" for standard input.
    /// Can be repeated [default: samples in the project that is built, unless --from-cluster].
    #[arg(short = 'f', long = "filename", alias = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Start with a copy of the objects of a live cluster, which is only read; the files are
    /// applied to the copy.
    #[arg(long)]
    from_cluster: bool,
    /// Show the values of Secrets that --from-cluster reads.
    #[arg(long, requires = "from_cluster")]
    secrets: bool,
    #[command(flatten)]
    cluster: KubeconfigArguments,
    /// Simulated time [default: now].
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<Timestamp>,
    /// Fail if there are warnings, even if the output is complete.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    objects: ObjectsArguments,
    #[command(flatten)]
    mount: PreviewMounts,
}

const DEFAULT_NAMESPACE: &str = "default";

pub(crate) fn render(arguments: RenderArguments) -> anyhow::Result<ExitCode> {
    let RenderArguments { mut files, from_cluster, secrets, cluster, time, strict, objects: output, mount } = arguments;
    let mut mount = MountArguments::from(mount);
    files.extend(mount.named.take_objects());
    let projects = build_projects(&mut mount)?;
    if mount.is_empty() {
        bail!(MissingArgument { command: "render", argument: SOME_MOUNT });
    }
    let files = if from_cluster { files } else { or_samples(files, &projects) };
    if files.is_empty() && !from_cluster {
        bail!(MissingArgument { command: "render", argument: "--filename <FILE>" });
    }
    if !from_cluster && !cluster.is_empty() {
        bail!(MissingArgument { command: "render", argument: "--from-cluster" });
    }
    let programs = Source::open(&mount)?.programs();
    let objects = manifests::read(&files)?;
    let time = time.unwrap_or_else(Timestamp::now);
    let of_files = objects.iter().map(|(_, object)| object);
    let (shown, verdict) = if from_cluster {
        let threads = threads()?;
        let connected = threads.block_on(live::connect(&cluster))?;
        let preview = preview(&threads, connected, &programs, &[], &objects, time)?;
        let Preview { copied, host_run, namespace, mut remarks, lacks_parents, .. } = preview;
        let selection = Selection::of(&programs, &host_run.parents, &objects, &namespace);
        let is_given = selection.is_given;
        remarks.extend(selection.why);
        let given = || copied.iter().map(|(_, object)| object).chain(of_files.clone());
        let shown = RenderOutput::whole(host_run, given(), remarks);
        let shown = if secrets { shown } else { shown.without_secrets(&texts_of_secrets(given()), &programs)? };
        let verdict = match is_given {
            GivenParents::Unselected => ExitCode::from(2),
            GivenParents::Nothing if lacks_parents => ExitCode::FAILURE,
            _ if shown.is_complete() => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        };
        (shown, verdict)
    } else {
        let rendered = rendered(&programs, objects.clone(), time)?;
        let selection = Selection::of(&programs, &rendered.parents, &objects, DEFAULT_NAMESPACE);
        if selection.is_given == GivenParents::Unselected {
            bail!("the files contain nothing for the plugin to reconcile: {}", selection.why.join("; "));
        }
        let shown = RenderOutput::whole(rendered, of_files, selection.why);
        let verdict = if shown.is_complete() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        (shown, verdict)
    };
    match output.format {
        ObjectFormat::Yaml => print(shown.yaml()?)?,
        ObjectFormat::Json => print(format_args!("{:#}\n", shown.json()))?,
    }
    let warnings = shown.warnings();
    for warning in &warnings {
        let _ = writeln!(std::io::stderr(), "warning: {warning}");
    }
    Ok(if strict && !warnings.is_empty() && verdict == ExitCode::SUCCESS { ExitCode::FAILURE } else { verdict })
}

struct Selection {
    why: Vec<String>,
    is_given: GivenParents,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GivenParents {
    Nothing,
    Selected,
    Unselected,
}

impl Selection {
    fn of(programs: &[Program], parents: &[Value], files: &[(String, Value)], namespace: &str) -> Self {
        let is_child = |object: &&Value| programs.iter().any(|program| is_child(program, object));
        let given_children = files.iter().map(|(_, object)| object).filter(is_child);
        let unselected = unselected(programs, parents.iter().chain(given_children));
        let is_unselected = |file: &Value| {
            let file = Subject::of(file);
            unselected.iter().map(|parent| Subject::of(parent)).any(|parent| {
                let is_there = parent.namespace.is_none()
                    || parent.namespace.as_deref() == Some(file.namespace.as_deref().unwrap_or(namespace));
                is_there && (&parent.kind, &parent.name) == (&file.kind, &file.name)
            })
        };
        let is_parent = |object: &&Value| programs.iter().any(|program| program.reconciles(object));
        let mut given = files.iter().map(|(_, object)| object).filter(is_parent).map(is_unselected);
        let is_given = match given.next() {
            None => GivenParents::Nothing,
            Some(first) if first && given.all(|is_unselected| is_unselected) => GivenParents::Unselected,
            Some(_) => GivenParents::Selected,
        };
        Self { why: why(programs, &unselected), is_given }
    }
}
