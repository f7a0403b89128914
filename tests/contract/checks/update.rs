//! Updating objects: optimistic concurrency, generations, immutable fields.

use serde_json::{Value, json};

use crate::suite::objects::{A, any, config_map, deployment, job, pod, widget, widget_crd, widget_crd_with_status};
use crate::suite::probe::{MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    an_update_replaces_the_whole_object,
    an_update_with_a_stale_resource_version_conflicts,
    an_update_without_resource_version_overwrites,
    an_update_that_changes_nothing_keeps_the_resource_version,
    an_update_of_what_is_not_there_is_not_found,
    an_update_of_what_is_not_there_creates_a_lease_but_no_config_map,
    an_update_of_what_is_not_there_with_a_resource_version,
    an_update_with_another_uid_conflicts,
    an_update_must_be_of_the_name_in_the_path,
    an_update_keeps_what_only_the_server_sets,
    an_update_with_an_invalid_resource_version_fails,
    a_change_of_the_spec_bumps_the_generation,
    a_change_of_metadata_leaves_the_generation,
    a_custom_resource_without_status_subresource_bumps_the_generation_for_any_change,
    a_custom_resource_with_status_subresource_bumps_the_generation_for_its_spec,
    a_deletion_with_finalizers_bumps_the_generation,
    the_template_of_a_job_is_immutable,
    the_selector_of_a_deployment_is_immutable,
    an_immutable_config_map_stays_as_it_is,
    the_type_of_a_secret_is_immutable,
    the_cluster_ip_of_a_service_is_immutable,
    the_spec_of_a_pod_is_immutable_but_for_the_image,
    the_role_of_a_binding_is_immutable,
    the_claim_templates_of_a_stateful_set_are_immutable,
    an_update_of_a_custom_resource_needs_a_resource_version,
    a_dry_run_of_an_update_stores_nothing,
    updates_of_labels_and_annotations_are_validated,
}

async fn an_update_replaces_the_whole_object(server: &Probe) {
    let mut body = config_map("a", json!({"k": "v"}));
    body["metadata"]["labels"] = json!({"x": "y"});
    server.create("v1/configmaps", body).await;
    let answer = server.put(A).body(config_map("a", json!({"l": "w"}))).expect(200).await;
    assert_eq!((&answer["data"], answer.at("/metadata/labels")), (&json!({"l": "w"}), &Value::Null));
}

async fn an_update_with_a_stale_resource_version_conflicts(server: &Probe) {
    let mut first = server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await.body;
    server.put(A).body(config_map("a", json!({"k": "w"}))).expect(200).await;
    first["data"]["k"] = "x".into();
    let answer = server.put(A).body(first).expect(409).await;
    let expected = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; \
                    please apply your changes to the latest version and try again";
    assert_eq!((answer.reason(), answer.message()), ("Conflict", expected));
}

async fn an_update_without_resource_version_overwrites(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await;
    server.put(A).body(config_map("a", json!({"k": "w"}))).expect(200).await;
    let answer = server.put(A).body(config_map("a", json!({"k": "x"}))).expect(200).await;
    assert_eq!(answer["data"]["k"], "x");
}

async fn an_update_that_changes_nothing_keeps_the_resource_version(server: &Probe) {
    let first = server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await;
    let second = server.put(A).body(first.body.clone()).expect(200).await;
    assert_eq!(first.body, second.body);
}

async fn an_update_of_what_is_not_there_is_not_found(server: &Probe) {
    let answer = server.put(A).body(config_map("a", json!({}))).expect(404).await;
    assert_eq!(answer.message(), "configmaps \"a\" not found");
    let answer = server.put("apps/v1/deployments/a").body(deployment("a")).expect(404).await;
    assert_eq!(answer.str("/details/group"), "apps");
}

async fn an_update_of_what_is_not_there_creates_a_lease_but_no_config_map(server: &Probe) {
    let body = json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "h"}});
    let answer = server.put("coordination.k8s.io/v1/leases/a").body(body).expect(201).await;
    assert_eq!(answer.str("/spec/holderIdentity"), "h");
    let mut body = config_map("a", json!({}));
    body["metadata"]["resourceVersion"] = "5".into();
    server.put(A).body(body).expect(404).await;
}

async fn an_update_of_what_is_not_there_with_a_resource_version(server: &Probe) {
    for (list, version, kind, created) in [
        ("coordination.k8s.io/v1/leases", "coordination.k8s.io/v1", "Lease", true),
        ("rbac.authorization.k8s.io/v1/roles", "rbac.authorization.k8s.io/v1", "Role", true),
        ("v1/configmaps", "v1", "ConfigMap", false),
    ] {
        let uid = "0f3b1c1e-0000-4000-8000-000000000001";
        let put = |query: &str, metadata: Value| {
            let path = format!("{list}/{}", metadata["name"].as_str().unwrap());
            let body = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
            server.put(&path).query(query).body(body)
        };
        let or_404 = |code: u16| if created { code } else { 404 };
        put("", json!({"name": "a", "resourceVersion": "1"})).expect(or_404(201)).await;
        put("dryRun=All", json!({"name": "b", "resourceVersion": "1"})).expect(or_404(201)).await;
        put("", json!({"name": "b", "resourceVersion": "x"})).expect(or_404(500)).await;
        put("", json!({"name": "b", "resourceVersion": "0", "uid": uid})).send().await;
        put("", json!({"name": "b", "resourceVersion": "x", "uid": uid})).send().await;
        server.get(&format!("{list}/a")).expect(or_404(200)).await;
        server.get(&format!("{list}/b")).expect(404).await;
        // What is there has a version that must be that which is given.
        put("", json!({"name": "a", "resourceVersion": "1"})).expect(or_404(409)).await;
        put("", json!({"name": "a", "resourceVersion": "x"})).expect(or_404(500)).await;
    }
}

async fn an_update_with_another_uid_conflicts(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    let mut body = config_map("a", json!({"k": "v"}));
    body["metadata"]["uid"] = "0f3b1c1e-0000-4000-8000-000000000001".into();
    let answer = server.put(A).body(body).expect(409).await;
    assert!(answer.message().contains("Precondition failed: UID in precondition"), "{}", answer.message());
}

async fn an_update_must_be_of_the_name_in_the_path(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    let answer = server.put(A).body(config_map("b", json!({}))).expect(400).await;
    assert_eq!(answer.message(), "the name of the object (b) does not match the name on the URL (a)");
    server.put(A).body(json!({"data": {"k": "v"}})).expect(400).await;
    let mut body = config_map("a", json!({}));
    body["metadata"]["namespace"] = "default".into();
    server.put(A).body(body).expect(400).await;
}

async fn an_update_keeps_what_only_the_server_sets(server: &Probe) {
    let first = server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await;
    let mut body = config_map("a", json!({"k": "w"}));
    body["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
    let answer = server.put(A).body(body.clone()).expect(200).await;
    assert_eq!(answer.at("/metadata/creationTimestamp"), first.at("/metadata/creationTimestamp"));
    assert_eq!((answer.uid(), answer.at("/metadata/deletionTimestamp")), (first.uid(), &Value::Null));
    body["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z".into();
    let answer = server.put(A).body(body).expect(422).await;
    assert!(answer.message().contains("metadata.deletionTimestamp: Invalid value"), "{}", answer.message());
}

async fn an_update_with_an_invalid_resource_version_fails(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    let mut body = config_map("a", json!({"k": "v"}));
    body["metadata"]["resourceVersion"] = "x".into();
    let answer = server.put(A).body(body).expect(500).await;
    assert_eq!(answer.message(), "strconv.ParseUint: parsing \"x\": invalid syntax");
}

async fn a_change_of_the_spec_bumps_the_generation(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    let patch = json!({"spec": {"replicas": 2}});
    let answer = server.patch("apps/v1/deployments/a", MERGE_PATCH, patch.clone()).expect(200).await;
    assert_eq!(answer.at("/metadata/generation"), 2);
    let answer = server.patch("apps/v1/deployments/a", MERGE_PATCH, patch).expect(200).await;
    assert_eq!(answer.at("/metadata/generation"), 2);
    server.create("batch/v1/jobs", job("a")).await;
    let answer = server.patch("batch/v1/jobs/a", MERGE_PATCH, json!({"spec": {"suspend": true}})).expect(200).await;
    assert_eq!(answer.at("/metadata/generation"), 2);
}

async fn a_change_of_metadata_leaves_the_generation(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    let patch = json!({"metadata": {"labels": {"x": "y"}}});
    let answer = server.patch("apps/v1/deployments/a", MERGE_PATCH, patch).expect(200).await;
    assert_eq!(answer.at("/metadata/generation"), 1);
    let patch = json!({"metadata": {"annotations": {"x": "y"}}});
    let answer = server.patch("apps/v1/deployments/a", MERGE_PATCH, patch).expect(200).await;
    server.record_value("annotations count for a Deployment", answer.at("/metadata/generation"));
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"data": {"k": "v"}})).expect(200).await;
    assert_eq!(answer.at("/metadata/generation"), &Value::Null);
}

async fn a_custom_resource_without_status_subresource_bumps_the_generation_for_any_change(server: &Probe) {
    let mut crd = widget_crd(any());
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] = any();
    server.install(crd).await;
    let path = "{group}/v1/widgets/a";
    server.create("{group}/v1/widgets", widget("a", json!({}))).await;
    let answer = server.patch(path, MERGE_PATCH, json!({"status": {"x": 1}})).expect(200).await;
    assert_eq!((answer.at("/metadata/generation"), answer.at("/status/x")), (&json!(2), &json!(1)));
    let answer = server.patch(path, MERGE_PATCH, json!({"metadata": {"labels": {"x": "y"}}})).expect(200).await;
    assert_eq!(answer.at("/metadata/generation"), 2);
    server.get("{group}/v1/widgets/a/status").expect(404).await;
}

async fn a_custom_resource_with_status_subresource_bumps_the_generation_for_its_spec(server: &Probe) {
    server.install(widget_crd_with_status(any())).await;
    let path = "{group}/v1/widgets/a";
    server.create("{group}/v1/widgets", widget("a", json!({}))).await;
    let answer = server.patch(path, MERGE_PATCH, json!({"status": {"x": 1}})).expect(200).await;
    assert_eq!((answer.at("/metadata/generation"), answer.at("/status")), (&json!(1), &Value::Null));
    let answer =
        server.patch(&format!("{path}/status"), MERGE_PATCH, json!({"status": {"x": 1}, "spec": {"y": 1}})).expect(200).await;
    assert_eq!((answer.at("/metadata/generation"), answer.at("/spec/y")), (&json!(1), &Value::Null));
    let answer = server.patch(path, MERGE_PATCH, json!({"spec": {"y": 1}})).expect(200).await;
    assert_eq!(answer.at("/metadata/generation"), 2);
}

async fn a_deletion_with_finalizers_bumps_the_generation(server: &Probe) {
    let mut body = deployment("a");
    body["metadata"]["finalizers"] = json!(["x.test/hold"]);
    server.create("apps/v1/deployments", body).await;
    let answer = server.delete("apps/v1/deployments/a").expect(200).await;
    assert_eq!(answer.at("/metadata/generation"), 2);
}

async fn the_template_of_a_job_is_immutable(server: &Probe) {
    server.create("batch/v1/jobs", job("a")).await;
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "other"}]}}}});
    let answer = server.patch("batch/v1/jobs/a", MERGE_PATCH, patch).expect(422).await;
    assert!(answer.message().ends_with("field is immutable"), "{}", answer.message());
    server.patch("batch/v1/jobs/a", MERGE_PATCH, json!({"spec": {"completions": 5}})).expect(422).await;
    server.patch("batch/v1/jobs/a", MERGE_PATCH, json!({"spec": {"parallelism": 5}})).expect(200).await;
}

async fn the_selector_of_a_deployment_is_immutable(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    let mut body = deployment("a");
    body["spec"]["selector"]["matchLabels"] = json!({"app": "b"});
    body["spec"]["template"]["metadata"]["labels"] = json!({"app": "b"});
    let answer = server.put("apps/v1/deployments/a").body(body).expect(422).await;
    assert!(answer.message().ends_with("field is immutable"), "{}", answer.message());
}

async fn an_immutable_config_map_stays_as_it_is(server: &Probe) {
    let mut body = config_map("a", json!({"k": "v"}));
    body["immutable"] = true.into();
    server.create("v1/configmaps", body).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"data": {"k": "w"}})).expect(422).await;
    assert!(answer.message().contains("data: Forbidden: field is immutable when `immutable` is set"), "{}", answer.message());
    server.patch(A, MERGE_PATCH, json!({"immutable": false})).expect(422).await;
    server.patch(A, MERGE_PATCH, json!({"metadata": {"labels": {"x": "y"}}})).expect(200).await;
}

async fn the_type_of_a_secret_is_immutable(server: &Probe) {
    server.create("v1/secrets", json!({"metadata": {"name": "a"}})).await;
    let answer = server.patch("v1/secrets/a", MERGE_PATCH, json!({"type": "other"})).expect(422).await;
    assert!(answer.message().contains("type: Invalid value: \"other\": field is immutable"), "{}", answer.message());
}

async fn the_cluster_ip_of_a_service_is_immutable(server: &Probe) {
    server.create("v1/services", json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})).await;
    let patch = json!({"spec": {"clusterIP": "None", "clusterIPs": ["None"]}});
    let answer = server.patch("v1/services/a", MERGE_PATCH, patch).expect(422).await;
    assert!(answer.message().contains("may not change once set"), "{}", answer.message());
    // An update that leaves it out keeps it.
    let body = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 81}]}});
    assert_eq!(server.put("v1/services/a").body(body).expect(200).await.at("/spec/ports/0/port"), 81);
}

async fn the_spec_of_a_pod_is_immutable_but_for_the_image(server: &Probe) {
    server.create("v1/pods", pod("a")).await;
    let answer = server
        .patch(
            "v1/pods/a",
            "application/strategic-merge-patch+json",
            json!({"spec": {"containers": [{"name": "main", "image": "other"}]}}),
        )
        .expect(200)
        .await;
    assert_eq!(answer.str("/spec/containers/0/image"), "other");
    let answer = server.patch("v1/pods/a", MERGE_PATCH, json!({"spec": {"hostNetwork": true}})).unrecorded().expect(422).await;
    assert!(answer.message().contains("pod updates may not change fields other than"), "{}", answer.message());
    server.record_value("reason", &answer["reason"]);
}

async fn the_role_of_a_binding_is_immutable(server: &Probe) {
    let path = "rbac.authorization.k8s.io/v1/rolebindings";
    let body =
        json!({"metadata": {"name": "a"}, "roleRef": {"kind": "Role", "name": "a", "apiGroup": "rbac.authorization.k8s.io"}});
    server.create(path, body).await;
    let answer = server.patch(&format!("{path}/a"), MERGE_PATCH, json!({"roleRef": {"name": "b"}})).expect(422).await;
    assert!(answer.message().contains("cannot change roleRef"), "{}", answer.message());
}

async fn the_claim_templates_of_a_stateful_set_are_immutable(server: &Probe) {
    let mut body = deployment("a");
    body["kind"] = "StatefulSet".into();
    body["spec"]["serviceName"] = "s".into();
    server.create("apps/v1/statefulsets", body).await;
    let answer = server.patch("apps/v1/statefulsets/a", MERGE_PATCH, json!({"spec": {"serviceName": "t"}})).expect(422).await;
    assert!(answer.message().contains("updates to statefulset spec for fields other than"), "{}", answer.message());
    server.patch("apps/v1/statefulsets/a", MERGE_PATCH, json!({"spec": {"replicas": 0}})).expect(200).await;
}

async fn an_update_of_a_custom_resource_needs_a_resource_version(server: &Probe) {
    server.install(widget_crd(any())).await;
    let path = "{group}/v1/widgets/a";
    let mut first = server.create("{group}/v1/widgets", widget("a", json!({"x": 1}))).await.body;
    let answer = server.put(path).body(widget("a", json!({"x": 2}))).expect(422).await;
    assert!(
        answer.message().contains("metadata.resourceVersion: Invalid value: 0: must be specified for an update"),
        "{}",
        answer.message()
    );
    first["spec"]["x"] = 2.into();
    server.put(path).body(first.clone()).expect(200).await;
    first["spec"]["x"] = 3.into();
    server.put(path).body(first).expect(409).await;
}

async fn a_dry_run_of_an_update_stores_nothing(server: &Probe) {
    let first = server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await;
    let answer = server.put(A).query("dryRun=All").body(config_map("a", json!({"k": "w"}))).expect(200).await;
    assert_eq!((answer["data"]["k"].as_str(), answer.version()), (Some("w"), first.version()));
    assert_eq!(server.get(A).expect(200).await.body, first.body);
}

async fn updates_of_labels_and_annotations_are_validated(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    for metadata in [
        json!({"labels": {"a b": "c"}}),
        json!({"labels": {"a": "b c"}}),
        json!({"labels": {"x/y/z": "b"}}),
        json!({"annotations": {"-a": "b"}}),
        json!({"finalizers": ["hold"]}),
        json!({"ownerReferences": [{"name": "x"}]}),
    ] {
        let answer = server.patch(A, MERGE_PATCH, json!({"metadata": metadata})).expect(422).await;
        assert_eq!(answer.reason(), "Invalid");
    }
}
