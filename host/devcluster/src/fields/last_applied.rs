//! The annotation of client-side apply: with the manager `kubectl`, server-side apply takes over
//! the fields in it, and keeps it up to date.

use serde_json::{Map, Value};

use super::compare::compare;
use super::error::Conflict;
use super::set::FieldSet;
use super::shape::Shape;
use super::text;
use super::typed::{Duplicates, field_set, validate};
use crate::object;

pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The maximum size of all annotations of an object, in bytes: `TotalAnnotationSizeLimitB` of
/// apimachinery.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Returns the conflicts about fields that client-side apply did not set, or `None` without a valid
/// annotation.
pub(super) fn unresolved(conflicts: &[Conflict], live: &Value, api_version: &str, shape: Shape<'_>) -> Option<Vec<Conflict>> {
    let allowed = last_applied_set(live, api_version, shape)?;
    Some(conflicts.iter().filter(|conflict| !allowed.has(&conflict.path.0)).cloned().collect())
}

fn last_applied_set(live: &Value, api_version: &str, shape: Shape<'_>) -> Option<FieldSet> {
    let annotation = annotation(live)?;
    validate(live, shape, Duplicates::Forbidden).ok()?;
    let last: Value = serde_json::from_str(annotation).ok()?;
    if object::text(&last, "apiVersion") != api_version || object::text(&last, "kind").is_empty() {
        return None;
    }
    validate(&last, shape, Duplicates::Forbidden).ok()?;
    let difference = compare(&last, live, shape);
    Some(field_set(&last, shape).difference(&difference.modified_or_added()).difference(&difference.removed))
}

/// Sets an existing annotation to `applied`; removes it if it becomes too large.
pub(super) fn bring_up_to_date(object: &mut Value, applied: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = annotations_mut(&mut applied) {
        annotations.remove(ANNOTATION);
    }
    let encoded = format!("{}\n", text::json(&applied));
    let Some(annotations) = annotations_mut(object) else { return };
    annotations.insert(ANNOTATION.to_owned(), Value::from(encoded));
    let size: usize = annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if size > ANNOTATIONS_LIMIT {
        annotations.remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let annotation = object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    Some(annotation).filter(|annotation| !annotation.is_empty())
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
