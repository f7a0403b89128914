//! Values for expressions, typed by the schema.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, Value};
use serde_json::Value as Json;

use super::super::format;
use super::super::program::escape;
use super::super::structural::{MAX_VALUE_DEPTH, Node};
use super::super::validate::is_whole;

/// The fields of an object that expressions see in addition to those of its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// `apiVersion`, `kind`, and the name in `metadata`.
    Resource,
    /// None.
    Field,
}

impl Root {
    pub(crate) fn below(schema: &Node) -> Self {
        if schema.embedded_resource { Self::Resource } else { Self::Field }
    }
}

pub(crate) fn typed(value: &Json, schema: &Node, root: Root) -> Value {
    typed_at(value, Some(schema), root, 0)
}

fn typed_at(value: &Json, schema: Option<&Node>, root: Root, depth: usize) -> Value {
    if depth > MAX_VALUE_DEPTH {
        return Value::Null;
    }
    match value {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match (schema.map(|schema| schema.kind.as_str()), number.as_i64(), number.as_f64()) {
            (Some("number"), _, Some(float)) => Value::Float(float),
            (_, Some(whole), _) => Value::Int(whole),
            (Some("integer"), None, Some(float)) if is_whole(float) => Value::Int(float as i64),
            (_, None, float) => Value::Float(float.unwrap_or(f64::NAN)),
        },
        Json::String(text) => typed_text(text, schema),
        Json::Array(items) => {
            let each = schema.and_then(|schema| schema.items.as_deref());
            let items = items.iter().map(|item| typed_at(item, each, resource(each), depth + 1));
            Value::List(Arc::new(items.collect()))
        }
        Json::Object(fields) => {
            let embedded = root == Root::Resource || schema.is_some_and(|schema| schema.embedded_resource);
            let mut map = HashMap::with_capacity(fields.len());
            for (name, field) in fields {
                let known = match schema {
                    None => Some((name.clone(), None)),
                    Some(schema) => match (schema.properties.get(name), schema.each()) {
                        _ if embedded && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") => {
                            Some((name.clone(), None))
                        }
                        (Some(property), _) => escape(name).map(|name| (name, Some(property))),
                        // The keys of a map are values, not names.
                        (None, Some(each)) => Some((name.clone(), Some(each))),
                        (None, None) if schema.properties.is_empty() && !embedded => Some((name.clone(), None)),
                        (None, None) => None,
                    },
                };
                let Some((key, below)) = known else { continue };
                let value = if embedded && name == "metadata" {
                    metadata(field)
                } else {
                    typed_at(field, below, resource(below), depth + 1)
                };
                map.insert(Key::String(Arc::new(key)), value);
            }
            Value::Map(Map { map: Arc::new(map) })
        }
    }
}

fn resource(schema: Option<&Node>) -> Root {
    if schema.is_some_and(|schema| schema.embedded_resource) { Root::Resource } else { Root::Field }
}

/// Rules see only the names in the metadata, because the server may change the rest.
fn metadata(value: &Json) -> Value {
    let fields = ["name", "generateName"].into_iter().filter_map(|name| Some((name, value.get(name)?.as_str()?)));
    let map = fields.map(|(name, text)| (Key::String(Arc::new(name.to_owned())), Value::from(text))).collect();
    Value::Map(Map { map: Arc::new(map) })
}

fn typed_text(text: &str, schema: Option<&Node>) -> Value {
    let plain = || Value::from(text);
    let Some(schema) = schema.filter(|schema| !schema.int_or_string) else { return plain() };
    match schema.format.as_deref() {
        Some("date-time" | "datetime") => convert("timestamp", text).unwrap_or_else(plain),
        Some("date") => convert("timestamp", &format!("{text}T00:00:00Z")).unwrap_or_else(plain),
        Some("duration") => match format::duration(text) {
            Some(nanoseconds) => convert("duration", &format!("{nanoseconds}ns")).unwrap_or_else(plain),
            None => plain(),
        },
        Some("byte") => base64(text).map_or_else(plain, Value::from),
        _ => plain(),
    }
}

/// Evaluates `function(text)`, to avoid a dependency on the library's types for time.
fn convert(function: &str, text: &str) -> Option<Value> {
    let literal = IdedExpr { id: 0, expr: Expr::Literal(LiteralValue::String(text.into())) };
    let call = CallExpr { func_name: function.to_owned(), target: None, args: vec![literal] };
    Value::resolve(&IdedExpr { id: 0, expr: Expr::Call(call) }, &Context::default()).ok()
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for character in text.trim_end_matches('=').bytes() {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}
