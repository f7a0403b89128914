//! A structural schema, parsed from an `openAPIV3Schema`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::pattern;
use super::program::Compiled;

/// The maximum depth of schemas, to bound recursion. A definition with a deeper one is rejected.
/// JSON nests at most 128 levels, and each level of a schema takes two.
pub(crate) const MAX_DEPTH: usize = 64;

/// The depth to which values are inspected: that of JSON, and a little more.
pub(crate) const MAX_VALUE_DEPTH: usize = 130;

#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) kind: String,
    pub(crate) format: Option<String>,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<String, Node>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Box<Node>>,
    pub(crate) preserve_unknown_fields: bool,
    pub(crate) embedded_resource: bool,
    pub(crate) int_or_string: bool,
    pub(crate) list_type: Option<String>,
    pub(crate) list_map_keys: Vec<String>,
    pub(crate) map_type: Option<String>,
    pub(crate) rules: Vec<Rule>,
    /// True if there are rules here or below.
    pub(crate) has_rules: bool,
    pub(crate) checks: Checks,
}

#[derive(Debug, Default)]
pub(crate) enum Additional {
    #[default]
    Unset,
    Forbidden,
    Anything,
    Each(Box<Node>),
}

#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) unique_items: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) choices: Vec<Value>,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) required: Vec<String>,
    pub(crate) all_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) not: Option<Box<Node>>,
}

#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    /// The error is Go's.
    pub(crate) regex: Result<Regex, String>,
}

/// An entry of `x-kubernetes-validations`.
#[derive(Debug, Default)]
pub(crate) struct Rule {
    pub(crate) rule: String,
    pub(crate) message: String,
    pub(crate) message_expression: String,
    pub(crate) reason: Option<String>,
    pub(crate) field_path: String,
    pub(crate) optional_old_self: Option<bool>,
    pub(crate) compiled: OnceLock<Compiled>,
}

impl Node {
    /// Parses `schema`. Ignores invalid parts, because definitions are validated elsewhere.
    pub(crate) fn parse(schema: &Value) -> Self {
        Self::parse_at(schema, 0)
    }

    fn parse_at(schema: &Value, depth: usize) -> Self {
        let Some(schema) = schema.as_object().filter(|_| depth <= MAX_DEPTH) else {
            return Self { preserve_unknown_fields: true, ..Self::default() };
        };
        let nested = |name: &str| {
            schema.get(name).filter(|value| value.is_object()).map(|value| Box::new(Self::parse_at(value, depth + 1)))
        };
        let additional = match schema.get("additionalProperties") {
            None | Some(Value::Null) => Additional::Unset,
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(Value::Bool(true)) => Additional::Anything,
            Some(each) => Additional::Each(Box::new(Self::parse_at(each, depth + 1))),
        };
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut node = Self {
            kind: text(schema, "type").unwrap_or_default(),
            format: text(schema, "format").filter(|format| !format.is_empty()),
            nullable: flag(schema, "nullable"),
            default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            properties: properties.map(|(name, value)| (name.clone(), Self::parse_at(value, depth + 1))).collect(),
            additional,
            items: nested("items"),
            preserve_unknown_fields: flag(schema, "x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag(schema, "x-kubernetes-embedded-resource"),
            int_or_string: flag(schema, "x-kubernetes-int-or-string"),
            list_type: text(schema, "x-kubernetes-list-type"),
            list_map_keys: texts(schema, "x-kubernetes-list-map-keys"),
            map_type: text(schema, "x-kubernetes-map-type"),
            rules: list(schema, "x-kubernetes-validations").map(Rule::parse).collect(),
            has_rules: false,
            checks: Checks::parse(schema, depth),
        };
        node.has_rules = !node.rules.is_empty()
            || node.items.as_deref().is_some_and(|items| items.has_rules)
            || node.each().is_some_and(|each| each.has_rules)
            || node.properties.values().any(|property| property.has_rules);
        node
    }

    /// The schema of the values of a map.
    pub(crate) fn each(&self) -> Option<&Self> {
        match &self.additional {
            Additional::Each(each) => Some(each),
            Additional::Unset | Additional::Forbidden | Additional::Anything => None,
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.each())
    }

    pub(crate) fn is_list_map(&self) -> bool {
        self.list_type.as_deref() == Some("map")
    }
}

impl Checks {
    fn parse(schema: &Map<String, Value>, depth: usize) -> Self {
        let several = |name: &str| list(schema, name).map(|value| Node::parse_at(value, depth + 1)).collect();
        Self {
            maximum: schema.get("maximum").and_then(Value::as_f64),
            exclusive_maximum: flag(schema, "exclusiveMaximum"),
            minimum: schema.get("minimum").and_then(Value::as_f64),
            exclusive_minimum: flag(schema, "exclusiveMinimum"),
            max_length: schema.get("maxLength").and_then(Value::as_i64),
            min_length: schema.get("minLength").and_then(Value::as_i64),
            pattern: text(schema, "pattern").filter(|pattern| !pattern.is_empty()).map(Pattern::new),
            max_items: schema.get("maxItems").and_then(Value::as_i64),
            min_items: schema.get("minItems").and_then(Value::as_i64),
            unique_items: flag(schema, "uniqueItems"),
            multiple_of: schema.get("multipleOf").and_then(Value::as_f64),
            choices: list(schema, "enum").cloned().collect(),
            max_properties: schema.get("maxProperties").and_then(Value::as_i64),
            min_properties: schema.get("minProperties").and_then(Value::as_i64),
            required: texts(schema, "required"),
            all_of: several("allOf"),
            one_of: several("oneOf"),
            any_of: several("anyOf"),
            not: schema.get("not").filter(|not| not.is_object()).map(|not| Box::new(Node::parse_at(not, depth + 1))),
        }
    }
}

impl Pattern {
    pub(crate) fn new(text: String) -> Self {
        Self { regex: pattern::compile(&text), text }
    }
}

impl Rule {
    fn parse(rule: &Value) -> Self {
        let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            rule: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: rule.get("reason").and_then(Value::as_str).map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool),
            compiled: OnceLock::new(),
        }
    }

    pub(crate) fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| Compiled::new(&self.rule, &self.message_expression))
    }

    /// The name of the rule in errors.
    pub(crate) fn label(&self) -> &str {
        if self.message.is_empty() { self.rule.trim() } else { self.message.trim() }
    }
}

pub(crate) fn text(object: &Map<String, Value>, name: &str) -> Option<String> {
    object.get(name).and_then(Value::as_str).map(str::to_owned)
}

pub(crate) fn flag(object: &Map<String, Value>, name: &str) -> bool {
    object.get(name).and_then(Value::as_bool).unwrap_or_default()
}

pub(crate) fn list<'a>(object: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    object.get(name).and_then(Value::as_array).into_iter().flatten()
}

pub(crate) fn texts(object: &Map<String, Value>, name: &str) -> Vec<String> {
    list(object, name).filter_map(Value::as_str).map(str::to_owned).collect()
}
