//! Signatures that are accepted.

use gyre_signatures::{Candidate, Content, Requirements, Signer, verify};

use crate::fixtures::*;

#[test]
fn what_cosign_signs_with_a_key_is_accepted() {
    for (name, signed) in [
        ("cosign/team.pub", "cosign/bundle.json"),
        ("cosign/protected.pub", "cosign/protected.json"),
        ("cosign/p384.pub", "cosign/p384.json"),
        ("cosign/rsa.pub", "cosign/rsa.json"),
        ("cosign/ed25519.pub", "gyre/ed25519.json"),
        ("cosign/team.pub", "gyre/bundle.json"),
        ("virtual/team.pub", "virtual/key.json"),
    ] {
        let verified = bundle(by_key(&["cosign/team.pub", name]), &read(signed)).unwrap();
        assert_eq!((verified.signer, verified.logged_at), (key_signer(name), None), "{signed}");
        assert_eq!(verified.name, NAME);
    }
    let verified =
        simple(by_key(&["cosign/team.pub"]), "cosign/simple.payload.json", "cosign/simple.annotations.json").unwrap();
    assert_eq!(verified.signer, key_signer("cosign/team.pub"));
}

#[test]
fn an_entry_in_the_log_is_verified_if_it_is_required() {
    let verified = bundle(in_log("virtual/team.pub"), &read("virtual/key.json")).unwrap();
    assert_eq!((verified.signer, verified.logged_at), (key_signer("virtual/team.pub"), Some(LOGGED_AT)));
    let verified =
        simple(in_log("virtual/team.pub"), "virtual/simple.payload.json", "virtual/simple-key.annotations.json").unwrap();
    assert_eq!(verified.logged_at, Some(LOGGED_AT));
}

#[test]
fn a_keyless_signature_is_accepted_by_its_identity() {
    for subject in [SUBJECT, "https://forge.example.com/team/echo/.github/workflows/release.yml@refs/tags/*"] {
        let signer = Signer::Identity { issuer: ISSUER.to_owned(), subject: SUBJECT.to_owned() };
        let verified = bundle(keyless(subject), &read("virtual/keyless.json")).unwrap();
        assert_eq!((&verified.signer, verified.logged_at), (&signer, Some(LOGGED_AT)));
        let annotations = "virtual/simple-keyless.annotations.json";
        let verified = simple(keyless(subject), "virtual/simple.payload.json", annotations).unwrap();
        assert_eq!((&verified.signer, verified.logged_at), (&signer, Some(LOGGED_AT)));
    }
    // A policy may accept keys and identities.
    let both = Requirements { identities: keyless(SUBJECT).identities, ..in_log("virtual/team.pub") };
    for signed in ["virtual/keyless.json", "virtual/key.json"] {
        bundle(both.clone(), &read(signed)).unwrap();
    }
}

#[test]
fn one_accepted_signature_among_others_is_enough() {
    let (other, accepted) = (read("cosign/protected.json"), read("cosign/bundle.json"));
    let candidates = [("a", &other), ("b", &accepted)].map(|(name, bytes)| Candidate { name, content: Content::Bundle(bytes) });
    assert_eq!(verify(&policy(by_key(&["cosign/team.pub"])), DIGEST, &candidates).unwrap().name, "b");
}
