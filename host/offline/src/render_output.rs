//! The output of `gyre render`: YAML for kubectl, or JSON.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use gyre_core::plan::{OWNER_UID_LABEL, PLUGIN_LABEL};
use gyre_engine::difference::{to_yaml, without_bookkeeping};
use gyre_engine::program::Program;
use gyre_engine::record::Redaction;
use serde_json::{Map, Value, json};

use crate::host_run::{End, HostRun};
use crate::live::record;
use crate::plan::{Action, Subject, Verb, uid};
use crate::preview::texts_of_secrets;

const WITHHELD: &str = "Do not apply this object: values of Secrets are hidden. Use --secrets to show them.";

const ENDLESS: &str = "The host never stops writing: the plan is cut off.";

const GENERATED: &str = "Do not apply this object: it has placeholders of values that a host makes.";

const UNOWNED: &str = "\
# Owner references are left out where the files do not give the UID of the owner, because the garbage collector deletes objects whose
# owners do not exist. To print owner references, set metadata.uid of the objects in the files.
";

/// The output of `gyre render`.
pub struct RenderOutput {
    host_run: HostRun,
    /// The UIDs that the simulation generated.
    invented: BTreeSet<String>,
    /// The children with hidden values of Secrets.
    withheld: BTreeSet<Subject>,
    remarks: Vec<String>,
}

impl RenderOutput {
    /// The complete result for these objects.
    pub fn whole<'a>(host_run: HostRun, given: impl Iterator<Item = &'a Value>, remarks: Vec<String>) -> Self {
        let given: BTreeSet<&str> = given.filter_map(uid).collect();
        let there = host_run.actions.iter().flat_map(|action| &action.states).chain(&host_run.parents);
        let invented = there.filter_map(uid).filter(|uid| !given.contains(uid)).map(str::to_owned).collect();
        Self { host_run, invented, withheld: BTreeSet::new(), remarks }
    }

    /// Hides the values of Secrets: of `seen`, as JSON, and of those that the plugin returns.
    ///
    /// # Errors
    /// When there are too many values to search for.
    pub fn without_secrets(self, seen: &[String], programs: &[Program]) -> anyhow::Result<Self> {
        let Self { host_run, invented, remarks, .. } = self;
        let written = host_run.actions.iter().flat_map(|action| action.states.iter().chain([&action.object]));
        let wanted = texts_of_secrets(written.chain(&host_run.parents));
        let secrets = seen.iter().chain(&wanted).map(String::as_bytes);
        let programs: Vec<&Program> = programs.iter().collect();
        let Some(mut redaction) = Redaction::new(secrets, &programs) else {
            bail!(
                "there are too many values of Secrets to hide all of them, so nothing is printed: print them with --secrets, or \
                 select fewer objects with --namespace"
            );
        };
        let is_changed = |child: &&Value| redaction.object(child) != **child;
        let withheld = host_run.children().into_iter().filter(is_changed).map(Subject::of).collect();
        let shown = |action: Action| Action {
            object: redaction.object(&action.object),
            states: action.states.map(|state| redaction.object(&state)),
            refusal: action.refusal.map(|refusal| redaction.sentence(&refusal)),
            ..action
        };
        let HostRun { actions, end, requeues, parents } = host_run;
        let actions = actions.into_iter().map(shown).collect();
        let parents = parents.iter().map(|parent| redaction.object(parent)).collect();
        Ok(Self { host_run: HostRun { actions, end, requeues, parents }, invented, withheld, remarks })
    }

    /// The warnings: refused requests, Warning events, and a host that never stops writing.
    pub fn warnings(&self) -> Vec<String> {
        let endless = (self.host_run.end == End::NonConverging).then(|| ENDLESS.to_owned());
        self.host_run.warnings().map(ToString::to_string).chain(endless).collect()
    }

    /// Returns whether the host did all that the plugin wants.
    pub fn is_complete(&self) -> bool {
        self.host_run.is_complete()
    }

    /// The output as JSON.
    pub fn json(&self) -> Value {
        let host_run = &self.host_run;
        let plan: Vec<Value> = host_run.actions.iter().map(step).collect();
        let rests = host_run.end == End::Converged;
        let requeues: BTreeMap<String, f64> =
            host_run.requeues.iter().map(|(parent, time)| (parent.to_string(), time.as_secs_f64())).collect();
        json!({ "plan": plan, "children": self.host_run.children(), "parents": host_run.parents, "rests": rests, "againInSeconds": requeues, "remarks": self.remarks })
    }

    /// Returns the fields that a plugin sets of its parent, if an action is about them.
    fn fields_of_parent<'a>(&self, action: &'a Action) -> Option<(&'a Subject, Value)> {
        let is_parent = || self.host_run.parents.iter().any(|parent| Subject::of(parent) == action.subject);
        let is_shown = action.verb == Verb::Update && action.refusal.is_none() && is_parent();
        is_shown.then(|| (&action.subject, content(&action.object)))
    }

    /// The children for kubectl, and the rest as comments.
    ///
    /// # Errors
    /// When an object cannot be written as YAML.
    pub fn yaml(&self) -> anyhow::Result<String> {
        let host_run = &self.host_run;
        let mut text = String::from("# plan:\n");
        for action in &host_run.actions {
            // The message of an event may have several lines.
            commented(&mut text, "#   ", &action.to_string());
        }
        if host_run.actions.is_empty() {
            text.push_str(if self.remarks.is_empty() { "#   nothing: everything is up to date\n" } else { "#   nothing\n" });
        }
        for remark in &self.remarks {
            commented(&mut text, "# ", remark);
        }
        if host_run.end == End::NonConverging {
            commented(&mut text, "# ", ENDLESS);
        }
        for (subject, fields) in host_run.actions.iter().filter_map(|action| self.fields_of_parent(action)) {
            text.push_str(&format!("# fields of {subject}:\n"));
            commented(&mut text, "#   ", &to_yaml(&fields)?);
        }
        for status in self.host_run.statuses() {
            let object = status.get("object").and_then(Value::as_str).unwrap_or_default();
            text.push_str(&format!("# status of {object}:\n"));
            commented(&mut text, "#   ", &to_yaml(status.get("status").unwrap_or(&Value::Null))?);
            if let Some(time) = status.get("again").and_then(Value::as_str) {
                text.push_str(&format!("# reconciled again {time}\n"));
            }
        }
        let children = self.host_run.children();
        let applicable: Vec<Value> = children.iter().map(|child| without_owners(child, &self.invented)).collect();
        if applicable.iter().zip(children).any(|(applicable, child)| applicable != child) {
            text.push_str(UNOWNED);
        }
        for child in &applicable {
            let yaml = to_yaml(child)?;
            let why = if record(child).is_some() {
                Some(GENERATED)
            } else {
                self.withheld.contains(&Subject::of(child)).then_some(WITHHELD)
            };
            if let Some(why) = why {
                text.push_str(&format!("# ---\n# {why}\n"));
                commented(&mut text, "# ", &yaml);
            } else {
                text.push_str("---\n");
                text.push_str(&yaml);
            }
        }
        Ok(text)
    }
}

/// Returns the fields of an applied object, without its identity and the marks of the host.
fn content(object: &Value) -> Value {
    let mut content = without_bookkeeping(object.clone());
    if let Some(fields) = content.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
        let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
        let is_empty = metadata.is_none_or(|metadata| {
            metadata.retain(|field, _| matches!(field.as_str(), "labels" | "annotations"));
            metadata.is_empty()
        });
        if is_empty {
            fields.remove("metadata");
        }
    }
    content
}

/// A child without the owner references and labels of these UIDs, so that a mount may adopt it.
fn without_owners(child: &Value, uids: &BTreeSet<String>) -> Value {
    let mut child = child.clone();
    let Some(metadata) = child.get_mut("metadata").and_then(Value::as_object_mut) else { return child };
    let is_one = |uid: Option<&Value>| uid.and_then(Value::as_str).is_some_and(|uid| uids.contains(uid));
    if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
        owners.retain(|owner| !is_one(owner.get("uid")));
    }
    if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut)
        && is_one(labels.get(OWNER_UID_LABEL))
    {
        labels.retain(|label, _| label != OWNER_UID_LABEL && label != PLUGIN_LABEL);
    }
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty);
    metadata.retain(|field, value| !(["ownerReferences", "labels"].contains(&field.as_str()) && is_empty(value)));
    child
}

fn commented(text: &mut String, prefix: &str, lines: &str) {
    lines.lines().for_each(|line| text.push_str(&format!("{prefix}{line}\n")));
}

fn step(action: &Action) -> Value {
    let mut step = action.json();
    if let Some(fields) = step.as_object_mut().filter(|_| action.verb != Verb::Delete) {
        fields.insert("object".to_owned(), action.object.clone());
    }
    step
}
