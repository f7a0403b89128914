//! Converts the managed fields of a POST to those of a server-side apply.
//!
//! A POST leaves an `Update` in `metadata.managedFields`, which would conflict with applies by the
//! same manager and keep removed fields. So before the first apply it becomes an `Apply`, as in
//! `k8s.io/client-go/util/csaupgrade`, and the next apply gives up the defaulted fields.

use serde_json::{Map, Value};

/// The member of a field set for the field itself (`FieldsV1` in `k8s.io/apimachinery`).
const ITSELF: &str = ".";

/// The entries with `manager`'s updates as an apply, or `None` if it has no update. As in
/// `csaupgrade`, updates for another version than the kept entry's are dropped: their paths may
/// differ.
pub fn as_applied(entries: &[Value], manager: &str) -> Option<Vec<Value>> {
    let is_by = |entry: &Value, operation: &str| is_entry(entry, manager, operation);
    let updated: Vec<&Value> = entries.iter().filter(|entry| is_by(entry, "Update")).collect();
    // The API server lists the newest update first.
    let newest = *updated.first()?;
    let applied = entries.iter().find(|entry| is_by(entry, "Apply"));
    let kept = applied.unwrap_or(newest);
    let version = kept.get("apiVersion");
    let same_version = updated.iter().filter(|entry| entry.get("apiVersion") == version);
    let fields = same_version.fold(fields_of(kept), |fields, entry| union(&fields, &fields_of(entry)));
    let mut result = Vec::with_capacity(entries.len());
    for entry in entries {
        if std::ptr::eq(entry, kept) {
            let mut entry = entry.clone();
            if let Some(entry) = entry.as_object_mut() {
                entry.insert("operation".to_owned(), Value::from("Apply"));
                entry.insert("fieldsV1".to_owned(), Value::Object(fields.clone()));
            }
            result.push(entry);
        } else if !is_by(entry, "Update") {
            result.push(entry.clone());
        }
    }
    Some(result)
}

fn is_entry(entry: &Value, manager: &str, operation: &str) -> bool {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    text("manager") == manager && text("operation") == operation && text("subresource").is_empty()
}

fn fields_of(entry: &Value) -> Map<String, Value> {
    entry.get("fieldsV1").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The fields of either set. An empty set stands for the field itself.
fn union(left: &Map<String, Value>, right: &Map<String, Value>) -> Map<String, Value> {
    let mut all = left.clone();
    for (place, below) in right {
        let both = match (all.get(place).and_then(Value::as_object), below.as_object()) {
            (Some(left), Some(right)) if left.is_empty() != right.is_empty() => {
                let mut both = union(left, right);
                both.insert(ITSELF.to_owned(), Value::Object(Map::new()));
                both
            }
            (Some(left), Some(right)) => union(left, right),
            (None, Some(right)) => right.clone(),
            (_, None) => Map::new(),
        };
        all.insert(place.clone(), Value::Object(both));
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const MINE: &str = "gyre/it";

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields })
    }

    fn check(entries: &[Value], expected: Option<&[Value]>) {
        assert_eq!(as_applied(entries, MINE).as_deref(), expected, "{entries:?}");
    }

    #[test]
    fn an_update_becomes_an_apply() {
        let fields = json!({ "f:data": { ".": {}, "f:a": {} } });
        check(&[entry(MINE, "Update", fields.clone())], Some(&[entry(MINE, "Apply", fields)]));
    }

    #[test]
    fn an_update_joins_the_apply_of_the_same_manager() {
        let (applied, updated) =
            (json!({ "f:data": { "f:a": {}, "f:b": {} } }), json!({ "f:data": { ".": {}, "f:b": { "f:c": {} } } }));
        let both = json!({ "f:data": { ".": {}, "f:a": {}, "f:b": { ".": {}, "f:c": {} } } });
        check(&[entry(MINE, "Apply", applied), entry(MINE, "Update", updated)], Some(&[entry(MINE, "Apply", both)]));
    }

    #[test]
    fn other_entries_stay() {
        let fields = json!({ "f:data": {} });
        let mut status = entry(MINE, "Update", json!({ "f:status": {} }));
        status["subresource"] = json!("status");
        let others = [entry("kubectl-edit", "Update", fields.clone()), entry("helm", "Apply", fields.clone()), status];
        check(&others, None);
        let mut entries = others.to_vec();
        entries.insert(1, entry(MINE, "Update", fields.clone()));
        let mut expected = others.to_vec();
        expected.insert(1, entry(MINE, "Apply", fields));
        check(&entries, Some(&expected));
    }

    #[test]
    fn of_updates_for_several_versions_the_newest_is_kept() {
        let fields = json!({ "f:data": {} });
        let mut old = entry(MINE, "Update", json!({ "f:former": {} }));
        old["apiVersion"] = json!("v1beta1");
        check(&[entry(MINE, "Update", fields.clone()), old], Some(&[entry(MINE, "Apply", fields)]));
    }

    #[test]
    fn malformed_entries_are_left_unchanged() {
        let rubbish = [json!(null), json!("text"), json!({ "manager": 7 }), json!({ "manager": MINE, "operation": "Apply" })];
        check(&rubbish, None);
        let without_fields = json!({ "manager": MINE, "operation": "Update" });
        let expected = json!({ "manager": MINE, "operation": "Apply", "fieldsV1": {} });
        check(&[without_fields], Some(&[expected]));
    }

    fn places(fields: &Map<String, Value>) -> std::collections::BTreeSet<String> {
        fn add(fields: &Map<String, Value>, path: &str, places: &mut std::collections::BTreeSet<String>) {
            if fields.is_empty() || fields.contains_key(ITSELF) {
                places.insert(path.to_owned());
            }
            for (place, below) in fields.iter().filter(|(place, _)| *place != ITSELF) {
                add(below.as_object().expect("an object"), &format!("{path}/{place}"), places);
            }
        }
        let mut all = std::collections::BTreeSet::new();
        for (place, below) in fields {
            add(below.as_object().expect("an object"), place, &mut all);
        }
        all
    }

    fn field_set() -> impl Strategy<Value = Map<String, Value>> {
        let leaf = Just(Map::new());
        leaf.prop_recursive(3, 12, 3, |inner| {
            let members = proptest::collection::btree_map("f:[abc]", inner.prop_map(Value::Object), 1..3);
            (members, any::<bool>()).prop_map(|(members, itself)| {
                let mut set: Map<String, Value> = members.into_iter().collect();
                if itself {
                    set.insert(ITSELF.to_owned(), json!({}));
                }
                set
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_union_has_the_places_of_both(left in field_set(), right in field_set()) {
            let left: Map<String, Value> = [("f:x".to_owned(), Value::Object(left))].into_iter().collect();
            let right: Map<String, Value> = [("f:x".to_owned(), Value::Object(right))].into_iter().collect();
            let both = union(&left, &right);
            prop_assert_eq!(places(&both), places(&left).union(&places(&right)).cloned().collect());
            prop_assert_eq!(&union(&right, &left), &both);
            prop_assert_eq!(&union(&both, &left), &both);
        }

        #[test]
        fn converted_entries_are_not_converted_again(
            mine in field_set(),
            applied in proptest::option::of(field_set()),
            other in field_set(),
        ) {
            let mut entries = vec![entry("other", "Update", json!(other)), entry(MINE, "Update", json!(mine))];
            entries.extend(applied.map(|applied| entry(MINE, "Apply", json!(applied))));
            let turned = as_applied(&entries, MINE).expect("an update");
            prop_assert_eq!(turned.len(), 2);
            prop_assert_eq!(as_applied(&turned, MINE), None);
        }
    }
}
