use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

const FIELDS: [&str; 3] =
    [r#"metadata.labels["gyre.dev/plugin"]"#, r#"metadata.labels["gyre.dev/owner-uid"]"#, "metadata.ownerReferences"];

fn child() -> Desired {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "data": { "a": "YQ==" },
        "metadata": {
            "name": "it", "namespace": "default",
            "labels": { PLUGIN_LABEL: "plugin", OWNER_UID_LABEL: "uid", "app": "it" },
            "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "it", "uid": "uid", "controller": true }],
        },
    });
    let child =
        ObjectRef { kind: GroupVersionKind::from_api_version("v1", "Secret"), key: ObjectKey::new(Some("default"), "it") };
    let object = object.as_object().unwrap().clone();
    let (digest, strategy) = ("digest".to_owned(), manifest::Strategy::Apply);
    Desired { child, object, digest, strategy, generated: Default::default() }
}

/// As webhooks do, either removes a mark or sets another value.
fn without(object: &Map<String, Value>, removed: [bool; 3], replaced: bool) -> Value {
    let mut object = Value::Object(object.clone());
    for (label, _) in [PLUGIN_LABEL, OWNER_UID_LABEL].iter().zip(removed).filter(|(_, removed)| *removed) {
        let labels = object["metadata"]["labels"].as_object_mut().unwrap();
        if replaced {
            labels.insert((*label).to_owned(), json!("else"))
        } else {
            labels.remove(*label)
        };
    }
    if removed[2] {
        object["metadata"]["ownerReferences"] = if replaced { json!([{ "uid": "else" }]) } else { Value::Null };
    }
    object
}

proptest! {
    #[test]
    fn exactly_the_marks_that_were_removed_are_named(removed in any::<[bool; 3]>(), replaced in any::<bool>()) {
        let desired = child();
        // Labels and references that others add are no marks.
        let mut answer = without(&desired.object, removed, replaced);
        answer["metadata"]["labels"]["team"] = json!("a");
        answer["metadata"]["uid"] = json!("1");
        let refusal = marks_removed(&desired.child, &desired.object, &answer);
        prop_assert_eq!(refusal.is_some(), removed.contains(&true));
        for (field, removed) in FIELDS.iter().zip(removed) {
            prop_assert_eq!(refusal.as_ref().is_some_and(|refusal| refusal.message.contains(field)), removed, "{}", field);
        }
    }
}
