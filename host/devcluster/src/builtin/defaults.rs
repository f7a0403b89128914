//! Defaults of built-in kinds: constants from the dump, and rules from the server's code
//! (`pkg/apis/*/v1/defaults.go` and the conversions to and from the internal types).

mod conditional;

use gyre_core::quantity::Quantity;
use serde_json::{Map, Value};

use super::types::{self, Places};
use crate::kinds::Kind;
use crate::schema::{SchemaRef, Type};

pub(crate) fn default(kind: &Kind, object: &mut Value) {
    let name = format!("{}/{}", kind.api_version(), kind.kind);
    conditional::root(kind, object);
    let mut walk = Walk { root: &kind.kind, places: types::places(&name), path: String::new() };
    walk.value(kind.schema.root(), object);
    conditional::root_after(kind, object);
}

struct Walk<'a> {
    root: &'a str,
    places: Option<&'static Places>,
    path: String,
}

impl Walk<'_> {
    fn value(&mut self, schema: SchemaRef<'_>, value: &mut Value) {
        match (schema.kind, value) {
            (Type::Object, Value::Object(object)) if !schema.properties.is_empty() => self.object(schema, object),
            (Type::Object, Value::Object(entries)) => {
                let Some(values) = schema.additional_properties() else { return };
                for value in entries.values_mut() {
                    if values.kind == Type::Quantity {
                        round_up(value);
                    } else {
                        self.value(values, value);
                    }
                }
            }
            (Type::Array, Value::Array(items)) => {
                let Some(schema) = schema.items() else { return };
                self.path.push_str("[]");
                for item in items {
                    self.value(schema, item);
                }
                self.path.truncate(self.path.len() - 2);
            }
            _ => {}
        }
    }

    fn object(&mut self, schema: SchemaRef<'_>, object: &mut Map<String, Value>) {
        let definition = schema.schema().definition.as_deref().unwrap_or_default();
        conditional::definition(definition.rsplit('.').next().unwrap_or_default(), self.root, object);
        for (name, value) in &schema.schema().defaulted {
            // Go cannot tell the zero value of an always encoded field from an absent one.
            if object.get(name).is_some_and(|present| schema.always.get(name) == Some(present)) {
                object.remove(name);
            }
            put(object, name, value);
        }
        for (name, value) in self.places.and_then(|places| places.get(&self.path)).into_iter().flatten() {
            put(object, name, value);
        }
        let length = self.path.len();
        for (name, value) in object.iter_mut() {
            let Some(schema) = schema.property(name) else { continue };
            if !matches!(schema.kind, Type::Object | Type::Array) {
                continue;
            }
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            self.value(schema, value);
            self.path.truncate(length);
        }
    }
}

fn put(object: &mut Map<String, Value>, name: &str, value: &Value) {
    if object.get(name).is_none_or(Value::is_null) {
        object.insert(name.to_owned(), value.clone());
    }
}

fn round_up(value: &mut Value) {
    if let Some(mut quantity) = value.as_str().and_then(|text| Quantity::parse(text).ok()) {
        quantity.round_up_to_milli();
        *value = Value::from(quantity.canonical());
    }
}
