//! The migration of the Jobs and CronJobs of echoperator.

use std::process::Command;

use gyre_controlplane::AuditEvent;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE, condition, finish_pod_of, guest, with_kind};

const PREDECESSOR: &str = "echoperator";
/// A time at which the test does not run.
const NEW_YEAR: &str = "0 0 1 1 *";

fn parent(kind: &str, namespace: &str, name: &str, message: &str) -> Value {
    let mut spec = json!({ "message": message });
    if kind == "ScheduledEcho" {
        spec["schedule"] = json!(NEW_YEAR);
    }
    json!({
        "apiVersion": "mmontes.io/v1alpha1", "kind": kind, "metadata": { "name": name, "namespace": namespace }, "spec": spec,
    })
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the metadata of a child of echoperator, which has no labels.
fn metadata(parent: &Value) -> Value {
    let owner = json!({
        "apiVersion": "mmontes.io/v1alpha1", "kind": parent["kind"], "name": parent["metadata"]["name"],
        "uid": parent["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    });
    json!({
        "name": parent["metadata"]["name"], "namespace": parent["metadata"]["namespace"], "ownerReferences": [owner],
    })
}

fn job_spec(parent: &Value) -> Value {
    let container = json!({
        "name": parent["metadata"]["name"], "image": "busybox:1.33.1", "imagePullPolicy": "IfNotPresent",
        "command": ["echo", parent["spec"]["message"]],
    });
    json!({ "template": { "spec": { "containers": [container], "restartPolicy": "Never" } } })
}

fn job(echo: &Value) -> Value {
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(echo), "spec": job_spec(echo) })
}

fn cron_job(scheduled_echo: &Value) -> Value {
    let spec = json!({
        "schedule": scheduled_echo["spec"]["schedule"], "concurrencyPolicy": "Forbid",
        "jobTemplate": { "spec": job_spec(scheduled_echo) },
    });
    json!({ "apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata(scheduled_echo), "spec": spec })
}

/// Creates objects as echoperator does, and returns them as stored.
fn created_by_echoperator(cluster: &Cluster, objects: &[Value]) -> Vec<Value> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string()).unwrap();
    let path = file.path().display().to_string();
    cluster.kubectl(&["create", "--field-manager", PREDECESSOR, "-f", &path]);
    let get = |object: &Value| {
        cluster.get(text(object, "/metadata/namespace"), text(object, "/kind"), text(object, "/metadata/name")).unwrap()
    };
    objects.iter().map(get).collect()
}

/// Returns the writes to Jobs and CronJobs, as `verb resource/name code`.
fn writes(requests: &[AuditEvent]) -> Vec<String> {
    let is_child =
        |event: &&AuditEvent| ["jobs", "cronjobs"].contains(&event.resource.as_str()) && event.subresource.is_empty();
    let mut writes: Vec<String> = requests
        .iter()
        .filter(is_child)
        .filter(|event| !["get", "list", "watch"].contains(&event.verb.as_str()))
        // The host does not know yet that the name is taken.
        .filter(|event| !(event.verb == "create" && event.code == 409))
        .map(|event| format!("{} {}/{} {}", event.verb, event.resource, event.name, event.code))
        .collect();
    writes.sort();
    writes
}

fn schedule_and_message(cron_job: &Value) -> (&str, &str) {
    let container = &cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    (text(cron_job, "/spec/schedule"), text(container, "/command/1"))
}

#[test]
fn children_of_echoperator_are_adopted_and_nothing_runs_again() {
    let Some(cluster) = Cluster::for_test("legacy", &["legacy"]) else { return };
    let parents: Vec<Value> = [("Echo", "ended"), ("Echo", "running"), ("Echo", "expiring"), ("ScheduledEcho", "yearly")]
        .map(|(kind, name)| parent(kind, "legacy", name, "from the old days"))
        .into();
    let parents = created_by_echoperator(&cluster, &parents);
    let [ended, running, expiring, yearly] = &parents[..] else { panic!("{parents:?}") };
    let mut with_time_to_live = job(expiring);
    with_time_to_live["spec"]["ttlSecondsAfterFinished"] = json!(3600);
    let children = created_by_echoperator(&cluster, &[job(ended), job(running), with_time_to_live, cron_job(yearly)]);
    for job in [&children[0], &children[2]] {
        finish_pod_of(&cluster, "legacy", job);
        cluster.eventually("the Job to end", || {
            let job = cluster.get("legacy", "job", text(job, "/metadata/name"))?;
            condition(&job, "Complete").is_some_and(|condition| condition["status"] == "True").then_some(())
        });
    }
    let before: Vec<Value> = cluster.list("legacy", "pods");
    assert_eq!(before.len(), 3, "{before:#?}");

    let Some(mark) = cluster.audit_mark() else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO], &["legacy"]);
    for (name, reason) in [("ended", "JobComplete"), ("running", "JobMayBeDeleted"), ("expiring", "JobComplete")] {
        let echo = cluster.reason("legacy", "echo", name, "Ready", reason);
        assert_eq!(condition(&echo, "Ready").unwrap()["status"], "True");
        assert_eq!(echo["status"]["job"], name);
        assert_eq!(echo["status"]["finished"].is_object(), reason == "JobComplete", "{echo}");
    }
    cluster.ready("legacy", "scheduledecho", "yearly");
    cluster.settled(&host);
    let expected = ["patch cronjobs/yearly 200", "patch jobs/ended 200", "patch jobs/expiring 200", "patch jobs/running 200"];
    assert_eq!(writes(&cluster.requests(mark)), expected, "each is taken over, and nothing else is done to it");
    for (parent, child) in parents.iter().zip(&children) {
        let now = cluster.get("legacy", text(child, "/kind"), text(child, "/metadata/name")).unwrap();
        assert_eq!(now["metadata"]["uid"], child["metadata"]["uid"], "the same object");
        assert_eq!(now["metadata"]["ownerReferences"], child["metadata"]["ownerReferences"]);
        assert_eq!(now["spec"], child["spec"]);
        assert_eq!(now["metadata"]["labels"]["gyre.dev/owner-uid"], parent["metadata"]["uid"]);
    }
    let pods = |objects: &[Value]| objects.iter().map(|pod| pod["metadata"]["uid"].clone()).collect::<Vec<_>>();
    assert_eq!(pods(&cluster.list("legacy", "pods")), pods(&before), "no message is written again");

    drop(host);
    let mark = cluster.audit_mark().unwrap();
    let host = cluster.host(&[gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO], &["legacy"]);
    cluster.eventually("all to be looked at again", || {
        (host.calls("echo") >= 3.0 && host.calls("scheduled-echo") >= 1.0).then_some(())
    });
    cluster.settled(&host);
    assert_eq!(writes(&cluster.requests(mark)), Vec::<String>::new());

    // A Job whose TTL is over is deleted, and does not run again.
    let patch = |kind: &str, name: &str, patch: Value| {
        cluster.kubectl(&["patch", "-n", "legacy", kind, name, "--type=merge", "-p", &patch.to_string()]);
    };
    patch("job", "expiring", json!({ "spec": { "ttlSecondsAfterFinished": 0 } }));
    cluster.gone("legacy", "job", &["expiring"]);
    // The fence: an unfinished Job that was deleted comes back.
    cluster.delete("legacy", "job", "running");
    cluster.eventually("another Job", || {
        let job = cluster.get("legacy", "job", "running")?;
        (job["metadata"]["uid"] != children[1]["metadata"]["uid"]).then_some(())
    });
    cluster.settled(&host);
    assert!(cluster.get("legacy", "job", "expiring").is_none(), "it ran again");

    // In turns, because echoperator still owns these fields as well.
    for (schedule, message) in [("5 0 1 1 *", "one"), ("10 0 1 1 *", "two"), ("15 0 1 1 *", "three"), ("20 0 1 1 *", "four")] {
        patch("scheduledecho", "yearly", json!({ "spec": { "schedule": schedule } }));
        patch("scheduledecho", "yearly", json!({ "spec": { "message": message } }));
        cluster.eventually("the CronJob to follow", || {
            (schedule_and_message(&cluster.get("legacy", "cronjob", "yearly")?) == (schedule, message)).then_some(())
        });
    }
    cluster.ready("legacy", "scheduledecho", "yearly");
    assert_eq!(cluster.get("legacy", "cronjob", "yearly").unwrap()["metadata"]["uid"], children[3]["metadata"]["uid"]);

    cluster.delete("legacy", "echo", "ended");
    cluster.delete("legacy", "scheduledecho", "yearly");
    cluster.gone("legacy", "job", &["ended"]);
    cluster.gone("legacy", "cronjob", &["yearly"]);
}

/// Changes between the last write of echoperator and the first of the host.
#[test]
fn changes_between_echoperator_and_the_host_are_applied() {
    let Some(cluster) = Cluster::for_test("interim", &["interim"]) else { return };
    let parents = [parent("ScheduledEcho", "interim", "changed", "before"), parent("Echo", "interim", "changed", "before")];
    let parents = created_by_echoperator(&cluster, &parents);
    let children = created_by_echoperator(&cluster, &[cron_job(&parents[0]), job(&parents[1])]);
    for kind in ["scheduledecho", "echo"] {
        let patch = json!({ "spec": { "message": "after" } }).to_string();
        cluster.kubectl(&["patch", "-n", "interim", kind, "changed", "--type=merge", "-p", &patch]);
    }
    cluster.apply(&parent("Echo", "interim", "new", "hello").to_string());

    let Some(mark) = cluster.audit_mark() else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO], &["interim"]);
    cluster.ready("interim", "scheduledecho", "changed");
    let now = cluster.get("interim", "cronjob", "changed").unwrap();
    assert_eq!(now["metadata"]["uid"], children[0]["metadata"]["uid"]);
    assert_eq!(schedule_and_message(&now), (NEW_YEAR, "after"));
    // As with echoperator, a Job is for the Echo's first message. The Echo now reports that.
    cluster.reason("interim", "echo", "changed", "Ready", "JobOutdated");
    assert_eq!(cluster.get("interim", "job", "changed").unwrap()["metadata"]["uid"], children[1]["metadata"]["uid"]);
    cluster.ready("interim", "echo", "new");
    cluster.settled(&host);
    let deleted = writes(&cluster.requests(mark)).into_iter().find(|write| write.starts_with("delete"));
    assert_eq!(deleted, None);
}

/// For the garbage collector and for gyre, Jobs in another namespace are not children.
#[test]
fn a_job_in_the_namespace_of_echoperator_is_left_alone() {
    let Some(cluster) = Cluster::for_test("strayed", &["strayed", "strayed-operator"]) else { return };
    let echos = created_by_echoperator(&cluster, &[parent("Echo", "strayed", "afar", "from elsewhere")]);
    let mut stray = job(&echos[0]);
    stray["metadata"]["namespace"] = json!("strayed-operator");
    cluster.create(&stray.to_string());
    let Some(mark) = cluster.audit_mark() else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO], &["strayed", "strayed-operator"]);
    cluster.ready("strayed", "echo", "afar");
    assert!(cluster.get("strayed", "job", "afar").is_some(), "there is one beside the Echo");
    cluster.settled(&host);
    let mut requests = cluster.requests(mark);
    requests.retain(|event| event.namespace == "strayed-operator");
    assert_eq!(writes(&requests), Vec::<String>::new());
}

/// echoperator's CRDs have no status subresource. They may be replaced while the host starts.
#[test]
fn the_host_waits_for_a_definition_with_a_status() {
    let Some(cluster) = Cluster::for_test("statusless", &["statusless"]) else { return };
    let folder = Folder::new();
    let plugin = folder.put("statusless.wasm", with_kind(gyre_artifacts::probes::FINALIZING, "Finalizing", "Statusless"));
    let output = Command::new(GYRE).args(["crds", &plugin]).output().expect("gyre runs");
    let mut definition: Value = serde_saphyr::from_str(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
    definition["spec"]["versions"][0]["subresources"].as_object_mut().unwrap().remove("status").unwrap();
    cluster.apply(&definition.to_string());
    cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", text(&definition, "/metadata/name")]);
    let host = cluster.host(&[&plugin], &["statusless"]);
    cluster.eventually("the log line", || host.log().contains("without the status").then_some(()));
    cluster.install_crds(&[&plugin]);
    cluster.apply(&guest("Statusless", "statusless", "it", json!({})).to_string());
    cluster.ready("statusless", "statusless", "it");
    assert!(!host.log().contains("continuing without"), "{}", host.log());
    cluster.delete("statusless", "statusless", "it");
    cluster.gone("statusless", "statusless", &["it"]);
}

#[test]
fn children_without_an_owner_are_adopted_only_if_allowed_and_jobs_never() {
    let Some(cluster) = Cluster::for_test("restored", &["restored"]) else { return };
    let parents = [parent("ScheduledEcho", "restored", "it", "hello"), parent("Echo", "restored", "it", "hello")];
    let parents = created_by_echoperator(&cluster, &parents);
    let children = [cron_job(&parents[0]), job(&parents[1])].map(|mut child| {
        child["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        child
    });
    let children = created_by_echoperator(&cluster, &children);
    let plugins = [gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO];
    let host = cluster.host(&plugins, &["restored"]);
    for kind in ["scheduledecho", "echo"] {
        cluster.reason("restored", kind, "it", "Ready", "ForeignObject");
    }
    drop(host);

    let Some(mark) = cluster.audit_mark() else { return };
    let host = cluster.host_with(&plugins, &["restored"], &["--adopt"]);
    cluster.ready("restored", "scheduledecho", "it");
    // The previous host left a condition with the same reason and another message.
    let label = format!("gyre.dev/owner-uid={}", text(&parents[1], "/metadata/uid"));
    cluster.eventually("the condition to say how to hand the Job over", || {
        let echo = cluster.reason("restored", "echo", "it", "Ready", "ForeignObject");
        condition(&echo, "Ready")?["message"].as_str()?.contains(&label).then_some(())
    });
    cluster.settled(&host);
    assert_eq!(writes(&cluster.requests(mark)), ["patch cronjobs/it 200"]);
    let uid_of = |kind: &str| cluster.get("restored", kind, "it").unwrap()["metadata"]["uid"].clone();
    assert_eq!([uid_of("cronjob"), uid_of("job")], [0, 1].map(|child: usize| children[child]["metadata"]["uid"].clone()));

    cluster.kubectl(&["label", "-n", "restored", "job", "it", "gyre.dev/plugin=echo", &label]);
    cluster.touch("restored", "echo", "it", "handed over");
    cluster.ready("restored", "echo", "it");
    assert_eq!(uid_of("job"), children[1]["metadata"]["uid"]);
}
