//! Fields of parents that their plugin sets: the plugin `reloader`.

use std::process::Command;

use gyre_controlplane::Mark;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE, Host};

pub(crate) const DIGEST: &str = "reloader.gyre.dev/digest";
const RELOAD: &str = "reloader.gyre.dev/reload";
const MARK: &str = "fields.gyre.dev/reloader-deployments";

pub(crate) fn deployment(namespace: &str) -> Value {
    let settings = json!([{ "configMapRef": { "name": "settings" } }]);
    let container = json!({ "name": "web", "image": "nginx:1.29", "envFrom": settings });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "namespace": namespace, "annotations": { RELOAD: "true" } },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [container] } },
        },
    })
}

pub(crate) fn settings(namespace: &str, language: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "settings", "namespace": namespace },
        "data": { "LANGUAGE": language },
    })
}

struct Reloaded<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
    folder: Folder,
}

impl Reloaded<'_> {
    fn put_config(&self, grants: &str) -> String {
        let plugin = gyre_artifacts::RELOADER;
        let namespace = self.namespace;
        let mount = format!("{{plugin: {plugin}, reconciler: reloader-deployments, namespaces: [{namespace}]{grants}}}");
        self.folder.put("gyre.yaml", format!("mounts: [{mount}]\n"))
    }

    fn host(&self, config: &str) -> Host {
        let namespace = self.namespace;
        self.cluster.host_with(&[], &[], &["--config", config, "--name", namespace, "--home-namespace", namespace])
    }

    fn get(&self) -> Value {
        self.cluster.get(self.namespace, "deployment", "web").expect("the Deployment")
    }

    fn digest(&self) -> Option<String> {
        let annotations = self.get().pointer("/spec/template/metadata/annotations").cloned()?;
        Some(annotations.get(DIGEST)?.as_str()?.to_owned())
    }

    fn is_marked(&self) -> bool {
        self.get().pointer("/metadata/annotations").is_some_and(|annotations| annotations.get(MARK).is_some())
    }

    /// The writes of Deployments in the namespace since a mark.
    fn writes(&self, mark: Mark) -> Vec<String> {
        let requests = self.cluster.requests(mark);
        let writes = requests
            .iter()
            .filter(|event| event.is_write() && event.namespace == self.namespace && event.resource == "deployments");
        writes.map(|event| format!("{} {}", event.verb, event.name)).collect()
    }
}

const GRANTED: &str = ", grants: {parentFields: all}";

#[test]
fn fields_of_a_parent_follow_and_are_withdrawn() {
    let namespace = "reload";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let reloaded = Reloaded { cluster: &cluster, namespace, folder: Folder::new() };
    cluster.apply(&settings(namespace, "en").to_string());
    cluster.apply(&deployment(namespace).to_string());
    let config = reloaded.put_config("");
    let host = reloaded.host(&config);
    let refused = cluster.eventually("the refusal", || cluster.events(namespace, "web", "ParentFieldNotGranted").pop());
    assert!(refused["message"].as_str().unwrap().contains("grants.parentFields"), "{refused}");
    cluster.settled(&host);
    assert_eq!((reloaded.digest(), reloaded.is_marked()), (None, false));

    reloaded.put_config(GRANTED);
    let first = cluster.eventually("the digest", || reloaded.digest());
    cluster.settled(&host);
    let mark = cluster.audit_mark();
    cluster.apply(&settings(namespace, "fr").to_string());
    let second = cluster.eventually("the next digest", || reloaded.digest().filter(|digest| *digest != first));
    cluster.settled(&host);
    if let Some(mark) = mark {
        assert_eq!(reloaded.writes(mark), ["patch web"], "one request");
    }
    cluster.kubectl(&["label", "deployment", "web", "-n", namespace, "team=web"]);
    cluster.settled(&host);
    let mark = cluster.audit_mark();
    // Nothing that the digest depends on.
    cluster.kubectl(&["label", "configmap", "settings", "-n", namespace, "team=web"]);
    cluster.settled(&host);
    if let Some(mark) = mark {
        assert_eq!(reloaded.writes(mark), [""; 0], "no request");
    }
    assert_eq!(reloaded.digest().as_deref(), Some(&*second));

    cluster.kubectl(&["annotate", "deployment", "web", "-n", namespace, &format!("{RELOAD}=false"), "--overwrite"]);
    cluster.eventually("the withdrawal", || (reloaded.digest().is_none() && !reloaded.is_marked()).then_some(()));
    let live = reloaded.get();
    assert_eq!(live.pointer("/metadata/labels/team"), Some(&json!("web")), "what others set stays");

    // A tenant forges the mark: it is taken off, and nothing is written for ever.
    cluster.kubectl(&["annotate", "deployment", "web", "-n", namespace, &format!("{MARK}=forged")]);
    cluster.eventually("the removal", || (!reloaded.is_marked()).then_some(()));
    // So it does from a parent that its selector no longer matches.
    cluster.kubectl(&["annotate", "deployment", "web", "-n", namespace, &format!("{RELOAD}=true"), "--overwrite"]);
    cluster.eventually("the digest again", || reloaded.digest());
    reloaded.put_config(&format!(", selector: team!=web{GRANTED}"));
    cluster.eventually("the withdrawal", || (reloaded.digest().is_none() && !reloaded.is_marked()).then_some(()));
    reloaded.put_config(GRANTED);
    // Unmounted, it withdraws the fields, too.
    cluster.kubectl(&["annotate", "deployment", "web", "-n", namespace, &format!("{RELOAD}=true"), "--overwrite"]);
    cluster.eventually("the digest again", || reloaded.digest());
    reloaded.folder.put("gyre.yaml", "mounts: []\n");
    cluster.eventually("the withdrawal", || (reloaded.digest().is_none() && !reloaded.is_marked()).then_some(()));
}

#[test]
fn what_others_set_in_the_parent_is_not_overwritten_and_nobody_flaps() {
    let namespace = "reload-others";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let reloaded = Reloaded { cluster: &cluster, namespace, folder: Folder::new() };
    cluster.apply(&settings(namespace, "en").to_string());
    let mut taken = deployment(namespace);
    taken["spec"]["template"]["metadata"]["annotations"] = json!({ DIGEST: "mine" });
    cluster.apply(&taken.to_string());
    let host = reloaded.host(&reloaded.put_config(GRANTED));
    let refused = cluster.eventually("the refusal", || cluster.events(namespace, "web", "Conflict").pop());
    assert!(refused["message"].as_str().unwrap().contains("other field managers own"), "{refused}");
    cluster.settled(&host);
    assert_eq!(reloaded.digest().as_deref(), Some("mine"));

    // It gives the field up.
    cluster.apply(&deployment(namespace).to_string());
    let digest = cluster.eventually("the digest", || reloaded.digest().filter(|digest| digest != "mine"));
    cluster.settled(&host);
    // A person edits it: it is theirs from now on.
    let edit = json!({ "spec": { "template": { "metadata": { "annotations": { DIGEST: "edited" } } } } }).to_string();
    cluster.kubectl(&["patch", "deployment", "web", "-n", namespace, "--type", "merge", "-p", &edit]);
    cluster.settled(&host);
    let mark = cluster.audit_mark();
    cluster.settled(&host);
    assert_eq!(reloaded.digest().as_deref(), Some("edited"));
    assert_ne!(digest, "edited");
    if let Some(mark) = mark {
        assert_eq!(reloaded.writes(mark), [""; 0], "nobody writes any more");
    }
}

#[test]
fn previews_show_the_fields_of_a_parent() {
    let folder = Folder::new();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [settings("default", "en"), deployment("default")] });
    let file = folder.put("objects.json", list.to_string());
    let plugin = gyre_artifacts::RELOADER;
    let gyre = |arguments: &[&str]| {
        let output = Command::new(GYRE).args(arguments).output().expect("gyre runs");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let said = gyre(&["render", plugin, &file]);
    assert!(said.contains("ParentFieldNotGranted"), "{said}");
    let said = gyre(&["render", plugin, &file, "--parent-fields", "all"]);
    assert!(said.contains("update     Deployment default/web") && said.contains(DIGEST) && !said.contains(MARK), "{said}");
    let said = gyre(&["render", plugin, &file, "--parent-fields", "/metadata/finalizers"]);
    assert!(said.contains("may not be set"), "{said}");
    let said = gyre(&["inspect", plugin]);
    assert!(said.contains("/spec/template/metadata/annotations/reloader.gyre.dev~1digest of Deployment"), "{said}");
    let rules = |fields: &str| {
        let mount = format!("{{plugin: {plugin}, reconciler: reloader-deployments, grants: {{parentFields: {fields}}}}}");
        gyre(&["rbac", "--config", &folder.put("gyre.yaml", format!("mounts: [{mount}]\n"))])
    };
    let permits = |rules: &str| rules.contains("- deployments") && rules.lines().any(|line| line.trim() == "- patch");
    assert!(permits(&rules("all")), "{}", rules("all"));
    let undeclared = rules("[/spec/replicas]");
    assert!(undeclared.contains("does not declare the field /spec/replicas"), "{undeclared}");
}
