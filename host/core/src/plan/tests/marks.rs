use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::queue::{RECHECK, Time};

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
    Desired { child, object: object.as_object().unwrap().clone(), digest: "digest".to_owned() }
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

    /// With any times of attempts, and plugins that change their mind.
    #[test]
    fn a_child_without_marks_is_written_rarely_unless_another_one_is_desired(
        attempts in proptest::collection::vec((0_u64..400, any::<bool>()), 1..50),
    ) {
        let (mut unmarked, mut now, mut desired) = (UnmarkedChildren::default(), Time::default(), child());
        let mut last_write: Option<(Time, String)> = None;
        for (seconds, is_changed) in attempts {
            now = now + std::time::Duration::from_secs(seconds);
            if is_changed {
                desired.digest.push('+');
            }
            let is_new = last_write.as_ref().is_none_or(|(_, digest)| *digest != desired.digest);
            let is_due = last_write.as_ref().is_none_or(|(at, _)| now.saturating_since(*at) >= RECHECK);
            match unmarked.held(&desired, now) {
                None => {
                    prop_assert!(is_new || is_due);
                    let answer = without(&desired.object, [false, false, true], false);
                    let refusal = marks_removed(&desired.child, &desired.object, &answer).unwrap();
                    prop_assert_eq!(unmarked.record(&desired, refusal, now), RECHECK);
                    last_write = Some((now, desired.digest.clone()));
                }
                Some((wait, refusal)) => {
                    prop_assert!(!is_new && !is_due && refusal.reason == RefusalReason::MarksRemoved);
                    prop_assert!(unmarked.held(&desired, now + wait).is_none(), "it is written when it is due");
                }
            }
        }
    }
}
