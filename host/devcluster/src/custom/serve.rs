//! The kinds that a definition serves.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::path::Path;
use super::structural::{self, Node};
use super::{prune, schemas};
use crate::kinds::{Column, CustomVersion, Kind, Origin, Scale, Scope, Subresource};
use crate::object;
use crate::schema::RootSchema;
use crate::status::FieldError;
use crate::store::Resource;

#[derive(Debug)]
pub(crate) struct Version {
    pub(super) schema: Node,
    pub(super) has_rules: bool,
    pub(super) has_status: bool,
    /// The paths that field selectors may name, e.g. `.spec.color`.
    pub(super) selectable_fields: Vec<String>,
    scale: Option<Scale>,
    api_version: String,
    kind: Arc<str>,
}

pub(super) fn at_path<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    Scale::fields(path).try_fold(object, |value, field| value.get(field))
}

pub(super) fn kinds(definition: &Value) -> Vec<Kind> {
    let Some(spec) = definition.get("spec") else { return Vec::new() };
    let names = definition.get("status").and_then(|status| status.get("acceptedNames")).unwrap_or(&Value::Null);
    let text = |value: &Value, name: &str| Arc::<str>::from(object::text(value, name));
    if !condition(definition, "Established") || object::text(names, "plural").is_empty() {
        return Vec::new();
    }
    let group = text(spec, "group");
    let versions = || spec.get("versions").and_then(Value::as_array).into_iter().flatten();
    let storage_version =
        versions().find(|version| is_true(version, "storage")).map(|version| text(version, "name")).unwrap_or_default();
    let scope = if object::text(spec, "scope") == "Namespaced" { Scope::Namespaced } else { Scope::Cluster };
    let mut verbs = vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
    if condition(definition, "Terminating") {
        verbs.retain(|verb| !matches!(*verb, "patch" | "create" | "update"));
    }
    let serve = |version: &Value| {
        let name = text(version, "name");
        let kind = text(names, "kind");
        let open_api_schema = open_api_schema(version);
        let strategy = Version::parse(version, &open_api_schema, &format!("{group}/{name}"), &kind);
        let (arena, root) = schemas::build(&strategy.schema);
        let mut subresources = Vec::new();
        if strategy.has_status {
            subresources.push(Subresource::Status);
        }
        if strategy.scale.is_some() {
            subresources.push(Subresource::Scale);
        }
        let origin = Origin::Custom(Arc::new(CustomVersion {
            columns: columns(version),
            warnings: deprecation(spec, version)
                .into_iter()
                .chain((name != storage_version).then(|| without_conversion(spec)).flatten())
                .collect(),
            storage_version: Arc::clone(&storage_version),
            scale: strategy.scale.clone(),
            open_api_schema: Arc::new(open_api_schema),
        }));
        Kind {
            resource: Resource { group: Arc::clone(&group), plural: text(names, "plural") },
            version: Arc::clone(&name),
            kind,
            list_kind: text(names, "listKind"),
            scope,
            discovery: Arc::new(discovery(names, &group, &name, scope, &verbs, &subresources)),
            verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
            subresources: subresources.into(),
            schema: RootSchema::new(Arc::new(arena), root),
            origin,
            strategy: Arc::new(strategy),
        }
    };
    versions().filter(|version| is_true(version, "served")).map(serve).collect()
}

pub(super) fn condition(definition: &Value, kind: &str) -> bool {
    let conditions = definition.get("status").and_then(|status| status.get("conditions")).and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|condition| object::text(condition, "type") == kind);
    found.is_some_and(|condition| object::text(condition, "status") == "True")
}

fn is_true(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn discovery(names: &Value, group: &str, version: &str, scope: Scope, verbs: &[&str], subresources: &[Subresource]) -> Value {
    let own = json!({ "group": group, "version": version, "kind": object::text(names, "kind") });
    let subresources: Vec<Value> = subresources
        .iter()
        .map(|subresource| {
            let (name, kind) = match subresource {
                Subresource::Scale => ("scale", json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" })),
                _ => ("status", own.clone()),
            };
            json!({ "subresource": name, "responseKind": kind, "verbs": ["get", "patch", "update"] })
        })
        .collect();
    let mut entry = Map::new();
    entry.insert("resource".to_owned(), Value::from(object::text(names, "plural")));
    entry.insert("responseKind".to_owned(), own.clone());
    entry.insert("scope".to_owned(), Value::from(if scope == Scope::Namespaced { "Namespaced" } else { "Cluster" }));
    entry.insert("singularResource".to_owned(), Value::from(object::text(names, "singular")));
    entry.insert("verbs".to_owned(), Value::from(verbs));
    for name in ["shortNames", "categories"] {
        if let Some(list) = names.get(name).filter(|list| list.as_array().is_some_and(|list| !list.is_empty())) {
            entry.insert(name.to_owned(), list.clone());
        }
    }
    if !subresources.is_empty() {
        entry.insert("subresources".to_owned(), Value::Array(subresources));
    }
    Value::Object(entry)
}

fn deprecation(spec: &Value, version: &Value) -> Option<String> {
    if !is_true(version, "deprecated") {
        return None;
    }
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(warning.to_owned());
    }
    let kind = spec.get("names").map_or("", |names| object::text(names, "kind"));
    let (group, name) = (object::text(spec, "group"), object::text(version, "name"));
    let versions = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
    let better = versions
        .filter(|other| is_true(other, "served") && !is_true(other, "deprecated"))
        .map(|other| object::text(other, "name"));
    let best = better.filter(|other| precedence(other) > precedence(name)).max_by_key(|other| precedence(other));
    let warning = format!("{group}/{name} {kind} is deprecated");
    Some(match best {
        Some(best) => format!("{warning}; use {group}/{best} {kind}"),
        None => warning,
    })
}

/// The warning that a definition's objects are not converted by its webhook; `None` if it has none.
pub(super) fn without_conversion(spec: &Value) -> Option<String> {
    let strategy = spec.get("conversion").map_or("", |conversion| object::text(conversion, "strategy"));
    let plural = spec.get("names").map_or("", |names| object::text(names, "plural"));
    (strategy == "Webhook").then(|| {
        let name = format!("{plural}.{}", object::text(spec, "group"));
        format!("devcluster calls no conversion webhooks: the versions of {name} differ in their apiVersion only, and unknown fields are dropped")
    })
}

/// The key that orders versions like Kubernetes: `v2`, `v1`, `v1beta2`, `v1alpha1`, then all
/// others.
pub(crate) fn precedence(version: &str) -> (u8, u64, u64, std::cmp::Reverse<String>) {
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let other = (0, 0, 0, std::cmp::Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else { return other };
    let stable = |rank, major, minor| (rank, major, minor, std::cmp::Reverse(String::new()));
    if let Some(major) = number(rest) {
        return stable(3, major, 0);
    }
    for (rank, word) in [(2, "beta"), (1, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word)
            && let (Some(major), Some(minor)) = (number(major), number(minor))
        {
            return stable(rank, major, minor);
        }
    }
    other
}

/// The `openAPIV3Schema` of a version, or an empty schema.
fn open_api_schema(version: &Value) -> Value {
    let given = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema")).cloned();
    given.unwrap_or_else(|| json!({ "type": "object" }))
}

impl Version {
    pub(super) fn parse(version: &Value, open_api_schema: &Value, api_version: &str, kind: &Arc<str>) -> Self {
        let mut schema = Node::parse(open_api_schema);
        prune::prune_defaults(&mut schema);
        let subresource = |name: &str| version.get("subresources").and_then(|all| all.get(name)).filter(|one| !one.is_null());
        let path = |scale: &Value, name: &str| object::text(scale, name).to_owned();
        let selectable = version.get("selectableFields").and_then(Value::as_array).into_iter().flatten();
        Self {
            has_rules: schema.has_rules,
            schema,
            has_status: subresource("status").is_some(),
            selectable_fields: selectable.map(|field| object::text(field, "jsonPath").to_owned()).collect(),
            scale: subresource("scale").map(|scale| Scale {
                spec_replicas_path: path(scale, "specReplicasPath"),
                status_replicas_path: path(scale, "statusReplicasPath"),
                label_selector_path: Some(path(scale, "labelSelectorPath")).filter(|path| !path.is_empty()),
            }),
            api_version: api_version.to_owned(),
            kind: Arc::clone(kind),
        }
    }

    pub(super) fn type_errors(&self, object: &Value) -> Vec<FieldError> {
        let expected = [("kind", &*self.kind), ("apiVersion", self.api_version.as_str())];
        let wrong = expected.into_iter().filter(|(name, expected)| object::text(object, name) != *expected);
        wrong
            .map(|(name, expected)| FieldError::invalid(name, object::text(object, name), format!("must be {expected}")))
            .collect()
    }

    pub(super) fn scale_errors(&self, subresource: Option<Subresource>, object: &Value) -> Vec<FieldError> {
        let Some(scale) = &self.scale else { return Vec::new() };
        let mut errors = Vec::new();
        if subresource != Some(Subresource::Status) {
            errors.extend(replicas_error(object, &scale.spec_replicas_path));
        }
        errors.extend(replicas_error(object, &scale.status_replicas_path));
        if let Some(path) = &scale.label_selector_path {
            let why = match field(object, path) {
                Ok(None | Some(Value::String(_))) => None,
                Ok(Some(selector)) => Some(accessor_error(path, selector, "string")),
                Err(why) => Some(why),
            };
            errors.extend(why.map(|why| FieldError::invalid(Path::new(path.as_str()), "", why)));
        }
        errors
    }
}

fn replicas_error(object: &Value, path: &str) -> Option<FieldError> {
    let value = match field(object, path) {
        Ok(value) => value?,
        Err(why) => return Some(FieldError::invalid(Path::new(path), 0, why)),
    };
    let invalid = |value: i64, why: String| Some(FieldError::invalid(Path::new(path), value, why));
    match value.as_i64() {
        None => invalid(0, accessor_error(path, value, "int64")),
        Some(negative) if negative < 0 => invalid(negative, "should be a non-negative integer".to_owned()),
        Some(large) if large > i64::from(i32::MAX) => invalid(large, format!("should be less than or equal to {}", i32::MAX)),
        Some(_) => None,
    }
}

/// Returns the value at a path, or an error if one of its parents is no object.
fn field<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let (mut value, mut walked) = (object, String::new());
    for name in Scale::fields(path) {
        walked = format!("{walked}.{name}");
        match value {
            Value::Object(fields) => match fields.get(name) {
                Some(below) => value = below,
                None => return Ok(None),
            },
            Value::Null => return Ok(None),
            other => return Err(accessor_error(&walked, other, "map[string]interface{}")),
        }
    }
    Ok(Some(value))
}

fn accessor_error(path: &str, value: &Value, expected: &str) -> String {
    let (kind, shown) = match value {
        Value::Null => ("<nil>", "<nil>".to_owned()),
        Value::Bool(flag) => ("bool", flag.to_string()),
        Value::Number(number) if number.is_i64() => ("int64", number.to_string()),
        Value::Number(number) => ("float64", super::validate::shown(number.as_f64().unwrap_or(f64::NAN))),
        Value::String(text) => ("string", text.clone()),
        Value::Array(_) => ("[]interface {}", value.to_string().replace(',', " ")),
        Value::Object(_) => {
            ("map[string]interface {}", value.to_string().replace(',', " ").replace('{', "map[").replace('}', "]"))
        }
    };
    format!(".{} accessor error: {shown} is of the type {kind}, expected {expected}", path.trim_start_matches('.'))
}

/// The API's description of the column `Age`, the default column.
const AGE: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be \
                   set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 \
                   form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
                   https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

fn columns(version: &Value) -> Vec<Column> {
    let given = version
        .as_object()
        .map(|version| structural::list(version, "additionalPrinterColumns").collect::<Vec<_>>())
        .unwrap_or_default();
    if given.is_empty() {
        let text = str::to_owned;
        let (name, kind, json_path) = (text("Age"), text("date"), text(".metadata.creationTimestamp"));
        return vec![Column { name, kind, json_path, format: String::new(), description: text(AGE), priority: 0 }];
    }
    let column = |column: &Value| {
        let text = |name: &str| object::text(column, name).to_owned();
        let (name, kind, format, json_path) = (text("name"), text("type"), text("format"), text("jsonPath"));
        let description = Some(text("description")).filter(|given| !given.is_empty());
        let description =
            description.unwrap_or_else(|| format!("Custom resource definition column (in JSONPath format): {json_path}"));
        let priority = column.get("priority").and_then(Value::as_i64).unwrap_or_default();
        Column { name, kind, format, description, priority, json_path }
    };
    given.into_iter().map(column).collect()
}
