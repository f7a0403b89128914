//! Validates the keywords of a schema, and compiles its rules.

use serde_json::{Map, Value};

use super::super::cel;
use super::super::field_path::{self, Indexing};
use super::super::path::Path;
use super::super::program::Compiled;
use super::super::structural::{MAX_DEPTH, Node, flag, list, text, texts};
use super::super::{format, structural};
use super::not_supported;
use crate::status::{Fault, FieldError};

type Schema = Map<String, Value>;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const UNSUPPORTED: [&str; 6] = ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];

pub(super) fn validate(schema: &Value, path: &Path, rules: bool) -> Vec<FieldError> {
    let mut checking = Checking { schema_errors: Vec::new(), rule_errors: Vec::new() };
    if let Some(schema) = schema.as_object() {
        let position =
            SchemaPosition { level: Level::Root, no_default: None, inside_metadata: false, uncorrelatable: None, rules };
        checking.walk(schema, path, &position, 0);
    }
    checking.schema_errors.append(&mut checking.rule_errors);
    checking.schema_errors
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Below,
}

#[derive(Clone)]
struct SchemaPosition {
    level: Level,
    no_default: Option<String>,
    inside_metadata: bool,
    /// The parent whose items have no old values for comparison.
    uncorrelatable: Option<Path>,
    rules: bool,
}

struct Checking {
    schema_errors: Vec<FieldError>,
    rule_errors: Vec<FieldError>,
}

impl Checking {
    fn walk(&mut self, schema: &Schema, path: &Path, position: &SchemaPosition, depth: usize) {
        if depth > MAX_DEPTH {
            self.schema_errors.push(FieldError::forbidden(path, "must not be nested so deep"));
            return;
        }
        let before = self.schema_errors.len();
        self.keywords(schema, path, position);
        let below = SchemaPosition { level: Level::Below, ..position.clone() };
        self.children(schema, path, position, &below, depth);
        for junctor in ["allOf", "oneOf", "anyOf"] {
            for (index, nested) in list(schema, junctor).enumerate() {
                if let Some(nested) = nested.as_object() {
                    self.walk(
                        nested,
                        &path.child(junctor).key(index),
                        &SchemaPosition { rules: false, ..below.clone() },
                        depth + 1,
                    );
                }
            }
        }
        if let Some(not) = schema.get("not").and_then(Value::as_object) {
            self.walk(not, &path.child("not"), &SchemaPosition { rules: false, ..below.clone() }, depth + 1);
        }
        self.map_type(schema, path);
        self.list_type(schema, path);
        self.rules(schema, path, position, before);
    }

    fn keywords(&mut self, schema: &Schema, path: &Path, position: &SchemaPosition) {
        let errors = &mut self.schema_errors;
        let kind = text(schema, "type").unwrap_or_default();
        if !kind.is_empty() && !TYPES.contains(&kind.as_str()) {
            errors.push(not_supported(path.child("type"), &kind, &TYPES));
        }
        if let Some(reason) =
            position.no_default.as_ref().filter(|_| schema.get("default").is_some_and(|default| !default.is_null()))
        {
            errors.push(FieldError::forbidden(path.child("default"), format!("must not be set {reason}")));
        }
        for name in UNSUPPORTED {
            if schema.get(name).is_some_and(|value| !value.is_null()) {
                errors.push(FieldError::forbidden(path.child(name), format!("{name} is not supported")));
            }
        }
        if kind == "null" {
            errors
                .push(FieldError::forbidden(path.child("type"), "type cannot be set to null, use nullable as an alternative"));
        }
        if schema.get("items").is_some_and(Value::is_array) {
            errors.push(FieldError::forbidden(path.child("items"), "items must be a schema object and not an array"));
        }
        if position.inside_metadata && flag(schema, "x-kubernetes-embedded-resource") {
            errors.push(FieldError::forbidden(
                path.child("x-kubernetes-embedded-resource"),
                "must not be used inside of resource meta",
            ));
        }
        if flag(schema, "uniqueItems") {
            let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            errors.push(FieldError::forbidden(path.child("uniqueItems"), why));
        }
        let name = "x-kubernetes-preserve-unknown-fields";
        if schema.get(name) == Some(&Value::Bool(false)) {
            errors.push(FieldError::invalid(path.child(name), false, "must be true or undefined"));
        }
    }

    fn children(&mut self, schema: &Schema, path: &Path, position: &SchemaPosition, below: &SchemaPosition, depth: usize) {
        let properties = schema.get("properties").and_then(Value::as_object).filter(|properties| !properties.is_empty());
        let additional = schema.get("additionalProperties").filter(|additional| !additional.is_null());
        if let Some(additional) = additional {
            let at = path.child("additionalProperties");
            if properties.is_some() && *additional != Value::Bool(true) {
                self.schema_errors
                    .push(FieldError::forbidden(at.clone(), "additionalProperties and properties are mutual exclusive"));
            }
            if let Some(each) = additional.as_object() {
                let mut below = below.clone();
                if position.inside_metadata {
                    below.no_default = Some("inside additionalProperties applying to object metadata".to_owned());
                }
                self.walk(each, &at, &below, depth + 1);
            }
        }
        for (name, property) in properties.into_iter().flatten() {
            let mut below = below.clone();
            let resource = position.level == Level::Root || flag(schema, "x-kubernetes-embedded-resource");
            if resource && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
                below.inside_metadata = true;
                if position.level == Level::Root {
                    below.no_default = Some(format!("in top-level {name}"));
                }
            }
            if let Some(property) = property.as_object() {
                self.walk(property, &path.child("properties").key(name), &below, depth + 1);
            }
        }
        if let Some(items) = schema.get("items").and_then(Value::as_object) {
            let mut below = below.clone();
            if text(schema, "x-kubernetes-list-type").as_deref() != Some("map") && below.uncorrelatable.is_none() {
                below.uncorrelatable = Some(path.clone());
            }
            self.walk(items, &path.child("items"), &below, depth + 1);
        }
    }

    fn needs_type(&mut self, schema: &Schema, path: &Path, kind: &str, keyword: &str) -> bool {
        let given = text(schema, "type").unwrap_or_default();
        let why = format!("must be {kind} if {keyword} is specified");
        match given.as_str() {
            same if same == kind => return true,
            "" => self.schema_errors.push(FieldError::required(path.child("type"), why)),
            other => self.schema_errors.push(FieldError::invalid(path.child("type"), other, why)),
        }
        false
    }

    fn map_type(&mut self, schema: &Schema, path: &Path) {
        let keyword = "x-kubernetes-map-type";
        let Some(given) = text(schema, keyword) else { return };
        self.needs_type(schema, path, "object", keyword);
        if !matches!(given.as_str(), "atomic" | "granular") {
            self.schema_errors.push(not_supported(path.child(keyword), &given, &["atomic", "granular"]));
        }
    }

    fn list_type(&mut self, schema: &Schema, path: &Path) {
        let (keyword, keys_keyword) = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys");
        let given = text(schema, keyword);
        let keys = texts(schema, keys_keyword);
        let items = schema.get("items").and_then(Value::as_object);
        if given.is_some() && self.needs_type(schema, path, "array", keyword) && given.as_deref() == Some("set") {
            self.set_items(items, path);
        }
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        match given.as_deref() {
            Some("atomic" | "set" | "map") | None => {}
            Some(other) => self.schema_errors.push(not_supported(path.child(keyword), other, &["atomic", "set", "map"])),
        }
        match given.as_deref() {
            Some("map") => self.list_map(items, &keys, path),
            None if !keys.is_empty() => self.schema_errors.push(FieldError::required(path.child(keyword), why)),
            Some(other) if !keys.is_empty() => self.schema_errors.push(FieldError::invalid(path.child(keyword), other, why)),
            _ => {}
        }
        if let (Some(items), Some(kind @ ("set" | "map"))) = (items, given.as_deref()) {
            self.keyed_items(items, kind, &keys, path);
        }
    }

    fn set_items(&mut self, items: Option<&Schema>, path: &Path) {
        let Some(items) = items else { return };
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let (list_type, map_type) = (text(items, "x-kubernetes-list-type"), text(items, "x-kubernetes-map-type"));
        let shown = list_type.clone().map_or(Value::Null, Value::from);
        let at = path.child("items");
        match text(items, "type").unwrap_or_default().as_str() {
            "array" if list_type.as_deref().is_some_and(|kind| kind != "atomic") => {
                self.schema_errors.push(FieldError::invalid(at.child("x-kubernetes-list-type"), shown, why));
            }
            "object" if map_type.as_deref() != Some("atomic") => {
                self.schema_errors.push(FieldError::invalid(at.child("x-kubernetes-map-type"), shown, why));
            }
            _ => {}
        }
    }

    fn list_map(&mut self, items: Option<&Schema>, keys: &[String], path: &Path) {
        let keys_at = path.child("x-kubernetes-list-map-keys");
        if keys.is_empty() {
            self.schema_errors
                .push(FieldError::required(keys_at.clone(), "must not be empty if x-kubernetes-list-type is map"));
        }
        let at = path.child("items");
        let Some(items) = items else {
            self.schema_errors.push(FieldError::required(at, "must have a schema if x-kubernetes-list-type is map"));
            return;
        };
        let kind = text(items, "type").unwrap_or_default();
        if kind != "object" {
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            self.schema_errors.push(FieldError::invalid(at.child("type"), kind, why));
            return;
        }
        let properties = items.get("properties").and_then(Value::as_object);
        for (index, key) in keys.iter().enumerate() {
            let property = properties.and_then(|properties| properties.get(key)).and_then(Value::as_object);
            match property.map(|property| text(property, "type").unwrap_or_default()) {
                None => {
                    let why = "entries must all be names of item properties";
                    self.schema_errors.push(FieldError::invalid(keys_at.clone(), keys.to_vec(), why));
                }
                Some(kind) if matches!(kind.as_str(), "array" | "object") => {
                    let at = at.child("properties").key(key).child("type");
                    let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    self.schema_errors.push(FieldError::invalid(at, "object", why));
                }
                Some(_) => {}
            }
            if keys.iter().take(index).any(|other| other == key) {
                self.schema_errors.push(FieldError::invalid(
                    keys_at.clone(),
                    keys.to_vec(),
                    "must not contain duplicate entries",
                ));
            }
        }
    }

    fn keyed_items(&mut self, items: &Schema, kind: &str, keys: &[String], path: &Path) {
        let at = path.child("items");
        if flag(items, "nullable") {
            let why = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
            self.schema_errors.push(FieldError::forbidden(at.child("nullable"), why));
        }
        let required = texts(items, "required");
        let properties = items.get("properties").and_then(Value::as_object);
        for key in keys.iter().filter(|_| kind == "map") {
            let Some(property) = properties.and_then(|properties| properties.get(key)).and_then(Value::as_object) else {
                continue;
            };
            let at = at.child("properties").key(key);
            if !required.contains(key) && property.get("default").is_none_or(Value::is_null) {
                let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                self.schema_errors.push(FieldError::required(at.child("default"), why));
            }
            if flag(property, "nullable") {
                let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                self.schema_errors.push(FieldError::forbidden(at.child("nullable"), why));
            }
        }
    }

    fn rules(&mut self, schema: &Schema, path: &Path, position: &SchemaPosition, before: usize) {
        if schema.get("x-kubernetes-validations").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            return;
        }
        let node = Node::parse(&Value::Object(schema.clone()));
        for (index, rule) in node.rules.iter().enumerate() {
            self.rule_texts(rule, &node, &path.child("x-kubernetes-validations").key(index));
        }
        if !position.rules || self.schema_errors.len() > before {
            return;
        }
        for (index, rule) in node.rules.iter().enumerate() {
            let at = path.child("x-kubernetes-validations").key(index);
            let scope = if position.level == Level::Root { cel::Root::Resource } else { cel::Root::Field };
            self.rule_program(rule, &node, scope, position, &at);
        }
    }

    fn rule_texts(&mut self, rule: &structural::Rule, node: &Node, at: &Path) {
        const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
        let errors = &mut self.schema_errors;
        let (expression, message) = (rule.rule.trim(), rule.message.trim());
        let breaks = |text: &str| text.contains(['\n', '\r']);
        if expression.is_empty() {
            errors.push(FieldError::required(at.child("rule"), "rule is not specified"));
        } else if !rule.message.is_empty() && message.is_empty() {
            errors.push(FieldError::invalid(at.child("message"), rule.message.as_str(), "must be non-empty if specified"));
        } else if breaks(message) {
            errors.push(FieldError::invalid(at.child("message"), rule.message.as_str(), "must not contain line breaks"));
        } else if breaks(expression) && message.is_empty() {
            errors.push(FieldError::required(at.child("message"), "message must be specified if rule contains line breaks"));
        }
        if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
            errors
                .push(FieldError::required(at.child("messageExpression"), "messageExpression must be non-empty if specified"));
        }
        if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
            errors.push(not_supported(at.child("reason"), reason, &REASONS));
        }
        let path = at.child("fieldPath");
        let given = rule.field_path.as_str();
        if !given.is_empty() && given.trim().is_empty() {
            errors.push(FieldError::invalid(path.clone(), given, "must be non-empty if specified"));
        }
        if breaks(given) {
            errors.push(FieldError::invalid(path.clone(), given, "must not contain line breaks"));
        }
        if !given.is_empty() && field_path::resolve(given, node, Indexing::Allowed).is_err() {
            errors.push(FieldError::invalid(path, given, "must be a valid path"));
        }
    }

    fn rule_program(&mut self, rule: &structural::Rule, node: &Node, scope: cel::Root, position: &SchemaPosition, at: &Path) {
        let compiled = Compiled::new(&rule.rule, &rule.message_expression);
        let invalid = |at: Path, why: String| FieldError::new(Fault::InvalidShown(shown(rule)), at, why);
        let program = match &compiled.rule {
            Ok(program) => program,
            Err(error) => {
                self.rule_errors.push(invalid(at.child("rule"), format!("compilation failed: {error}")));
                return;
            }
        };
        match cel::check(program, node, scope, cel::Expected::Bool) {
            Ok(()) => {}
            Err(error) => {
                self.rule_errors.push(invalid(at.child("rule"), error));
                return;
            }
        }
        let message = match &compiled.message {
            None => Ok(()),
            Some(Err(error)) => Err(format!("messageExpression compilation failed: {error}")),
            Some(Ok(message)) => {
                let checked = cel::check(message, node, scope, cel::Expected::String);
                checked.map_err(
                    |error| if error.starts_with("compilation") { format!("messageExpression {error}") } else { error },
                )
            }
        };
        if let Err(error) = message {
            self.rule_errors.push(invalid(at.child("messageExpression"), error));
        }
        if program.uses_old_self
            && let Some(list) = &position.uncorrelatable
        {
            let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}");
            self.rule_errors.push(FieldError::invalid(at.child("rule"), rule.rule.as_str(), why));
        }
        if let Some(optional) = rule.optional_old_self.filter(|_| !program.uses_old_self) {
            let why = "may not be set if oldSelf is not used in rule";
            self.rule_errors.push(FieldError::invalid(at.child("optionalOldSelf"), optional, why));
        }
    }
}

/// Formats a rule like the server's internal type in errors.
fn shown(rule: &structural::Rule) -> String {
    let text = |text: &str| crate::status::shown(&serde_json::json!([text])).trim_matches(['[', ']']).to_owned();
    let optional = rule.optional_old_self.map_or_else(|| "null".to_owned(), |optional| optional.to_string());
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{optional}}}",
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        rule.reason.as_deref().map_or_else(|| "null".to_owned(), text),
        text(&rule.field_path),
    )
}

pub(super) fn unrecognized_formats(schema: &Value, depth: usize, found: &mut Vec<String>) {
    let Some(fields) = schema.as_object().filter(|_| depth <= MAX_DEPTH) else { return };
    let kind = text(fields, "type").unwrap_or_default();
    if let Some(format) = text(fields, "format").filter(|format| !format.is_empty() && !format::is_known(&kind, false, format))
    {
        found.push(format);
    }
    for name in ["items", "not", "additionalProperties"] {
        if let Some(nested) = fields.get(name) {
            unrecognized_formats(nested, depth + 1, found);
        }
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        list(fields, name).for_each(|nested| unrecognized_formats(nested, depth + 1, found));
    }
    let properties = fields.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().for_each(|(_, nested)| unrecognized_formats(nested, depth + 1, found));
}
