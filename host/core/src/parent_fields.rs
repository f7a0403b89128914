//! Decides about the fields of a parent that its plugin sets: labels, annotations, and fields of
//! the spec.
//!
//! ```text
//!   fields ── a path not declared, not granted, or the host's ──▶ refusal; nothing is written
//!          ── applied before, and the parent has their values ──▶ nothing
//!          ── else ─────────────────────────────────────────────▶ server-side apply, not forced
//!   no fields ── the parent has the mark ──▶ server-side apply of nothing, which withdraws them
//! ```
//!
//! The mark is an annotation with a digest of the fields. It belongs to the same field manager, so
//! that it comes and goes with them.
//!
//! What is absent: the request, with the UID and the resourceVersion of the parent that the plugin
//! saw; and fields of other managers, over which nothing is forced.

use serde_json::{Map, Value, json};

use crate::contains::first_difference_in;
use crate::field_path::{check, encoded};
use crate::grants::Grants;
use crate::object::ObjectRef;
use crate::plan::{AcceptedForm, Refusal, RefusalReason, digest_of};

/// The prefix of the annotation that marks a parent with fields of a plugin; its name follows.
pub const MARK_PREFIX: &str = "fields.gyre.dev/";

/// The annotation that marks a parent with fields of this plugin.
pub fn mark(plugin: &str) -> String {
    format!("{MARK_PREFIX}{plugin}")
}

/// The inputs of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The plugin's name.
    pub plugin: &'a str,
    /// The parent.
    pub parent: &'a ObjectRef,
    /// The parent as the plugin saw it, or as this reconcile has written it.
    pub live: &'a Value,
    /// The grants.
    pub grants: &'a Grants,
    /// All fields that the plugin sets.
    pub wanted: &'a Map<String, Value>,
    /// The API server's form of the fields, if it differs from them.
    pub accepted: Option<&'a AcceptedForm>,
}

/// The decision about the fields of a parent.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// They are as they should be.
    Keep,
    /// They are to be applied.
    Apply(Fields),
    /// They are refused, and all stay as they are.
    Refuse(Refusal),
}

/// The fields to apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    /// The body of server-side apply, without the name, the UID and the resourceVersion.
    pub object: Map<String, Value>,
    /// The digest of the fields.
    pub digest: String,
}

impl Fields {
    /// Returns whether a parent has all of them.
    pub fn are_in(&self, live: &Value) -> bool {
        let is_content = |field: &str| !matches!(field, "apiVersion" | "kind");
        first_difference_in(&self.object, live, is_content).is_none()
    }
}

/// Decides about the fields of a parent that is not being deleted.
///
/// # Guarantees
///
/// - Only fields are applied that the manifest declares and the operator grants, and never the
///   identity, the owners, the finalizers, the status, or the labels and annotations of the host.
/// - A parent with the values of all fields, which were applied before, gets no write.
/// - If one field is refused, none is written, and those that were applied before stay.
pub fn decide(input: &Input<'_>) -> Decision {
    let fields = match content(input, input.wanted) {
        Ok(fields) => fields,
        Err(refusal) => return Decision::Refuse(*refusal),
    };
    let mark = mark(input.plugin);
    let marked = input.live.pointer("/metadata/annotations").and_then(|annotations| annotations.get(&mark));
    if fields.is_empty() {
        return match marked {
            None => Decision::Keep,
            Some(_) => Decision::Apply(Fields { object: identified(input, Map::new()), digest: String::new() }),
        };
    }
    let digest = digest_of(&fields);
    let mut object = identified(input, fields);
    set_annotation(&mut object, &mark, &digest);
    let fields = Fields { object, digest };
    let was_applied = marked.is_some_and(|marked| *marked == fields.digest);
    let is_accepted =
        |form: &AcceptedForm| form.digest == fields.digest && form.fingerprint == crate::plan::fingerprint(input.live);
    if (was_applied && fields.are_in(input.live)) || input.accepted.is_some_and(is_accepted) {
        return Decision::Keep;
    }
    Decision::Apply(fields)
}

fn identified(input: &Input<'_>, mut fields: Map<String, Value>) -> Map<String, Value> {
    fields.insert("apiVersion".to_owned(), Value::String(input.parent.kind.api_version()));
    fields.insert("kind".to_owned(), Value::from(input.parent.kind.kind.as_str()));
    fields
}

fn set_annotation(object: &mut Map<String, Value>, name: &str, text: &str) {
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let annotations = metadata.as_object_mut().map(|metadata| metadata.entry("annotations").or_insert_with(|| json!({})));
    if let Some(Value::Object(annotations)) = annotations {
        annotations.insert(name.to_owned(), Value::from(text));
    }
}

/// Returns the fields without the identity of the parent, which typed objects repeat.
fn content(input: &Input<'_>, wanted: &Map<String, Value>) -> Result<Map<String, Value>, Box<Refusal>> {
    let refuse = |reason, why: String| Refusal {
        child: None,
        reason,
        message: format!("the plugin sets fields of its parent {}, and {why}", input.parent),
    };
    let fields = without_identity(input.parent, wanted)
        .map_err(|field| Box::new(refuse(RefusalReason::InvalidParentFields, format!("{field} is that of another object"))))?;
    let mut refused = None;
    for_each_leaf(&fields, &mut Vec::new(), &mut |path, value| {
        if refused.is_some() {
            return;
        }
        refused = if let Err(error) = check(path) {
            Some(refuse(RefusalReason::InvalidParentFields, format!("{} {error}", encoded(path))))
        } else if is_secret(input.parent) && !is_text_map(path) {
            let why = format!("{} belongs to a Secret, whose values would be shown in recordings and previews", encoded(path));
            Some(refuse(RefusalReason::InvalidParentFields, why))
        } else if is_text_map(path) && !value.is_string() {
            Some(refuse(RefusalReason::InvalidParentFields, format!("{} must be a text", encoded(path))))
        } else if !input.grants.declares_parent_field(path) {
            let why =
                format!("the manifest of {} does not declare {}: declare it (parent-fields)", input.plugin, encoded(path));
            Some(refuse(RefusalReason::UndeclaredParentField, why))
        } else if !input.grants.allows_parent_field(path) {
            let why =
                format!("the mount does not grant {}: add it to the mount's key grants.parentFields, if it may", encoded(path));
            Some(refuse(RefusalReason::ParentFieldNotGranted, why))
        } else {
            None
        };
    });
    refused.map_or(Ok(fields), |refusal| Err(Box::new(refusal)))
}

fn is_secret(parent: &ObjectRef) -> bool {
    parent.kind.group.is_empty() && parent.kind.kind == "Secret"
}

fn is_text_map(path: &[&str]) -> bool {
    matches!(path, ["metadata", "labels" | "annotations", ..])
}

fn without_identity(parent: &ObjectRef, wanted: &Map<String, Value>) -> Result<Map<String, Value>, &'static str> {
    let mut fields = wanted.clone();
    let is = |value: Option<Value>, own: Option<&str>| value.is_none_or(|value| value.as_str() == own);
    if !is(fields.remove("apiVersion"), Some(&parent.kind.api_version())) {
        return Err("apiVersion");
    }
    if !is(fields.remove("kind"), Some(&parent.kind.kind)) {
        return Err("kind");
    }
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        if !is(metadata.remove("name"), Some(&parent.key.name)) {
            return Err("metadata.name");
        }
        if !is(metadata.remove("namespace"), parent.key.namespace.as_deref()) {
            return Err("metadata.namespace");
        }
        metadata.retain(|_, value| value.as_object().is_none_or(|below| !below.is_empty()));
        if metadata.is_empty() {
            fields.remove("metadata");
        }
    }
    Ok(fields)
}

/// Calls a function with each value that is no object with fields.
fn for_each_leaf<'a>(fields: &'a Map<String, Value>, path: &mut Vec<&'a str>, act: &mut impl FnMut(&[&'a str], &'a Value)) {
    for (name, value) in fields {
        path.push(name);
        match value.as_object() {
            Some(below) if !below.is_empty() => for_each_leaf(below, path, act),
            _ => act(path, value),
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests;
