//! Secrets with generated values, as plugins and people see them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::digest::{DigestKey, PLACEHOLDER_PREFIX};
use super::record::{GENERATED_ANNOTATION, Record};

/// The annotation with the object that `kubectl apply` was given.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns a Secret as plugins and people see it, with placeholders of its generated values; `None`
/// if it has none, as other objects. Without a key, the placeholders have no digest.
pub fn shown(object: &Value, digests: Option<&DigestKey>) -> Option<Value> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let annotation = object.get("metadata")?.get("annotations")?.get(GENERATED_ANNOTATION)?.as_str()?;
    let data = object.get("data")?.as_object()?;
    // An annotation that nobody can read hides everything.
    let generated = Record::parse(annotation).map(|record| record.keys().map(str::to_owned).collect::<BTreeSet<_>>());
    let is_generated = |key: &String| generated.as_ref().is_none_or(|keys| keys.contains(key));
    if !data.keys().any(is_generated) {
        return None;
    }
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let mut shown = object.clone();
    // `kubectl apply` has put the values here, if somebody has applied what he had read.
    if let Some(annotations) = shown.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
    for (key, value) in shown.get_mut("data")?.as_object_mut()?.iter_mut().filter(|(key, _)| is_generated(key)) {
        let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
        let placeholder =
            digests.map_or_else(|| PLACEHOLDER_PREFIX.to_owned(), |digests| digests.placeholder(namespace, name, key, &bytes));
        *value = Value::String(STANDARD.encode(placeholder));
    }
    Some(shown)
}
