//! Deletions of parents that their plugin asks for.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Cluster, Folder};

const GYRE: &str = env!("CARGO_BIN_EXE_gyre");

pub(crate) fn job(namespace: &str, name: &str, ttl: &str) -> Value {
    let container = json!({ "name": "main", "image": "busybox:1.37", "command": ["true"] });
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": { "name": name, "namespace": namespace, "annotations": { "cleaner.gyre.dev/ttl-seconds": ttl } },
        "spec": { "suspend": true, "template": { "spec": { "restartPolicy": "Never", "containers": [container] } } },
    })
}

/// Sets the status of a Job that ended at this time.
pub(crate) fn finish(cluster: &Cluster, namespace: &str, name: &str, at: &str) {
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": at });
    let conditions = [condition("SuccessCriteriaMet"), condition("Complete")];
    let status = json!({ "startTime": at, "completionTime": at, "conditions": conditions });
    cluster.patch_status(namespace, "job", name, &status);
}

#[test]
fn a_parent_is_deleted_only_if_the_operator_grants_it() {
    let namespace = "clean";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    for (name, ttl) in [("over", "1"), ("kept", "keep"), ("later", "86400000")] {
        cluster.apply(&job(namespace, name, ttl).to_string());
        finish(&cluster, namespace, name, "2026-01-01T00:00:00Z");
    }
    let folder = Folder::new();
    let config = |grants: &str| {
        let plugin = gyre_artifacts::CLEANER;
        format!("mounts:\n- {{plugin: {plugin}, namespaces: [{namespace}]{grants}}}\n")
    };
    let path = folder.put("gyre.yaml", config(""));
    let host = cluster.host_with(&[], &[], &["--config", &path, "--name", namespace, "--home-namespace", namespace]);
    let refused = cluster.eventually("the refusal", || cluster.events(namespace, "over", "ParentDeletionNotGranted").pop());
    assert!(refused["message"].as_str().unwrap().contains("grants.deleteParents"), "{refused}");
    cluster.settled(&host);
    assert!(cluster.get(namespace, "job", "over").is_some());

    let mark = cluster.audit_mark();
    folder.put("gyre.yaml", config(", grants: {deleteParents: true}"));
    cluster.gone(namespace, "job", &["over"]);
    cluster.settled(&host);
    for name in ["kept", "later"] {
        assert!(cluster.get(namespace, "job", name).is_some(), "{name}");
    }
    if let Some(mark) = mark {
        let writes: Vec<String> = cluster
            .requests(mark)
            .iter()
            .filter(|event| event.is_write() && event.namespace == namespace && event.resource == "jobs")
            .map(|event| format!("{} {}", event.verb, event.name))
            .collect();
        assert_eq!(writes, ["delete over"], "one request, and none for those that stay");
    }
}

#[test]
fn previews_show_the_deletion_of_a_parent() {
    let folder = Folder::new();
    let mut finished = job("default", "over", "1");
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    finished["status"] = json!({ "conditions": [condition("SuccessCriteriaMet"), condition("Complete")] });
    let file = folder.put("job.json", finished.to_string());
    let plugin = gyre_artifacts::CLEANER;
    let gyre = |arguments: &[&str]| {
        let output = Command::new(GYRE).args(arguments).output().expect("gyre runs");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let said = gyre(&["render", plugin, "-f", &file]);
    assert!(said.contains("ParentDeletionNotGranted"), "{said}");
    let said = gyre(&["render", plugin, "-f", &file, "--delete-parents"]);
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains("delete Job default/over"), "{said}");
    let said = gyre(&["inspect", plugin]);
    assert!(said.contains("deletes      Job of batch/v1, if grants.deleteParents"), "{said}");
    let rules = |delete: &str| {
        let config = format!("mounts: [{{plugin: {plugin}, grants: {{deleteParents: {delete}}}}}]\n");
        gyre(&["rbac", "--config", &folder.put("gyre.yaml", config)])
    };
    let permits = |rules: &str| rules.lines().any(|line| line.trim() == "- delete");
    assert!(permits(&rules("true")), "{}", rules("true"));
    assert!(!permits(&rules("false")), "{}", rules("false"));
}
