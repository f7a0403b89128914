//! Tables of custom kinds: the name and the columns of the CustomResourceDefinition.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::json_path::JsonPath;
use crate::kinds::Column;
use crate::{go, object};

pub(super) fn headings(columns: &[Column], name: &Value) -> Value {
    let columns = columns.iter().map(|column| {
        let description = match column.description.as_str() {
            "" => format!("Custom resource definition column (in JSONPath format): {}", column.json_path),
            description => description.to_owned(),
        };
        json!({
            "name": column.name, "type": column.kind, "format": column.format, "description": description,
            "priority": column.priority,
        })
    });
    Value::Array(std::iter::once(name.clone()).chain(columns).collect())
}

pub(super) struct Cells<'a> {
    columns: Vec<(&'a Column, Option<JsonPath>)>,
    now: Timestamp,
}

impl<'a> Cells<'a> {
    pub(super) fn new(columns: &'a [Column], now: Timestamp) -> Self {
        let columns = columns.iter().map(|column| (column, JsonPath::parse(&column.json_path)));
        Self { columns: columns.collect(), now }
    }

    pub(super) fn of(&self, object: &Value) -> Vec<Value> {
        let cells = self.columns.iter().map(|(column, path)| {
            let found = path.as_ref().and_then(|path| path.first(object));
            found.map_or(Value::Null, |value| self.cell(&column.kind, &value))
        });
        std::iter::once(Value::from(object::name(object))).chain(cells).collect()
    }

    fn cell(&self, kind: &str, value: &Value) -> Value {
        match (kind, value) {
            ("string", value) => printed(value).into(),
            ("integer", Value::Number(number)) => {
                let integer = number.as_i64().or_else(|| number.as_f64().map(truncated));
                integer.map_or(Value::Null, Value::from)
            }
            ("number", Value::Number(number)) => shortest(number.as_f64()),
            ("boolean", Value::Bool(_)) => value.clone(),
            ("date", Value::String(text)) => match age::parse(text) {
                Some(_) => age::since(Some(text), self.now).into(),
                None => "<invalid>".into(),
            },
            _ => Value::Null,
        }
    }
}

fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Object(_) | Value::Array(_) => go::escape_markup(&value.to_string()),
        Value::Number(number) => go::print_number(number),
        Value::String(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
    }
}

fn truncated(float: f64) -> i64 {
    float as i64
}

/// Writes whole numbers without a fraction, as Go does.
fn shortest(float: Option<f64>) -> Value {
    match float {
        Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => truncated(float).into(),
        Some(float) => float.into(),
        None => Value::Null,
    }
}
