//! Server-side apply: ownership and conflicts.

use serde_json::{Value, json};

use crate::suite::objects::{A, any, config_map, data, deployment, widget_crd};
use crate::suite::probe::{JSON_PATCH, MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    applying_an_absent_object_creates_it_and_records_the_manager,
    applying_again_changes_nothing_not_even_the_resource_version,
    applying_other_content_updates_it,
    a_field_that_is_no_longer_applied_is_removed,
    a_field_that_another_manager_owns_too_survives_when_one_stops_applying_it,
    applying_the_value_that_another_manager_owns_shares_the_ownership,
    applying_another_value_than_the_owner_conflicts_and_names_the_owner,
    a_conflict_names_every_owner_of_the_field,
    a_conflict_with_an_update_names_its_manager_and_version,
    several_conflicts_are_listed_in_the_order_of_their_managers,
    force_takes_the_field_from_its_owner,
    a_forced_apply_of_an_equal_value_shares_the_ownership,
    an_update_takes_changed_fields_from_an_applier,
    an_update_that_changes_nothing_leaves_the_owners_alone,
    an_updater_that_removes_a_field_takes_it_out_of_the_appliers_set,
    two_updates_of_one_manager_are_merged_into_one_entry,
    a_create_names_the_manager_of_its_field_manager_parameter,
    a_create_without_field_manager_names_the_user_agents_first_part,
    an_update_and_an_apply_of_one_manager_are_two_entries,
    a_merge_patch_owns_what_it_changed,
    apply_without_a_field_manager_is_refused,
    apply_with_an_invalid_field_manager_is_refused,
    force_on_another_patch_than_apply_is_refused,
    an_applied_object_may_not_carry_managed_fields,
    managed_fields_can_be_cleared_with_one_empty_entry,
    managed_fields_can_be_cleared_with_an_empty_list,
    invalid_managed_fields_in_an_update_are_ignored_but_undecodable_fields_reset_them,
    apply_with_the_right_resource_version_succeeds,
    apply_with_a_stale_resource_version_conflicts,
    a_resource_version_in_an_apply_of_an_absent_object_is_ignored,
    apply_with_a_uid_of_an_object_that_is_not_there_conflicts,
    apply_with_another_uid_is_refused_since_a_uid_is_immutable,
    apply_without_kind_or_version_is_refused,
    apply_of_another_kind_or_name_than_the_url_is_refused,
    apply_takes_yaml,
    apply_of_rubbish_is_refused,
    a_dry_run_of_an_apply_stores_nothing,
    apply_of_an_unknown_field_fails_whatever_the_field_validation,
    an_applied_value_of_the_wrong_type_is_refused,
    an_applied_null_is_not_a_field,
    apply_of_labels_and_annotations_owns_each_key,
    ownership_of_replicas_moves_when_scale_is_applied,
    a_status_that_is_applied_is_owned_under_its_subresource,
    apply_to_the_main_resource_ignores_the_status,
    an_object_created_without_manager_gets_before_first_apply_when_it_has_no_managed_fields,
    the_oldest_updates_become_ancient_changes_after_ten_managers,
    apply_bumps_the_generation_only_when_the_spec_changes,
}

fn keys(names: &[&str]) -> Value {
    let keys: serde_json::Map<String, Value> = names.iter().map(|name| (format!("f:{name}"), json!({}))).collect();
    json!({ "f:data": keys })
}

async fn applying_an_absent_object_creates_it_and_records_the_manager(server: &Probe) {
    let answer = server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    assert_eq!(answer.owned("one", "Apply"), &keys(&["k"]));
    server.get(A).expect(200).await;
}

async fn applying_again_changes_nothing_not_even_the_resource_version(server: &Probe) {
    let first = server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let second = server.apply(A, "one", data(json!({"k": "v"}))).expect(200).await;
    assert_eq!(first.body, second.body);
}

async fn applying_other_content_updates_it(server: &Probe) {
    let first = server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let second = server.apply(A, "one", data(json!({"k": "w", "l": "x"}))).expect(200).await;
    assert_ne!(first.version(), second.version());
    assert_eq!(second["data"], json!({"k": "w", "l": "x"}));
    assert_eq!(second.owned("one", "Apply"), &keys(&["k", "l"]));
}

async fn a_field_that_is_no_longer_applied_is_removed(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v", "l": "w"}))).expect(201).await;
    let answer = server.apply(A, "one", data(json!({"l": "w"}))).expect(200).await;
    assert_eq!(answer["data"], json!({"l": "w"}));
    let answer = server.apply(A, "one", json!({"apiVersion": "v1", "kind": "ConfigMap"})).expect(200).await;
    assert_eq!(answer.at("/data/l"), &Value::Null);
}

async fn a_field_that_another_manager_owns_too_survives_when_one_stops_applying_it(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    server.apply(A, "two", data(json!({"k": "v", "l": "w"}))).expect(200).await;
    let answer = server.apply(A, "two", data(json!({"l": "w"}))).expect(200).await;
    assert_eq!(answer["data"], json!({"k": "v", "l": "w"}));
    let answer = server.apply(A, "one", data(json!({}))).expect(200).await;
    assert_eq!(answer["data"], json!({"l": "w"}));
}

async fn applying_the_value_that_another_manager_owns_shares_the_ownership(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let answer = server.apply(A, "two", data(json!({"k": "v"}))).expect(200).await;
    assert_eq!((answer.owned("one", "Apply"), answer.owned("two", "Apply")), (&keys(&["k"]), &keys(&["k"])));
}

async fn applying_another_value_than_the_owner_conflicts_and_names_the_owner(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let answer = server.apply(A, "two", data(json!({"k": "w"}))).expect(409).await;
    assert_eq!(answer.message(), "Apply failed with 1 conflict: conflict with \"one\": .data.k");
    assert_eq!(answer.str("/details/causes/0/reason"), "FieldManagerConflict");
    assert_eq!(server.get(A).expect(200).await["data"], json!({"k": "v"}));
}

async fn a_conflict_names_every_owner_of_the_field(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    server.apply(A, "two", data(json!({"k": "v"}))).expect(200).await;
    let answer = server.apply(A, "three", data(json!({"k": "w"}))).expect(409).await;
    assert_eq!(answer["details"]["causes"].as_array().unwrap().len(), 2);
    let message = "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.k\nconflicts with \"two\":\n- .data.k";
    assert_eq!(answer.message(), message);
}

async fn a_conflict_with_an_update_names_its_manager_and_version(server: &Probe) {
    server.post("v1/configmaps?fieldManager=creator").body(data(json!({"k": "v"}))).expect(201).await;
    let answer = server.apply(A, "one", data(json!({"k": "w"}))).expect(409).await;
    assert_eq!(answer.message(), "Apply failed with 1 conflict: conflict with \"creator\" using v1: .data.k");
}

async fn several_conflicts_are_listed_in_the_order_of_their_managers(server: &Probe) {
    server.apply(A, "zoe", data(json!({"a": "1", "b": "1"}))).expect(201).await;
    server.apply(A, "adam", data(json!({"c": "1"}))).expect(200).await;
    let answer = server.apply(A, "one", data(json!({"a": "2", "b": "2", "c": "2"}))).expect(409).await;
    assert!(
        answer.message().starts_with("Apply failed with 3 conflicts: conflicts with \"adam\":\n- .data.c"),
        "{}",
        answer.message()
    );
}

async fn force_takes_the_field_from_its_owner(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v", "l": "v"}))).expect(201).await;
    let answer = server.apply(A, "two", data(json!({"k": "w"}))).query("force=true").expect(200).await;
    assert_eq!(answer["data"], json!({"k": "w", "l": "v"}));
    assert_eq!((answer.owned("one", "Apply"), answer.owned("two", "Apply")), (&keys(&["l"]), &keys(&["k"])));
    // A field that was taken is not removed when its former owner stops applying it.
    let answer = server.apply(A, "one", data(json!({"l": "v"}))).expect(200).await;
    assert_eq!(answer["data"], json!({"k": "w", "l": "v"}));
}

async fn a_forced_apply_of_an_equal_value_shares_the_ownership(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let answer = server.apply(A, "two", data(json!({"k": "v"}))).query("force=true").expect(200).await;
    assert_eq!(answer.owned("one", "Apply"), answer.owned("two", "Apply"));
}

async fn an_update_takes_changed_fields_from_an_applier(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v", "l": "v"}))).expect(201).await;
    let answer = server.put(A).query("fieldManager=editor").body(data(json!({"k": "w", "l": "v"}))).expect(200).await;
    assert_eq!((answer.owned("one", "Apply"), answer.owned("editor", "Update")), (&keys(&["l"]), &keys(&["k"])));
    let answer = server.apply(A, "one", data(json!({"k": "v", "l": "v"}))).expect(409).await;
    assert!(answer.message().contains("conflict with \"editor\" using v1"));
}

async fn an_update_that_changes_nothing_leaves_the_owners_alone(server: &Probe) {
    let first = server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let second = server.put(A).query("fieldManager=editor").body(data(json!({"k": "v"}))).expect(200).await;
    assert_eq!(first.body, second.body);
}

async fn an_updater_that_removes_a_field_takes_it_out_of_the_appliers_set(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v", "l": "v"}))).expect(201).await;
    let answer = server.patch(A, JSON_PATCH, json!([{"op": "remove", "path": "/data/k"}])).expect(200).await;
    assert_eq!(answer.owned("one", "Apply"), &keys(&["l"]));
    let answer = server.apply(A, "one", data(json!({"k": "v", "l": "v"}))).expect(200).await;
    assert_eq!(answer["data"], json!({"k": "v", "l": "v"}));
}

async fn two_updates_of_one_manager_are_merged_into_one_entry(server: &Probe) {
    server.post("v1/configmaps?fieldManager=editor").body(data(json!({"k": "v"}))).expect(201).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"data": {"l": "w"}})).query("fieldManager=editor").expect(200).await;
    assert_eq!(answer["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    assert_eq!(answer.owned("editor", "Update"), &json!({"f:data": {".": {}, "f:k": {}, "f:l": {}}}));
}

async fn a_create_names_the_manager_of_its_field_manager_parameter(server: &Probe) {
    let answer = server.post("v1/configmaps?fieldManager=me").body(data(json!({"k": "v"}))).expect(201).await;
    assert_eq!(answer.owned("me", "Update"), &json!({"f:data": {".": {}, "f:k": {}}}));
}

async fn a_create_without_field_manager_names_the_user_agents_first_part(server: &Probe) {
    let request = server.post("v1/configmaps").header("user-agent", "tool/v1.2 (linux)");
    let answer = request.body(data(json!({"k": "v"}))).expect(201).await;
    assert_eq!(answer.str("/metadata/managedFields/0/manager"), "tool");
}

async fn an_update_and_an_apply_of_one_manager_are_two_entries(server: &Probe) {
    server.post("v1/configmaps?fieldManager=me").body(data(json!({"k": "v"}))).expect(201).await;
    let answer = server.apply(A, "me", data(json!({"k": "v"}))).expect(200).await;
    assert_eq!(answer["metadata"]["managedFields"].as_array().unwrap().len(), 2);
    assert_eq!(answer.owned("me", "Apply"), &keys(&["k"]));
    // Its own update conflicts with its apply, like anybody's would.
    server.apply(A, "me", data(json!({"k": "w"}))).expect(409).await;
}

async fn a_merge_patch_owns_what_it_changed(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let patch = json!({"data": {"k": "v", "l": "w"}, "metadata": {"labels": {"a": "b"}}});
    let answer = server.patch(A, MERGE_PATCH, patch).query("fieldManager=patcher").expect(200).await;
    let owned = json!({"f:data": {"f:l": {}}, "f:metadata": {"f:labels": {".": {}, "f:a": {}}}});
    assert_eq!(answer.owned("patcher", "Update"), &owned);
}

async fn apply_without_a_field_manager_is_refused(server: &Probe) {
    let request = server.patch(A, "application/apply-patch+yaml", data(json!({"k": "v"})));
    let answer = request.expect(422).await;
    assert!(answer.message().contains("fieldManager: Required value: is required for apply patch"));
    server.apply(A, "", data(json!({"k": "v"}))).expect(422).await;
}

async fn apply_with_an_invalid_field_manager_is_refused(server: &Probe) {
    let long = "m".repeat(129);
    server.apply(A, &long, data(json!({"k": "v"}))).expect(422).await;
    let answer = server.apply(A, "a\u{7}b", data(json!({"k": "v"}))).expect(422).await;
    assert!(answer.message().contains("invalid character U+0007 (at position 1)"));
}

async fn force_on_another_patch_than_apply_is_refused(server: &Probe) {
    server.create("v1/configmaps", data(json!({"k": "v"}))).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"data": {"k": "w"}})).query("force=true").expect(422).await;
    assert!(answer.message().contains("force: Forbidden: may not be specified for non-apply patch"));
}

async fn an_applied_object_may_not_carry_managed_fields(server: &Probe) {
    let first = server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let mut body = data(json!({"k": "w"}));
    body["metadata"]["managedFields"] = first["metadata"]["managedFields"].clone();
    let answer = server.apply(A, "one", body).expect(400).await;
    assert_eq!(answer.message(), "metadata.managedFields must be nil");
}

async fn managed_fields_can_be_cleared_with_one_empty_entry(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"metadata": {"managedFields": [{}]}})).expect(200).await;
    assert_eq!(answer.at("/metadata/managedFields"), &Value::Null);
    let answer = server.apply(A, "one", data(json!({"k": "v"}))).expect(200).await;
    assert_eq!(answer.owned("one", "Apply"), &keys(&["k"]));
}

async fn managed_fields_can_be_cleared_with_an_empty_list(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"metadata": {"managedFields": []}})).expect(200).await;
    assert_eq!(answer.at("/metadata/managedFields"), &Value::Null);
}

async fn invalid_managed_fields_in_an_update_are_ignored_but_undecodable_fields_reset_them(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    for (what, entry) in [
        (
            "operation",
            json!({"manager": "x", "operation": "Guess", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}),
        ),
        ("type", json!({"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "V0", "fieldsV1": {}})),
    ] {
        let answer = server.patch(A, MERGE_PATCH, json!({"metadata": {"managedFields": [entry]}})).expect(200).await;
        assert_eq!(answer.owned("one", "Apply"), &keys(&["k"]), "{what}");
    }
    let entry =
        json!({"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"x:y": {}}});
    let answer = server.patch(A, MERGE_PATCH, json!({"metadata": {"managedFields": [entry]}})).expect(200).await;
    assert_eq!(answer.owned("one", "Apply"), &Value::Null);
}

async fn apply_with_the_right_resource_version_succeeds(server: &Probe) {
    let first = server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let mut body = data(json!({"k": "w"}));
    body["metadata"]["resourceVersion"] = first.version().into();
    let answer = server.apply(A, "one", body).expect(200).await;
    assert_eq!(answer["data"], json!({"k": "w"}));
}

async fn apply_with_a_stale_resource_version_conflicts(server: &Probe) {
    let first = server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    server.apply(A, "one", data(json!({"k": "w"}))).expect(200).await;
    let mut body = data(json!({"k": "x"}));
    body["metadata"]["resourceVersion"] = first.version().into();
    let answer = server.apply(A, "one", body).expect(409).await;
    assert!(answer.message().contains("the object has been modified; please apply your changes to the latest version"));
}

async fn a_resource_version_in_an_apply_of_an_absent_object_is_ignored(server: &Probe) {
    server.install(widget_crd(any())).await;
    for (path, kind, version) in [
        (A, json!({"apiVersion": "v1", "kind": "ConfigMap"}), "1"),
        ("coordination.k8s.io/v1/leases/a", json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}), "1000000000"),
        ("{group}/v1/widgets/a", json!({"apiVersion": "{group}/v1", "kind": "Widget"}), "1"),
    ] {
        let mut body = kind;
        body["metadata"] = json!({"name": "a", "resourceVersion": version});
        let answer = server.apply(path, "one", body.clone()).expect(201).await;
        assert_ne!(answer.version(), version);
        server.apply(path, "one", body).expect(409).await;
    }
}

async fn apply_with_a_uid_of_an_object_that_is_not_there_conflicts(server: &Probe) {
    let mut body = data(json!({"k": "x"}));
    body["metadata"]["uid"] = "0f3b1c1e-0000-4000-8000-000000000001".into();
    let answer = server.apply(A, "one", body).expect(409).await;
    assert!(answer.message().contains("uid mismatch: the provided object specified uid"), "{}", answer.message());
}

async fn apply_with_another_uid_is_refused_since_a_uid_is_immutable(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let mut body = data(json!({"k": "x"}));
    body["metadata"]["uid"] = "0f3b1c1e-0000-4000-8000-000000000001".into();
    let answer = server.apply(A, "one", body).expect(422).await;
    assert!(answer.message().contains("metadata.uid: Invalid value"));
}

async fn apply_without_kind_or_version_is_refused(server: &Probe) {
    server.apply(A, "one", json!({"data": {"k": "v"}})).expect(400).await;
    server.apply(A, "one", json!({"apiVersion": "v1", "data": {"k": "v"}})).expect(400).await;
    let answer = server.apply(A, "one", json!({"kind": "ConfigMap", "data": {"k": "v"}})).expect(400).await;
    assert_eq!(answer.reason(), "BadRequest");
}

async fn apply_of_another_kind_or_name_than_the_url_is_refused(server: &Probe) {
    let mut other = data(json!({}));
    other["kind"] = "Secret".into();
    server.apply(A, "one", other).expect(400).await;
    let answer = server.apply(A, "one", config_map("b", json!({}))).expect(400).await;
    assert!(answer.message().contains("does not match the name on the URL"), "{}", answer.message());
    let mut elsewhere = data(json!({}));
    elsewhere["metadata"]["namespace"] = "default".into();
    server.apply(A, "one", elsewhere).expect(400).await;
}

async fn apply_takes_yaml(server: &Probe) {
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  text: |\n    one\n    two\n  also: \"no\"\n";
    let request = server.request("PATCH", A).header("content-type", "application/apply-patch+yaml");
    let answer = request.query("fieldManager=one").text(yaml).expect(201).await;
    assert_eq!(answer["data"], json!({"text": "one\ntwo\n", "also": "no"}));
}

async fn apply_of_rubbish_is_refused(server: &Probe) {
    for text in ["{", "[]", "just a text", "a: b: c"] {
        let request = server.request("PATCH", A).header("content-type", "application/apply-patch+yaml");
        let answer = request.query("fieldManager=one").text(text).unrecorded().expect(400).await;
        server.record_value(text, &json!([answer.status, answer["reason"]]));
    }
}

async fn a_dry_run_of_an_apply_stores_nothing(server: &Probe) {
    server.apply(A, "one", data(json!({"k": "v"}))).query("dryRun=All").expect(201).await;
    server.get(A).expect(404).await;
    let first = server.apply(A, "one", data(json!({"k": "v"}))).expect(201).await;
    let dry = server.apply(A, "one", data(json!({"k": "w"}))).query("dryRun=All").expect(200).await;
    assert_eq!((dry.version(), dry["data"]["k"].as_str()), (first.version(), Some("w")));
    assert_eq!(server.get(A).expect(200).await.body, first.body);
}

async fn apply_of_an_unknown_field_fails_whatever_the_field_validation(server: &Probe) {
    let mut body = deployment("a");
    body["spec"]["strange"] = 1.into();
    let path = "apps/v1/deployments/a";
    // The merge needs the schema of all fields, and the built-in kind has no such field.
    for validation in ["Strict", "Warn", "Ignore"] {
        let answer = server.apply(path, "one", body.clone()).query(&format!("fieldValidation={validation}")).expect(500).await;
        assert!(answer.message().ends_with(".spec.strange: field not declared in schema"), "{}", answer.message());
    }
}

async fn an_applied_value_of_the_wrong_type_is_refused(server: &Probe) {
    for (pointer, value) in [
        ("/spec/replicas", json!("two")),
        ("/spec/replicas", json!({})),
        ("/spec/paused", json!("yes")),
        ("/spec/selector/matchLabels", json!(["app"])),
        ("/spec/template/spec/containers", json!({"name": "main"})),
        ("/spec/template/spec/containers/0/image", json!(1)),
    ] {
        let mut body = deployment("a");
        body["spec"]["paused"] = false.into();
        body["spec"]["replicas"] = 1.into();
        *body.pointer_mut(pointer).unwrap() = value;
        server.apply("apps/v1/deployments/a", "one", body).expect(500).await;
    }
}

async fn an_applied_null_is_not_a_field(server: &Probe) {
    let mut body = deployment("a");
    body["spec"]["paused"] = Value::Null;
    body["metadata"]["labels"] = Value::Null;
    let answer = server.apply("apps/v1/deployments/a", "one", body).expect(201).await;
    server.record_value("owned", answer.owned("one", "Apply"));
}

async fn apply_of_labels_and_annotations_owns_each_key(server: &Probe) {
    let with = |key: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {key: "1"}, "annotations": {key: "1"}}});
    server.apply(A, "one", with("x")).expect(201).await;
    let answer = server.apply(A, "two", with("y")).expect(200).await;
    assert_eq!(answer["metadata"]["labels"], json!({"x": "1", "y": "1"}));
    let answer = server.apply(A, "one", json!({"apiVersion": "v1", "kind": "ConfigMap"})).expect(200).await;
    assert_eq!(answer["metadata"]["annotations"], json!({"y": "1"}));
}

async fn ownership_of_replicas_moves_when_scale_is_applied(server: &Probe) {
    let mut body = deployment("a");
    body["spec"]["replicas"] = 2.into();
    server.apply("apps/v1/deployments/a", "one", body.clone()).expect(201).await;
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}});
    server.apply("apps/v1/deployments/a/scale", "scaler", scale.clone()).expect(409).await;
    server.apply("apps/v1/deployments/a/scale", "scaler", scale).query("force=true").expect(200).await;
    let answer = server.get("apps/v1/deployments/a").expect(200).await;
    assert_eq!(answer.owned("scaler", "Apply"), &json!({"f:spec": {"f:replicas": {}}}));
    server.apply("apps/v1/deployments/a", "one", body).expect(409).await;
}

async fn a_status_that_is_applied_is_owned_under_its_subresource(server: &Probe) {
    server.apply("apps/v1/deployments/a", "one", deployment("a")).expect(201).await;
    let status = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "status": {
        "observedGeneration": 1,
        "conditions": [{"type": "Available", "status": "True", "reason": "R", "message": "m"}],
    }});
    let answer = server.apply("apps/v1/deployments/a/status", "one", status).expect(200).await;
    let entries = answer["metadata"]["managedFields"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["subresource"] == "status" && entry["manager"] == "one"), "{entries:#?}");
    // The two entries of one manager do not remove each other's fields.
    let answer = server.apply("apps/v1/deployments/a", "one", deployment("a")).expect(200).await;
    assert_eq!(answer.str("/status/conditions/0/type"), "Available");
}

async fn apply_to_the_main_resource_ignores_the_status(server: &Probe) {
    let mut body = deployment("a");
    body["status"] = json!({"replicas": 7});
    let answer = server.apply("apps/v1/deployments/a", "one", body).expect(201).await;
    assert_eq!(answer.at("/status/replicas"), &Value::Null);
    assert_eq!(answer.owned("one", "Apply").pointer("/f:status"), None);
}

async fn an_object_created_without_manager_gets_before_first_apply_when_it_has_no_managed_fields(server: &Probe) {
    server.create("v1/configmaps", data(json!({"k": "v"}))).await;
    server.patch(A, MERGE_PATCH, json!({"metadata": {"managedFields": [{}]}})).expect(200).await;
    let answer = server.apply(A, "one", data(json!({"l": "w"}))).expect(200).await;
    assert_eq!(answer.owned("before-first-apply", "Update").pointer("/f:data/f:k"), Some(&json!({})));
    assert_eq!(answer["data"], json!({"k": "v", "l": "w"}));
}

async fn the_oldest_updates_become_ancient_changes_after_ten_managers(server: &Probe) {
    server.post("v1/configmaps?fieldManager=m00").body(data(json!({"k00": "v"}))).expect(201).await;
    for index in 1..12 {
        let patch = json!({"data": {format!("k{index:02}"): "v"}});
        server.patch(A, MERGE_PATCH, patch).query(&format!("fieldManager=m{index:02}")).unrecorded().expect(200).await;
    }
    let answer = server.get(A).expect(200).await;
    let owned = answer.owned("ancient-changes", "Update");
    assert_eq!(owned.pointer("/f:data/f:k00"), Some(&json!({})), "{owned:#}");
    assert_eq!(answer["metadata"]["managedFields"].as_array().unwrap().len(), 10);
}

async fn apply_bumps_the_generation_only_when_the_spec_changes(server: &Probe) {
    let path = "apps/v1/deployments/a";
    server.apply(path, "one", deployment("a")).expect(201).await;
    let mut body = deployment("a");
    body["metadata"]["labels"] = json!({"x": "y"});
    let answer = server.apply(path, "one", body.clone()).expect(200).await;
    assert_eq!(answer["metadata"]["generation"], 1);
    body["spec"]["replicas"] = 5.into();
    let answer = server.apply(path, "one", body).expect(200).await;
    assert_eq!(answer["metadata"]["generation"], 2);
}
