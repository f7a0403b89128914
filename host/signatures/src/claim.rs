//! Reads what is signed: a statement, or the payload of the older form.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use sigstore_verify::types::Sha256Hash;

use crate::refusal::{Found, brief};

/// The type of statements, in the version that cosign signs.
pub(crate) const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// The predicate type of signatures. The same key may also sign e.g. provenance, which says that
/// something was built, and not that it may run.
pub(crate) const SIGNATURE: &str = "https://sigstore.dev/cosign/sign/v1";
/// The type of the payload in an envelope.
pub(crate) const IN_TOTO: &str = "application/vnd.in-toto+json";
/// The type of payloads in the older form.
const SIMPLE: &str = "cosign container image signature";

/// A manifest that is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) digest: Sha256Hash,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Subject {
    /// The digest as registries write it.
    pub(crate) fn reference(&self) -> String {
        format!("sha256:{}", self.digest.to_hex())
    }
}

#[derive(Deserialize)]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    #[serde(default)]
    subject: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    #[serde(default)]
    digest: BTreeMap<String, String>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
    #[serde(default)]
    optional: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// Returns the manifests that a statement signs, at least one.
pub(crate) fn of_statement(payload: &[u8]) -> Result<Vec<Subject>, Found> {
    let statement: Statement = serde_json::from_slice(payload).map_err(|error| malformed("its statement", &error))?;
    if statement.predicate_type != SIGNATURE {
        return Err(Found::OtherType { found: brief(statement.predicate_type), required: SIGNATURE });
    }
    if statement.kind != STATEMENT {
        return Err(Found::OtherType { found: brief(statement.kind), required: STATEMENT });
    }
    let subjects: Vec<Subject> = statement.subject.into_iter().filter_map(Described::subject).collect();
    if subjects.is_empty() {
        return Err(Found::Malformed { why: "its statement has no subject with a sha256 digest".to_owned() });
    }
    Ok(subjects)
}

impl Described {
    /// `None` if it has no digest that a manifest could have.
    fn subject(self) -> Option<Subject> {
        let digest = Sha256Hash::from_hex(self.digest.get("sha256")?).ok()?;
        Some(Subject { digest, annotations: texts(self.annotations) })
    }
}

/// Returns the manifest that a payload of the older form signs.
pub(crate) fn of_payload(payload: &[u8]) -> Result<Subject, Found> {
    let payload: Payload = serde_json::from_slice(payload).map_err(|error| malformed("its payload", &error))?;
    let Critical { image, kind } = payload.critical;
    if kind != SIMPLE {
        return Err(Found::OtherType { found: brief(kind), required: SIMPLE });
    }
    let digest = image.digest.strip_prefix("sha256:").and_then(|hex| Sha256Hash::from_hex(hex).ok());
    let Some(digest) = digest else {
        return Err(Found::Malformed { why: format!("its payload has the digest {:?}", brief(image.digest)) });
    };
    Ok(Subject { digest, annotations: texts(payload.optional) })
}

/// Values of annotations are texts; others are compared by their JSON.
fn texts(annotations: Option<BTreeMap<String, Value>>) -> BTreeMap<String, String> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    annotations.into_iter().flatten().map(|(key, value)| (key, text(value))).collect()
}

fn malformed(what: &str, error: &serde_json::Error) -> Found {
    Found::Malformed { why: format!("{what} cannot be read: {}", brief(error)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "b1f0fc11766f5794fecb4e428cac6b31d2fd4e8a58d17c7040d0dc8efcd0176d";

    fn statement(kind: &str, predicate_type: &str, subject: &str) -> Result<Vec<Subject>, Found> {
        let text = format!(r#"{{"_type":"{kind}","subject":[{subject}],"predicateType":"{predicate_type}","predicate":{{}}}}"#);
        of_statement(text.as_bytes())
    }

    #[test]
    fn a_statement_signs_its_subjects_with_sha256_digests() {
        let both =
            format!(r#"{{"digest":{{"sha512":"00"}}}},{{"digest":{{"sha256":"{DIGEST}"}},"annotations":{{"a":"b","n":1}}}}"#);
        let subjects = statement(STATEMENT, SIGNATURE, &both).unwrap();
        let [subject] = subjects.as_slice() else { panic!("{subjects:?}") };
        assert_eq!(subject.reference(), format!("sha256:{DIGEST}"));
        assert_eq!(subject.annotations, BTreeMap::from([("a".into(), "b".into()), ("n".into(), "1".into())]));
    }

    #[test]
    fn statements_of_other_types_or_without_a_manifest_are_refused() {
        let subject = format!(r#"{{"digest":{{"sha256":"{DIGEST}"}}}}"#);
        let provenance = "https://slsa.dev/provenance/v1";
        let found = statement(STATEMENT, provenance, &subject).unwrap_err();
        assert_eq!(found, Found::OtherType { found: provenance.into(), required: SIGNATURE });
        let found = statement("https://in-toto.io/Statement/v0.1", SIGNATURE, &subject).unwrap_err();
        assert!(matches!(found, Found::OtherType { required: STATEMENT, .. }), "{found:?}");
        for subject in ["", r#"{"digest":{}}"#, r#"{"digest":{"sha256":"12"}}"#, "{}", r#"{"digest":{"sha256":null}}"#] {
            let found = statement(STATEMENT, SIGNATURE, subject).unwrap_err();
            assert!(matches!(found, Found::Malformed { .. }), "{subject}: {found:?}");
        }
    }

    #[test]
    fn a_payload_of_the_older_form_signs_one_manifest() {
        let payload = |kind: &str, digest: &str, optional: &str| {
            let image = format!(r#"{{"docker-manifest-digest":"{digest}"}}"#);
            let text = format!(r#"{{"critical":{{"identity":{{}},"image":{image},"type":"{kind}"}},"optional":{optional}}}"#);
            of_payload(text.as_bytes())
        };
        let digest = format!("sha256:{DIGEST}");
        assert_eq!(payload(SIMPLE, &digest, "null").unwrap().reference(), digest);
        assert_eq!(payload(SIMPLE, &digest, r#"{"a":"b"}"#).unwrap().annotations["a"], "b");
        let found = payload("atomic container signature", &digest, "null").unwrap_err();
        assert!(matches!(found, Found::OtherType { required: SIMPLE, .. }), "{found:?}");
        for digest in ["", DIGEST, "sha512:00", "sha256:12"] {
            let found = payload(SIMPLE, digest, "null").unwrap_err();
            assert!(matches!(found, Found::Malformed { .. }), "{digest}: {found:?}");
        }
    }
}
