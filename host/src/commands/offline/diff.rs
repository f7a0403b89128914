//! `gyre diff`: what a plugin would change in a live cluster.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use gyre_core::grants::Namespaces;
use gyre_core::plan::OWNER_UID_LABEL;
use gyre_sandbox::Plugin;
use jiff::Timestamp;
use serde_json::Value;

use super::foretold::{Foretold, foretold};
use super::live::LiveArguments;
use super::plan::{Action, Subject, Verb};
use super::scene::End;
use crate::cli;
use crate::config::Source;
use crate::difference::{Change, Counts, Difference, without_bookkeeping};
use crate::plugins::{self, MountArguments};
use crate::program::Program;

pub(crate) const DIFF_EXAMPLES: &str = "\
Examples:
  gyre diff new/echo.wasm                          # which parents would change, and which of their children
  gyre diff new/echo.wasm --summary
  gyre diff --config gyre.yaml                     # all that it mounts
  gyre diff new/echo.wasm -o json | jq '.changes[] | select(.verb == \"delete\")'

What the plugin would look at is copied from the cluster, which is only read (get, list), and the host works on the copy until it rests. Nobody
else acts there: what would follow from what others do with the changes is not shown.
Exit codes: 0 nothing changes, 1 something does, 2 it cannot be said.";

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The plugin; more come with --plugin.
    #[arg(value_name = "PLUGIN", conflicts_with = "config")]
    plugin: Option<PathBuf>,
    #[command(flatten)]
    cluster: LiveArguments,
    /// A version that is mounted now: what it made of kinds that the plugin does not declare any more is deleted. Only for hosts without an
    /// inventory, that is, without a name. May be given several times.
    #[arg(long, value_name = "PLUGIN")]
    was: Vec<PathBuf>,
    /// Only say how many.
    #[arg(long)]
    summary: bool,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    #[command(flatten)]
    mount: MountArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Runs `gyre diff`.
pub(crate) fn diff(arguments: DiffArguments) -> anyhow::Result<ExitCode> {
    let DiffArguments { plugin, cluster, was, summary, output, mut mount } = arguments;
    mount.plugins.extend(plugin);
    if mount.is_empty() {
        cli::missing("diff", "<PLUGIN> (or --plugin, --plugin-dir, --config)");
    }
    let programs = Source::open(&mount)?.programs();
    let was = if was.is_empty() { Vec::new() } else { opened(&mount, &was)? };
    let difference = difference(&programs, foretold(&cluster, &programs, &was, &[], Timestamp::now())?);
    let text = match output {
        Format::Text => difference.text(summary)?,
        Format::Json => serde_json::to_string_pretty(&difference.json()).context("cannot write JSON")? + "\n",
    };
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")?;
    Ok(if difference.changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn opened(mount: &MountArguments, paths: &[PathBuf]) -> anyhow::Result<Vec<Plugin>> {
    let sandbox = mount.code.sandbox()?;
    paths.iter().map(|path| plugins::open(&sandbox, path)).collect()
}

/// What a host would do, by the parents that it is done for.
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
    // Events follow from the others.
    let actions = done.actions.into_iter().filter(|action| action.verb != Verb::Event);
    let changes: Vec<Change> = actions.map(|action| change(action, &parents)).collect();
    let changing: BTreeSet<&String> = changes.iter().filter_map(|change| change.parent.as_ref()).collect();
    // One that is not selected any more may change, too: it is let go.
    let is_counted =
        |(uid, parent): &(&String, &Subject)| selected.contains(uid.as_str()) || changing.contains(&parent.to_string());
    let remark = (done.end == End::Restless).then(|| "it never comes to rest".to_owned());
    Difference {
        parents: parents.iter().filter(is_counted).count(),
        changing: changing.len(),
        counts: Counts::of(&changes),
        remarks: remark.into_iter().collect(),
        changes,
    }
}

/// Whether a program reconciles an object.
fn selects(program: &Program, object: &Value) -> bool {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let is_within = match &program.namespaces {
        Namespaces::All => true,
        Namespaces::Only(names) => namespace.is_some_and(|namespace| names.contains(namespace)),
    };
    let label = |name: &str| object.pointer("/metadata/labels")?.get(name)?.as_str().map(Cow::Borrowed);
    program.reconciles(object) && is_within && program.selector.matches(label)
}

/// `parents` are those that there are, by UID.
fn change(action: Action, parents: &BTreeMap<String, Subject>) -> Change {
    let parent = parent(&action, parents).map(Subject::to_string);
    let Action { verb, subject, states, refusal, .. } = action;
    let [before, after] = states.map(without_bookkeeping);
    Change { verb, subject, refusal, message: None, parent, before, after }
}

/// The parent that something is done for.
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
