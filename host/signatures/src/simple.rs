//! Reads signatures in the older form of cosign: a payload, with the signature in annotations.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use sigstore_verify::types::{
    Artifact, Bundle, CanonicalizedBody, DerCertificate, MediaType, MessageSignature, PublicKeyIdentifier, Sha256Hash,
    SignatureBytes, SignatureContent, TransparencyLogEntry, VerificationMaterial, VerificationMaterialContent, X509Certificate,
};

use crate::claim::of_payload;
use crate::refusal::{Found, brief};
use crate::signature::Signature;

const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const CHAIN: &str = "dev.sigstore.cosign/chain";
const LOG: &str = "dev.sigstore.cosign/bundle";

/// Fulcio's chains have three certificates.
const MOST_CERTIFICATES: usize = 10;

/// The annotation with the entry in the log.
#[derive(Deserialize)]
struct Promised {
    #[serde(rename = "SignedEntryTimestamp")]
    promise: String,
    #[serde(rename = "Payload")]
    entry: Entry,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    body: String,
    integrated_time: i64,
    log_index: i64,
    #[serde(rename = "logID")]
    log_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    kind: String,
    api_version: String,
}

/// Reads a payload with its annotations.
pub(crate) fn read_simple<'a>(payload: &'a [u8], annotations: &BTreeMap<String, String>) -> Result<Signature<'a>, Found> {
    let subjects = vec![of_payload(payload)?];
    let annotation = |key: &str| annotations.get(key).filter(|text| !text.is_empty());
    let Some(text) = annotation(SIGNATURE) else { return Err(malformed(&format!("it has no annotation {SIGNATURE}"))) };
    let bytes = SignatureBytes::from_base64(text).map_err(|error| unreadable(SIGNATURE, &error))?;
    let content = match annotation(CERTIFICATE) {
        Some(leaf) => certificates(leaf, annotation(CHAIN))?,
        None => VerificationMaterialContent::PublicKey(PublicKeyIdentifier::new("")),
    };
    let entries = annotation(LOG).map(|text| entry(text)).transpose()?;
    let material = VerificationMaterial::new(content).with_tlog_entries(entries.into_iter().collect());
    let signed = SignatureContent::MessageSignature(MessageSignature::new(bytes.clone()));
    // Of the versions of bundles, the first one has what this form has: a promise of the log.
    let bundle = Bundle::new(MediaType::Bundle0_1, material, signed);
    Ok(Signature { message: payload.into(), bytes, subjects, artifact: Artifact::from_blob(payload), bundle })
}

fn certificates(leaf: &str, chain: Option<&String>) -> Result<VerificationMaterialContent, Found> {
    let read = |key: &str, text: &str| pem::parse_many(text).map_err(|error| unreadable(key, &error));
    let mut blocks = read(CERTIFICATE, leaf)?;
    if blocks.len() != 1 {
        return Err(malformed(&format!("its annotation {CERTIFICATE} has {} certificates instead of one", blocks.len())));
    }
    blocks.extend(chain.map(|text| read(CHAIN, text)).transpose()?.into_iter().flatten());
    if blocks.len() > MOST_CERTIFICATES {
        return Err(malformed(&format!("it has more than {MOST_CERTIFICATES} certificates")));
    }
    if let Some(block) = blocks.iter().find(|block| block.tag() != "CERTIFICATE") {
        return Err(malformed(&format!("it has {:?} instead of a certificate", brief(block.tag()))));
    }
    let certificates = blocks.iter().map(|block| X509Certificate::new(DerCertificate::from_bytes(block.contents())));
    Ok(VerificationMaterialContent::X509CertificateChain { certificates: certificates.collect() })
}

/// Returns the entry as bundles have it.
fn entry(text: &str) -> Result<TransparencyLogEntry, Found> {
    let Promised { promise, entry } = serde_json::from_str(text).map_err(|error| unreadable(LOG, &error))?;
    let body = CanonicalizedBody::from_base64(&entry.body).map_err(|error| unreadable(LOG, &error))?;
    let Body { kind, api_version } = serde_json::from_slice(body.as_bytes()).map_err(|error| unreadable(LOG, &error))?;
    let log_id = Sha256Hash::from_hex(&entry.log_id).map_err(|error| unreadable(LOG, &error))?;
    let entry = json!({
        "logIndex": entry.log_index,
        "logId": { "keyId": log_id.to_base64() },
        "kindVersion": { "kind": kind, "version": api_version },
        "integratedTime": entry.integrated_time,
        "inclusionPromise": { "signedEntryTimestamp": promise },
        "canonicalizedBody": entry.body,
    });
    serde_json::from_value(entry).map_err(|error| unreadable(LOG, &error))
}

fn malformed(why: &str) -> Found {
    Found::Malformed { why: why.to_owned() }
}

fn unreadable(key: &str, error: &dyn std::fmt::Display) -> Found {
    malformed(&format!("its annotation {key} cannot be read: {}", brief(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &[u8] = include_bytes!("../tests/fixtures/virtual/simple.payload.json");

    fn annotations() -> BTreeMap<String, String> {
        serde_json::from_str(include_str!("../tests/fixtures/virtual/simple-keyless.annotations.json")).unwrap()
    }

    fn found(key: &str, text: &str) -> String {
        let mut annotations = annotations();
        annotations.insert(key.to_owned(), text.to_owned());
        read_simple(PAYLOAD, &annotations).unwrap_err().to_string()
    }

    #[test]
    fn each_annotation_that_cannot_be_read_is_named() {
        for key in [SIGNATURE, LOG] {
            assert!(found(key, "!").starts_with(&format!("a malformed signature: its annotation {key} cannot be read: ")));
        }
        assert!(found(CERTIFICATE, "!").contains("has 0 certificates instead of one"));
        let mut none = annotations();
        none.remove(SIGNATURE);
        let found = read_simple(PAYLOAD, &none).unwrap_err();
        assert_eq!(found.to_string(), format!("a malformed signature: it has no annotation {SIGNATURE}"));
    }

    #[test]
    fn the_entry_and_the_certificates_are_taken_over() {
        let signature = read_simple(PAYLOAD, &annotations()).unwrap();
        let material = &signature.bundle.verification_material;
        let VerificationMaterialContent::X509CertificateChain { certificates } = &material.content else { panic!() };
        assert_eq!(certificates.len(), 3);
        let [entry] = material.tlog_entries.as_slice() else { panic!() };
        assert_eq!(entry.integrated_time.unwrap().as_second(), 1_748_779_200);
    }

    #[test]
    fn entries_of_other_kinds_are_refused() {
        let mut promised: serde_json::Value = serde_json::from_str(&annotations()[LOG]).unwrap();
        promised["Payload"]["body"] =
            CanonicalizedBody::from_bytes(br#"{"kind":"rpm","apiVersion":"0.0.1"}"#).to_base64().into();
        assert!(found(LOG, &promised.to_string()).contains("unsupported Rekor entry format: rpm/0.0.1"));
    }
}
