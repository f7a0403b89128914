use std::collections::BTreeMap;

use gyre_core::grants::{Grants, Kinds, Namespaces, Scope};
use gyre_core::manifest::{ChildKind, Manifest, Strategy};
use gyre_core::outcome::ProblemKind;
use gyre_core::plan::{Observed, Parent};
use gyre_core::response::Child;

use super::*;

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "ConfigMap")
}

fn manifest(strategy: Strategy) -> Manifest {
    Manifest {
        children: vec![ChildKind::new(kind(), strategy)],
        ..Manifest::new("site", "1", GroupVersionKind::new("example.com", "v1", "Site"))
    }
}

fn wanted(text: Option<&str>) -> Vec<Child> {
    let object = text
        .map(|text| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "it" }, "data": { "text": text } }));
    object.iter().filter_map(|object| object.as_object().cloned()).map(Child::from).collect()
}

fn intent(grants: &Grants, observed: Option<&Value>, wanted: &[Child]) -> Intent {
    let parent = Parent {
        kind: GroupVersionKind::new("example.com", "v1", "Site"),
        key: ObjectKey::new(Some("default"), "one"),
        uid: "parent".to_owned(),
        children: plan::ChildList::default(),
    };
    let (key, json) = (ObjectKey::new(Some("default"), "it"), observed.map(Value::to_string).unwrap_or_default());
    let kind = kind();
    let child = Observed { kind: &kind, key: &key, uid: "child", resource_version: "1", json: json.as_bytes(), accepted: None };
    let children = if observed.is_some() { vec![child] } else { Vec::new() };
    let scopes = BTreeMap::from([(kind.clone(), Scope::Namespaced)]);
    let input =
        plan::Input { plugin: "site", parent: &parent, grants, scopes: &scopes, desired: Some(wanted), observed: &children };
    let desired = plan::desired(&input).into_iter().map(|desired| (identity_of(&desired.child), desired)).collect();
    let plan = plan::plan(&input);
    let refused = plan.refusals.iter().filter_map(|refusal| refusal.child.as_ref()).map(identity_of).collect();
    Intent {
        desired,
        plan,
        refused,
        status: Value::Null,
        members: BTreeMap::new(),
        fields: Value::Null,
        has_finalizer: false,
        deletes_parent: false,
        failure: None,
    }
}

fn written(grants: &Grants, text: &str) -> Value {
    let intent = intent(grants, None, &wanted(Some(text)));
    let desired = intent.desired.into_values().next().unwrap();
    let mut object = Value::Object(desired.object);
    object["metadata"]["uid"] = json!("child");
    object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    object["immutable"] = json!(false);
    object
}

fn parent() -> Subject {
    Subject::of(
        &json!({ "apiVersion": "example.com/v1", "kind": "Site", "metadata": { "namespace": "default", "name": "one" } }),
    )
}

fn differences(strategy: Strategy, observed: Option<&str>, own: Option<&str>, shadow: Option<&str>) -> Vec<Change> {
    let grants = Grants::new(&manifest(strategy), Namespaces::All);
    let observed = observed.map(|text| written(&grants, text));
    let [own, shadow] = [own, shadow].map(|text| intent(&grants, observed.as_ref(), &wanted(text)));
    let key = ObjectKey::new(Some("default"), "it");
    let observed = observed.into_iter().map(|object| (identity(&kind(), &key), object)).collect();
    changes(&parent(), &observed, &own, &shadow)
}

fn texts(changes: &[Change]) -> Vec<(Verb, Value, Value)> {
    let text = |object: &Value| object.pointer("/data/text").cloned().unwrap_or_default();
    changes.iter().map(|change| (change.verb, text(&change.before), text(&change.after))).collect()
}

#[test]
fn differences_do_not_depend_on_the_progress_of_the_mount() {
    let states = [None, Some("one"), Some("two"), Some("three")];
    for observed in states {
        for own in &states[..3] {
            for shadow in &states[..3] {
                let expected = match (own, shadow) {
                    (None, None) => None,
                    (Some(own), Some(shadow)) if own == shadow => None,
                    (None, Some(shadow)) => Some((Verb::Create, Value::Null, json!(shadow))),
                    (Some(own), None) => Some((Verb::Delete, json!(own), Value::Null)),
                    (Some(own), Some(shadow)) => Some((Verb::Update, json!(own), json!(shadow))),
                };
                let found = differences(Strategy::Apply, observed, *own, *shadow);
                let expected: Vec<_> = expected.into_iter().collect();
                assert_eq!(texts(&found), expected, "{observed:?}: {own:?} and {shadow:?}");
                assert!(found.iter().all(|change| change.parent.as_deref() == Some("Site default/one")));
            }
        }
    }
}

#[test]
fn a_parent_that_only_one_of_them_deletes_is_a_difference() {
    let grants = Grants::new(&manifest(Strategy::Apply), Namespaces::All);
    let intents = |mounted: bool, shadow: bool| {
        let [mounted, shadow] =
            [mounted, shadow].map(|deletes_parent| Intent { deletes_parent, ..intent(&grants, None, &wanted(None)) });
        let found = changes(&parent(), &BTreeMap::new(), &mounted, &shadow);
        found.into_iter().map(|change| (change.verb, change.subject == parent(), change.message.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(intents(false, false), []);
    assert_eq!(intents(true, true), []);
    assert_eq!(intents(false, true), [(Verb::Delete, true, false)]);
    assert_eq!(intents(true, false), [(Verb::Create, true, true)]);
}

#[test]
fn recreated_children_are_deleted_and_created_and_create_only_children_stay() {
    let found = differences(Strategy::Recreate, Some("one"), Some("one"), Some("two"));
    let expected = [(Verb::Delete, json!("one"), Value::Null), (Verb::Create, Value::Null, json!("two"))];
    assert_eq!(texts(&found), expected);
    for there in ["one", "three"] {
        let found = differences(Strategy::CreateOnly, Some(there), Some("one"), Some("two"));
        assert_eq!(texts(&found), [(Verb::WouldRecreate, json!("one"), json!("two"))]);
        assert_eq!(differences(Strategy::CreateOnly, Some(there), Some("one"), Some("one")), []);
    }
    let found = differences(Strategy::CreateOnly, None, Some("one"), Some("two"));
    assert_eq!(texts(&found), [(Verb::Update, json!("one"), json!("two"))]);
}

#[test]
fn fields_that_the_host_and_the_api_server_add_are_not_differences() {
    let found = differences(Strategy::Apply, Some("one"), Some("one"), Some("two"));
    let [Change { before, after, .. }] = &found[..] else { panic!("{found:?}") };
    let mut same = after.clone();
    same["data"]["text"] = json!("one");
    assert_eq!(*before, same);
    assert!(before.get("immutable").is_none() && before.pointer("/metadata/uid").is_none(), "{before}");
}

#[test]
fn shared_refusals_failures_finalizers_and_statuses_are_no_differences() {
    let grants = Grants::new(&manifest(Strategy::Apply), Namespaces::All);
    let refusing = grants.clone().with_kinds(Kinds::Only([].into()));
    let refused = || intent(&refusing, None, &wanted(Some("one")));
    let failed = |message: &str| Intent {
        failure: Some(Problem::new(ProblemKind::PluginTerminal, message)),
        status: json!({ "phase": message }),
        has_finalizer: true,
        ..intent(&grants, None, &[])
    };
    let of = |own: &Intent, shadow: &Intent| changes(&parent(), &BTreeMap::new(), own, shadow);
    assert_eq!(of(&refused(), &refused()), []);
    assert_eq!(of(&failed("no"), &failed("no")), []);
    let found = of(&intent(&grants, None, &[]), &refused());
    let [Change { verb: Verb::Create, refusal: Some(refusal), subject, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((subject.to_string().as_str(), refusal.contains("grant")), ("ConfigMap default/it", true), "{refusal}");
    let found = of(&intent(&grants, None, &[]), &failed("no"));
    let verbs: Vec<Verb> = found.iter().map(|change| change.verb).collect();
    assert_eq!(verbs, [Verb::Finalizers, Verb::Status, Verb::Fail]);
    assert_eq!(found[2].message.as_deref(), Some("PluginTerminal: no"));
    let verbs: Vec<Verb> = of(&failed("no"), &failed("never")).iter().map(|change| change.verb).collect();
    assert_eq!(verbs, [Verb::Status, Verb::Fail]);
}
