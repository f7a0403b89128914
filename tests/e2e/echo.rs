use serde_json::{Value, json};

use crate::harness::{Cluster, condition, finish_pod_of, guest_crds};

fn echo(namespace: &str, name: &str, message: &str) -> String {
    json!({
        "apiVersion": "mmontes.io/v1alpha1",
        "kind": "Echo",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "message": message },
    })
    .to_string()
}

/// Returns the fields that the API server attributes to the host's create.
fn created_fields(cluster: &Cluster, namespace: &str, job: &str) -> Value {
    let output = cluster.kubectl(&["get", "-n", namespace, "job", job, "--show-managed-fields", "-o", "json"]);
    let job: Value = serde_json::from_str(&output).unwrap();
    let entries = job["metadata"]["managedFields"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["manager"] == "gyre/echo" && entry["operation"] == "Update");
    entry.unwrap_or_else(|| panic!("no entry of gyre/echo in {entries:?}"))["fieldsV1"].clone()
}

fn has_fields(fields: &Value, expected: &Value) -> bool {
    let mut expected = expected.as_object().into_iter().flatten();
    expected.all(|(place, below)| fields.get(place).is_some_and(|fields| has_fields(fields, below)))
}

#[test]
fn the_sample_echo_gets_its_job_in_its_namespace() {
    let Some(cluster) = Cluster::for_test("fields", &["fields"]) else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO], &["fields"]);
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/echo/samples/echo.yaml");
    cluster.kubectl(&["apply", "-n", "fields", "-f", sample]);
    let job = cluster.eventually("the Job", || cluster.get("fields", "job", "hello"));
    let parent = cluster.get("fields", "echo", "hello").unwrap();
    let uid = parent["metadata"]["uid"].as_str().unwrap();

    let expected = json!({
        "f:metadata": {
            "f:annotations": { "f:gyre.dev/desired-digest": {} },
            "f:labels": { "f:gyre.dev/owner-uid": {}, "f:gyre.dev/plugin": {} },
            "f:ownerReferences": { format!("k:{{\"uid\":\"{uid}\"}}"): {} },
        },
        "f:spec": { "f:template": { "f:spec": {
            "f:containers": { "k:{\"name\":\"hello\"}": {
                ".": {}, "f:command": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {},
            } },
            "f:restartPolicy": {},
        } } },
    });
    let fields = created_fields(&cluster, "fields", "hello");
    assert!(has_fields(&fields, &expected), "{fields:#}");

    let metadata = &job["metadata"];
    assert_eq!(metadata["labels"]["gyre.dev/plugin"], "echo");
    assert_eq!(metadata["labels"]["gyre.dev/owner-uid"], uid);
    let owner = json!([{
        "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "name": "hello", "uid": uid, "blockOwnerDeletion": true,
    }]);
    assert_eq!(metadata["ownerReferences"], owner);
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never");
    let container = &pod["containers"][0];
    assert_eq!(container["command"], json!(["echo", parent["spec"]["message"]]));
    assert_eq!((&container["image"], &container["imagePullPolicy"]), (&json!("busybox:1.33.1"), &json!("IfNotPresent")));

    let echo = cluster.ready("fields", "echo", "hello");
    assert_eq!(echo["status"]["job"], "hello");
    assert_eq!(echo["status"]["observedGeneration"], 1);
    assert_eq!(host.http("/readyz").0, "HTTP/1.0 200 OK");

    cluster.kubectl(&["delete", "-n", "fields", "echo", "hello"]);
    cluster.eventually("the Job to go", || cluster.get("fields", "job", "hello").is_none().then_some(()));
}

#[test]
fn an_unfinished_job_that_is_deleted_comes_back_and_a_finished_one_does_not() {
    let Some(cluster) = Cluster::for_test("finished", &["finished"]) else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO], &["finished"]);
    cluster.apply(&echo("finished", "hello", "once"));
    let first = cluster.eventually("the Job", || cluster.get("finished", "job", "hello"));
    cluster.kubectl(&["delete", "-n", "finished", "job", "hello"]);
    cluster.eventually("another Job", || {
        let job = cluster.get("finished", "job", "hello")?;
        (job["metadata"]["uid"] != first["metadata"]["uid"]).then_some(())
    });

    let second = cluster.eventually("the second Job", || cluster.get("finished", "job", "hello"));
    let echo = cluster.reason("finished", "echo", "hello", "Complete", "JobNotFinished");
    assert_eq!(condition(&echo, "Complete").unwrap()["status"], "False");
    finish_pod_of(&cluster, "finished", &second);
    cluster.kubectl(&["wait", "-n", "finished", "--for=condition=Complete", "--timeout=60s", "echo/hello"]);
    let echo = cluster.eventually("the record", || {
        let echo = cluster.get("finished", "echo", "hello")?;
        echo["status"]["finished"].is_object().then_some(echo)
    });
    assert_eq!(echo["status"]["finished"]["uid"], echo["metadata"]["uid"]);
    assert_eq!(echo["status"]["finished"]["generation"], 1);
    assert_eq!(condition(&echo, "Ready").unwrap()["reason"], "JobComplete");

    cluster.kubectl(&["delete", "-n", "finished", "job", "hello"]);
    cluster.settled(&host);
    // The fence is reconciled after the deletion was observed.
    cluster.kubectl(&["annotate", "-n", "finished", "echo", "hello", "touched=yes"]);
    cluster.apply(&echo_for_fence());
    cluster.eventually("the fence", || cluster.get("finished", "job", "fence"));
    cluster.settled(&host);
    assert!(cluster.get("finished", "job", "hello").is_none(), "a finished Job ran again");
}

fn echo_for_fence() -> String {
    echo("finished", "fence", "fence")
}

#[test]
fn the_same_name_in_two_namespaces_works() {
    let Some(cluster) = Cluster::for_test("twins", &["twins-a", "twins-b"]) else { return };
    let _host = cluster.host(&[gyre_artifacts::ECHO], &["twins-a", "twins-b"]);
    for namespace in ["twins-a", "twins-b"] {
        cluster.apply(&echo(namespace, "hello", namespace));
    }
    for namespace in ["twins-a", "twins-b"] {
        let job = cluster.eventually("the Job", || cluster.get(namespace, "job", "hello"));
        assert_eq!(job["spec"]["template"]["spec"]["containers"][0]["command"], json!(["echo", namespace]));
        let echo = cluster.get(namespace, "echo", "hello").unwrap();
        assert_eq!(job["metadata"]["ownerReferences"][0]["uid"], echo["metadata"]["uid"]);
    }
    cluster.kubectl(&["delete", "-n", "twins-a", "echo", "hello"]);
    cluster.eventually("its Job to go", || cluster.get("twins-a", "job", "hello").is_none().then_some(()));
    assert!(cluster.get("twins-b", "job", "hello").is_some());
}

#[test]
fn a_foreign_job_is_left_alone() {
    let Some(cluster) = Cluster::for_test("foreign", &["foreign"]) else { return };
    cluster.apply(
        r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"hello","namespace":"foreign"},
            "spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"mine","image":"mine"}]}}}}"#,
    );
    let spec_and_metadata =
        |job: Value| (job["spec"].clone(), job["metadata"]["labels"].clone(), job["metadata"]["ownerReferences"].clone());
    let before = spec_and_metadata(cluster.get("foreign", "job", "hello").unwrap());
    let host = cluster.host(&[gyre_artifacts::ECHO], &["foreign"]);
    cluster.apply(&echo("foreign", "hello", "theirs"));
    let echo = cluster.reason("foreign", "echo", "hello", "Ready", "ForeignObject");
    let ready = condition(&echo, "Ready").unwrap();
    assert_eq!(ready["status"], "False");
    assert!(ready["message"].as_str().unwrap().contains("foreign/hello"), "{ready}");
    assert_eq!(condition(&echo, "Stalled").unwrap()["status"], "True");
    let events = cluster.eventually("the event", || {
        Some(cluster.events("foreign", "hello", "ForeignObject")).filter(|events| !events.is_empty())
    });
    assert_eq!((events.len(), &events[0]["type"]), (1, &json!("Warning")));
    assert!(host.metric("gyre_plugin_problems_total", &["echo", "ForeignObject"]) >= 1.0);
    cluster.settled(&host);
    assert_eq!(spec_and_metadata(cluster.get("foreign", "job", "hello").unwrap()), before);

    cluster.kubectl(&["delete", "-n", "foreign", "job", "hello"]);
    cluster.kubectl(&["annotate", "-n", "foreign", "echo", "hello", "again=yes"]);
    cluster.eventually("Ready", || {
        let echo = cluster.get("foreign", "echo", "hello")?;
        (condition(&echo, "Ready")?["status"] == "True" && condition(&echo, "Stalled").is_none()).then_some(())
    });
}

#[test]
fn long_and_dotted_names_get_a_job_too() {
    let Some(cluster) = Cluster::for_test("names", &["names"]) else { return };
    let _host = cluster.host(&[gyre_artifacts::ECHO], &["names"]);
    let long = format!("{}.{}", "a".repeat(120), "b".repeat(120));
    cluster.apply(&echo("names", &long, "long"));
    let echo = cluster.eventually("Ready", || {
        let echo = cluster.get("names", "echo", &long)?;
        (condition(&echo, "Ready")?["status"] == "True").then_some(echo)
    });
    let name = echo["status"]["job"].as_str().unwrap();
    assert!(name.len() <= 63 && !name.contains('.'), "{name}");
    assert!(cluster.get("names", "job", name).is_some());
}

#[test]
fn the_host_waits_for_a_kind_that_is_not_served() {
    let Some(cluster) = Cluster::for_test("late", &["late"]) else { return };
    // Not Echo, because other tests have it served already. The lock keeps others from installing
    // this kind.
    let _guests = guest_crds();
    cluster.kubectl(&["delete", "crd", "traps.guests.gyre.dev", "--ignore-not-found"]);
    let host = cluster.host(&[gyre_artifacts::guests::TRAP], &["late"]);
    cluster.eventually("the log line", || host.log().contains("does not serve the kind yet").then_some(()));
    assert_eq!(host.http("/readyz").0, "HTTP/1.0 200 OK", "waiting for a CRD holds nothing up");
    cluster.install_crds(&[gyre_artifacts::guests::TRAP]);
    cluster.apply(r#"{"apiVersion":"guests.gyre.dev/v1","kind":"Trap","metadata":{"name":"it","namespace":"late"},"spec":{}}"#);
    cluster.reason("late", "trap.guests.gyre.dev", "it", "Ready", "Trapped");
}

#[test]
fn a_recreated_echo_gets_a_new_job() {
    let Some(cluster) = Cluster::for_test("anew", &["anew"]) else { return };
    let _host = cluster.host(&[gyre_artifacts::ECHO], &["anew"]);
    cluster.apply(&echo("anew", "hello", "first"));
    let first = cluster.eventually("the Job", || cluster.get("anew", "job", "hello"));
    // The old Job still exists when the new Echo comes.
    cluster.kubectl(&["delete", "-n", "anew", "echo", "hello"]);
    cluster.apply(&echo("anew", "hello", "second"));
    let second = cluster.eventually("the other Job", || {
        let job = cluster.get("anew", "job", "hello")?;
        (job["metadata"]["uid"] != first["metadata"]["uid"]).then_some(job)
    });
    assert_eq!(second["spec"]["template"]["spec"]["containers"][0]["command"], json!(["echo", "second"]));
    cluster.reason("anew", "echo", "hello", "Ready", "JobCreated");
}

#[test]
fn labels_that_are_taken_off_come_back() {
    let Some(cluster) = Cluster::for_test("labels", &["labels"]) else { return };
    let _host = cluster.host(&[gyre_artifacts::ECHO], &["labels"]);
    cluster.apply(&echo("labels", "hello", "labelled"));
    let job = cluster.eventually("the Job", || cluster.get("labels", "job", "hello"));
    cluster.kubectl(&["label", "-n", "labels", "job", "hello", "gyre.dev/plugin-", "gyre.dev/owner-uid-"]);
    let again = cluster.eventually("the labels", || {
        let job = cluster.get("labels", "job", "hello")?;
        job["metadata"]["labels"]["gyre.dev/owner-uid"].as_str().is_some().then_some(job)
    });
    assert_eq!(again["metadata"]["uid"], job["metadata"]["uid"]);
}
