//! Computes the status of a definition like the API server's controllers: accepts its names if they
//! are free, and establishes it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::definition::approval;
use super::structural::texts;
use crate::object;

pub(super) fn settle<'a>(definition: &Value, others: impl Iterator<Item = &'a Value>, now: Timestamp) -> Option<Value> {
    let spec = definition.get("spec")?;
    let group = object::text(spec, "group");
    let requested = spec.get("names").and_then(Value::as_object).cloned().unwrap_or_default();
    let before = definition.get("status").cloned().unwrap_or_else(|| json!({}));
    let mut status = Status { fields: before.as_object().cloned().unwrap_or_default(), now };
    if status.accepted() != without_empty(&requested) {
        let mut names = Names::default();
        let same_group = |other: &&Value| {
            other.get("spec").is_some_and(|spec| object::text(spec, "group") == group)
                && object::name(other) != object::name(definition)
        };
        others.filter(same_group).for_each(|other| names.add(other));
        let accepted = status.accepted();
        names.claim(&accepted);
        let (accepted, conflict) = names.accept(&requested, accepted);
        status.fields.insert("acceptedNames".to_owned(), Value::Object(accepted));
        match conflict {
            None => status.condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            Some((reason, message)) => status.condition("NamesAccepted", "False", reason, &message),
        }
        if !status.is_true("NamesAccepted") && !status.is_true("Established") {
            status.condition("Established", "False", "NotAccepted", "not all names are accepted");
        }
    }
    if status.is_true("NamesAccepted") && !status.is_true("Established") {
        status.condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted");
    }
    if let Some((conforms, reason, message)) = approval::condition(definition) {
        status.condition("KubernetesAPIApprovalPolicyConformant", conforms, reason, &message);
    }
    let after = Value::Object(status.fields);
    (after != before).then_some(after)
}

fn without_empty(names: &Map<String, Value>) -> Map<String, Value> {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    names.iter().filter(|(_, value)| !empty(value)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

struct Status {
    fields: Map<String, Value>,
    now: Timestamp,
}

impl Status {
    fn accepted(&self) -> Map<String, Value> {
        self.fields.get("acceptedNames").and_then(Value::as_object).map(without_empty).unwrap_or_default()
    }

    fn find(&self, kind: &str) -> Option<&Value> {
        let conditions = self.fields.get("conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().find(|condition| object::text(condition, "type") == kind)
    }

    fn is_true(&self, kind: &str) -> bool {
        self.find(kind).is_some_and(|condition| object::text(condition, "status") == "True")
    }

    /// Sets a condition. Its `lastTransitionTime` changes only with its status.
    fn condition(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let known = self.find(kind);
        let since = known
            .filter(|known| object::text(known, "status") == status)
            .map(|known| object::text(known, "lastTransitionTime"));
        let since = since.filter(|since| !since.is_empty()).map(str::to_owned);
        let since = since.unwrap_or_else(|| self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        let condition =
            json!({ "type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message });
        let conditions = self.fields.entry("conditions").or_insert_with(|| json!([]));
        if !conditions.is_array() {
            *conditions = json!([]);
        }
        let Some(conditions) = conditions.as_array_mut() else { return };
        match conditions.iter_mut().find(|known| object::text(known, "type") == kind) {
            Some(known) => *known = condition,
            None => conditions.push(condition),
        }
    }
}

#[derive(Default)]
struct Names {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

type Conflict = (&'static str, String);

impl Names {
    fn add(&mut self, definition: &Value) {
        if let Some(names) = definition.get("status").and_then(|status| status.get("acceptedNames")).and_then(Value::as_object)
        {
            self.claim(names);
        }
    }

    fn claim(&mut self, names: &Map<String, Value>) {
        let text = |name: &str| names.get(name).and_then(Value::as_str).map(str::to_owned);
        self.resources.extend(text("plural"));
        self.resources.extend(text("singular"));
        self.resources.extend(texts(names, "shortNames"));
        self.kinds.extend(text("kind"));
        self.kinds.extend(text("listKind"));
    }

    /// Returns `accepted` with the free names of `requested`, and the last conflict.
    fn accept(
        &self,
        requested: &Map<String, Value>,
        mut accepted: Map<String, Value>,
    ) -> (Map<String, Value>, Option<Conflict>) {
        let mut conflict = None;
        let in_use = |name: &str| format!("{name:?} is already in use");
        let single = |accepted: &mut Map<String, Value>, name: &str, used: &BTreeSet<String>| {
            let wanted = requested.get(name).and_then(Value::as_str).unwrap_or_default();
            if accepted.get(name).and_then(Value::as_str) != Some(wanted) && used.contains(wanted) {
                return Some(in_use(wanted));
            }
            accepted.insert(name.to_owned(), Value::from(wanted));
            None
        };
        for (name, reason) in [("plural", "PluralConflict"), ("singular", "SingularConflict")] {
            conflict = single(&mut accepted, name, &self.resources).map(|message| (reason, message)).or(conflict);
        }
        let own = texts(&accepted, "shortNames");
        let wanted = texts(requested, "shortNames");
        let taken: Vec<String> = wanted
            .iter()
            .filter(|name| !own.contains(name) && self.resources.contains(*name))
            .map(|name| in_use(name))
            .collect();
        match taken.as_slice() {
            [] if wanted.is_empty() => {
                accepted.remove("shortNames");
            }
            [] => {
                accepted.insert("shortNames".to_owned(), Value::from(wanted));
            }
            [one] => conflict = Some(("ShortNamesConflict", one.clone())),
            several => conflict = Some(("ShortNamesConflict", format!("[{}]", several.join(", ")))),
        }
        for (name, reason) in [("kind", "KindConflict"), ("listKind", "ListKindConflict")] {
            conflict = single(&mut accepted, name, &self.kinds).map(|message| (reason, message)).or(conflict);
        }
        match requested.get("categories").filter(|categories| categories.as_array().is_some_and(|list| !list.is_empty())) {
            Some(categories) => accepted.insert("categories".to_owned(), categories.clone()),
            None => accepted.remove("categories"),
        };
        // The required names are present even if none was accepted.
        for name in ["plural", "kind"] {
            accepted.entry(name).or_insert_with(|| Value::from(""));
        }
        accepted.retain(|name, value| matches!(name.as_str(), "plural" | "kind") || value.as_str() != Some(""));
        (accepted, conflict)
    }
}
