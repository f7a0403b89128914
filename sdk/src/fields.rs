//! Builds JSON from fields. `serde_json::json!` would need three times the code in a component.

use serde_json::{Map, Value};

use crate::labels::Labels;

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
pub(crate) fn set(target: &mut Value, pointer: &str, value: Value) {
    let mut target = target;
    for token in pointer.split('/').skip(1) {
        if !target.is_object() {
            *target = Value::Object(Map::new());
        }
        let Value::Object(fields) = target else { return };
        let name = if token.contains('~') { token.replace("~1", "/").replace("~0", "~") } else { token.to_owned() };
        target = fields.entry(name).or_insert(Value::Null);
    }
    *target = value;
}
