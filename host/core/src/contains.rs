//! Finds out whether a live object still contains the desired one.
//!
//! The API server, webhooks and other field managers add fields, so the two are never equal. Where
//! only the schema could tell, they differ: that costs one apply, whose answer is remembered
//! ([`crate::plan::AcceptedForm`]), while the opposite would hide drift.

mod spelling;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value};

use self::spelling::Kind;

/// Deeper values count as different. `serde_json` parses none, so this only bounds the stack.
const DEPTH_LIMIT: usize = 128;

/// A list that server-side apply merges by key, so that others may add elements (a sidecar).
struct KeyedList {
    /// The field with the object (or its elements) that has the list; empty for the root.
    parents: &'static [&'static str],
    fields: &'static [&'static str],
    keys: &'static [&'static str],
}

const CONTAINERS: &[&str] = &["containers", "initContainers", "ephemeralContainers"];

/// The keyed lists of built-in kinds, each with its parent, because a field may mean something else
/// elsewhere: others may add ports to a container, but not to a NetworkPolicy's rule.
const KEYED_LISTS: &[KeyedList] = &[
    KeyedList { parents: &["spec"], fields: CONTAINERS, keys: &["name"] },
    KeyedList { parents: &["spec"], fields: &["volumes", "resourceClaims", "schedulingGates"], keys: &["name"] },
    KeyedList { parents: &["spec", ""], fields: &["imagePullSecrets", "secrets"], keys: &["name"] },
    KeyedList { parents: &["spec"], fields: &["hostAliases"], keys: &["ip"] },
    KeyedList { parents: &["spec"], fields: &["topologySpreadConstraints"], keys: &["topologyKey", "whenUnsatisfiable"] },
    KeyedList { parents: &["spec"], fields: &["ports"], keys: &["port", "protocol"] },
    KeyedList { parents: &["spec"], fields: &["listeners"], keys: &["name"] },
    KeyedList { parents: CONTAINERS, fields: &["env"], keys: &["name"] },
    KeyedList { parents: CONTAINERS, fields: &["volumeMounts"], keys: &["mountPath"] },
    KeyedList { parents: CONTAINERS, fields: &["volumeDevices"], keys: &["devicePath"] },
    KeyedList { parents: CONTAINERS, fields: &["ports"], keys: &["containerPort", "protocol"] },
    KeyedList { parents: &["resources"], fields: &["claims"], keys: &["name"] },
    KeyedList { parents: &["metadata"], fields: &["ownerReferences"], keys: &["uid"] },
    KeyedList { parents: &[""], fields: &["webhooks"], keys: &["name"] },
];

/// Maps that the API server omits if empty. Elsewhere `{}` matters, as in `emptyDir: {}`.
const OMITTED_WHEN_EMPTY: &[&str] =
    &["labels", "annotations", "matchLabels", "nodeSelector", "data", "binaryData", "stringData", "limits", "requests"];

/// The first difference, e.g. `spec.template.spec.containers[0].image`, or `None`.
///
/// - Every desired field must have the desired value; live objects may have more fields.
/// - A desired null, `[]`, or an empty value that the API server omits may be absent.
/// - Only lists that server-side apply merges by key may have more elements.
/// - Numbers are compared by value: `1` is `1.0`.
/// - In Kubernetes' own kinds, quantities are compared by amount (`1000m` is `1`), base64 by its
///   bytes, and the `stringData` of a Secret with the live `data`.
///
/// Indices in the path count the desired elements.
pub fn first_difference(desired: &Value, live: &Value) -> Option<String> {
    let mut comparison = desired.as_object().map_or_else(Comparison::default, Comparison::of);
    comparison.value(desired, live).err().map(|Different { path }| path)
}

pub(crate) fn first_difference_in(desired: &Map<String, Value>, live: &Value, asked: fn(&str) -> bool) -> Option<String> {
    let fields = desired.iter().filter(|(field, _)| asked(field));
    let mut comparison = Comparison::of(desired);
    let result = match live {
        Value::Object(live) => comparison.fields_of(fields, live),
        _ => Err(comparison.different()),
    };
    result.err().map(|Different { path }| path)
}

/// The first element of a keyed list whose key an earlier element has, or `None`. The API server
/// creates built-in kinds with such elements, and then refuses every server-side apply.
pub(crate) fn first_repeated_element(object: &Map<String, Value>) -> Option<RepeatedElement> {
    let mut comparison = Comparison::of(object);
    if comparison.kind == Kind::Other {
        return None;
    }
    object.iter().find_map(|(field, value)| comparison.repeated_in(Segment::Field(field), value))
}

/// An element of a keyed list whose key another one has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepeatedElement {
    /// The place of the element, e.g. `spec.containers[0].env[1]`.
    pub(crate) path: String,
    /// The index of the first element with this key.
    pub(crate) first: usize,
    /// The key, e.g. `name "A"`.
    pub(crate) key: String,
}

/// Returns whether two values are equal: numbers by value, and null as an absent field.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    equal_at(left, right, 0)
}

fn equal_at(left: &Value, right: &Value, depth: usize) -> bool {
    if depth > DEPTH_LIMIT {
        return false;
    }
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let holds = |one: &Map<String, Value>, other: &Map<String, Value>| {
                one.iter().all(|(field, value)| equal_at(value, other.get(field).unwrap_or(&Value::Null), depth + 1))
            };
            let null_where_absent = right.iter().all(|(field, value)| value.is_null() || left.contains_key(field));
            null_where_absent && holds(left, right)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal_at(left, right, depth + 1))
        }
        _ => equal_scalars(left, right),
    }
}

fn equal_scalars(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => equal_numbers(left, right),
        _ => left == right,
    }
}

/// Compares integers exactly, and as floats if one of them is a float.
fn equal_numbers(left: &Number, right: &Number) -> bool {
    left == right || ((left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64())
}

struct Different {
    path: String,
}

#[derive(Clone, Copy)]
enum Segment<'a> {
    Field(&'a str),
    Index(usize),
}

/// Walks both values. The path is that of the desired value.
#[derive(Default)]
struct Comparison<'a> {
    path: Vec<Segment<'a>>,
    kind: Kind,
    string_data: Option<&'a Map<String, Value>>,
}

impl<'a> Comparison<'a> {
    fn of(desired: &'a Map<String, Value>) -> Self {
        let kind = Kind::of(desired);
        let string_data = match (kind, desired.get("stringData")) {
            (Kind::Secret, Some(Value::Object(texts))) => Some(texts),
            _ => None,
        };
        Self { path: Vec::new(), kind, string_data }
    }

    fn value(&mut self, desired: &'a Value, live: &Value) -> Result<(), Different> {
        if self.path.len() > DEPTH_LIMIT {
            return Err(self.different());
        }
        match (desired, live) {
            (Value::Object(desired), Value::Object(live)) => self.fields_of(desired.iter(), live),
            (Value::Array(desired), Value::Array(live)) => self.array(desired, live),
            _ if equal_scalars(desired, live) || self.kind.is_same(self.fields(), desired, live) => Ok(()),
            _ => Err(self.different()),
        }
    }

    fn fields_of(
        &mut self,
        desired: impl Iterator<Item = (&'a String, &'a Value)>,
        live: &Map<String, Value>,
    ) -> Result<(), Different> {
        for (field, value) in desired {
            if self.is_overwritten(field) {
                continue;
            }
            self.path.push(Segment::Field(field));
            match live.get(field) {
                Some(live) => self.value(value, live)?,
                None if may_be_absent(field, value) => {}
                None if self.kind.leaves_out(self.fields(), value) => {}
                None if self.is_string_data() => self.texts(live.get("data"))?,
                None => return Err(self.different()),
            }
            self.path.pop();
        }
        Ok(())
    }

    fn is_string_data(&self) -> bool {
        self.string_data.is_some() && matches!(self.path.as_slice(), [Segment::Field("stringData")])
    }

    fn is_overwritten(&self, field: &str) -> bool {
        matches!(self.path.as_slice(), [Segment::Field("data")])
            && self.string_data.is_some_and(|texts| texts.contains_key(field))
    }

    fn texts(&mut self, live_data: Option<&Value>) -> Result<(), Different> {
        for (key, text) in self.string_data.into_iter().flatten() {
            self.path.push(Segment::Field(key));
            let held = live_data.and_then(|data| data.get(key)).is_some_and(|data| spelling::is_text_in_base64(text, data));
            if !held {
                return Err(self.different());
            }
            self.path.pop();
        }
        Ok(())
    }

    fn array(&mut self, desired: &'a [Value], live: &[Value]) -> Result<(), Different> {
        if self.last_fields() == ("metadata", "finalizers") {
            // It is a set that others add to.
            let live: BTreeSet<String> = live.iter().map(Value::to_string).collect();
            let contained = desired.iter().all(|element| live.contains(&element.to_string()));
            return if contained { Ok(()) } else { Err(self.different()) };
        }
        if let Some(keys) = self.merge_keys()
            && let (Some(desired_keys), Some(live_keys)) = (element_keys(desired, keys), element_keys(live, keys))
        {
            let live_by_key: BTreeMap<String, &Value> = live_keys.into_iter().zip(live).collect();
            for (index, (element, key)) in desired.iter().zip(&desired_keys).enumerate() {
                self.element(index, element, live_by_key.get(key).copied())?;
            }
            return Ok(());
        }
        if desired.len() != live.len() {
            return Err(self.different());
        }
        for (index, element) in desired.iter().enumerate() {
            self.element(index, element, live.get(index))?;
        }
        Ok(())
    }

    /// Looks for repeated keys in a value, whose last segment is not on the path yet.
    fn repeated_in(&mut self, segment: Segment<'a>, value: &'a Value) -> Option<RepeatedElement> {
        // Nothing deeper has a keyed list.
        if self.path.len() > DEPTH_LIMIT {
            return None;
        }
        self.path.push(segment);
        let found = match value {
            Value::Array(elements) => self.repeated_key(elements).or_else(|| {
                elements.iter().enumerate().find_map(|(index, element)| self.repeated_in(Segment::Index(index), element))
            }),
            Value::Object(fields) => fields.iter().find_map(|(field, value)| self.repeated_in(Segment::Field(field), value)),
            _ => None,
        };
        self.path.pop();
        found
    }

    fn repeated_key(&mut self, elements: &[Value]) -> Option<RepeatedElement> {
        let keys = if self.last_fields() == ("metadata", "finalizers") { &[][..] } else { self.merge_keys()? };
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (index, element) in elements.iter().enumerate() {
            let Some(key) = element_key(element, keys) else { continue };
            if let Some(first) = seen.insert(key, index) {
                self.path.push(Segment::Index(index));
                let Different { path } = self.different();
                self.path.pop();
                return Some(RepeatedElement { path, first, key: described_key(element, keys) });
            }
        }
        None
    }

    fn element(&mut self, index: usize, desired: &'a Value, live: Option<&Value>) -> Result<(), Different> {
        self.path.push(Segment::Index(index));
        let Some(live) = live else { return Err(self.different()) };
        self.value(desired, live)?;
        self.path.pop();
        Ok(())
    }

    /// The fields that lead to the current value, the last one first.
    fn fields(&self) -> impl Iterator<Item = &'a str> + Clone {
        self.path.iter().rev().filter_map(|segment| match segment {
            Segment::Field(field) => Some(*field),
            Segment::Index(_) => None,
        })
    }

    fn last_fields(&self) -> (&'a str, &'a str) {
        let mut fields = self.fields();
        let field = fields.next().unwrap_or_default();
        (fields.next().unwrap_or_default(), field)
    }

    fn merge_keys(&self) -> Option<&'static [&'static str]> {
        let (parent, field) = self.last_fields();
        KEYED_LISTS.iter().find(|list| list.parents.contains(&parent) && list.fields.contains(&field)).map(|list| list.keys)
    }

    fn different(&self) -> Different {
        let mut path = String::new();
        for segment in &self.path {
            match segment {
                Segment::Index(index) => path.push_str(&format!("[{index}]")),
                Segment::Field(field) if is_plain(field) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(field);
                }
                Segment::Field(field) => path.push_str(&format!("[{field:?}]")),
            }
        }
        Different { path }
    }
}

fn is_plain(field: &str) -> bool {
    !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || byte == b'$')
}

fn may_be_absent(field: &str, desired: &Value) -> bool {
    match desired {
        Value::Null => true,
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty() && OMITTED_WHEN_EMPTY.contains(&field),
        _ => false,
    }
}

/// The key of each element, or `None` if keys are missing or repeated.
fn element_keys(elements: &[Value], keys: &[&str]) -> Option<Vec<String>> {
    let found: Vec<String> = elements.iter().map(|element| element_key(element, keys)).collect::<Option<_>>()?;
    let distinct: BTreeSet<&String> = found.iter().collect();
    (distinct.len() == elements.len()).then_some(found)
}

/// The key of an element, or `None` if it is missing. Without keys, it is the element itself.
fn element_key(element: &Value, keys: &[&str]) -> Option<String> {
    if keys.is_empty() {
        return Some(element.to_string());
    }
    keys.iter().map(|key| Some(key_value(element, key)?.to_string() + "\n")).collect()
}

fn key_value(element: &Value, key: &str) -> Option<Value> {
    match element.get(key) {
        Some(value) => Some(value.clone()),
        // The one key with a default of the API server.
        None => (key == "protocol").then(|| Value::from("TCP")),
    }
}

fn described_key(element: &Value, keys: &[&str]) -> String {
    if keys.is_empty() {
        return element.to_string();
    }
    let described = keys.iter().filter_map(|key| Some(format!("{key} {}", key_value(element, key)?)));
    described.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
