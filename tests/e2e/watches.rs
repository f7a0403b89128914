use serde_json::{Value, json};

use crate::harness::Cluster;

fn echo(name: &str, metadata: Value) -> Value {
    let mut echo = json!({
        "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "metadata": metadata, "spec": { "message": "hello" },
    });
    echo["metadata"]["name"] = json!(name);
    echo["metadata"]["namespace"] = json!("odd");
    echo
}

#[test]
fn an_unusual_object_of_a_tenant_does_not_stop_the_watch_of_its_kind() {
    let Some(cluster) = Cluster::for_test("odd", &["odd"]) else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO], &["odd"]);
    // Its owner does not exist, so only the finalizer keeps it from being collected.
    let reference = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a<b", "uid": "a\"b\\c" }]);
    let notes = json!({ "letters": "\u{2028}\u{10ffff}\n\"\\<>&", "empty": "", "large": "x".repeat(100_000) });
    let odd = json!({ "ownerReferences": reference, "finalizers": ["example.com/keep"], "annotations": notes });
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), echo("odd", odd).to_string()).expect("written");
    cluster.kubectl(&["create", "-f", &file.path().display().to_string()]);
    for value in ["1", "2", "3"] {
        cluster.touch("odd", "echo", "odd", value);
    }
    cluster.apply(&echo("plain", json!({})).to_string());
    cluster.eventually("the Job of another Echo", || cluster.get("odd", "job", "plain"));
    let is_of_echos = &["kind=\"Echo.v1alpha1.mmontes.io\""];
    assert_eq!(host.metric("gyre_watch_failures_total", is_of_echos), 0.0);
    assert_eq!(host.metric("gyre_watch_objects_left_out_total", is_of_echos), 0.0);
    assert_eq!(host.metric("gyre_watch_connected", is_of_echos), 1.0);
    assert_eq!(host.http("/readyz").0, "HTTP/1.0 200 OK");
    cluster.kubectl(&["patch", "-n", "odd", "echo", "odd", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
    cluster.kubectl(&["delete", "-n", "odd", "echo", "odd", "--ignore-not-found"]);
}
