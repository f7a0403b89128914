//! Laws about all changes of signatures, and about arbitrary bytes.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gyre_signatures::{Content, Requirements, Signer};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixtures::*;

/// The payload and the signature of a bundle, and the bundle with others.
struct Parts {
    bundle: Value,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

impl Parts {
    fn of(name: &str) -> Self {
        let bundle: Value = serde_json::from_slice(&read(name)).unwrap();
        let bytes = |pointer: &str| BASE64_STANDARD.decode(bundle.pointer(pointer).unwrap().as_str().unwrap()).unwrap();
        let (payload, signature) = (bytes("/dsseEnvelope/payload"), bytes("/dsseEnvelope/signatures/0/sig"));
        Self { bundle, payload, signature }
    }

    fn with(&self, payload: &[u8], signature: &[u8]) -> Vec<u8> {
        let mut bundle = self.bundle.clone();
        bundle["dsseEnvelope"]["payload"] = BASE64_STANDARD.encode(payload).into();
        bundle["dsseEnvelope"]["signatures"][0]["sig"] = BASE64_STANDARD.encode(signature).into();
        bundle.to_string().into_bytes()
    }
}

fn changed(bytes: &[u8], index: usize, by: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[index] ^= by;
    bytes
}

#[test]
fn a_change_of_any_byte_is_refused() {
    for (required, name) in
        [(by_key(&["cosign/team.pub"]), "cosign/bundle.json"), (by_key(&["cosign/ed25519.pub"]), "gyre/ed25519.json")]
    {
        let (policy, parts) = (policy(required), Parts::of(name));
        let is_refused = |bytes: &[u8]| check(&policy, DIGEST, Content::Bundle(bytes)).is_err();
        assert!(!is_refused(&parts.with(&parts.payload, &parts.signature)));
        for index in 0..parts.payload.len() {
            assert!(is_refused(&parts.with(&changed(&parts.payload, index, 1), &parts.signature)), "{name}, payload {index}");
        }
        for index in 0..parts.signature.len() {
            assert!(is_refused(&parts.with(&parts.payload, &changed(&parts.signature, index, 1))), "{name}, signature {index}");
        }
        for index in 0..DIGEST.len() {
            let digest = String::from_utf8(changed(DIGEST.as_bytes(), index, 1)).unwrap();
            assert!(check(&policy, &digest, Content::Bundle(&read(name))).is_err(), "{name}, digest {index}");
        }
    }
}

#[test]
fn a_change_of_the_older_form_is_refused() {
    let policy = policy(by_key(&["cosign/team.pub"]));
    let payload = read("cosign/simple.payload.json");
    let annotations = annotations("cosign/simple.annotations.json");
    for index in 0..payload.len() {
        let payload = changed(&payload, index, 1);
        let content = Content::Simple { payload: &payload, annotations: &annotations };
        assert!(check(&policy, DIGEST, content).is_err(), "payload {index}");
    }
}

/// The members of objects and arrays in a document, as pointers.
fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in members {
        pointers(value, format!("{at}/{key}"), found);
    }
    found.push(at);
}

fn any_json() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        proptest::collection::vec(any::<u8>(), 0..80).prop_map(|bytes| Value::from(BASE64_STANDARD.encode(bytes))),
        Just(json!([])),
        Just(json!({})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The policy has everything that can be required.
    #[test]
    fn arbitrary_bytes_are_refused_and_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let policy = policy(Requirements { identities: keyless(SUBJECT).identities, ..in_log("virtual/team.pub") });
        prop_assert!(check(&policy, DIGEST, Content::Bundle(&bytes)).is_err());
        let annotations = annotations("virtual/simple-keyless.annotations.json");
        let content = Content::Simple { payload: &bytes, annotations: &annotations };
        prop_assert!(check(&policy, DIGEST, content).is_err());
    }

    /// If it is accepted with another member, it has the same signer.
    #[test]
    fn bundles_with_another_member_never_panic(
        is_keyless in any::<bool>(),
        member in any::<prop::sample::Index>(),
        other in any_json(),
    ) {
        let policy = policy(Requirements { identities: keyless(SUBJECT).identities, ..in_log("virtual/team.pub") });
        let name = if is_keyless { "virtual/keyless.json" } else { "virtual/key.json" };
        let mut bundle: Value = serde_json::from_slice(&read(name)).unwrap();
        let mut found = Vec::new();
        pointers(&bundle, String::new(), &mut found);
        let pointer: &String = member.get(&found);
        *bundle.pointer_mut(pointer).unwrap() = other;
        if let Ok(verified) = check(&policy, DIGEST, Content::Bundle(bundle.to_string().as_bytes())) {
            prop_assert_eq!(matches!(verified.signer, Signer::Identity { .. }), is_keyless);
        }
    }

    /// The same for the annotations of the older form.
    #[test]
    fn annotations_with_another_value_never_panic(
        member in any::<prop::sample::Index>(),
        other in ".{0,200}",
        is_json in any::<bool>(),
    ) {
        let policy = policy(keyless(SUBJECT));
        let mut annotations = annotations("virtual/simple-keyless.annotations.json");
        let keys: Vec<String> = annotations.keys().cloned().collect();
        let key = member.get(&keys);
        let other = if is_json { json!({ "SignedEntryTimestamp": other, "Payload": {} }).to_string() } else { other };
        annotations.insert(key.clone(), other);
        let payload = read("virtual/simple.payload.json");
        let content = Content::Simple { payload: &payload, annotations: &annotations };
        if let Ok(verified) = check(&policy, DIGEST, content) {
            // The chain is not needed if the trusted root has the certificates.
            prop_assert_eq!(key, "dev.sigstore.cosign/chain");
            prop_assert_eq!(verified.logged_at, Some(LOGGED_AT));
        }
    }
}
