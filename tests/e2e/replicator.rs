//! Children of the parent's own kind: the plugin `replicator`.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE};

const TO: &str = "replicator.gyre.dev/to";

pub(crate) fn secret(namespace: &str, to: Option<&str>, token: &str) -> Value {
    let annotations = to.map(|to| json!({ TO: to })).unwrap_or_default();
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": "registry", "namespace": namespace, "annotations": annotations, "labels": { "replicate": "yes" },
        },
        "stringData": { "token": token },
    })
}

#[test]
fn copies_follow_and_go_and_a_copy_has_no_copies() {
    let [from, one, other, later] = ["replicate", "replicate-one", "replicate-other", "replicate-later"];
    let Some(cluster) = Cluster::for_test("replicate", &[from, one, other]) else { return };
    let token_in = |namespace: &str| {
        let copy = cluster.get(namespace, "secret", "registry")?;
        Some(copy.pointer("/data/token")?.as_str()?.to_owned())
    };
    let (encoded, encoded_again) = ("b25l".to_owned(), "dHdv".to_owned());
    // Somebody else's Secret is in the way.
    cluster.apply(&secret(other, None, "mine").to_string());
    cluster.apply(&secret(from, Some("replicate-*"), "one").to_string());
    let folder = Folder::new();
    // The plugin reads Namespaces, so its mount is for all namespaces.
    let plugin = gyre_artifacts::REPLICATOR;
    let config =
        format!("mounts: [{{plugin: {plugin}, selector: replicate=yes, grants: {{writeNamespaces: ['replicate-*']}}}}]\n");
    let config = folder.put("gyre.yaml", config);
    let host = cluster.host_with(&[], &[], &["--config", &config, "--name", from, "--home-namespace", from]);
    cluster.eventually("the copy", || token_in(one).filter(|token| *token == encoded));
    let refused = cluster.eventually("the refusal", || cluster.events(from, "registry", "ForeignObject").pop());
    assert!(refused["message"].as_str().unwrap().contains(other), "{refused}");
    assert_eq!(token_in(other).as_deref(), Some("bWluZQ=="));

    // Otherwise the host tries again after 5 minutes: it does not watch objects of others.
    cluster.delete(other, "secret", "registry");
    cluster.touch(from, "secret", "registry", "again");
    cluster.eventually("the copy in the other namespace", || token_in(other).filter(|token| *token == encoded));
    cluster.kubectl(&["create", "namespace", later]);
    cluster.eventually("the copy in the new namespace", || token_in(later).filter(|token| *token == encoded));
    cluster.settled(&host);

    // A tenant makes a copy look like a Secret that wants copies, and takes the label off another.
    cluster.kubectl(&["annotate", "secret", "registry", "-n", one, &format!("{TO}={from}-everywhere,{other}")]);
    cluster.kubectl(&["label", "secret", "registry", "-n", one, "replicate=yes"]);
    cluster.kubectl(&["label", "secret", "registry", "-n", later, "replicate=yes", "gyre.dev/plugin-"]);
    cluster.kubectl(&["annotate", "secret", "registry", "-n", later, &format!("{TO}={one}")]);
    cluster.settled(&host);
    for namespace in [one, later] {
        let copy = cluster.get(namespace, "secret", "registry").unwrap();
        let annotations = copy["metadata"]["annotations"].as_object().unwrap();
        assert!(!annotations.keys().any(|name| name.starts_with("children.gyre.dev/")), "{copy}");
        assert_eq!(copy["metadata"].get("finalizers"), None, "{copy}");
    }
    cluster.kubectl(&["label", "secret", "registry", "-n", later, "gyre.dev/plugin=replicator"]);
    cluster.settled(&host);
    let mut mark = None;

    // The first change of a child takes a request more, because it was created with POST.
    for (token, encoded) in [("between", "YmV0d2Vlbg=="), ("two", &encoded_again)] {
        mark = cluster.audit_mark();
        cluster.apply(&secret(from, Some("replicate-*"), token).to_string());
        for namespace in [one, other, later] {
            cluster.eventually("the change", || token_in(namespace).filter(|token| token == encoded));
        }
        cluster.settled(&host);
    }
    if let Some(mark) = mark {
        let requests = cluster.requests(mark);
        let copies = requests.iter().filter(|event| event.is_write() && event.resource == "secrets" && event.namespace != from);
        let copies: Vec<String> = copies.map(|event| format!("{} {}", event.verb, event.namespace)).collect();
        assert_eq!(copies.len(), 3, "one request for each copy: {copies:?}");
    }

    cluster.apply(&secret(from, Some(one), "two").to_string());
    cluster.gone(other, "secret", &["registry"]);
    cluster.gone(later, "secret", &["registry"]);
    assert_eq!(token_in(one), Some(encoded_again));
    cluster.delete(from, "secret", "registry");
    cluster.gone(one, "secret", &["registry"]);
    cluster.gone(from, "secret", &["registry"]);
}

#[test]
fn previews_show_copies_and_say_why_a_copy_is_not_reconciled() {
    let folder = Folder::new();
    let namespace = |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let list = |objects: Vec<Value>| json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
    let objects = vec![namespace("shared"), namespace("team-a"), secret("shared", Some("team-*"), "one")];
    let file = folder.put("objects.json", list(objects.clone()));
    let gyre = |arguments: &[&str]| {
        let output = Command::new(GYRE).args(arguments).output().expect("gyre runs");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let plugin = gyre_artifacts::REPLICATOR;
    let said = gyre(&["render", plugin, &file]);
    assert!(said.contains("NamespaceNotGranted"), "{said}");
    let said = gyre(&["render", plugin, &file, "--write-namespaces", "team-*"]);
    assert!(said.contains("namespace: team-a") && !said.contains("NamespaceNotGranted"), "{said}");

    let mut copy = secret("team-a", Some("shared"), "one");
    copy["metadata"]["labels"] = json!({ "gyre.dev/plugin": "replicator" });
    let file = folder.put("copy.json", list(objects.into_iter().take(2).chain([copy]).collect()));
    let said = gyre(&["render", plugin, &file]);
    assert!(said.contains("it is a child of the plugin replicator"), "{said}");
}
