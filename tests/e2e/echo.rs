//! Echo → Job.

use serde_json::{Value, json};

use crate::harness::{Cluster, condition};

fn echo(namespace: &str, name: &str, message: &str) -> String {
    json!({
        "apiVersion": "mmontes.io/v1alpha1",
        "kind": "Echo",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "message": message },
    })
    .to_string()
}

/// Says what a kubelet would say of a Job's Pod whose container has ended well; the Job controller then finishes the Job.
fn finish_pod_of(cluster: &Cluster, namespace: &str, job: &Value) {
    let uid = &job["metadata"]["uid"];
    let pod = cluster.eventually("the Pod", || {
        let pods = cluster.list(namespace, "pods");
        pods.into_iter().find(|pod| pod["metadata"]["ownerReferences"][0]["uid"] == *uid)
    });
    cluster.patch_status(namespace, "pod", pod["metadata"]["name"].as_str().unwrap(), &json!({ "phase": "Succeeded" }));
}

/// What the API server adds to a Job by itself, or keeps for its controllers.
fn without_defaults(mut job: Value) -> Value {
    let metadata = job["metadata"].as_object_mut().unwrap();
    for field in ["creationTimestamp", "generation", "resourceVersion", "uid", "managedFields"] {
        metadata.remove(field);
    }
    job.as_object_mut().unwrap().remove("status");
    let spec = job["spec"].as_object_mut().unwrap();
    for field in [
        "backoffLimit",
        "completionMode",
        "completions",
        "manualSelector",
        "parallelism",
        "podReplacementPolicy",
        "selector",
        "suspend",
    ] {
        spec.remove(field);
    }
    let template = spec["template"]["metadata"].as_object_mut().unwrap();
    template.remove("labels");
    template.remove("creationTimestamp");
    if template.is_empty() {
        spec["template"].as_object_mut().unwrap().remove("metadata");
    }
    let pod = spec["template"]["spec"].as_object_mut().unwrap();
    for field in ["dnsPolicy", "schedulerName", "securityContext", "terminationGracePeriodSeconds"] {
        pod.remove(field);
    }
    for container in pod["containers"].as_array_mut().unwrap() {
        for field in ["resources", "terminationMessagePath", "terminationMessagePolicy"] {
            container.as_object_mut().unwrap().remove(field);
        }
    }
    job
}

#[test]
fn an_echo_gets_its_job_in_its_namespace() {
    let Some(cluster) = Cluster::for_test("fields", &["fields"]) else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO], &["fields"]);
    cluster.apply(&echo("fields", "hello", "Hello, world"));
    let job = cluster.eventually("the Job", || cluster.get("fields", "job", "hello"));
    let uid = cluster.get("fields", "echo", "hello").unwrap()["metadata"]["uid"].clone();
    let digest = job["metadata"]["annotations"]["gyre.dev/desired-digest"].clone();
    assert_eq!(digest.as_str().map(str::len), Some(32), "{digest}");
    let expected = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "hello",
            "namespace": "fields",
            "labels": { "gyre.dev/plugin": "echo", "gyre.dev/owner-uid": uid },
            "annotations": { "gyre.dev/desired-digest": digest },
            "ownerReferences": [{
                "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "name": "hello", "uid": uid,
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": { "template": { "spec": {
            "containers": [{
                "name": "hello",
                "image": "busybox:1.33.1",
                "command": ["echo", "Hello, world"],
                "imagePullPolicy": "IfNotPresent",
            }],
            "restartPolicy": "Never",
        } } },
    });
    assert_eq!(without_defaults(job), expected);

    let echo = cluster.eventually("the status", || {
        let echo = cluster.get("fields", "echo", "hello")?;
        (condition(&echo, "Ready")?["status"] == "True").then_some(echo)
    });
    assert_eq!(echo["status"]["job"], "hello");
    assert_eq!(echo["status"]["observedGeneration"], 1);
    assert_eq!(host.http("/readyz").0, "HTTP/1.0 200 OK");

    // The garbage collector does the rest.
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
    finish_pod_of(&cluster, "finished", &second);
    let echo = cluster.eventually("the record", || {
        let echo = cluster.get("finished", "echo", "hello")?;
        echo["status"]["finished"].is_object().then_some(echo)
    });
    assert_eq!(echo["status"]["finished"]["uid"], echo["metadata"]["uid"]);
    assert_eq!(echo["status"]["finished"]["generation"], 1);
    assert_eq!(condition(&echo, "Ready").unwrap()["reason"], "JobComplete");

    cluster.kubectl(&["delete", "-n", "finished", "job", "hello"]);
    cluster.settled(&host);
    // A change that is certainly seen after the deletion, and answered: what it makes is there, and the Job is not.
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
    let echo = cluster.eventually("the condition", || {
        let echo = cluster.get("foreign", "echo", "hello")?;
        (condition(&echo, "Ready")?["reason"] == "ForeignObject").then_some(echo)
    });
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

    // Once it is out of the way, any change to the Echo lets it go on.
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
fn a_kind_that_is_not_served_yet_is_waited_for() {
    let Some(cluster) = Cluster::for_test("late", &["late"]) else { return };
    // A guest's kind, since that of Echo is served already.
    let host = cluster.host(&[gyre_artifacts::guests::TRAP], &["late"]);
    cluster.eventually("the log line", || host.log().contains("does not serve the kind yet").then_some(()));
    cluster.install_crds(&[gyre_artifacts::guests::TRAP]);
    cluster.eventually("the mount", || host.log().contains("mounted").then_some(()));
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
