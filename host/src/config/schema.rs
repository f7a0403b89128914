//! The schema of the configuration file, as it is derived from [`super::keys`] and from the flags of the host, and what a file that it
//! is held to comes down to.

use jsonschema::{Draft, Keyword, ValidationError, Validator};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::Deserialize;
use serde_json::{Value, json};

use super::keys;
use super::node::{self, Node};
use super::process;
use super::types::{CHECK, Check};

/// The JSON Schema of the configuration file.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(without_null));
    let mut schema = settings.into_generator().into_root_schema_for::<keys::File>();
    if let Some(Value::Object(host)) = schema.pointer_mut("/properties/host") {
        host.extend([("additionalProperties".to_owned(), json!(false)), ("properties".to_owned(), process::schema())]);
    }
    schema.to_value()
}

/// A key that is null is as if it were not there, so values need not be null.
fn without_null(schema: &mut Schema) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.retain(|alternative| alternative.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = &alternatives[..] {
            let only = only.clone();
            schema.remove("anyOf");
            for (keyword, value) in only {
                schema.entry(keyword).or_insert(value);
            }
        }
    }
}

/// What holds a file to the schema.
///
/// # Errors
///
/// When it is no schema, which is a defect.
pub(super) fn validator(schema: &Value) -> Result<Validator, String> {
    let flags = process::flags();
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .with_keyword(CHECK, |_, value, _| {
            let check = Check::deserialize(value).map_err(|error| ValidationError::schema(error.to_string()))?;
            Ok(Box::new(Accepts(move |value: &Value| check.check(value).is_ok())))
        })
        .with_keyword(process::FLAG, move |_, value, _| {
            let flag = flags.iter().find(|flag| value == flag.key.as_str()).cloned();
            Ok(Box::new(Accepts(move |value: &Value| flag.as_ref().is_none_or(|flag| flag.refusal(value).is_none()))))
        })
        .build(schema)
        .map_err(|error| error.to_string())
}

/// A keyword that a function decides.
struct Accepts<F>(F);

impl<'i, F: Fn(&Value) -> bool + Send + Sync> Keyword<'i> for Accepts<F> {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        if (self.0)(value) { Ok(()) } else { Err(ValidationError::custom("")) }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        (self.0)(value)
    }
}

/// A file as JSON, without the known keys that are null.
pub(super) fn json(node: &Node, schema: &Value, root: &Value) -> Value {
    let schema = resolve(schema, root);
    match (&node.value, schema.get("properties"), schema.get("items")) {
        (node::Value::Map(entries), Some(known), _) => {
            let entry = |(key, node): &(node::Key, Node)| match known.get(&key.text) {
                Some(_) if matches!(node.value, node::Value::Null) => None,
                Some(schema) => Some((key.text.clone(), json(node, schema, root))),
                None => Some((key.text.clone(), node.to_json())),
            };
            entries.iter().filter_map(entry).collect()
        }
        (node::Value::List(items), _, Some(schema)) => items.iter().map(|item| json(item, schema, root)).collect(),
        _ => node.to_json(),
    }
}

fn resolve<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}
