use std::collections::BTreeMap;
use std::path::Path;

use gyre_signatures::sign::Error;
use gyre_signatures::{
    Candidate, Content, Log, Policy, PublicKey, Requirements, Signer, SigningKey, generate_key, sign, verify,
};
use proptest::prelude::*;

const DIGEST: &str = "sha256:b1f0fc11766f5794fecb4e428cac6b31d2fd4e8a58d17c7040d0dc8efcd0176d";
const PASSWORD: &[u8] = b"correct-horse";

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn key(name: &str, password: Option<&[u8]>) -> Result<SigningKey, Error> {
    SigningKey::from_pem(&text(name), password)
}

fn accepts(public_pem: &str, annotations: BTreeMap<String, String>) -> Policy {
    let keys = vec![PublicKey::from_pem("it.pub", public_pem).unwrap()];
    Policy::new(Requirements { keys, log: Log::Ignored, annotations, ..Requirements::default() }).unwrap()
}

fn platform() -> BTreeMap<String, String> {
    [("stage", "prod"), ("team", "platform")].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// Cosign verified these bundles: see the README of the fixtures.
#[test]
fn signatures_are_the_bytes_that_cosign_verified() {
    for (name, password, annotations, expected) in [
        ("cosign/team.key", Some(&b""[..]), BTreeMap::new(), "gyre/bundle.json"),
        ("cosign/protected.key", Some(PASSWORD), platform(), "gyre/annotated.json"),
        ("cosign/ed25519.key", None, BTreeMap::new(), "gyre/ed25519.json"),
    ] {
        let signed = sign(&key(name, password).unwrap(), DIGEST, &annotations).unwrap();
        assert_eq!(String::from_utf8(signed).unwrap(), text(expected), "{name}");
    }
}

#[test]
fn the_public_key_is_the_one_of_cosign() {
    for (name, password) in [("team", &b""[..]), ("protected", PASSWORD), ("ed25519", &b""[..])] {
        let key = key(&format!("cosign/{name}.key"), Some(password)).unwrap();
        assert_eq!(key.public_pem(), text(&format!("cosign/{name}.pub")), "{name}");
        let public = PublicKey::from_pem(name, &key.public_pem()).unwrap();
        assert_eq!(key.fingerprint(), public.fingerprint());
        assert_eq!(format!("{key:?}"), format!("SigningKey({:?})", key.fingerprint()));
    }
}

#[test]
fn keys_that_cannot_sign_are_refused() {
    assert_eq!(key("cosign/protected.key", None).unwrap_err(), Error::PasswordRequired);
    assert_eq!(key("cosign/protected.key", Some(b"wrong")).unwrap_err(), Error::Password);
    let error = key("cosign/team.pub", None).unwrap_err();
    assert_eq!(error.to_string(), "it has no private key: it has \"PUBLIC KEY\"");
    assert_eq!(SigningKey::from_pem("", None).unwrap_err().to_string(), "it has no private key: it has no block in PEM");
    let garbage = text("cosign/ed25519.key").replace("MC4CAQ", "MC4CAg");
    assert_eq!(SigningKey::from_pem(&garbage, None).unwrap_err(), Error::Algorithm);
    assert!(Error::Password.remedy().contains("password"));
}

#[test]
fn a_new_key_signs_what_its_public_key_accepts() {
    let pair = generate_key(PASSWORD).unwrap();
    assert!(pair.private_pem.starts_with("-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n"));
    assert!(!format!("{pair:?}").contains("PRIVATE"));
    assert_eq!(SigningKey::from_pem(&pair.private_pem, Some(b"")).unwrap_err(), Error::Password);
    let key = SigningKey::from_pem(&pair.private_pem, Some(PASSWORD)).unwrap();
    assert_eq!(key.public_pem(), pair.public_pem);
    assert_ne!(generate_key(b"").unwrap().public_pem, pair.public_pem);
    let bundle = sign(&key, DIGEST, &platform()).unwrap();
    let candidate = Candidate { name: "it", content: Content::Bundle(&bundle) };
    let verified = verify(&accepts(&pair.public_pem, platform()), DIGEST, &[candidate]).unwrap();
    assert_eq!(verified.signer, Signer::Key { name: "it.pub".to_owned(), fingerprint: key.fingerprint() });
    assert_eq!(verified.annotations, platform());
}

#[test]
fn only_digests_of_manifests_are_signed() {
    let key = key("cosign/ed25519.key", None).unwrap();
    for digest in ["", "sha256:", &DIGEST[7..], &DIGEST[..70], &DIGEST.to_uppercase(), "sha512:00"] {
        let error = sign(&key, digest, &BTreeMap::new()).unwrap_err();
        assert_eq!(error, Error::Digest(digest.to_owned()));
    }
    let upper = format!("sha256:{}", DIGEST[7..].to_uppercase());
    assert!(sign(&key, &upper, &BTreeMap::new()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_sign_makes_verify_accepts_for_this_digest_alone(
        digest in "sha256:[0-9a-f]{64}",
        other in "sha256:[0-9a-f]{64}",
        annotations in prop::collection::btree_map(".{0,12}", ".{0,40}", 0..4),
    ) {
        let key = key("cosign/ed25519.key", None).unwrap();
        let policy = accepts(&key.public_pem(), annotations.clone());
        let bundle = sign(&key, &digest, &annotations).unwrap();
        let candidate = Candidate { name: "it", content: Content::Bundle(&bundle) };
        let verified = verify(&policy, &digest, &[candidate]).unwrap();
        prop_assert_eq!(verified.annotations, annotations);
        prop_assume!(digest != other);
        prop_assert!(verify(&policy, &other, &[candidate]).is_err());
    }

    #[test]
    fn private_keys_of_arbitrary_text_never_panic(text in ".{0,200}", json in ".{0,200}") {
        prop_assert!(SigningKey::from_pem(&text, Some(b"")).is_err());
        let tag = "ENCRYPTED SIGSTORE PRIVATE KEY";
        let block = format!("-----BEGIN {tag}-----\n{json}\n-----END {tag}-----\n");
        prop_assert!(SigningKey::from_pem(&block, Some(b"")).is_err());
    }
}
