//! Where copies are, and what they contain.

use gyre_sdk::Child;
use gyre_sdk::testing::{Answer, given};
use serde_json::{Value, json};

use super::*;

fn secret(to: &str) -> Secret {
    Secret::new("registry")
        .with_namespace("shared")
        .with_labels([("app.kubernetes.io/managed-by", "Helm")])
        .with_annotations([(TO, to)])
        .with_data([("token", "t0ken")])
}

fn namespace(name: &str) -> Namespace {
    Namespace::new(name)
}

#[track_caller]
fn replicate(secret: Secret) -> Answer {
    let leaving: Value = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "team-z", "deletionTimestamp": "2026-01-01T00:00:00Z"},
    });
    ["shared", "team-a", "team-b", "other"]
        .into_iter()
        .fold(given::<Replicator>(secret), |given, name| given.with(namespace(name)))
        .with(leaving)
        .reconcile()
}

/// The namespaces of the copies.
fn copies(answer: &Answer) -> Vec<String> {
    let children = answer.plan().children.iter().flatten();
    let namespace = |child: &Child| match child {
        Child::Apply(child) => child.object.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    children.filter_map(namespace).collect()
}

#[test]
fn copies_are_where_the_annotation_says_and_nowhere_else() {
    for (to, expected) in [
        ("team-a", &["team-a"][..]),
        ("team-a, other,", &["other", "team-a"]),
        ("team-*", &["team-a", "team-b"]),
        ("*", &["other", "team-a", "team-b"]),
        ("*-b, t*a", &["team-a", "team-b"]),
        ("shared, team", &[]),
        ("", &[]),
    ] {
        let mut found = copies(&replicate(secret(to)));
        found.sort();
        assert_eq!(found, expected, "{to:?}");
    }
    assert!(copies(&replicate(Secret::new("plain").with_namespace("shared"))).is_empty());
}

#[test]
fn a_copy_has_the_type_and_the_data_and_nothing_else() {
    let answer = replicate(secret("team-a").with_type("example.com/token"));
    let copy = answer.plan().all_applied().pop().unwrap();
    let expected = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "example.com/token",
        "metadata": {"name": "registry", "namespace": "team-a"},
        "data": {"token": "dDBrZW4="},
    });
    assert_eq!(copy, expected);
}

#[test]
fn a_namespace_that_does_not_exist_yet_is_told() {
    let answer = replicate(secret("team-c, team-a, team-d*"));
    assert_eq!(copies(&answer), ["team-a"]);
    answer.has_event("NamespaceMissing");
    assert!(answer.plan().events[0].message.contains("no namespace team-c yet"), "{:?}", answer.plan().events);
}

#[test]
fn a_token_of_a_service_account_is_not_copied() {
    let answer = replicate(secret("team-a").with_type(SERVICE_ACCOUNT_TOKEN));
    answer.has_event("NotReplicable");
    assert!(copies(&answer).is_empty());
}
