//! OpenAPI v3: the index, the recorded documents of built-in group versions, and those of custom
//! ones, as apiextensions-apiserver builds them. Absent: OpenAPI v2, needed only without v3.

mod paths;
mod schemas;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha512};

use crate::kinds::Kind;

/// The schemas and parameters that the documents of custom group versions share.
static SHARED: LazyLock<Value> = LazyLock::new(|| {
    // A test reads the dump, so this cannot fail.
    let text = decompressed(include_bytes!("builtin/dump/custom_openapi.json.gz")).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
});

/// Returns `/openapi/v3`: the locations of all documents by path, e.g. `apis/batch/v1`.
pub(crate) fn index<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    let paths = documents.into_iter().map(|(path, hash)| {
        let url = format!("/openapi/v3/{path}?hash={hash}");
        (path.to_owned(), json!({ "serverRelativeURL": url }))
    });
    json!({ "paths": paths.collect::<Map<_, _>>() })
}

pub(crate) fn hash(document: &[u8]) -> String {
    let mut text = String::with_capacity(128);
    for byte in Sha512::digest(document) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

pub(crate) fn decompressed(document: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    GzDecoder::new(document).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

pub(crate) fn custom_document(kinds: &[(&Kind, &Value)]) -> Value {
    let mut document_paths = BTreeMap::new();
    let mut definitions = BTreeMap::new();
    for (kind, schema) in kinds {
        let names = Names::of(kind);
        definitions.insert(names.list_definition.clone(), schemas::of_list(kind, &names));
        definitions.insert(names.definition.clone(), schemas::of_kind(kind, schema));
        paths::add(&mut document_paths, kind, &names);
    }
    let mut schemas: Map<String, Value> = definitions.into_iter().collect();
    let has_scale = kinds.iter().any(|(kind, _)| kind.has(crate::kinds::Subresource::Scale));
    for (name, schema) in SHARED.get("schemas").and_then(Value::as_object).into_iter().flatten() {
        if has_scale || !name.starts_with("io.k8s.api.autoscaling.") {
            schemas.insert(name.clone(), schema.clone());
        }
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes CRD Swagger", "version": "v0.1.0" },
        "paths": document_paths,
        "components": { "schemas": schemas },
    })
}

struct Names {
    /// `com.example.v1.Echo`.
    definition: String,
    /// `com.example.v1.EchoList`.
    list_definition: String,
    /// `exampleCom_v1`.
    tag: String,
    /// `ExampleComV1`.
    operation: String,
}

impl Names {
    fn of(kind: &Kind) -> Self {
        let group = kind.group();
        let reversed = group.rsplit('.').collect::<Vec<_>>().join(".");
        let short = group.strip_suffix(".k8s.io").unwrap_or(group);
        let (camel, version) = (camel_case(short), camel_case(&kind.version));
        Self {
            definition: format!("{reversed}.{}.{}", kind.version, kind.kind),
            list_definition: format!("{reversed}.{}.{}", kind.version, kind.list_kind),
            operation: format!("{}{}", capitalized(&camel), capitalized(&version)),
            tag: format!("{camel}_{version}"),
        }
    }
}

fn camel_case(text: &str) -> String {
    let mut words = text.split(|character: char| !character.is_ascii_alphanumeric());
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &capitalized(word))
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_ascii_uppercase().to_string() + characters.as_str()).unwrap_or_default()
}

fn reference(definition: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{definition}") })
}

#[cfg(test)]
mod tests;
