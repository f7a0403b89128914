//! Builds JSON from fields, and reads them. `serde_json::json!` would need three times the code in
//! a component.

use serde_json::{Map, Value};

use crate::labels::Labels;
use crate::time::Time;

static NOTHING: Value = Value::Null;

pub(crate) fn fields<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let mut object = Map::new();
    for (name, value) in fields {
        insert(&mut object, name, value);
    }
    Value::Object(object)
}

#[inline(never)]
pub(crate) fn texts(texts: &Labels) -> Value {
    let mut object = Map::new();
    for (name, text) in texts.iter() {
        insert(&mut object, name, text.into());
    }
    Value::Object(object)
}

#[inline(never)]
fn insert(object: &mut Map<String, Value>, name: &str, value: Value) {
    object.insert(name.to_owned(), value);
}

#[inline(never)]
pub(crate) fn set_at(target: &mut Value, pointer: &str, value: Value) {
    let mut target = target;
    for token in pointer.strip_prefix('/').unwrap_or(pointer).split('/') {
        if !target.is_object() {
            *target = Value::Object(Map::new());
        }
        let Value::Object(fields) = target else { return };
        let name = if token.contains('~') { token.replace("~1", "/").replace("~0", "~") } else { token.to_owned() };
        target = fields.entry(name).or_insert(Value::Null);
    }
    *target = value;
}

/// Returns an object without fields.
pub fn object() -> Value {
    Value::Object(Map::new())
}

/// Returns a field, `null` if there is none.
#[inline(never)]
pub fn get<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&NOTHING)
}

/// Returns the elements of a field that is a list.
#[inline(never)]
pub fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns a field that is a text.
#[inline(never)]
pub fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// Returns a field that is a time.
#[inline(never)]
pub fn time(value: &Value, name: &str) -> Option<Time> {
    text(value, name)?.parse().ok()
}

/// Sets a field. A value that is no object becomes one.
#[inline(never)]
pub fn set(value: &mut Value, name: &str, field: Value) {
    if !value.is_object() {
        *value = object();
    }
    if let Value::Object(fields) = value {
        fields.insert(name.to_owned(), field);
    }
}

/// Sets a field of the object in the field `outer`.
#[inline(never)]
pub fn set_inside(value: &mut Value, outer: &str, name: &str, field: Value) {
    if !value.is_object() {
        *value = object();
    }
    if let Value::Object(fields) = value {
        set(fields.entry(outer).or_insert(Value::Null), name, field);
    }
}

/// Returns an object of a kind with this name.
#[inline(never)]
pub fn named(api_version: &str, kind: &str, name: String) -> Value {
    let metadata = fields([("name", Value::String(name))]);
    fields([("apiVersion", api_version.into()), ("kind", kind.into()), ("metadata", metadata)])
}
