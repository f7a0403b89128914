//! Creating objects: names, generated names, defaults.

use serde_json::{Value, json};

use crate::suite::objects::{any, config_map, deployment, job, pod, widget, widget_crd};
use crate::suite::probe::{MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    a_created_object_has_uid_version_and_time,
    creating_what_exists_already_conflicts,
    creating_over_an_object_that_is_being_deleted_says_so,
    creating_in_a_namespace_that_is_not_there_is_not_found,
    creating_in_a_terminating_namespace_is_forbidden,
    a_generated_name_has_five_more_characters,
    a_name_wins_over_a_generated_name,
    an_object_without_name_is_refused,
    a_namespace_in_the_object_must_be_that_of_the_path,
    a_kind_or_version_that_is_not_that_of_the_path_is_refused,
    a_body_need_not_say_what_it_is,
    a_resource_version_on_create_is_refused,
    metadata_that_the_server_sets_is_ignored_on_create,
    a_dry_run_of_a_create_stores_nothing,
    an_unknown_dry_run_is_refused,
    a_pod_gets_its_defaults,
    a_job_gets_its_defaults,
    a_cron_job_gets_its_defaults,
    a_deployment_gets_its_defaults,
    a_service_gets_its_defaults_and_an_address,
    a_headless_service_gets_no_address,
    a_node_port_or_address_that_is_taken_is_refused,
    a_stateful_set_gets_its_defaults,
    a_daemon_set_gets_its_defaults,
    an_ingress_gets_its_defaults,
    a_network_policy_gets_its_defaults,
    a_pod_disruption_budget_gets_its_defaults,
    roles_and_bindings_get_their_defaults,
    volumes_and_probes_of_a_pod_get_their_defaults,
    quantities_are_normalized,
    string_data_of_a_secret_becomes_data,
    a_secret_is_opaque_unless_it_says_otherwise,
    a_core_event_is_seen_through_the_events_group,
    a_lease_keeps_its_microseconds,
    a_service_account_is_created_without_token,
    a_custom_resource_has_generation_one,
    a_namespace_gets_a_label_with_its_name,
    an_object_may_be_created_from_yaml,
    an_object_is_returned_as_yaml_where_that_is_accepted,
}

async fn a_created_object_has_uid_version_and_time(server: &Probe) {
    let answer = server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await;
    assert!(answer.uid().len() == 36 && answer.version().parse::<u64>().is_ok());
    assert!(answer.str("/metadata/creationTimestamp").ends_with('Z'));
    assert_eq!(server.get("v1/configmaps/a").expect(200).await.body, answer.body);
}

async fn creating_what_exists_already_conflicts(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    let answer = server.post("v1/configmaps").body(config_map("a", json!({}))).expect(409).await;
    assert_eq!((answer.reason(), answer.message()), ("AlreadyExists", "configmaps \"a\" already exists"));
    server.create("apps/v1/deployments", deployment("a")).await;
    let answer = server.post("apps/v1/deployments").body(deployment("a")).expect(409).await;
    assert_eq!(answer.message(), "deployments.apps \"a\" already exists");
}

async fn creating_over_an_object_that_is_being_deleted_says_so(server: &Probe) {
    let mut body = config_map("a", json!({}));
    body["metadata"]["finalizers"] = json!(["x.test/hold"]);
    server.create("v1/configmaps", body.clone()).await;
    server.delete("v1/configmaps/a").unrecorded().expect(200).await;
    let answer = server.post("v1/configmaps").body(body).expect(409).await;
    assert_eq!(answer.message(), "object is being deleted: configmaps \"a\" already exists");
    assert_eq!(answer.reason(), "AlreadyExists");
    server.post("v1/configmaps").query("dryRun=All").body(config_map("a", json!({}))).expect(409).await;
    // Of a name that was generated it is said, too.
    server.install(widget_crd(any())).await;
    let mut held = widget("a", json!({}));
    held["metadata"]["finalizers"] = json!(["x.test/hold"]);
    server.create("{group}/v1/widgets", held.clone()).await;
    server.delete("{group}/v1/widgets/a").unrecorded().expect(200).await;
    server.post("{group}/v1/widgets").body(held).expect(409).await;
}

async fn creating_in_a_namespace_that_is_not_there_is_not_found(server: &Probe) {
    let answer = server.post("/api/v1/namespaces/nowhere-at-all/configmaps").body(config_map("a", json!({}))).expect(404).await;
    assert_eq!(answer.message(), "namespaces \"nowhere-at-all\" not found");
}

async fn creating_in_a_terminating_namespace_is_forbidden(server: &Probe) {
    server.delete("/api/v1/namespaces/{ns}").expect(200).await;
    let request = || server.post("v1/configmaps").body(config_map("a", json!({})));
    // Admission sees namespaces through a cache.
    server.until_request(|| request().query("dryRun=All"), |answer| answer.status == 403).await;
    let answer = request().expect(403).await;
    assert_eq!(answer.str("/details/causes/0/reason"), "NamespaceTerminating");
}

async fn a_generated_name_has_five_more_characters(server: &Probe) {
    let answer = server.create("v1/configmaps", json!({"metadata": {"generateName": "some-"}})).await;
    let suffix = answer.str("/metadata/name").strip_prefix("some-").unwrap();
    assert!(suffix.len() == 5 && suffix.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)), "{suffix}");
    // A long prefix is cut, so that the name fits.
    let long = "p".repeat(80);
    let answer = server.post("v1/configmaps").body(json!({"metadata": {"generateName": long}})).unrecorded().expect(201).await;
    server.record_value("length", &answer.str("/metadata/name").len().into());
}

async fn a_name_wins_over_a_generated_name(server: &Probe) {
    let answer = server.create("v1/configmaps", json!({"metadata": {"name": "a", "generateName": "b-"}})).await;
    assert_eq!(answer.str("/metadata/name"), "a");
}

async fn an_object_without_name_is_refused(server: &Probe) {
    let answer = server.post("v1/configmaps").body(json!({"metadata": {}})).expect(422).await;
    assert!(answer.message().contains("name or generateName is required"), "{}", answer.message());
    server.post("v1/configmaps").body(json!({})).expect(422).await;
}

async fn a_namespace_in_the_object_must_be_that_of_the_path(server: &Probe) {
    let body = |namespace: &str| json!({"metadata": {"name": "a", "namespace": namespace}});
    let answer = server.post("v1/configmaps").body(body("default")).expect(400).await;
    assert_eq!(answer.message(), "the namespace of the provided object does not match the namespace sent on the request");
    server.post("v1/configmaps").body(body("{ns}")).expect(201).await;
}

async fn a_kind_or_version_that_is_not_that_of_the_path_is_refused(server: &Probe) {
    let mut body = config_map("a", json!({}));
    body["kind"] = "Secret".into();
    server.post("v1/configmaps").body(body.clone()).expect(400).await;
    body["kind"] = "ConfigMap".into();
    body["apiVersion"] = "v2".into();
    server.post("v1/configmaps").body(body).expect(400).await;
    server
        .post("apps/v1/deployments")
        .body(json!({"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "a"}}))
        .expect(400)
        .await;
    server.get("v1/configmaps/a").expect(404).await;
}

async fn a_body_need_not_say_what_it_is(server: &Probe) {
    let answer = server.create("v1/configmaps", json!({"metadata": {"name": "a"}, "data": {"k": "v"}})).await;
    assert_eq!((&answer["kind"], &answer["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
}

async fn a_resource_version_on_create_is_refused(server: &Probe) {
    let answer =
        server.post("v1/configmaps").body(json!({"metadata": {"name": "a", "resourceVersion": "5"}})).expect(500).await;
    assert_eq!(answer.message(), "resourceVersion should not be set on objects to be created");
}

async fn metadata_that_the_server_sets_is_ignored_on_create(server: &Probe) {
    let answer = server.create("v1/configmaps", json!({"metadata": {
        "name": "a", "uid": "0f3b1c1e-0000-4000-8000-000000000001", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7,
        "deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3, "selfLink": "/x",
    }})).await;
    assert_ne!(answer.uid(), "0f3b1c1e-0000-4000-8000-000000000001");
    assert_eq!(answer.at("/metadata/deletionTimestamp"), &Value::Null);
    assert_ne!(answer.str("/metadata/creationTimestamp"), "2001-01-01T00:00:00Z");
}

async fn a_dry_run_of_a_create_stores_nothing(server: &Probe) {
    let answer = server.post("v1/configmaps?dryRun=All").body(config_map("a", json!({"k": "v"}))).expect(201).await;
    assert_eq!(answer.at("/metadata/resourceVersion"), &Value::Null);
    server.get("v1/configmaps/a").expect(404).await;
}

async fn an_unknown_dry_run_is_refused(server: &Probe) {
    let answer = server.post("v1/configmaps?dryRun=Perhaps").body(config_map("a", json!({}))).expect(422).await;
    assert!(
        answer.message().contains("dryRun: Unsupported value: [\"Perhaps\"]: supported values: \"All\""),
        "{}",
        answer.message()
    );
    server.get("v1/configmaps/a").expect(404).await;
}

async fn a_pod_gets_its_defaults(server: &Probe) {
    let answer = server.create("v1/pods", pod("a")).await;
    assert_eq!((answer.str("/spec/restartPolicy"), answer.str("/status/phase")), ("Always", "Pending"));
    assert_eq!(answer.at("/spec/terminationGracePeriodSeconds"), 30);
    let mut latest = pod("b");
    latest["spec"]["containers"][0]["image"] = "example.invalid/main".into();
    assert_eq!(server.create("v1/pods", latest).await.str("/spec/containers/0/imagePullPolicy"), "Always");
}

async fn a_job_gets_its_defaults(server: &Probe) {
    let answer = server.create("batch/v1/jobs", job("a")).await;
    assert_eq!((answer.at("/spec/backoffLimit"), answer.at("/spec/parallelism")), (&json!(6), &json!(1)));
    assert_eq!(answer.str("/spec/selector/matchLabels/batch.kubernetes.io~1controller-uid"), answer.uid());
    assert_eq!(answer.str("/spec/template/metadata/labels/job-name"), "a");
    let mut indexed = job("b");
    indexed["spec"]["completionMode"] = "Indexed".into();
    indexed["spec"]["completions"] = 3.into();
    indexed["spec"]["parallelism"] = 2.into();
    server.create("batch/v1/jobs", indexed).await;
}

async fn a_cron_job_gets_its_defaults(server: &Probe) {
    let body =
        json!({"metadata": {"name": "a"}, "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job("x")["spec"]}}});
    let answer = server.create("batch/v1/cronjobs", body).await;
    assert_eq!((answer.str("/spec/concurrencyPolicy"), answer.at("/spec/suspend")), ("Allow", &json!(false)));
    assert_eq!(answer.at("/spec/successfulJobsHistoryLimit"), 3);
}

async fn a_deployment_gets_its_defaults(server: &Probe) {
    let answer = server.create("apps/v1/deployments", deployment("a")).await;
    assert_eq!(
        answer.at("/spec/strategy"),
        &json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    assert_eq!((answer.at("/spec/replicas"), answer.at("/metadata/generation")), (&json!(1), &json!(1)));
}

async fn a_service_gets_its_defaults_and_an_address(server: &Probe) {
    let body = json!({"metadata": {"name": "a"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}});
    let answer = server.create("v1/services", body).await;
    assert_eq!((answer.str("/spec/type"), answer.at("/spec/ports/0/targetPort")), ("ClusterIP", &json!(80)));
    assert!(answer.str("/spec/clusterIP").starts_with("10.0."));
}

async fn a_node_port_or_address_that_is_taken_is_refused(server: &Probe) {
    let services = "v1/services";
    let service = |name: &str, ports: Value| json!({"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports}});
    let port = |name: &str, port: u16, node_port: u16| json!({"name": name, "port": port, "nodePort": node_port});
    server.create(services, service("a", json!([port("x", 80, 30011)]))).await;
    let answer = server.post(services).body(service("b", json!([port("x", 80, 30011)]))).expect(422).await;
    assert!(
        answer.message().contains("spec.ports[0].nodePort: Invalid value: 30011: provided port is already allocated"),
        "{}",
        answer.message()
    );
    server.post(services).query("dryRun=All").body(service("b", json!([port("x", 80, 30011)]))).expect(422).await;
    let mut udp = port("x", 80, 30011);
    udp["protocol"] = "UDP".into();
    server.post(services).body(service("b", json!([udp]))).expect(422).await;
    server.post(services).body(service("b", json!([port("x", 80, 29999)]))).expect(422).await;
    // One service may use a number for two protocols.
    let mut udp = port("y", 80, 30012);
    udp["protocol"] = "UDP".into();
    server.create(services, service("b", json!([port("x", 80, 30012), udp]))).await;
    let patch = json!({"spec": {"ports": [port("x", 80, 30011)]}});
    server.patch("v1/services/b", MERGE_PATCH, patch.clone()).expect(422).await;
    server.put("v1/services/b").body(service("b", json!([port("x", 81, 30011)]))).expect(422).await;
    // It is free again once it is no longer used.
    server.delete("v1/services/a").unrecorded().expect(200).await;
    server.patch("v1/services/b", MERGE_PATCH, patch).expect(200).await;
    server.create(services, service("c", json!([port("x", 80, 30012)]))).await;
    let address = server.get("v1/services/c").unrecorded().expect(200).await.str("/spec/clusterIP").to_owned();
    let taken = json!({"metadata": {"name": "d"}, "spec": {"clusterIP": address, "ports": [{"port": 80}]}});
    let answer = server.post(services).body(taken).unrecorded().expect(422).await;
    server.record_value("message", &answer.message().replace(&address, "(ip)").into());
    assert!(answer.message().contains("provided IP is already allocated"), "{}", answer.message());
}

async fn a_headless_service_gets_no_address(server: &Probe) {
    let body = json!({"metadata": {"name": "a"}, "spec": {"clusterIP": "None", "ports": [{"port": 80, "targetPort": "http"}]}});
    let answer = server.create("v1/services", body).await;
    assert_eq!(answer.str("/spec/clusterIP"), "None");
    let body = json!({"metadata": {"name": "b"}, "spec": {"type": "ExternalName", "externalName": "example.invalid"}});
    let answer = server.create("v1/services", body).await;
    assert_eq!(answer.at("/spec/clusterIP"), &Value::Null);
}

async fn a_stateful_set_gets_its_defaults(server: &Probe) {
    let mut body = deployment("a");
    body["kind"] = "StatefulSet".into();
    body["spec"]["serviceName"] = "s".into();
    let claim = json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    body["spec"]["volumeClaimTemplates"] = json!([claim]);
    let answer = server.create("apps/v1/statefulsets", body).await;
    assert_eq!(
        (answer.str("/spec/podManagementPolicy"), answer.at("/spec/revisionHistoryLimit")),
        ("OrderedReady", &json!(10))
    );
}

async fn a_daemon_set_gets_its_defaults(server: &Probe) {
    let mut body = deployment("a");
    body["kind"] = "DaemonSet".into();
    let answer = server.create("apps/v1/daemonsets", body).await;
    assert_eq!(
        answer.at("/spec/updateStrategy"),
        &json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}})
    );
}

async fn an_ingress_gets_its_defaults(server: &Probe) {
    let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
    let body = json!({"metadata": {"name": "a"}, "spec": {"rules": [{"host": "h.test", "http": {"paths": [
        {"path": "/", "pathType": "Prefix", "backend": backend},
    ]}}]}});
    let answer = server.create("networking.k8s.io/v1/ingresses", body).await;
    assert_eq!(answer.at("/status"), &json!({"loadBalancer": {}}));
}

async fn a_network_policy_gets_its_defaults(server: &Probe) {
    let body =
        json!({"metadata": {"name": "a"}, "spec": {"podSelector": {}, "egress": [{}], "ingress": [{"ports": [{"port": 80}]}]}});
    let answer = server.create("networking.k8s.io/v1/networkpolicies", body).await;
    assert_eq!(answer.at("/spec/policyTypes"), &json!(["Ingress", "Egress"]));
    assert_eq!(answer.str("/spec/ingress/0/ports/0/protocol"), "TCP");
}

async fn a_pod_disruption_budget_gets_its_defaults(server: &Probe) {
    let body = json!({"metadata": {"name": "a"}, "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}});
    let answer = server.create("policy/v1/poddisruptionbudgets", body).await;
    assert_eq!(answer.at("/status/disruptionsAllowed"), 0);
}

async fn roles_and_bindings_get_their_defaults(server: &Probe) {
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    server.create("rbac.authorization.k8s.io/v1/roles", json!({"metadata": {"name": "a"}, "rules": [rule]})).await;
    let answer = server
        .create(
            "rbac.authorization.k8s.io/v1/rolebindings",
            json!({
                "metadata": {"name": "a"}, "roleRef": {"kind": "Role", "name": "a"},
                "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "{ns}"}],
            }),
        )
        .await;
    assert_eq!(answer.str("/roleRef/apiGroup"), "rbac.authorization.k8s.io");
    assert_eq!(answer.str("/subjects/0/apiGroup"), "rbac.authorization.k8s.io");
}

async fn volumes_and_probes_of_a_pod_get_their_defaults(server: &Probe) {
    let mut body = pod("a");
    body["spec"]["volumes"] = json!([
        {"name": "c", "configMap": {"name": "c"}}, {"name": "s", "secret": {"secretName": "s"}}, {"name": "h", "hostPath": {"path": "/x"}},
        {"name": "d", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}}, {"name": "e"},
    ]);
    let container = &mut body["spec"]["containers"][0];
    container["livenessProbe"] = json!({"httpGet": {"port": 80}});
    container["env"] = json!([{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
    container["ports"] = json!([{"containerPort": 80}]);
    container["resources"] = json!({"limits": {"cpu": "1"}});
    container["lifecycle"] = json!({"preStop": {"httpGet": {"port": "x"}}});
    let answer = server.create("v1/pods", body).await;
    assert_eq!(answer.at("/spec/containers/0/livenessProbe/periodSeconds"), 10);
    assert_eq!(answer.at("/spec/volumes/0/configMap/defaultMode"), 420);
    assert_eq!(answer.at("/spec/containers/0/resources/requests"), &json!({"cpu": "1"}));
    assert_eq!(answer.at("/spec/volumes/4/emptyDir"), &json!({}));
}

async fn quantities_are_normalized(server: &Probe) {
    let mut body = pod("a");
    body["spec"]["containers"][0]["resources"] = json!({"requests": {
        "cpu": "0.5", "memory": "1024Mi", "ephemeral-storage": "1e3", "example.test/a": "2000m", "example.test/b": 3,
    }, "limits": {"example.test/a": 2, "example.test/b": "3", "cpu": "1500m", "memory": "1073741824000m"}});
    let answer = server.create("v1/pods", body).await;
    assert_eq!(answer.at("/spec/containers/0/resources/requests/cpu"), "500m");
    assert_eq!(answer.at("/spec/containers/0/resources/requests/memory"), "1Gi");
}

async fn string_data_of_a_secret_becomes_data(server: &Probe) {
    let body = json!({"metadata": {"name": "a"}, "data": {"a": "YQ==", "b": "Yg=="}, "stringData": {"b": "B", "c": "C"}});
    let answer = server.create("v1/secrets", body).await;
    assert_eq!((&answer["data"], answer.at("/stringData")), (&json!({"a": "YQ==", "b": "Qg==", "c": "Qw=="}), &Value::Null));
}

async fn a_secret_is_opaque_unless_it_says_otherwise(server: &Probe) {
    assert_eq!(server.create("v1/secrets", json!({"metadata": {"name": "a"}})).await["type"], "Opaque");
    let body = json!({"metadata": {"name": "b"}, "type": "kubernetes.io/basic-auth", "stringData": {"username": "u"}});
    assert_eq!(server.create("v1/secrets", body).await["type"], "kubernetes.io/basic-auth");
    server.post("v1/secrets").body(json!({"metadata": {"name": "c"}, "type": "kubernetes.io/tls"})).expect(422).await;
    server.post("v1/secrets").body(json!({"metadata": {"name": "d"}, "data": {"k": "not base64!"}})).expect(400).await;
}

async fn a_core_event_is_seen_through_the_events_group(server: &Probe) {
    server.create("v1/events", json!({
        "metadata": {"name": "a"}, "type": "Normal", "reason": "R", "message": "m", "count": 2, "source": {"component": "c", "host": "h"},
        "firstTimestamp": "2001-01-01T00:00:00Z", "lastTimestamp": "2001-01-01T00:00:01Z",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
    })).await;
    let answer = server.get("events.k8s.io/v1/events/a").expect(200).await;
    assert_eq!(
        (&answer["note"], &answer["deprecatedCount"], answer.at("/regarding/name")),
        (&json!("m"), &json!(2), &json!("p"))
    );
    server.create("events.k8s.io/v1/events", json!({
        "metadata": {"name": "b"}, "type": "Warning", "reason": "R", "note": "n", "action": "A", "eventTime": "2001-01-01T00:00:00.000001Z",
        "reportingController": "x.test/c", "reportingInstance": "i", "regarding": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
    })).await;
    let answer = server.get("v1/events/b").expect(200).await;
    assert_eq!((&answer["message"], &answer["reportingComponent"]), (&json!("n"), &json!("x.test/c")));
    server
        .post("events.k8s.io/v1/events")
        .body(json!({"metadata": {"name": "c"}, "type": "Odd", "regarding": {"namespace": "{ns}"}}))
        .expect(422)
        .await;
}

async fn a_lease_keeps_its_microseconds(server: &Probe) {
    let body = json!({"metadata": {"name": "a"}, "spec": {
        "holderIdentity": "h", "leaseDurationSeconds": 15, "acquireTime": "2001-01-01T00:00:00.123456Z", "renewTime": "2001-01-01T00:00:00.500000Z",
    }});
    let answer = server.create("coordination.k8s.io/v1/leases", body).await;
    assert_eq!(answer.str("/spec/acquireTime"), "2001-01-01T00:00:00.123456Z");
    assert_eq!(answer.str("/spec/renewTime"), "2001-01-01T00:00:00.500000Z");
    let body = json!({"metadata": {"name": "b"}, "spec": {"renewTime": "2001-01-01T00:00:00.5Z"}});
    server.post("coordination.k8s.io/v1/leases").body(body).expect(400).await;
    let body = json!({"metadata": {"name": "b"}, "spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}});
    server.post("coordination.k8s.io/v1/leases").body(body).expect(422).await;
}

async fn a_service_account_is_created_without_token(server: &Probe) {
    let answer = server.create("v1/serviceaccounts", json!({"metadata": {"name": "a"}})).await;
    assert_eq!(answer.at("/secrets"), &Value::Null);
}

async fn a_custom_resource_has_generation_one(server: &Probe) {
    server.install(widget_crd(any())).await;
    let answer = server.create("{group}/v1/widgets", widget("a", json!({"x": 1}))).await;
    assert_eq!(answer.at("/metadata/generation"), 1);
    let answer = server.post("{group}/v1/widgets").body(widget("a", json!({}))).expect(409).await;
    assert_eq!(answer.message(), format!("widgets.{} \"a\" already exists", server.group()));
    server.post("{group}/v1/widgets").body(json!({"metadata": {"name": "b"}})).expect(400).await;
}

async fn a_namespace_gets_a_label_with_its_name(server: &Probe) {
    let answer = server.create("/api/v1/namespaces", json!({"metadata": {"name": "{ns}-x", "labels": {"a": "b"}}})).await;
    assert_eq!(answer.str("/metadata/labels/kubernetes.io~1metadata.name"), format!("{}-x", server.namespace()));
    assert_eq!((answer.str("/status/phase"), answer.at("/spec/finalizers")), ("Active", &json!(["kubernetes"])));
}

async fn an_object_may_be_created_from_yaml(server: &Probe) {
    let request = server.post("v1/configmaps").header("content-type", "application/yaml");
    let answer = request.text("metadata:\n  name: a\ndata:\n  k: v\n").expect(201).await;
    assert_eq!(answer["data"], json!({"k": "v"}));
}

async fn an_object_is_returned_as_yaml_where_that_is_accepted(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await;
    let answer = server.get("v1/configmaps/a").accept("application/yaml").expect(200).await;
    assert_eq!((answer.headers["content-type"][0].as_str(), &answer["data"]), ("application/yaml", &json!({"k": "v"})));
}
