use serde_json::json;

use super::*;
use crate::manifest::{ChildKind, ReadKind, Strategy};

fn child(group: &str, version: &str, kind: &str) -> ChildKind {
    let kind = GroupVersionKind::new(group, version, kind);
    ChildKind::new(kind, Strategy::Apply)
}

fn read(kind: &str, namespace: Option<&str>) -> ReadKind {
    let kind = GroupVersionKind::new("", "v1", kind);
    ReadKind { kind, namespace: namespace.map(str::to_owned), label_selector: None, metadata_only: false }
}

fn crd(name: &str, group: &str, kind: &str, served: bool) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "names": {"plural": "echoes", "kind": kind},
            "scope": "Namespaced",
            "versions": [{"name": "v1alpha1", "served": served, "storage": true}],
        },
    })
}

fn manifest() -> Manifest {
    Manifest {
        children: vec![child("batch", "v1", "Job"), child("", "v1", "ConfigMap")],
        reads: vec![read("Secret", None), read("Secret", Some("kube-system"))],
        settings_schema: Some(json!({"type": "object"})),
        crds: vec![crd("echoes.example.com", "example.com", "Echo", true)],
        ..Manifest::new("echo", "0.1.0", GroupVersionKind::new("example.com", "v1alpha1", "Echo"))
    }
}

/// Asserts the problems of the manifest after a change.
fn check(change: impl FnOnce(&mut Manifest), expected: &[&str]) {
    let mut manifest = manifest();
    change(&mut manifest);
    let found: Vec<String> = match manifest.validate() {
        Ok(()) => Vec::new(),
        Err(error) => error.problems.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found:?} should contain {expected:?}");
    }
}

#[test]
fn children_that_outlive_their_parent_are_not_replaced() {
    let outliving = |strategy, strongest| {
        move |manifest: &mut Manifest| {
            let child = child("", "v1", "Secret");
            manifest.children.push(ChildKind { strategy, strongest_strategy: strongest, outlives_parent: true, ..child });
        }
    };
    check(outliving(Strategy::CreateOnly, Some(Strategy::Apply)), &[]);
    check(outliving(Strategy::Recreate, None), &["Secret.v1 outlives the parent"]);
    check(outliving(Strategy::Apply, Some(Strategy::Recreate)), &["Secret.v1 outlives the parent"]);
}

#[test]
fn the_strongest_strategy_is_not_weaker_than_that_of_the_kind() {
    for (strategy, strongest, problems) in [
        (Strategy::Apply, Some(Strategy::Recreate), &[][..]),
        (Strategy::Apply, Some(Strategy::Apply), &[]),
        (Strategy::Recreate, Some(Strategy::CreateOnly), &["Job.v1.batch has the strategy recreate"]),
        (Strategy::Apply, Some(Strategy::CreateOnly), &["create-only, which is weaker: name a stronger one"]),
    ] {
        check(
            |manifest| {
                manifest.children[0].strategy = strategy;
                manifest.children[0].strongest_strategy = strongest;
            },
            problems,
        );
    }
}

#[test]
fn the_reconcilers_of_a_plugin_have_different_names() {
    let named = |name: &str| Manifest { name: name.to_owned(), ..manifest() };
    assert_eq!(validate_all(&[named("one"), named("two")]), Ok(()));
    let twice = validate_all(&[named("one"), named("two"), named("one")]).unwrap_err();
    assert_eq!(twice.problems, [Violation::NameTwice("one".to_owned())]);
    assert!(twice.to_string().contains("in Rust by `manifest!(…).named(\"…\")`"), "{twice}");
    let invalid = validate_all(&[named("one"), named("No Label")]).unwrap_err();
    assert_eq!(invalid.plugin, "No Label");
}

#[test]
fn a_consistent_manifest_is_accepted() {
    check(|_| {}, &[]);
    check(|manifest| manifest.parent.version = "v1api20230101".to_owned(), &["does not serve the version \"v1api20230101\""]);
    check(|manifest| manifest.settings_schema = Some(json!(true)), &[]);
    check(|manifest| manifest.crds.clear(), &[]);
}

#[test]
fn an_inconsistent_manifest_is_refused() {
    check(|manifest| manifest.name = "Echo".to_owned(), &["the name \"Echo\""]);
    check(|manifest| manifest.name = "x".repeat(64), &["must be a DNS label"]);
    check(|manifest| manifest.children.push(child("apps/v1", "V1", "deployment")), &["a group", "a version", "a kind"]);
    check(
        |manifest| manifest.children.push(child("batch", "v1beta1", "Job")),
        &["Job.v1beta1.batch is declared as a child kind twice"],
    );
    check(|manifest| manifest.reads.push(read("Secret", None)), &["Secret.v1 is read twice"]);
    check(|manifest| manifest.reads.push(read("Pod", Some("a/b"))), &["cannot be a namespace"]);
    check(|manifest| manifest.settings_schema = Some(json!([])), &["settings schema"]);
    check(|manifest| manifest.crds.push(json!({"kind": "Secret"})), &["CRD number 2"]);
    check(|manifest| manifest.crds.push(json!(null)), &["CRD number 2"]);
    check(
        |manifest| manifest.crds = vec![crd("echos.example.com", "example.com", "Echo", true)],
        &["the name \"echoes.example.com\""],
    );
    check(
        |manifest| manifest.crds.push(crd("echoes.other.io", "other.io", "Echo", true)),
        &["defines Echo.other.io, which is neither"],
    );
    check(|manifest| manifest.crds.push(crd("echoes.example.com", "example.com", "Echo", true)), &["is included twice"]);
    check(
        |manifest| manifest.crds = vec![crd("echoes.example.com", "example.com", "Echo", false)],
        &["does not serve the version \"v1alpha1\""],
    );
}

/// An operator who grants all declared fields grants none of these.
#[test]
fn fields_of_parents_that_no_plugin_may_set_cannot_be_declared() {
    let declaring = |pointer: &'static str| move |manifest: &mut Manifest| manifest.parent_fields.push(pointer.to_owned());
    check(declaring("/spec/serviceAccountName"), &[]);
    for pointer in ["/metadata/finalizers", "/metadata/ownerReferences", "/metadata/labels/gyre.dev~1plugin", "/status"] {
        check(declaring(pointer), &[format!("the field {pointer:?} of parents").as_str()]);
    }
}

#[test]
fn the_error_is_one_sentence_with_everything_in_it() {
    let mut manifest = manifest();
    manifest.name = "Echo".to_owned();
    manifest.settings_schema = Some(json!(1));
    let text = manifest.validate().unwrap_err().to_string();
    assert_eq!(
        text,
        "the manifest of plugin \"Echo\" has to be corrected in what its `describe` returns: the name \"Echo\" must be a DNS label: \
         at most 63 lower-case letters, digits and '-', with a letter or digit at each end; the settings schema must be a JSON Schema: \
         an object or a boolean"
    );
}

#[test]
fn a_manifest_that_groups_parents_brings_the_definition_of_groups() {
    let members = GroupVersionKind::new("example.com", "v1", "Tenant");
    let manifest = Manifest::new("tenants", "1", members.clone()).grouped(Grouping::All);
    assert_eq!((&manifest.parent, manifest.users_kind()), (&groups::kind(), &members));
    assert_eq!(manifest.validate(), Ok(()));
}

#[test]
fn a_manifest_cannot_group_by_what_is_no_field_nor_do_to_a_group_what_is_done_to_a_parent() {
    let members = || GroupVersionKind::new("example.com", "v1", "Tenant");
    let of = |manifest: Manifest| manifest.grouped(Grouping::ByField("spec.pool".to_owned())).validate().unwrap_err().problems;
    let plain = of(Manifest::new("tenants", "1", members()));
    assert_eq!(plain, [Violation::GroupingField("spec.pool".to_owned())]);
    let wrong = Manifest {
        finalizes: true,
        deletes_parent: true,
        parent_fields: vec!["/spec/replicas".to_owned()],
        ..Manifest::new("tenants", "1", members())
    };
    assert_eq!(of(wrong).iter().filter(|problem| matches!(problem, Violation::Grouped(_))).count(), 3);
    assert!(
        of(Manifest::new("groups", "1", groups::kind())).contains(&Violation::GroupKind(groups::kind())),
        "groups of groups"
    );
}
