//! `gyre diff`: what a plugin would change in a live cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use gyre_core::plan::{OWNER_UID_LABEL, RefusalReason};
use gyre_engine::difference::{Change, Counts, Difference, NOT_SHOWN, redacted, without_bookkeeping};
use gyre_engine::program::Program;
use gyre_sandbox::Plugin;
use jiff::Timestamp;
use serde_json::Value;

use super::foretold::{Foretold, foretold, texts_of_secrets};
use super::live::LiveArguments;
use super::plan::{Action, Subject, Verb};
use super::scene::End;
use super::selection::selects;
use crate::commands::output::Format;
use crate::config::Source;
use crate::config::arguments::mounts::MountArguments;
use crate::config::arguments::mounts::tools::ForetoldMounts;
use crate::config::problem::list;
use crate::config::values::MissingArgument;
use crate::plugins;

pub(crate) const DIFF_EXAMPLES: &str = "\
Examples:
  gyre diff new/echo.wasm                          # parents and children that would change
  gyre diff new/echo.wasm --summary
  gyre diff --config gyre.yaml                     # all mounts in the file
  gyre diff new/echo.wasm -o json | jq '.changes[] | select(.verb == \"delete\")'

The objects that the plugin reads are copied from the cluster, which is only read (get, list). The host runs on the copy until nothing
changes any more. No other controllers run there, so their reactions to the changes are not shown.
Kinds are as the cluster defines them now. If the plugin contains a different CustomResourceDefinition, the output says so: apply the
output of `gyre crds` first, as you would for the upgrade itself. There is no result if the cluster does not serve the kind of the parents,
or has none of the namespaces of the mount.
Exit codes: 0 no changes, 1 changes, 2 no result.";

/// The exit code when there is no result.
const NOT_KNOWN: u8 = 2;

/// Why the host refuses children before it sends a request,
const PLANNED: &[RefusalReason] = &[
    RefusalReason::UndeclaredKind,
    RefusalReason::KindNotGranted,
    RefusalReason::NamespaceNotGranted,
    RefusalReason::NotServed,
    RefusalReason::InvalidChild,
    RefusalReason::ForeignObject,
    RefusalReason::ChildListFull,
];
/// and why the API server rejects them, perhaps in a dry run.
const APPLIED: &[RefusalReason] = &[
    RefusalReason::Conflict,
    RefusalReason::ImmutableField,
    RefusalReason::Rejected,
    RefusalReason::Forbidden,
    RefusalReason::NamespaceTerminating,
];
/// How calls fail: the reasons of events.
const FAILURES: &[&str] = &[
    "PluginTransient",
    "PluginRetryAfter",
    "PluginTerminal",
    "Quarantined",
    "Trapped",
    "DeadlineExceeded",
    "OutOfMemory",
    "StackOverflow",
    "OutputTooLarge",
    "OutputTooDeep",
    "TooManyChildren",
    "TooManyConditions",
    "TooManyEvents",
    "TooManyReads",
    "InvalidOutput",
    "LogFlood",
    "ClusterNotAllowed",
    "PoolSaturated",
    "SandboxFailed",
];

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// Path to the plugin; --plugin adds more plugins.
    #[arg(value_name = "PLUGIN", conflicts_with = "config")]
    plugin: Option<PathBuf>,
    #[command(flatten)]
    cluster: LiveArguments,
    /// Path to the version that is mounted now; the output then includes the deletion of its children whose kinds the new version no
    /// longer declares. Needed only if the host has no inventory, that is, no name. Can be repeated.
    #[arg(long, value_name = "PLUGIN")]
    was: Vec<PathBuf>,
    /// Show the values of Secrets.
    #[arg(long)]
    secrets: bool,
    /// Print only the numbers of changes.
    #[arg(long)]
    summary: bool,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    #[command(flatten)]
    mount: ForetoldMounts,
}

/// Runs `gyre diff`.
pub(crate) fn diff(arguments: DiffArguments) -> anyhow::Result<ExitCode> {
    let DiffArguments { plugin, cluster, was, secrets, summary, output, mount } = arguments;
    let mut mount = MountArguments::from(mount);
    mount.named.plugins.extend(plugin);
    if mount.is_empty() {
        bail!(MissingArgument { command: "diff", argument: "<PLUGIN> (or --plugin, --plugin-dir, --config)" });
    }
    let programs = Source::open(&mount)?.programs();
    let was = if was.is_empty() { Vec::new() } else { opened(&mount, &was, &programs)? };
    let foretold = foretold(&cluster, &programs, &was, &[], Timestamp::now())?;
    let seen = texts_of_secrets(foretold.copied.iter().map(|(_, object)| object));
    let _ = writeln!(std::io::stderr(), "Compared with the cluster at {}.", foretold.url);
    let is_blind = foretold.is_blind;
    let mut difference = difference(&programs, foretold);
    if !secrets {
        let programs: Vec<&Program> = programs.iter().collect();
        let seen: Vec<&[u8]> = seen.iter().map(String::as_bytes).collect();
        let (changes, is_redacted) = redacted(difference.changes, &seen, &programs);
        difference.changes = changes;
        difference.remarks.extend((!is_redacted).then(|| NOT_SHOWN.to_owned()));
    }
    let text = match output {
        Format::Text => difference.text(summary)?,
        Format::Json => serde_json::to_string_pretty(&difference.json()).context("cannot write JSON")? + "\n",
    };
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")?;
    Ok(match (difference.changes.is_empty(), is_blind) {
        (false, _) => ExitCode::FAILURE,
        (true, true) => ExitCode::from(NOT_KNOWN),
        (true, false) => ExitCode::SUCCESS,
    })
}

/// Versions of what is mounted.
fn opened(mount: &MountArguments, paths: &[PathBuf], programs: &[Program]) -> anyhow::Result<Vec<Plugin>> {
    let sandbox = mount.code.sandbox()?;
    let open = |path: &PathBuf| {
        let plugin = plugins::open(&sandbox, path)?;
        let name = &plugin.manifest().name;
        let mounted: BTreeSet<&str> = programs.iter().map(|program| program.manifest().name.as_str()).collect();
        if !mounted.contains(name.as_str()) {
            let (path, mounted) = (path.display(), list(mounted));
            bail!("--was {path}: the plugin {name} is not mounted; mounted are {mounted}: give another version of one of them");
        }
        Ok(plugin)
    };
    paths.iter().map(open).collect()
}

/// What a host would do, by parent.
fn difference(programs: &[Program], foretold: Foretold) -> Difference {
    let mut parents = BTreeMap::new();
    let mut selected = BTreeSet::new();
    for (_, object) in &foretold.copied {
        if programs.iter().any(|program| program.reconciles(object)) {
            parents.insert(uid(object).to_owned(), Subject::of(object));
        }
        if programs.iter().any(|program| selects(program, object)) {
            selected.insert(uid(object));
        }
    }
    let done = foretold.done;
    // Events follow from other actions, except those about actions that were not even tried.
    let (events, actions): (Vec<Action>, Vec<Action>) = done.actions.into_iter().partition(|action| action.verb == Verb::Event);
    let mut changes: Vec<Change> = actions.into_iter().map(|action| change(action, &parents)).collect();
    for change in events.iter().filter_map(|event| told(event, &changes)).collect::<Vec<_>>() {
        let is_same =
            |other: &Change| (other.verb, &other.subject, &other.refusal) == (change.verb, &change.subject, &change.refusal);
        // A call that fails is retried.
        if !changes.iter().any(is_same) {
            changes.push(change);
        }
    }
    let changing: BTreeSet<&String> = changes.iter().filter_map(|change| change.parent.as_ref()).collect();
    // A parent that is no longer selected may change, too: it is released.
    let is_counted =
        |(uid, parent): &(&String, &Subject)| selected.contains(uid.as_str()) || changing.contains(&parent.to_string());
    let restless = (done.end == End::Restless).then(|| "the host never stops writing".to_owned());
    Difference {
        parents: parents.iter().filter(is_counted).count(),
        changing: changing.len(),
        counts: Counts::of(&changes),
        remarks: restless.into_iter().chain(foretold.remarks).collect(),
        changes,
    }
}

/// The change that a Warning is about: a refused child, or a failed call. None if a rejected request shows it already.
fn told(event: &Action, changes: &[Change]) -> Option<Change> {
    let text = |field: &str| event.object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (reason, note) = (text("reason"), text("note"));
    if text("type") != "Warning" {
        return None;
    }
    let subject = event.subject.clone();
    let parent = Some(subject.to_string());
    let is_among = |reasons: &[RefusalReason]| reasons.iter().any(|refusal| refusal.as_str() == reason);
    let is_shown = || changes.iter().any(|change| change.refusal.is_some() && change.parent == parent);
    let (verb, refusal, message) = if is_among(PLANNED) || (is_among(APPLIED) && !is_shown()) {
        (Verb::Create, Some(format!("{reason}: {note}")), None)
    } else if FAILURES.contains(&reason) {
        (Verb::Fail, None, Some(format!("{reason}: {note}")))
    } else {
        return None;
    };
    Some(Change { verb, subject, refusal, message, parent, before: Value::Null, after: Value::Null })
}

/// `parents` are the existing parents, by UID.
fn change(action: Action, parents: &BTreeMap<String, Subject>) -> Change {
    let parent = parent(&action, parents).map(Subject::to_string);
    let Action { verb, subject, states, refusal, .. } = action;
    let [before, after] = states.map(without_bookkeeping);
    Change { verb, subject, refusal, message: None, parent, before, after }
}

/// The parent that an action is for.
fn parent<'a>(action: &Action, parents: &'a BTreeMap<String, Subject>) -> Option<&'a Subject> {
    let [before, after] = &action.states;
    [before, after, &action.object].into_iter().find_map(|object| {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let owners = owners.into_iter().flatten().filter_map(|owner| owner.get("uid")?.as_str());
        let labelled = object.pointer("/metadata/labels").and_then(|labels| labels.get(OWNER_UID_LABEL)?.as_str());
        owners.chain(labelled).chain([uid(object)]).find_map(|uid| parents.get(uid))
    })
}

fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}
