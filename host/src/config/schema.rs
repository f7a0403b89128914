//! The schema of the configuration file, derived from [`super::keys`] and the flags of the host.

use jsonschema::{Draft, Keyword, ValidationError, Validator};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::Deserialize;
use serde_json::{Value, json};

use super::keys;
use super::process;
use super::types::{CHECK, Check};

pub(crate) fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(without_null))
        .with_transform(RecursiveTransform(without_line_ends));
    let mut schema = settings.into_generator().into_root_schema_for::<keys::File>();
    if let Some(Value::Object(host)) = schema.pointer_mut("/properties/host") {
        host.extend([("additionalProperties".to_owned(), json!(false)), ("properties".to_owned(), process::schema())]);
    }
    schema.to_value()
}

/// Removes `null` from types, because a key with `null` counts as not set.
fn without_null(schema: &mut Schema) {
    let Some(schema) = schema.as_object_mut() else { return };
    for keyword in ["type", "enum", "anyOf"] {
        let Some(Value::Array(parts)) = schema.get_mut(keyword) else { continue };
        parts.retain(|part| !part.is_null() && part != "null" && part.get("type").is_none_or(|name| name != "null"));
        let [only] = &parts[..] else { continue };
        match (keyword, only.clone()) {
            ("type", only) => drop(schema.insert(keyword.to_owned(), only)),
            ("anyOf", Value::Object(only)) => {
                schema.remove(keyword);
                schema.extend(only);
            }
            _ => {}
        }
    }
}

/// Joins the lines of descriptions, which come from comments.
fn without_line_ends(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
}

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

struct Accepts<F>(F);

impl<'i, F: Fn(&Value) -> bool + Send + Sync> Keyword<'i> for Accepts<F> {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        if (self.0)(value) { Ok(()) } else { Err(ValidationError::custom("")) }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        (self.0)(value)
    }
}
