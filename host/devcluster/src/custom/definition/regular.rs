//! Checks that a schema is structural: it states types, and value validations do not change the
//! shape.

use serde_json::{Map, Value};

use super::super::path::Path;
use super::super::structural::{MAX_DEPTH, Pattern, flag, list, text};
use crate::status::FieldError;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Returns the violations in the order of the server's messages.
pub(super) fn validate(schema: &Value, path: &Path) -> Vec<FieldError> {
    let mut checking = Checking { errors: Vec::new() };
    if let Some(schema) = schema.as_object() {
        checking.invariants(schema, Level::Root, path, 0);
        checking.completeness(schema, Some(schema), path, path, 0);
    }
    checking.errors.sort_by_key(ToString::to_string);
    checking.errors
}

struct Checking {
    errors: Vec<FieldError>,
}

type Schema = Map<String, Value>;

fn object<'a>(schema: &'a Schema, name: &str) -> Option<&'a Schema> {
    schema.get(name).and_then(Value::as_object)
}

fn properties(schema: &Schema) -> impl Iterator<Item = (&String, &Schema)> {
    object(schema, "properties").into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_object()?)))
}

impl Checking {
    fn required(&mut self, path: Path, why: impl Into<String>) {
        self.errors.push(FieldError::required(path, why));
    }

    fn forbidden(&mut self, path: Path, why: &str) {
        self.errors.push(FieldError::forbidden(path, why));
    }

    fn invalid(&mut self, path: Path, value: impl Into<Value>, why: &str) {
        self.errors.push(FieldError::invalid(path, value, why));
    }

    fn invariants(&mut self, schema: &Schema, level: Level, path: &Path, depth: usize) {
        if depth > MAX_DEPTH {
            self.forbidden(path.clone(), "must not be nested so deep");
            return;
        }
        let kind = text(schema, "type").unwrap_or_default();
        match object(schema, "items") {
            Some(items) => self.invariants(items, Level::Item, &path.child("items"), depth + 1),
            None if kind == "array" => self.required(path.child("items"), "must be specified"),
            None => {}
        }
        for (name, property) in properties(schema) {
            self.invariants(property, Level::Field, &path.child("properties").key(name), depth + 1);
        }
        let additional = schema.get("additionalProperties").filter(|additional| !additional.is_null());
        if additional.is_some() && level == Level::Root {
            self.forbidden(path.child("additionalProperties"), "must not be used at the root");
        }
        if let Some(each) = additional.and_then(Value::as_object) {
            self.invariants(each, Level::Field, &path.child("additionalProperties"), depth + 1);
        }
        self.extensions(schema, path);
        self.values(schema, is_int_or_string(schema), int_or_string_first(schema), path, depth);
        self.kind(schema, &kind, level, path);
        if flag(schema, "x-kubernetes-embedded-resource") && additional.is_some() {
            self.forbidden(path.child("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set");
        }
        self.metadata(schema, level, path);
    }

    fn extensions(&mut self, schema: &Schema, path: &Path) {
        if flag(schema, "x-kubernetes-int-or-string") {
            for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
                if flag(schema, name) {
                    self.invalid(path.child(name), true, "must be false if x-kubernetes-int-or-string is true");
                }
            }
        }
    }

    fn kind(&mut self, schema: &Schema, kind: &str, level: Level, path: &Path) {
        let at = path.child("type");
        let embedded = "must be object if x-kubernetes-embedded-resource is true";
        let untyped = flag(schema, "x-kubernetes-int-or-string") || flag(schema, "x-kubernetes-preserve-unknown-fields");
        match (flag(schema, "x-kubernetes-embedded-resource"), kind) {
            (true, "object") => {}
            (true, "") => self.required(at.clone(), embedded),
            (true, _) => self.invalid(at.clone(), kind, embedded),
            (false, "") if !untyped => match level {
                Level::Root => self.required(at.clone(), "must not be empty at the root"),
                Level::Item => self.required(at.clone(), "must not be empty for specified array items"),
                Level::Field => self.required(at.clone(), "must not be empty for specified object fields"),
            },
            (false, _) => {}
        }
        if level == Level::Root && !kind.is_empty() && kind != "object" {
            self.invalid(at, kind, "must be object at the root");
        }
    }

    fn metadata(&mut self, schema: &Schema, level: Level, path: &Path) {
        let embedded = flag(schema, "x-kubernetes-embedded-resource");
        let check = level == Level::Root || embedded;
        let property = |name: &str| object(schema, "properties").and_then(|all| object(all, name));
        let at = |name: &str| path.child("properties").key(name);
        for name in ["kind", "apiVersion"] {
            if let Some(kind) = property(name).filter(|_| check).map(|property| text(property, "type").unwrap_or_default())
                && kind != "string"
            {
                self.invalid(at(name).child("type"), kind, "must be string");
            }
        }
        if let Some(metadata) = property("metadata") {
            let kind = text(metadata, "type").unwrap_or_default();
            if check && kind != "object" {
                self.invalid(at("metadata").child("type"), kind, "must be object");
            }
            let names = |name: &String| matches!(name.as_str(), "name" | "generateName");
            let said = |(name, value): (&String, &Value)| match name.as_str() {
                "type" | "default" => false,
                "properties" => value.as_object().is_some_and(|fields| !fields.keys().all(names)),
                _ => !value.is_null(),
            };
            if level == Level::Root && metadata.iter().any(said) {
                let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
                self.forbidden(at("metadata"), why);
            }
        }
        if embedded
            && !flag(schema, "x-kubernetes-preserve-unknown-fields")
            && object(schema, "properties").is_none_or(Map::is_empty)
        {
            let why =
                "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
            self.required(path.child("properties"), why);
        }
    }

    fn values(&mut self, schema: &Schema, skip_any_of: bool, skip_first: bool, path: &Path, depth: usize) {
        for (junctor, skipped) in [("anyOf", skip_any_of), ("allOf", false), ("oneOf", false)] {
            for (index, nested) in list(schema, junctor).enumerate().filter(|_| !skipped) {
                if let Some(nested) = nested.as_object() {
                    let skip = junctor == "allOf" && index == 0 && skip_first;
                    self.nested(nested, skip, &path.child(junctor).key(index), depth + 1);
                }
            }
        }
        if let Some(not) = object(schema, "not") {
            self.nested(not, false, &path.child("not"), depth + 1);
        }
        if let Some(pattern) = text(schema, "pattern").filter(|pattern| !pattern.is_empty()) {
            let pattern = Pattern::new(pattern);
            if let Err(error) = &pattern.regex {
                let why = format!("must be a valid regular expression, but isn't: {error}");
                self.invalid(path.child("pattern"), pattern.text.as_str(), &why);
            }
        }
    }

    /// Checks the schemas in `anyOf`, `allOf`, `oneOf` and `not`, which must not change the shape.
    fn nested(&mut self, schema: &Schema, skip_any_of: bool, path: &Path, depth: usize) {
        if depth > MAX_DEPTH {
            self.forbidden(path.clone(), "must not be nested so deep");
            return;
        }
        self.values(schema, skip_any_of, false, path, depth);
        if let Some(items) = object(schema, "items") {
            self.nested(items, false, &path.child("items"), depth + 1);
        }
        for (name, property) in properties(schema) {
            self.nested(property, false, &path.child("properties").key(name), depth + 1);
        }
        let filled = |value: &Value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(list) => !list.is_empty(),
            _ => true,
        };
        for (name, state) in [
            ("type", "empty"),
            ("additionalProperties", "undefined"),
            ("default", "undefined"),
            ("title", "empty"),
            ("description", "empty"),
            ("nullable", "false"),
            ("x-kubernetes-preserve-unknown-fields", "false"),
            ("x-kubernetes-embedded-resource", "false"),
            ("x-kubernetes-int-or-string", "false"),
            ("x-kubernetes-list-map-keys", "empty"),
            ("x-kubernetes-list-type", "undefined"),
            ("x-kubernetes-map-type", "undefined"),
            ("x-kubernetes-validations", "empty"),
        ] {
            if schema.get(name).is_some_and(filled) {
                self.forbidden(path.child(name), &format!("must be {state} to be structural"));
            }
        }
        if object(schema, "properties").is_some_and(|properties| properties.contains_key("metadata")) {
            self.forbidden(path.child("properties").key("metadata"), "must not be specified in a nested context");
        }
    }

    /// Checks that the structure has all fields that value validations refer to.
    fn completeness(&mut self, values: &Schema, structure: Option<&Schema>, at: &Path, of: &Path, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for junctor in ["allOf", "anyOf", "oneOf"] {
            for (index, nested) in list(values, junctor).enumerate() {
                if let Some(nested) = nested.as_object() {
                    self.complete(nested, structure, at, &of.child(junctor).key(index), depth + 1);
                }
            }
        }
        if let Some(not) = object(values, "not") {
            self.complete(not, structure, at, &of.child("not"), depth + 1);
        }
    }

    fn complete(&mut self, nested: &Schema, structure: Option<&Schema>, at: &Path, of: &Path, depth: usize) {
        let Some(structure) = structure else {
            self.required(at.clone(), format!("because it is defined in {of}"));
            return;
        };
        self.completeness(nested, Some(structure), at, of, depth);
        if let Some(items) = object(nested, "items") {
            self.complete(items, object(structure, "items"), &at.child("items"), &of.child("items"), depth + 1);
        }
        for (name, property) in properties(nested) {
            let known = object(structure, "properties").and_then(|all| object(all, name));
            self.complete(property, known, &at.child("properties").key(name), &of.child("properties").key(name), depth + 1);
        }
    }
}

/// `anyOf: [{type: integer}, {type: string}]`, allowed with `x-kubernetes-int-or-string`.
fn is_int_or_string(schema: &Schema) -> bool {
    schema.get("anyOf").is_some_and(|any_of| *any_of == serde_json::json!([{ "type": "integer" }, { "type": "string" }]))
}

fn int_or_string_first(schema: &Schema) -> bool {
    list(schema, "allOf").next().and_then(Value::as_object).is_some_and(is_int_or_string)
}
