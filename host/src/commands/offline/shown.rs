//! What `gyre render` prints: YAML that kubectl applies, or JSON.

use std::collections::BTreeSet;

use anyhow::bail;
use serde_json::{Value, json};

use super::foretold::texts_of_secrets;
use super::plan::{Action, Subject, Verb};
use super::render::Rendered;
use super::scene::{Done, End};
use crate::difference::to_yaml;
use crate::program::Program;
use crate::record::Redaction;

/// Why a child is a comment.
const WITHHELD: &str = "Without values of Secrets, so that it is not to be applied; --secrets shows them.";

/// What is shown of a rendering.
pub(super) struct Shown {
    rendered: Rendered,
    /// The children that are shown without values of Secrets that they hold.
    withheld: BTreeSet<Subject>,
}

impl Shown {
    /// All of it.
    pub(super) const fn whole(rendered: Rendered) -> Self {
        Self { rendered, withheld: BTreeSet::new() }
    }

    /// Without values of Secrets: of those that were seen, as JSON, and of those that are wanted.
    ///
    /// # Errors
    ///
    /// When there are more than can be looked for.
    pub(super) fn without_secrets(self, seen: &[String], programs: &[Program]) -> anyhow::Result<Self> {
        let Self { rendered, .. } = self;
        let written = rendered.done.actions.iter().flat_map(|action| action.states.iter().chain([&action.object]));
        let wanted = texts_of_secrets(written.chain(&rendered.parents));
        let secrets = seen.iter().chain(&wanted).map(String::as_bytes);
        let programs: Vec<&Program> = programs.iter().collect();
        let Some(mut redaction) = Redaction::new(secrets, &programs) else {
            bail!(
                "there are more values of Secrets than can be looked for, so that nothing is shown: have them printed with --secrets, or \
                 look at less with --namespace"
            );
        };
        let is_changed = |child: &&Value| redaction.object(child) != **child;
        let withheld = rendered.children().into_iter().filter(is_changed).map(Subject::of).collect();
        let shown = |action: Action| Action {
            object: redaction.object(&action.object),
            states: action.states.map(|state| redaction.object(&state)),
            refusal: action.refusal.map(|refusal| redaction.sentence(&refusal)),
            ..action
        };
        let Rendered { done: Done { actions, end }, parents } = rendered;
        let actions = actions.into_iter().map(shown).collect();
        let parents = parents.iter().map(|parent| redaction.object(parent)).collect();
        Ok(Self { rendered: Rendered { done: Done { actions, end }, parents }, withheld })
    }

    /// Whether nothing is warned of or refused.
    pub(super) fn is_fine(&self) -> bool {
        self.rendered.is_fine()
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let Rendered { done, parents } = &self.rendered;
        let plan: Vec<Value> = done.actions.iter().map(step).collect();
        let rests = done.end == End::Rests;
        json!({ "plan": plan, "children": self.rendered.children(), "parents": parents, "rests": rests })
    }

    /// The children, for kubectl, and the rest as comments.
    ///
    /// # Errors
    ///
    /// When an object cannot be written as YAML.
    pub(super) fn yaml(&self) -> anyhow::Result<String> {
        let done = &self.rendered.done;
        let mut text = String::from("# plan:\n");
        for action in &done.actions {
            // The message of an event may have several.
            commented(&mut text, "#   ", &action.to_string());
        }
        if done.actions.is_empty() {
            text.push_str("#   nothing: all is as it should be\n");
        }
        if done.end == End::Restless {
            text.push_str("# It never comes to rest: the plan is cut short.\n");
        }
        for status in self.rendered.statuses() {
            let object = status.get("object").and_then(Value::as_str).unwrap_or_default();
            text.push_str(&format!("# status of {object}:\n"));
            commented(&mut text, "#   ", &to_yaml(status.get("status").unwrap_or(&Value::Null))?);
        }
        for child in self.rendered.children() {
            let yaml = to_yaml(child)?;
            if self.withheld.contains(&Subject::of(child)) {
                text.push_str(&format!("# ---\n# {WITHHELD}\n"));
                commented(&mut text, "# ", &yaml);
            } else {
                text.push_str("---\n");
                text.push_str(&yaml);
            }
        }
        Ok(text)
    }
}

fn commented(text: &mut String, prefix: &str, lines: &str) {
    lines.lines().for_each(|line| text.push_str(&format!("{prefix}{line}\n")));
}

/// With what is sent; a deletion sends nothing of the object.
fn step(action: &Action) -> Value {
    let mut step = action.json();
    if let Some(fields) = step.as_object_mut().filter(|_| action.verb != Verb::Delete) {
        fields.insert("object".to_owned(), action.object.clone());
    }
    step
}
