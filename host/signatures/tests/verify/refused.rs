//! Signatures that are refused, each with its own sentence.

use std::collections::BTreeMap;

use gyre_signatures::{Content, MAX_SIGNATURE, Requirements, verify};
use serde_json::{Value, json};

use crate::fixtures::*;

#[test]
fn an_unsigned_manifest_is_refused() {
    let refusal = verify(&policy(by_key(&["cosign/team.pub"])), DIGEST, &[]).unwrap_err();
    assert!(refusal.is_unsigned());
    assert_eq!(
        refusal.to_string(),
        format!(
            "{DIGEST} is not signed, and a signature by the key cosign/team.pub ({}) is required",
            key("cosign/team.pub").fingerprint()
        )
    );
    assert_eq!(refusal.remedy(), "sign the manifest, with gyre sign or cosign sign");
}

#[test]
fn another_key_is_refused() {
    let refused = bundle(by_key(&["cosign/team.pub"]), &read("cosign/protected.json"));
    let fingerprint = key("cosign/protected.pub").fingerprint();
    assert_eq!(sentence(refused), format!("a signature by the key {fingerprint}, not by an accepted key"));
    let refused = simple(by_key(&["cosign/protected.pub"]), "cosign/simple.payload.json", "cosign/simple.annotations.json");
    assert_eq!(sentence(refused), "a signature by another key, not by an accepted key");
}

#[test]
fn another_digest_is_refused() {
    let expected = format!("a signature of {DIGEST}, not of {OTHER}");
    let payload = read("cosign/simple.payload.json");
    let of_payload = annotations("cosign/simple.annotations.json");
    for (required, content) in [
        (by_key(&["cosign/team.pub"]), Content::Bundle(&read("cosign/bundle.json"))),
        (by_key(&["cosign/team.pub"]), Content::Simple { payload: &payload, annotations: &of_payload }),
        (in_log("virtual/team.pub"), Content::Bundle(&read("virtual/key.json"))),
        (keyless(SUBJECT), Content::Bundle(&read("virtual/keyless.json"))),
    ] {
        assert_eq!(sentence(check(&policy(required), OTHER, content)), expected);
    }
    // Other algorithms, or another notation, are other digests.
    for digest in ["", "sha256:", &DIGEST.to_uppercase(), "sha512:00"] {
        let refused = check(&policy(by_key(&["cosign/team.pub"])), digest, Content::Bundle(&read("cosign/bundle.json")));
        assert!(sentence(refused).starts_with(&format!("a signature of {DIGEST}, not of ")));
    }
}

#[test]
fn another_predicate_type_is_refused_although_the_same_key_signed_it() {
    let required = "not a signature (https://sigstore.dev/cosign/sign/v1)";
    let refused = bundle(by_key(&["cosign/team.pub"]), &read("cosign/attestation.json"));
    let attestation = "https://cosign.sigstore.dev/attestation/v1";
    assert_eq!(sentence(refused), format!("a statement of the type {attestation}, {required}"));
    let refused = bundle(keyless(SUBJECT), &read("virtual/keyless-provenance.json"));
    assert_eq!(sentence(refused), format!("a statement of the type https://slsa.dev/provenance/v1, {required}"));
}

#[test]
fn a_signature_without_an_entry_in_a_required_log_is_refused() {
    let refused = bundle(keyless(SUBJECT), &read("virtual/keyless-without-log.json"));
    assert_eq!(
        sentence(refused),
        "a keyless signature without an entry in a transparency log, so nothing shows when it was made"
    );
    let name = "cosign/team.pub";
    let expected = format!("a signature by the key {} without an entry in a transparency log, which is required", key(name));
    assert_eq!(sentence(bundle(in_log(name), &read("cosign/bundle.json"))), expected);
    let refused = simple(in_log(name), "cosign/simple.payload.json", "cosign/simple.annotations.json");
    assert_eq!(sentence(refused), expected);
    // Without an inclusion proof, an entry proves nothing.
    let mut changed: Value = serde_json::from_slice(&read("virtual/key.json")).unwrap();
    let entry = changed.pointer_mut("/verificationMaterial/tlogEntries/0").unwrap();
    entry.as_object_mut().unwrap().remove("inclusionProof");
    let refused = sentence(bundle(in_log("virtual/team.pub"), changed.to_string().as_bytes()));
    assert!(refused.starts_with("a signature whose entry in the transparency log is not valid: "), "{refused}");
    assert!(refused.contains("must have an inclusion proof"), "{refused}");
}

#[test]
fn annotations_must_be_signed() {
    let with = |team: &str| {
        let annotations = BTreeMap::from([("team".to_owned(), team.to_owned())]);
        Requirements { annotations, ..by_key(&["cosign/team.pub", "cosign/protected.pub"]) }
    };
    let (payload, of_payload) = ("cosign/simple-annotated.payload.json", "cosign/simple-annotated.annotations.json");
    for signed in ["cosign/annotated.json", "gyre/annotated.json"] {
        let verified = bundle(with("platform"), &read(signed)).unwrap();
        assert_eq!(verified.annotations["stage"], "prod");
    }
    assert_eq!(simple(with("platform"), payload, of_payload).unwrap().annotations["stage"], "prod");
    let other = "a signature with the value \"platform\" instead of the annotation team=security, which is required";
    assert_eq!(sentence(bundle(with("security"), &read("cosign/annotated.json"))), other);
    assert_eq!(sentence(simple(with("security"), payload, of_payload)), other);
    let without = "a signature without the annotation team=platform, which is required";
    assert_eq!(sentence(bundle(with("platform"), &read("cosign/bundle.json"))), without);
    let refused = simple(with("platform"), "cosign/simple.payload.json", "cosign/simple.annotations.json");
    assert_eq!(sentence(refused), without);
}

#[test]
fn a_key_is_no_identity_and_an_identity_no_key() {
    let refused = bundle(keyless(SUBJECT), &read("virtual/key.json"));
    let fingerprint = key("virtual/team.pub").fingerprint();
    let expected = format!("a signature by the key {fingerprint}, and only keyless signatures are accepted");
    assert_eq!(sentence(refused), expected);
    let refused = bundle(in_log("virtual/team.pub"), &read("virtual/keyless.json"));
    let expected = format!("a keyless signature by {SUBJECT} of {ISSUER}, and only signatures by keys are accepted");
    assert_eq!(sentence(refused), expected);
}

#[test]
fn another_identity_is_refused() {
    let refused = bundle(keyless("https://forge.example.com/other/*"), &read("virtual/keyless.json"));
    let expected = format!("a keyless signature by {SUBJECT} of {ISSUER}, not by an accepted identity");
    assert_eq!(sentence(refused), expected);
}

#[test]
fn another_trusted_root_verifies_nothing() {
    let other = || Some(text("virtual/other_trusted_root.json"));
    let refused = bundle(Requirements { trusted_root: other(), ..in_log("virtual/team.pub") }, &read("virtual/key.json"));
    let refused = sentence(refused);
    assert!(refused.starts_with("a signature whose entry in the transparency log is not valid: "), "{refused}");
    let refused = bundle(Requirements { trusted_root: other(), ..keyless(SUBJECT) }, &read("virtual/keyless.json"));
    let refused = sentence(refused);
    assert!(refused.starts_with("a signature whose entry in the transparency log is not valid: "), "{refused}");
    // The log of this root, with the authorities of the other.
    let mut mixed: Value = serde_json::from_str(&other().unwrap()).unwrap();
    let log: Value = serde_json::from_str(&text("virtual/trusted_root.json")).unwrap();
    mixed["tlogs"] = log["tlogs"].clone();
    let refused =
        bundle(Requirements { trusted_root: Some(mixed.to_string()), ..keyless(SUBJECT) }, &read("virtual/keyless.json"));
    let refused = sentence(refused);
    assert!(refused.starts_with("a keyless signature whose certificate is not trusted: "), "{refused}");
}

#[test]
fn an_entry_of_another_signature_proves_nothing() {
    let entry_of = |name: &str| {
        let bundle: Value = serde_json::from_slice(&read(name)).unwrap();
        bundle["verificationMaterial"]["tlogEntries"].clone()
    };
    let mut changed: Value = serde_json::from_slice(&read("cosign/bundle.json")).unwrap();
    changed["verificationMaterial"]["tlogEntries"] = entry_of("virtual/key.json");
    let refused = sentence(bundle(in_log("cosign/team.pub"), changed.to_string().as_bytes()));
    assert!(refused.starts_with("a signature whose entry in the transparency log is not valid: "), "{refused}");
}

#[test]
fn bytes_and_other_envelopes_are_no_signatures_of_a_manifest() {
    let mut blob: Value = serde_json::from_slice(&read("cosign/bundle.json")).unwrap();
    let envelope = blob.as_object_mut().unwrap().remove("dsseEnvelope").unwrap();
    blob["messageSignature"] = json!({ "signature": envelope["signatures"][0]["sig"] });
    let refused = bundle(by_key(&["cosign/team.pub"]), blob.to_string().as_bytes());
    assert_eq!(sentence(refused), "a signature of bytes, as cosign sign-blob makes it, not of a manifest");
    let mut other: Value = serde_json::from_slice(&read("cosign/bundle.json")).unwrap();
    other["dsseEnvelope"]["payloadType"] = "text/plain".into();
    let refused = bundle(by_key(&["cosign/team.pub"]), other.to_string().as_bytes());
    assert_eq!(sentence(refused), "a statement of the type text/plain, not a signature (application/vnd.in-toto+json)");
}

#[test]
fn malformed_bundles_are_refused() {
    let large = vec![b' '; MAX_SIGNATURE + 1];
    for malformed in [&b""[..], b"{}", b"[]", b"\xff", b"\x00asm", &large] {
        let refused = sentence(bundle(by_key(&["cosign/team.pub"]), malformed));
        assert!(refused.starts_with("a malformed signature: "), "{refused}");
    }
    let mut many: Value = serde_json::from_slice(&read("virtual/key.json")).unwrap();
    let entries = many.pointer_mut("/verificationMaterial/tlogEntries").unwrap();
    *entries = vec![entries[0].clone(); 11].into();
    let refused = sentence(bundle(in_log("virtual/team.pub"), many.to_string().as_bytes()));
    assert!(refused.contains("more than 10 certificates, entries in logs, or timestamps"), "{refused}");
}

#[test]
fn a_signature_by_ed25519ph_is_refused_and_its_remedy_says_why() {
    let refusal = bundle(by_key(&["cosign/ed25519.pub"]), &read("cosign/ed25519ph.json")).unwrap_err();
    assert!(refusal.to_string().ends_with("that does not match what it signs"), "{refusal}");
    assert!(refusal.remedy().contains("Ed25519ph"));
}
