//! Owners and their fields, encoded in `metadata.managedFields`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::set::FieldSet;
use super::text;
use crate::go;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

#[derive(Clone, Debug)]
pub(super) struct Owner {
    /// Its JSON, by which the real server orders owners.
    key: String,
    pub(super) name: String,
    pub(super) operation: Operation,
    /// Empty for appliers: their identity does not depend on the version.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub(super) set: FieldSet,
    pub(super) api_version: String,
    pub(super) time: Option<Timestamp>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Ownership {
    pub(super) owners: BTreeMap<Owner, Owned>,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl Owner {
    pub(super) fn new(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        let fields =
            [("manager", name), ("operation", operation.name()), ("apiVersion", api_version), ("subresource", subresource)];
        let fields: Vec<_> = fields
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(field, text)| format!("\"{field}\":{}", text::json_string(text)))
            .collect();
        Self {
            key: format!("{{{}}}", fields.join(",")),
            name: name.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }
}

impl Ord for Owner {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for Owner {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Owner {}

impl Owned {
    fn seconds(&self) -> i64 {
        self.time.map_or(0, Timestamp::as_second)
    }
}

pub(super) fn entries(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields").filter(|entries| !entries.is_null())
}

/// Returns whether a client asks to remove all owners, by `[]` or `[{}]`.
pub(super) fn is_reset(entries: &Value) -> bool {
    let is_empty = |field: &Value| matches!(field, Value::Null) || field.as_str() == Some("");
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => entry.values().all(is_empty),
        _ => false,
    }
}

impl Ownership {
    /// Decodes the entries of an object, or returns the error in the first invalid one.
    pub(super) fn decode(entries: Option<&Value>) -> Result<Self, String> {
        let entries = match entries {
            None => return Ok(Self::default()),
            Some(entries) => entries.as_array().ok_or_else(|| "managedFields must be a list".to_owned())?,
        };
        let mut owners = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let (owner, owned) = decode_entry(index, entry)?;
            owners.insert(owner, owned);
        }
        Ok(Self { owners })
    }

    /// Returns the entries in the server's order: appliers first, then by time, name, version and
    /// subresource. `None` if there are no owners.
    pub(super) fn encode(&self) -> Option<Value> {
        if self.owners.is_empty() {
            return None;
        }
        let mut owners: Vec<_> = self.owners.iter().collect();
        owners.sort_by(|(left, left_owned), (right, right_owned)| {
            (left.operation, left_owned.seconds(), &left.name, &left_owned.api_version, &left.subresource).cmp(&(
                right.operation,
                right_owned.seconds(),
                &right.name,
                &right_owned.api_version,
                &right.subresource,
            ))
        });
        Some(owners.into_iter().map(|(owner, owned)| encode_entry(owner, owned)).collect())
    }

    pub(super) fn write_to(&self, object: &mut Value) {
        match self.encode() {
            Some(entries) => crate::object::set_metadata(object, "managedFields", entries),
            None => drop(crate::object::remove_metadata(object, "managedFields")),
        }
    }

    pub(super) fn drop_empty(&mut self) {
        self.owners.retain(|_, owned| !owned.set.is_empty());
    }
}

fn decode_entry(index: usize, entry: &Value) -> Result<(Owner, Owned), String> {
    let entry = entry.as_object().ok_or_else(|| format!("managed fields entry {index} must be an object"))?;
    let text = |field: &str| match entry.get(field) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(format!("{field} must be a string in managed fields entry {index}")),
    };
    let operation = match text("operation")? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    let api_version = text("apiVersion")?;
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match text("fieldsType")? {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
        other => return Err(format!("invalid fieldsType {} in managed fields entry {index}", go::quoted(other))),
    }
    let owner = Owner::new(text("manager")?, operation, api_version, text("subresource")?);
    let time = match text("time")? {
        "" => None,
        time => Some(time.parse().map_err(|error| format!("parsing time {time:?}: {error}"))?),
    };
    let set = match entry.get("fieldsV1") {
        None | Some(Value::Null) => FieldSet::default(),
        Some(fields) => FieldSet::from_json(fields).map_err(|error| format!("error decoding set: {error}"))?,
    };
    Ok((owner, Owned { set, api_version: api_version.to_owned(), time }))
}

fn encode_entry(owner: &Owner, owned: &Owned) -> Value {
    let mut entry = Map::new();
    for (field, text) in [
        ("manager", owner.name.as_str()),
        ("operation", owner.operation.name()),
        ("apiVersion", &owned.api_version),
        ("fieldsType", "FieldsV1"),
        ("subresource", &owner.subresource),
    ] {
        if !text.is_empty() {
            entry.insert(field.to_owned(), Value::from(text));
        }
    }
    if let Some(time) = owned.time {
        entry.insert("time".to_owned(), Value::from(seconds_text(time)));
    }
    entry.insert("fieldsV1".to_owned(), owned.set.to_json());
    Value::Object(entry)
}

fn seconds_text(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}
