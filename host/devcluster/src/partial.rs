//! `PartialObjectMetadata`: objects reduced to their metadata.

use serde_json::{Map, Value, json};

pub(crate) fn object(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
}

/// Returns the fields of `metadata` that lists have.
pub(crate) fn list_metadata(metadata: &Value) -> Value {
    let kept = ["resourceVersion", "continue", "remainingItemCount"];
    let kept = kept.into_iter().filter_map(|field| Some((field.to_owned(), metadata.get(field)?.clone())));
    Value::Object(kept.collect::<Map<_, _>>())
}
