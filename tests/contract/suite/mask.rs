//! Masks values that differ between equivalent servers: UIDs, times, generated names and the like.
//!
//! UIDs and the resourceVersions of objects become `(uid 1)`, `(rv 2)` and so on, in the order in
//! which a check meets them. The resourceVersion of a list, a bookmark or a continue token is that
//! of the whole server, which other checks change, too. It becomes `(list rv from (rv 2))`, after
//! the newest met change that it includes.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

const BEFORE_A_REVISION: [&str; 6] =
    ["current: ", "(current ", "current resource version: ", "resource version: ", "too old: ", "(number) ("];
const AGES: [&str; 5] = ["Age", "Last Seen", "First Seen", "Duration", "Last Schedule"];
const SUFFIX: &str = "bcdfghjklmnpqrstvwxz2456789";
/// Earlier times are a check's own and are not masked.
const FIRST_MASKED_YEAR: &str = "2020";

#[derive(Debug, Default)]
pub(crate) struct Mask {
    uids: BTreeMap<String, String>,
    revisions: BTreeMap<u64, String>,
    names: BTreeMap<String, String>,
    /// The columns of the last table that had them: later events of a watch do not.
    columns: Vec<Value>,
}

impl Mask {
    pub(crate) fn value(&mut self, value: &Value) -> Value {
        self.learn(value);
        self.walk("", &in_one_order(value))
    }

    pub(crate) fn event(&mut self, event: &Value) -> Value {
        let mut event = event.clone();
        if event["type"] == "BOOKMARK" && event["object"]["kind"] != "Table" {
            let version = &mut event["object"]["metadata"]["resourceVersion"];
            *version = self.list_revision(version).into();
        }
        self.value(&event)
    }

    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = without_object(text);
        for (name, label) in self.names.iter().chain(&self.uids) {
            text = text.replace(name, label);
        }
        for before in BEFORE_A_REVISION {
            text = mask_number_after(&text, before);
        }
        mask_unknown_uids(&text)
    }

    /// Gives labels to UIDs and generated names, so that they are masked within texts and keys.
    fn learn(&mut self, value: &Value) {
        match value {
            Value::String(text) if is_uid(text) => {
                let next = format!("(uid {})", self.uids.len() + 1);
                self.uids.entry(text.clone()).or_insert(next);
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(fields) => {
                if let (Some(Value::String(prefix)), Some(Value::String(name))) =
                    (fields.get("generateName"), fields.get("name"))
                    && let Some(suffix) = name.strip_prefix(prefix.as_str())
                    && suffix.len() == 5
                    && suffix.chars().all(|c| SUFFIX.contains(c))
                {
                    self.names.insert(name.clone(), format!("{prefix}(suffix)"));
                }
                // Sorted, so that the order of labels does not depend on the order of fields.
                let mut keys: Vec<&String> = fields.keys().collect();
                keys.sort();
                keys.into_iter().for_each(|key| self.learn(&fields[key]));
            }
            _ => {}
        }
    }

    fn walk(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => self.string(key, text).into(),
            Value::Number(number) if key == "nodePort" && number.as_u64() >= Some(30000) => "(node port)".into(),
            Value::Array(items) => {
                let mut items: Vec<Value> = items.iter().map(|item| self.walk(key, item)).collect();
                if key == "managedFields" {
                    // The server sorts them by time in seconds, so their order may vary.
                    items.sort_by_cached_key(|entry| {
                        format!("{} {} {}", entry["manager"], entry["operation"], entry["subresource"])
                    });
                }
                items.into()
            }
            Value::Object(fields) => self.object(fields),
            other => other.clone(),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Value {
        let mut masked = Map::new();
        let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
        let is_list = kind == "Table" || kind.ends_with("List");
        // Sorted, as in `learn`; a list's metadata is last, because it needs the items' revisions.
        let mut keys: Vec<&String> = fields.keys().collect();
        keys.sort_by_key(|key| (is_list && *key == "metadata", *key));
        for key in keys {
            let field = &fields[key];
            let value = match (key.as_str(), field) {
                ("metadata", Value::Object(metadata)) if is_list => self.list_metadata(metadata),
                ("rows", Value::Array(rows)) if kind == "Table" => self.rows(rows, fields.get("columnDefinitions")),
                _ => self.walk(key, field),
            };
            masked.insert(self.text(key), value);
        }
        masked.into()
    }

    fn rows(&mut self, rows: &[Value], columns: Option<&Value>) -> Value {
        let mut rows = rows.to_vec();
        if let Some(columns) = columns.and_then(Value::as_array).filter(|columns| !columns.is_empty()) {
            self.columns.clone_from(columns);
        }
        for row in &mut rows {
            let cells = row.get_mut("cells").and_then(Value::as_array_mut);
            for (cell, column) in cells.into_iter().flatten().zip(&self.columns) {
                if column["name"].as_str().is_some_and(|name| AGES.contains(&name)) && is_duration(cell) {
                    *cell = "(duration)".into();
                }
            }
        }
        self.walk("rows", &rows.into())
    }

    fn list_metadata(&self, metadata: &Map<String, Value>) -> Value {
        let mut metadata = metadata.clone();
        if let Some(version) = metadata.get_mut("resourceVersion").filter(|version| **version != "") {
            *version = self.list_revision(version).into();
        }
        if let Some(Value::String(token)) = metadata.get("continue") {
            let bytes = URL_SAFE_NO_PAD.decode(token.trim_end_matches('=')).or_else(|_| STANDARD_NO_PAD.decode(token));
            if let Some(mut inner) = bytes.ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) {
                inner["rv"] = self.list_revision(&inner["rv"]).into();
                metadata.insert("continue".to_owned(), inner);
            }
        }
        metadata.into()
    }

    /// Returns the newest met change that the revision of a list includes.
    fn list_revision(&self, revision: &Value) -> String {
        let number = revision.as_u64().or_else(|| revision.as_str()?.parse().ok());
        let Some(number) = number else { return revision.to_string() };
        match self.revisions.range(..=number).next_back() {
            Some((_, label)) => format!("(list rv from {label})"),
            None => "(list rv)".to_owned(),
        }
    }

    fn string(&mut self, key: &str, text: &str) -> String {
        if text.is_empty() || text.starts_with('(') {
            return text.to_owned();
        }
        if key == "resourceVersion" {
            let next = format!("(rv {})", self.revisions.len() + 1);
            return match text.parse() {
                Ok(0) | Err(_) => text.to_owned(),
                Ok(revision) => self.revisions.entry(revision).or_insert(next).clone(),
            };
        }
        if let Some(time) = mask_time(text) {
            return time.to_owned();
        }
        if text
            .strip_prefix("10.0.")
            .and_then(|rest| rest.split_once('.'))
            .is_some_and(|(third, last)| third.parse::<u8>().is_ok() && last.parse::<u8>().is_ok())
        {
            return "(ip)".to_owned();
        }
        self.text(text)
    }
}

/// Sorts the causes of a Status: the server collects some of them from maps.
fn in_one_order(value: &Value) -> Value {
    let mut status = value.clone();
    if status["kind"] != "Status" {
        return status;
    }
    let Some(causes) = status.pointer_mut("/details/causes").and_then(Value::as_array_mut) else { return status };
    causes.sort_by_cached_key(Value::to_string);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let faults: Vec<String> =
        causes.iter().map(|cause| format!("{}: {}", text(&cause["field"]), text(&cause["message"]))).collect();
    let joined = faults.join(", ");
    let message = text(&status["message"]);
    if let Some((before, list)) = message.split_once(" is invalid: [")
        && list.len() == joined.len() + 1
        && faults.iter().all(|fault| list.contains(fault))
    {
        status["message"] = format!("{before} is invalid: [{joined}]").into();
    }
    status
}

/// Masks UIDs within a text that were not met before.
fn mask_unknown_uids(text: &str) -> String {
    const LENGTH: usize = 36;
    let mut masked = String::new();
    let mut rest = text;
    while let Some(start) = (0..rest.len()).find(|start| rest.get(*start..start + LENGTH).is_some_and(is_uid)) {
        masked += &rest[..start];
        masked += "(uid)";
        rest = &rest[start + LENGTH..];
    }
    masked + rest
}

/// Removes a quoted object from a message, because Go's structs determine its text.
fn without_object(text: &str) -> String {
    const BEFORE: &str = "Invalid value: \"{";
    const AFTER: &str = "}\": ";
    match (text.find(BEFORE), text.rfind(AFTER)) {
        (Some(start), Some(end)) if start < end => format!("{}(object){}", &text[..start + BEFORE.len() - 1], &text[end + 1..]),
        _ => text.to_owned(),
    }
}

fn mask_number_after(text: &str, before: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once(before) {
        masked += head;
        masked += before;
        rest = tail.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() < tail.len() {
            masked += "(number)";
        }
    }
    masked + rest
}

fn is_uid(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

fn is_duration(cell: &Value) -> bool {
    let Some(text) = cell.as_str() else { return false };
    text.ends_with(['s', 'm', 'h', 'd', 'y']) && text.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the mask of a time, which tells its precision.
fn mask_time(text: &str) -> Option<&'static str> {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let mask = match shape.as_str() {
        "0000-00-00T00:00:00Z" => "(time)",
        "0000-00-00T00:00:00.000000Z" => "(time with microseconds)",
        _ => return None,
    };
    (text >= FIRST_MASKED_YEAR).then_some(mask)
}

#[test]
fn values_that_differ_are_masked_and_equal_ones_stay_equal() {
    let mut mask = Mask::default();
    let uid = "0f3b1c1e-0000-4000-8000-000000000001";
    let object = serde_json::json!({
        "metadata": { "uid": uid, "resourceVersion": "17", "generateName": "a-", "name": "a-bcdfg", "creationTimestamp": "2026-01-01T00:00:00Z" },
        "spec": { "owner": uid, "text": "a-bcdfg failed", "since": "2001-01-01T00:00:00Z" },
    });
    let masked = mask.value(&object);
    let expected = serde_json::json!({
        "metadata": { "uid": "(uid 1)", "resourceVersion": "(rv 1)", "generateName": "a-", "name": "a-(suffix)", "creationTimestamp": "(time)" },
        "spec": { "owner": "(uid 1)", "text": "a-(suffix) failed", "since": "2001-01-01T00:00:00Z" },
    });
    assert_eq!(masked, expected);
    assert_eq!(
        mask.text("too large resource version: 99, current: 17"),
        "too large resource version: (number), current: (number)"
    );
    let token = URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":12,"start":"b\u0000"}"#);
    let list =
        mask.value(&serde_json::json!({ "kind": "PodList", "metadata": { "resourceVersion": "12", "continue": token } }));
    let expected = serde_json::json!({ "v": "meta.k8s.io/v1", "rv": "(list rv)", "start": "b\u{0}" });
    assert_eq!(list["metadata"]["continue"], expected);
    assert_eq!(list["metadata"]["resourceVersion"], "(list rv)");
}

#[test]
fn the_revision_of_a_list_is_masked_by_its_newest_object() {
    let mut mask = Mask::default();
    let object = |version: &str| serde_json::json!({ "metadata": { "resourceVersion": version } });
    let mut list = |version: &str, items: &[&str]| {
        let items: Vec<Value> = items.iter().map(|version| object(version)).collect();
        let list = serde_json::json!({ "kind": "PodList", "metadata": { "resourceVersion": version }, "items": items });
        mask.value(&list)["metadata"]["resourceVersion"].clone()
    };
    assert_eq!(list("5", &[]), "(list rv)");
    // A list shows the newest met change, including those of its own items.
    assert_eq!(list("17", &["10", "12"]), "(list rv from (rv 2))");
    assert_eq!(list("12", &[]), "(list rv from (rv 2))");
    assert_eq!(list("11", &[]), "(list rv from (rv 1))");
}
