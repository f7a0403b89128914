//! The fixtures, and policies for them.

use std::collections::BTreeMap;
use std::path::Path;

use gyre_signatures::{Candidate, Content, Identity, Log, Policy, PublicKey, Refusal, Requirements, Signer, Verified, verify};

/// The digest of `manifest.json`, which all fixtures sign.
pub(crate) const DIGEST: &str = "sha256:b1f0fc11766f5794fecb4e428cac6b31d2fd4e8a58d17c7040d0dc8efcd0176d";
pub(crate) const OTHER: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
/// The names of signatures in messages.
pub(crate) const NAME: &str = "sha256:81e8";
pub(crate) const ISSUER: &str = "https://token.example.com";
pub(crate) const SUBJECT: &str = "https://forge.example.com/team/echo/.github/workflows/release.yml@refs/tags/v1.4";
/// The time of all entries in the log: 2025-06-01T12:00:00Z.
pub(crate) const LOGGED_AT: i64 = 1_748_779_200;

pub(crate) fn read(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn text(name: &str) -> String {
    String::from_utf8(read(name)).unwrap()
}

pub(crate) fn key(name: &str) -> PublicKey {
    PublicKey::from_pem(name, &text(name)).unwrap()
}

pub(crate) fn policy(required: Requirements) -> Policy {
    Policy::new(required).unwrap()
}

/// Keys without a log.
pub(crate) fn by_key(names: &[&str]) -> Requirements {
    Requirements { keys: names.iter().map(|name| key(name)).collect(), log: Log::Ignored, ..Requirements::default() }
}

/// A key with a log.
pub(crate) fn in_log(name: &str) -> Requirements {
    let trusted_root = Some(text("virtual/trusted_root.json"));
    Requirements { keys: vec![key(name)], trusted_root, log: Log::Required, ..Requirements::default() }
}

pub(crate) fn keyless(subject: &str) -> Requirements {
    let identities = vec![Identity::new(ISSUER, subject).unwrap()];
    Requirements { identities, trusted_root: Some(text("virtual/trusted_root.json")), ..Requirements::default() }
}

pub(crate) fn check(policy: &Policy, digest: &str, content: Content<'_>) -> Result<Verified, Refusal> {
    verify(policy, digest, &[Candidate { name: NAME, content }])
}

pub(crate) fn bundle(required: Requirements, bundle: &[u8]) -> Result<Verified, Refusal> {
    check(&policy(required), DIGEST, Content::Bundle(bundle))
}

pub(crate) fn annotations(name: &str) -> BTreeMap<String, String> {
    serde_json::from_slice(&read(name)).unwrap()
}

pub(crate) fn simple(required: Requirements, payload: &str, of: &str) -> Result<Verified, Refusal> {
    let annotations = annotations(of);
    check(&policy(required), DIGEST, Content::Simple { payload: &read(payload), annotations: &annotations })
}

/// The sentence about the only signature.
pub(crate) fn sentence(result: Result<Verified, Refusal>) -> String {
    let refusal = result.unwrap_err();
    let [(name, found)] = refusal.found() else { panic!("{refusal}") };
    assert_eq!(name, NAME);
    assert!(refusal.to_string().ends_with(&format!("{NAME} is {found}")), "{refusal}");
    assert!(!found.remedy().is_empty());
    found.to_string()
}

pub(crate) fn key_signer(name: &str) -> Signer {
    Signer::Key { name: name.to_owned(), fingerprint: key(name).fingerprint() }
}
