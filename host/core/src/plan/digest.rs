//! Recognises objects that are as they were desired, without the objects themselves.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The API server's form of a desired object. A live object that looks like it needs no write, even
/// if [`contains`](crate::contains) finds a difference, e.g. a webhook's change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedForm {
    /// The digest of what was desired.
    pub digest: String,
    /// The resourceVersion of the answer.
    pub resource_version: String,
    /// The [`fingerprint`] of the answer, which a change of the status leaves the same.
    pub fingerprint: String,
}

impl AcceptedForm {
    /// Records a successful answer to a write of this digest, even if nothing changed.
    pub fn of(digest: &str, answer: &Value) -> Self {
        let resource_version = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        Self { digest: digest.to_owned(), resource_version: resource_version.to_owned(), fingerprint: fingerprint(answer) }
    }
}

/// A hash of an object without its status, the API server's book-keeping, and `apiVersion` and
/// `kind`, which items of lists lack.
pub fn fingerprint(object: &Value) -> String {
    const BOOK_KEEPING: [&str; 4] = ["generation", "managedFields", "resourceVersion", "selfLink"];
    let mut hasher = Sha256::new();
    let mut add = |section: &str, field: &str, value: &Value| {
        hasher.update(format!("{section}\n{}\n{value}\n", Value::from(field)));
    };
    for (field, value) in object.as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("apiVersion" | "kind" | "status", _) => {}
            ("metadata", Value::Object(metadata)) => {
                for (field, value) in metadata.iter().filter(|(field, _)| !BOOK_KEEPING.contains(&field.as_str())) {
                    add("metadata", field, value);
                }
            }
            (field, value) => add("object", field, value),
        }
    }
    hexadecimal(hasher)
}

/// The digest of the plugin's child without the host's labels and references, so that a new version
/// of gyre, or of the parent's API, does not replace every child.
pub(crate) fn digest_of(object: &Map<String, Value>) -> String {
    // A test asserts that `serde_json` sorts maps, so this is canonical JSON.
    let mut hasher = Sha256::new();
    let mut separator = '{';
    for (field, value) in object {
        hasher.update(format!("{separator}{}:{value}", Value::from(field.as_str())));
        separator = ',';
    }
    hasher.update("}");
    hexadecimal(hasher)
}

/// Half of a SHA-256: a collision gains nobody anything, and annotations are bytes in etcd.
fn hexadecimal(hasher: Sha256) -> String {
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
