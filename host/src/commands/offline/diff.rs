//! `gyre diff`: what a plugin would change in a live cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use gyre_core::plan::OWNER_UID_LABEL;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};

use super::live;
use super::plan::{Action, Subject, Verb};
use super::render::to_yaml;
use super::scene::{Done, End, Scene, simulate};
use crate::cli;
use crate::config::Source;
use crate::plugins::MountArguments;
use crate::program::Program;
use crate::replay::diff::unified;

pub(crate) const DIFF_EXAMPLES: &str = "\
Examples:
  gyre diff new/echo.wasm                          # which parents would change, and which of their children
  gyre diff new/echo.wasm --summary
  gyre diff --config gyre.yaml --namespace team-a
  gyre diff new/echo.wasm -o json | jq '.changes[] | select(.verb == \"delete\")'

What the plugin would look at is copied from the cluster, which is only read (get, list), and the host works on the copy until it rests. Nobody
else acts there: what would follow from what others do with the changes is not shown.
Exit codes: 0 nothing changes, 1 something does, 2 it cannot be said.";

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The plugin; more come with --plugin.
    #[arg(value_name = "PLUGIN")]
    plugin: Option<PathBuf>,
    /// The kubeconfig to connect with [default: as of `gyre run`].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
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

/// What would change, and of how many parents.
struct Difference {
    parents: BTreeMap<String, Subject>,
    done: Done,
}

/// Runs `gyre diff`.
pub(crate) fn diff(arguments: DiffArguments) -> anyhow::Result<ExitCode> {
    let DiffArguments { plugin, kubeconfig, summary, output, mut mount } = arguments;
    mount.plugins.extend(plugin);
    if mount.is_empty() {
        cli::missing("<PLUGIN> (or --plugin, --plugin-dir, --config)");
    }
    let programs = Source::open(&mount)?.programs();
    let objects = cli::threads()?.block_on(async {
        let configuration = cli::configuration(kubeconfig.as_deref()).await?;
        let client = Client::try_from(configuration).context("cannot set up the client")?;
        live::objects(&client, &programs).await
    })?;
    let difference = simulate(Difference::of(&programs, objects))??;
    let text = match output {
        Format::Text => difference.text(summary)?,
        Format::Json => serde_json::to_string_pretty(&difference.json()).context("cannot write JSON")? + "\n",
    };
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")?;
    Ok(if difference.changes().next().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Difference {
    async fn of(programs: &[Program], objects: Vec<(String, Value)>) -> anyhow::Result<Self> {
        let scene = Scene::new(programs, Timestamp::now())?;
        let kinds: BTreeSet<(String, String)> = programs
            .iter()
            .map(|program| (program.manifest().parent.api_version(), program.manifest().parent.kind.clone()))
            .collect();
        let mut parents = BTreeMap::new();
        for (_, object) in &objects {
            let subject = Subject::of(object);
            if kinds.contains(&(subject.api_version.clone(), subject.kind.clone())) {
                parents.insert(uid(object).to_owned(), subject);
            }
        }
        scene.copy_all(objects)?;
        // The definitions that plugins bring are new with them.
        scene.put_definitions(programs)?;
        let done = scene.run(programs).await?;
        Ok(Self { parents, done })
    }

    /// Without events, which follow from the others.
    fn changes(&self) -> impl Iterator<Item = &Action> {
        self.done.actions.iter().filter(|action| action.verb != Verb::Event)
    }

    /// The parent that something is done for.
    fn parent(&self, action: &Action) -> Option<&Subject> {
        let [before, after] = &action.states;
        [before, after, &action.object].into_iter().find_map(|object| {
            let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            let owners = owners.into_iter().flatten().filter_map(|owner| owner.get("uid")?.as_str());
            let labelled = object.pointer("/metadata/labels").and_then(|labels| labels.get(OWNER_UID_LABEL)?.as_str());
            owners.chain(labelled).chain([uid(object)]).find_map(|uid| self.parents.get(uid))
        })
    }

    fn count(&self, verb: Verb) -> usize {
        self.changes().filter(|action| action.verb == verb && action.refusal.is_none()).count()
    }

    fn summary(&self) -> String {
        let changed: BTreeSet<&Subject> = self.changes().filter_map(|action| self.parent(action)).collect();
        let mut text = format!("{} of {} parents change", changed.len(), self.parents.len());
        let counts = [
            (Verb::Create, "children created"),
            (Verb::Update, "changed"),
            (Verb::Delete, "deleted"),
            (Verb::Status, "statuses written"),
            (Verb::Finalizers, "finalizers put or taken away"),
        ];
        let counted: Vec<String> = counts
            .into_iter()
            .map(|(verb, what)| (self.count(verb), what))
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if !counted.is_empty() {
            text.push_str(&format!(": {}", counted.join(", ")));
        }
        let refused = self.changes().filter(|action| action.refusal.is_some()).count();
        if refused > 0 {
            text.push_str(&format!("; {refused} changes would be refused"));
        }
        if self.done.end == End::Restless {
            text.push_str("; it never comes to rest");
        }
        text
    }

    fn text(&self, only_summary: bool) -> anyhow::Result<String> {
        let mut text = String::new();
        if !only_summary {
            for action in self.changes() {
                text.push_str(&action.to_string());
                if let Some(parent) = self.parent(action).filter(|parent| **parent != action.subject) {
                    text.push_str(&format!(", of {parent}"));
                }
                text.push('\n');
                let [before, after] = &action.states;
                if action.verb != Verb::Delete {
                    let shown = unified(&shown(before)?, &shown(after)?);
                    shown.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
                }
            }
        }
        Ok(format!("{text}{}\n", self.summary()))
    }

    fn json(&self) -> Value {
        let change = |action: &Action| {
            let mut json = action.json();
            let [before, after] = action.states.clone().map(without_bookkeeping);
            if let Some(fields) = json.as_object_mut() {
                let parent = self.parent(action).map(Subject::to_string);
                fields.extend([
                    ("parent".to_owned(), json!(parent)),
                    ("before".to_owned(), before),
                    ("after".to_owned(), after),
                ]);
            }
            json
        };
        let changes: Vec<Value> = self.changes().map(change).collect();
        json!({ "summary": self.summary(), "parents": self.parents.len(), "changes": changes })
    }
}

fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

fn shown(object: &Value) -> anyhow::Result<String> {
    if object.is_null() { Ok(String::new()) } else { to_yaml(&without_bookkeeping(object.clone())) }
}

/// Without what changes with every write, or says who wrote.
fn without_bookkeeping(mut object: Value) -> Value {
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        for field in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
    }
    object
}
