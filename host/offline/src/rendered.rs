//! Runs a host on objects of files.

use std::collections::BTreeSet;

use anyhow::bail;
use gyre_core::text::list;
use gyre_engine::program::Program;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::plan::{Action, Subject, Verb};
use crate::simulation::{End, HostRun, Simulation, simulate};

/// What a host did with objects, and the resulting objects.
pub struct Rendered {
    /// What the host did.
    pub host_run: HostRun,
    /// The resulting parents.
    pub parents: Vec<Value>,
}

impl Rendered {
    /// The children as they were last written, in the order in which they were first written.
    pub fn children(&self) -> Vec<&Value> {
        let mut children: Vec<&Action> = Vec::new();
        let parents: Vec<_> = self.parents.iter().map(Subject::of).collect();
        for action in &self.host_run.actions {
            let is_written = matches!(action.verb, Verb::Create | Verb::Update) && action.refusal.is_none();
            if !is_written || parents.contains(&action.subject) {
                continue;
            }
            match children.iter_mut().find(|child| child.subject == action.subject) {
                Some(child) => *child = action,
                None => children.push(action),
            }
        }
        children.into_iter().map(|action| &action.object).collect()
    }

    /// The name and status of each parent, and when the plugin has requested a requeue.
    pub(crate) fn statuses(&self) -> Vec<Value> {
        let of = |parent: &Value| {
            let subject = Subject::of(parent);
            let status = parent.get("status").cloned().unwrap_or_default();
            let mut told = json!({ "object": subject.to_string(), "status": status });
            if let (Some(time), Some(fields)) = (self.host_run.requeues.of(&subject), told.as_object_mut()) {
                fields.insert("again".to_owned(), Value::from(format!("in {time:?}")));
            }
            told
        };
        self.parents.iter().map(of).collect()
    }

    pub(crate) fn is_fine(&self) -> bool {
        let is_bad = |action: &Action| {
            let is_warning = action.verb == Verb::Event && action.object.get("type").is_some_and(|kind| kind == "Warning");
            is_warning || action.refusal.is_some()
        };
        self.host_run.end == End::Converged && !self.host_run.actions.iter().any(is_bad)
    }

    /// The complete result, for people and golden files.
    pub fn summary(&self) -> Value {
        let plan: Vec<String> = self.host_run.actions.iter().map(|action| action.to_string()).collect();
        let mut summary = json!({ "plan": plan, "children": self.children(), "parents": self.statuses() });
        if self.host_run.end == End::NonConverging
            && let Some(fields) = summary.as_object_mut()
        {
            fields.insert("rests".to_owned(), Value::from(false));
        }
        summary
    }
}

/// Puts the objects into a new simulated cluster, and runs a host with the programs on it.
///
/// # Errors
///
/// An error about an object, after the name of its file.
pub fn rendered(programs: &[Program], objects: Vec<(String, Value)>, time: Timestamp) -> anyhow::Result<Rendered> {
    check_parents(programs, &objects)?;
    simulate(async {
        let simulation = Simulation::new(programs, time)?;
        simulation.put_all(objects)?;
        let host_run = simulation.run(programs).await?;
        let parents = simulation.parents(programs).await?;
        Ok(Rendered { host_run, parents })
    })?
}

/// Checks that the objects contain a parent.
///
/// # Errors
///
/// When there is none, or its apiVersion or kind is wrong.
pub fn check_parents(programs: &[Program], objects: &[(String, Value)]) -> anyhow::Result<()> {
    let is_parent = |object: &Value| programs.iter().any(|program| program.reconciles(object));
    if objects.iter().any(|(_, object)| is_parent(object)) {
        return Ok(());
    }
    let wanted = list(programs.iter().map(|program| &program.manifest().parent));
    let kinds: BTreeSet<&str> = objects.iter().filter_map(|(_, object)| object.get("kind")?.as_str()).collect();
    if kinds.is_empty() {
        bail!("the files contain no {wanted} for the plugin to reconcile: add one");
    }
    bail!(
        "the files contain no {wanted} for the plugin to reconcile, only {}: add one, or correct its apiVersion and kind",
        list(kinds)
    )
}
