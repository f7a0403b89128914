//! The laws of a parent's own fields.

use proptest::prelude::*;

use super::*;
use crate::field_path::FieldPath;
use crate::grants::{Namespaces, ParentFields};
use crate::manifest::Manifest;
use crate::object::{GroupVersionKind, ObjectKey};

const PLUGIN: &str = "reloader";

fn deployment() -> GroupVersionKind {
    GroupVersionKind::from_api_version("apps/v1", "Deployment")
}

fn parent() -> ObjectRef {
    ObjectRef { kind: deployment(), key: ObjectKey::new(Some("default"), "web") }
}

fn paths(pointers: &[&str]) -> Vec<FieldPath> {
    pointers.iter().map(|pointer| FieldPath::parse(pointer).expect("a path")).collect()
}

fn grants(declared: &[&str], granted: ParentFields) -> Grants {
    let parent_fields = declared.iter().map(|pointer| (*pointer).to_owned()).collect();
    let manifest = Manifest { parent_fields, ..Manifest::new(PLUGIN, "1", deployment()) };
    Grants::new(&manifest, Namespaces::All).with_parent_fields(granted)
}

fn decided(live: &Value, wanted: &Value, grants: &Grants) -> Decision {
    let wanted = wanted.as_object().expect("an object");
    decide(&Input { plugin: PLUGIN, parent: &parent(), live, grants, wanted, accepted: None })
}

fn live(fields: Value) -> Value {
    let mut live = json!({ "metadata": { "name": "web", "namespace": "default" }, "spec": { "replicas": 1 } });
    merge(&mut live, &fields);
    live
}

/// Changes an object that nobody else manages as server-side apply does.
fn merge(into: &mut Value, fields: &Value) {
    match (into, fields) {
        (Value::Object(into), Value::Object(fields)) => {
            for (name, value) in fields {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, value) => *into = value.clone(),
    }
}

#[track_caller]
fn refused(wanted: Value, grants: &Grants, reason: RefusalReason, part: &str) {
    match decided(&live(json!({})), &wanted, grants) {
        Decision::Refuse(refusal) => {
            assert_eq!(refusal.reason, reason, "{}", refusal.message);
            assert!(refusal.message.contains(part) && refusal.message.contains("default/web"), "{}", refusal.message);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_refusal_names_the_path_and_the_remedy() {
    let all = grants(&["/spec", "/metadata/labels", "/metadata/annotations"], ParentFields::Declared);
    let invalid = RefusalReason::InvalidParentFields;
    refused(json!({ "metadata": { "finalizers": ["mine"] } }), &all, invalid, "/metadata/finalizers");
    refused(json!({ "metadata": { "ownerReferences": [] } }), &all, invalid, "/metadata/ownerReferences");
    refused(json!({ "metadata": "rubbish" }), &all, invalid, "/metadata");
    refused(json!({ "status": { "phase": "Done" } }), &all, invalid, "/status/phase");
    refused(json!({ "metadata": { "annotations": { "gyre.dev/release": "true" } } }), &all, invalid, "/gyre.dev~1release");
    refused(json!({ "metadata": { "labels": { "gyre.dev/plugin": "echo" } } }), &all, invalid, "/gyre.dev~1plugin");
    refused(json!({ "metadata": { "labels": { "size": 7 } } }), &all, invalid, "must be a text");
    refused(json!({ "kind": "Secret" }), &all, invalid, "kind");
    refused(json!({ "metadata": { "name": "other" } }), &all, invalid, "metadata.name");
    let spec = json!({ "spec": { "template": { "spec": { "serviceAccountName": "admin" } } } });
    let undeclared = grants(&["/spec/replicas"], ParentFields::Declared);
    refused(spec.clone(), &undeclared, RefusalReason::UndeclaredParentField, "/spec/template/spec/serviceAccountName");
    for granted in [ParentFields::NotGranted, ParentFields::Only(paths(&["/spec/replicas"]).into_iter().collect())] {
        let not_granted = grants(&["/spec"], granted);
        refused(spec.clone(), &not_granted, RefusalReason::ParentFieldNotGranted, "grants.parentFields");
    }
}

/// Recordings and previews hide the values of Secrets that are read or returned as children.
#[test]
fn of_a_secret_only_labels_and_annotations_are_set() {
    let kind = GroupVersionKind::from_api_version("v1", "Secret");
    let parent_fields = vec!["/data".to_owned(), "/metadata/labels".to_owned()];
    let manifest = Manifest { parent_fields, ..Manifest::new(PLUGIN, "1", kind.clone()) };
    let grants = Grants::new(&manifest, Namespaces::All).with_parent_fields(ParentFields::Declared);
    let secret = ObjectRef { kind, key: ObjectKey::new(Some("default"), "web") };
    let decided = |wanted: Value| {
        let wanted = wanted.as_object().cloned().expect("an object");
        let live = live(json!({}));
        decide(&Input { plugin: PLUGIN, parent: &secret, live: &live, grants: &grants, wanted: &wanted, accepted: None })
    };
    assert!(matches!(decided(json!({ "metadata": { "labels": { "a": "b" } } })), Decision::Apply(_)));
    let Decision::Refuse(refusal) = decided(json!({ "data": { "password": "aHVudGVyMg==" } })) else { panic!() };
    assert!(refusal.message.contains("/data/password") && !refusal.message.contains("aHVudGVyMg"), "{}", refusal.message);
}

#[test]
fn the_identity_of_the_parent_may_be_repeated() {
    let all = grants(&["/metadata/labels"], ParentFields::Declared);
    let typed = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "default", "labels": { "size": "small" } },
    });
    let bare = json!({ "metadata": { "labels": { "size": "small" } } });
    assert_eq!(decided(&live(json!({})), &typed, &all), decided(&live(json!({})), &bare, &all));
    let identity = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "annotations": {} } });
    assert_eq!(decided(&live(json!({})), &identity, &all), Decision::Keep);
}

#[test]
fn what_the_api_server_writes_otherwise_is_applied_once() {
    let all = grants(&["/spec"], ParentFields::Declared);
    let wanted = json!({ "spec": { "paused": true } });
    let Decision::Apply(fields) = decided(&live(json!({})), &wanted, &all) else { panic!() };
    // A webhook turns the field back.
    let mut answer = live(Value::Object(fields.object.clone()));
    answer["spec"]["paused"] = json!(false);
    assert!(!fields.are_in(&answer));
    let form = AcceptedForm::of(&fields.digest, &answer);
    let input = Input {
        plugin: PLUGIN,
        parent: &parent(),
        live: &answer,
        grants: &all,
        wanted: wanted.as_object().expect("an object"),
        accepted: Some(&form),
    };
    assert_eq!(decide(&input), Decision::Keep);
    assert!(matches!(decide(&Input { accepted: None, ..input }), Decision::Apply(_)));
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![any::<bool>().prop_map(Value::from), "[ab]{0,2}".prop_map(Value::from), Just(json!([1]))];
    leaf.prop_recursive(3, 12, 3, |inner| {
        proptest::collection::btree_map("[abc]", inner, 0..3).prop_map(|fields| Value::Object(fields.into_iter().collect()))
    })
}

fn wanted() -> impl Strategy<Value = Value> {
    let texts = || proptest::collection::btree_map("[ab]|gyre.dev/[ab]|example.com/[ab]", "[xy]{0,2}", 0..3);
    (texts(), texts(), tree(), proptest::sample::select(&["spec", "status", "data", "kind"][..])).prop_map(
        |(labels, annotations, tree, field)| {
            let mut wanted = json!({ "metadata": { "labels": labels, "annotations": annotations } });
            wanted[field] = tree;
            wanted
        },
    )
}

const POINTERS: &[&str] =
    &["/spec", "/spec/a", "/data", "/metadata/labels", "/metadata/annotations/a", "/metadata/annotations"];

fn granted() -> impl Strategy<Value = ParentFields> {
    let only = proptest::sample::subsequence(POINTERS, 0..=POINTERS.len());
    prop_oneof![
        Just(ParentFields::NotGranted),
        Just(ParentFields::Declared),
        only.prop_map(|only| ParentFields::Only(paths(&only).into_iter().collect())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn only_granted_fields_are_applied_and_an_apply_settles(
        wanted in wanted(), granted in granted(), before in proptest::option::of(wanted()),
    ) {
        let declared = ["/spec", "/data", "/metadata/labels", "/metadata/annotations"];
        let grants = grants(&declared, granted);
        let start = live(before.unwrap_or_else(|| json!({})));
        match decided(&start, &wanted, &grants) {
            Decision::Apply(fields) => {
                let mark = mark(PLUGIN);
                for_each_leaf(&fields.object, &mut Vec::new(), &mut |path, _| {
                    let is_own = matches!(path, ["apiVersion" | "kind"]) || *path == ["metadata", "annotations", &mark];
                    assert!(is_own || (check(path).is_ok() && grants.allows_parent_field(path)), "{path:?}");
                });
                let mut after = start.clone();
                merge(&mut after, &Value::Object(fields.object.clone()));
                prop_assert_eq!(decided(&after, &wanted, &grants), Decision::Keep);
                let withdrawn = decided(&after, &json!({}), &grants);
                let Decision::Apply(Fields { object, .. }) = withdrawn else { panic!("{withdrawn:?}") };
                prop_assert_eq!(object.keys().collect::<Vec<_>>(), ["apiVersion", "kind"]);
            }
            Decision::Keep => prop_assert_eq!(decided(&start, &json!({}), &grants), Decision::Keep, "it sets nothing"),
            Decision::Refuse(refusal) => prop_assert!(refusal.message.contains("default/web")),
        }
    }
}
