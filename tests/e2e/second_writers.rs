//! Other writers of the fields that a plugin sets: an autoscaler, which writes through the
//! subresource `scale`; and Argo CD, which applies on the server's side, with and without force, or
//! on the client's side. The host forces no field of a parent, and of a child only those that
//! somebody has edited.

use std::process::Command;

use gyre_artifacts::probes::{MARKING, VERBATIM};
use gyre_core::conflict::FORCED_APPLIES;
use gyre_core::parent_fields::mark;
use serde_json::{Value, json};

use crate::admission::wanting;
use crate::client::Force;
use crate::creation::deployment;
use crate::harness::{Cluster, Folder, GYRE, Host, condition, guest, with_kind};

const ARGO_CD: &str = "argocd-controller";

/// The field manager of [`Cluster::scale`].
const AUTOSCALER: &str = "kubectl-patch";

/// A parent of a plugin, in the namespace of the same name as the test.
struct Parent<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
    kind: &'a str,
}

impl Parent<'_> {
    fn get(&self) -> Value {
        self.cluster.get(self.namespace, self.kind, "it").expect("the parent")
    }

    /// Waits until the host refuses the latest generation, because of these fields and managers.
    fn wait_for_conflict(&self, about: &[&str]) {
        let message = self.cluster.eventually(&format!("a conflict about {about:?}"), || {
            let parent = self.get();
            let ready = condition(&parent, "Ready")?;
            let is_latest = parent["status"]["observedGeneration"] == parent["metadata"]["generation"];
            (is_latest && ready["reason"] == "Conflict").then(|| ready["message"].as_str().unwrap_or_default().to_owned())
        });
        assert!(about.iter().all(|part| message.contains(part)), "{about:?} are not in {message:?}");
    }

    /// Causes a call about the parent, and fails if the host then changes an object of a resource.
    fn assert_a_call_changes_nothing(&self, host: &Host, resource: &str) {
        let Self { cluster, namespace, kind } = self;
        cluster.settled(host);
        let (since, plans) = (cluster.audit_mark(), host.plans_about(&format!("{namespace}/it")));
        cluster.touch(namespace, kind, "it", &plans.to_string());
        cluster.eventually("another call", || (host.plans_about(&format!("{namespace}/it")) > plans).then_some(()));
        cluster.settled(host);
        if let Some(since) = since {
            assert_eq!(cluster.successful_writes(since, resource), [""; 0], "nobody undoes the work of others");
        }
    }

    fn is_marked(&self, plugin: &str) -> bool {
        self.get().pointer("/metadata/annotations").is_some_and(|annotations| annotations.get(mark(plugin)).is_some())
    }
}

/// Installs the kind Scaling, which has a subresource `scale`. Returns its plugin, which sets
/// fields of parents.
fn scaling(cluster: &Cluster, folder: &Folder) -> String {
    let plugin = folder.put("scaling.wasm", with_kind(MARKING, "Marking", "Scaling"));
    let output = Command::new(GYRE).args(["crds", &plugin]).output().expect("gyre runs");
    let mut definition: Value = serde_saphyr::from_str(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
    definition["spec"]["versions"][0]["subresources"]["scale"] =
        json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" });
    cluster.apply(&definition.to_string());
    cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "scalings.guests.gyre.dev"]);
    plugin
}

#[test]
fn an_autoscaler_keeps_the_replicas_of_a_parent_that_its_plugin_sets() {
    const NAMESPACE: &str = "scaled-parent";
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let folder = Folder::new();
    let plugin = scaling(&cluster, &folder);
    let config = |on_conflict: &str| {
        let grants = json!({ "parentFields": "all" });
        let mount = json!({ "plugin": plugin, "namespaces": [NAMESPACE], "grants": grants, "onConflict": on_conflict });
        folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string())
    };
    let host = cluster.host_with(&[], &[], &["--config", &config("refuse")]);
    let parent = Parent { cluster: &cluster, namespace: NAMESPACE, kind: "scaling" };
    let wants = |size: &str| {
        let fields = json!({ "metadata": { "labels": { "size": size } }, "spec": { "replicas": 2 } });
        cluster.apply(&guest("Scaling", NAMESPACE, "it", json!({ "fields": fields })).to_string());
    };
    let becomes = |replicas: u32, size: Option<&str>| {
        cluster.eventually(&format!("{replicas} replicas, and the label {size:?}"), || {
            let live = parent.get();
            (live["spec"]["replicas"] == replicas && live["metadata"]["labels"]["size"] == json!(size)).then_some(())
        });
    };
    wants("1");
    becomes(2, Some("1"));
    cluster.settled(&host);

    cluster.scale(NAMESPACE, "scaling", "it", 5);
    parent.wait_for_conflict(&[".spec.replicas", AUTOSCALER]);
    parent.assert_a_call_changes_nothing(&host, "scalings");
    // The other fields of the answer are refused with it.
    wants("2");
    parent.wait_for_conflict(&[".spec.replicas", AUTOSCALER]);
    becomes(5, Some("1"));

    config("skip-field");
    becomes(5, Some("2"));
    let skipped = cluster.eventually("the warning", || cluster.events(NAMESPACE, "it", "FieldsSkipped").pop());
    let message = skipped["message"].as_str().unwrap();
    assert!([".spec.replicas", AUTOSCALER].iter().all(|part| message.contains(part)), "{skipped}");
    cluster.ready(NAMESPACE, "scaling", "it");

    // Fields that are withdrawn keep the values of others.
    cluster.apply(&guest("Scaling", NAMESPACE, "it", json!({})).to_string());
    becomes(5, None);
    assert!(!parent.is_marked("scaling"));
}

#[test]
fn argo_cd_keeps_the_field_of_a_parent_that_it_applies_until_it_gives_it_up() {
    const NAMESPACE: &str = "applied-parent";
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let host = cluster.host_with(&[MARKING], &[NAMESPACE], &["--parent-fields", "all"]);
    let parent = Parent { cluster: &cluster, namespace: NAMESPACE, kind: "marking" };
    let becomes = |note: &str| {
        cluster.eventually(&format!("the note {note}"), || (parent.get()["spec"]["note"] == note).then_some(()));
    };
    let manifest = |spec: Value| guest("Marking", NAMESPACE, "it", spec);
    let with_note = |note: &str| manifest(json!({ "note": note }));
    cluster.apply(&manifest(json!({ "fields": { "spec": { "note": "ours" } } })).to_string());
    becomes("ours");

    let refused = cluster.apply_as(ARGO_CD, Force::No, &with_note("theirs")).expect_err("a conflict");
    assert!(format!("{refused:#}").contains("gyre/marking"), "{refused:#}");
    assert_eq!(parent.get()["spec"]["note"], "ours");
    cluster.apply_as(ARGO_CD, Force::Yes, &with_note("theirs")).expect("applied");
    parent.wait_for_conflict(&[".spec.note", ARGO_CD]);
    parent.assert_a_call_changes_nothing(&host, "markings");
    assert_eq!(parent.get()["spec"]["note"], "theirs");
    cluster.apply_as(ARGO_CD, Force::No, &manifest(json!({}))).expect("applied");
    becomes("ours");
    cluster.ready(NAMESPACE, "marking", "it");

    cluster.apply_on_client(&with_note("patched"));
    parent.wait_for_conflict(&[".spec.note", "kubectl-client-side-apply"]);
    parent.assert_a_call_changes_nothing(&host, "markings");
    assert_eq!(parent.get()["spec"]["note"], "patched");
    // kubectl removes what it has applied before.
    cluster.apply_on_client(&manifest(json!({})));
    becomes("ours");
    cluster.ready(NAMESPACE, "marking", "it");

    cluster.apply_as(ARGO_CD, Force::Yes, &with_note("theirs")).expect("applied");
    parent.wait_for_conflict(&[".spec.note", ARGO_CD]);
    assert!(parent.is_marked("marking"));
    // The plugin sets no fields any more.
    cluster.apply(&manifest(json!({})).to_string());
    cluster.ready(NAMESPACE, "marking", "it");
    assert!(!parent.is_marked("marking"));
    assert_eq!(parent.get()["spec"]["note"], "theirs");
}

#[test]
fn an_autoscaler_keeps_the_replicas_of_a_child() {
    const NAMESPACE: &str = "scaled-child";
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let folder = Folder::new();
    let config = |on_conflict: &str| {
        let mount = json!({ "plugin": VERBATIM, "namespaces": [NAMESPACE], "onConflict": on_conflict });
        folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string())
    };
    let host = cluster.host_with(&[], &[], &["--config", &config("refuse")]);
    let parent = Parent { cluster: &cluster, namespace: NAMESPACE, kind: "verbatim" };
    let wants = |image: &str, replicas: Value| {
        let pod = json!({ "containers": [{ "name": "main", "image": image }] });
        let mut child = deployment("it", json!({ "spec": { "template": { "spec": pod } } }));
        if !replicas.is_null() {
            child["spec"]["replicas"] = replicas;
        }
        cluster.apply(&guest("Verbatim", NAMESPACE, "it", json!({ "children": [child] })).to_string());
    };
    let becomes = |replicas: u32, image: &str| {
        cluster.eventually(&format!("{replicas} replicas of {image}"), || {
            let live = cluster.get(NAMESPACE, "deployment", "it")?;
            let live_image = &live["spec"]["template"]["spec"]["containers"][0]["image"];
            (live["spec"]["replicas"] == replicas && *live_image == image).then_some(())
        });
    };
    wants("busybox:1", json!(1));
    cluster.ready(NAMESPACE, "verbatim", "it");
    becomes(1, "busybox:1");
    cluster.settled(&host);

    cluster.scale(NAMESPACE, "deployment", "it", 3);
    parent.wait_for_conflict(&[".spec.replicas", AUTOSCALER]);
    parent.assert_a_call_changes_nothing(&host, "deployments");
    // The child is refused as a whole.
    wants("busybox:2", json!(1));
    parent.wait_for_conflict(&[".spec.replicas", AUTOSCALER]);
    becomes(3, "busybox:1");

    config("skip-field");
    becomes(3, "busybox:2");
    let skipped = cluster.eventually("the warning", || cluster.events(NAMESPACE, "it", "FieldsSkipped").pop());
    assert!(skipped["message"].as_str().unwrap().contains(".spec.replicas"), "{skipped}");
    cluster.ready(NAMESPACE, "verbatim", "it");
    parent.assert_a_call_changes_nothing(&host, "deployments");

    // The plugin leaves the field to the autoscaler.
    wants("busybox:3", Value::Null);
    becomes(3, "busybox:3");
    cluster.ready(NAMESPACE, "verbatim", "it");
}

#[test]
fn argo_cd_keeps_the_field_of_a_child_that_it_applies_and_a_few_edits_are_reverted() {
    const NAMESPACE: &str = "applied-child";
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let host = cluster.host(&[VERBATIM], &[NAMESPACE]);
    let parent = Parent { cluster: &cluster, namespace: NAMESPACE, kind: "verbatim" };
    let child = || cluster.get(NAMESPACE, "secret", "it").unwrap_or_default();
    let becomes = |value: &str| {
        cluster.eventually(&format!("the value {value}"), || (child()["data"]["a"] == value).then_some(()));
    };
    let metadata = json!({ "name": "it", "namespace": NAMESPACE });
    let manifest = |data: Value| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
    let (ours, theirs, patched) = ("YQ==", "Yg==", "Yw==");
    cluster.apply(&wanting(NAMESPACE, "it", ours));
    cluster.ready(NAMESPACE, "verbatim", "it");

    let refused = cluster.apply_as(ARGO_CD, Force::No, &manifest(json!({ "a": theirs }))).expect_err("a conflict");
    assert!(format!("{refused:#}").contains("gyre/verbatim"), "{refused:#}");
    assert_eq!(child()["data"]["a"], ours);
    cluster.apply_as(ARGO_CD, Force::Yes, &manifest(json!({ "a": theirs }))).expect("applied");
    parent.wait_for_conflict(&[".data.a", ARGO_CD]);
    parent.assert_a_call_changes_nothing(&host, "secrets");
    assert_eq!(child()["data"]["a"], theirs);
    cluster.apply_as(ARGO_CD, Force::No, &manifest(json!({ "b": theirs }))).expect("applied");
    becomes(ours);
    cluster.ready(NAMESPACE, "verbatim", "it");

    // Client-side apply is a patch, as a person's edit is.
    for _ in 0..FORCED_APPLIES {
        cluster.apply_on_client(&manifest(json!({ "a": patched })));
        becomes(ours);
    }
    cluster.settled(&host);
    cluster.apply_on_client(&manifest(json!({ "a": patched })));
    parent.wait_for_conflict(&[".data.a", "kubectl-client-side-apply"]);
    parent.assert_a_call_changes_nothing(&host, "secrets");
    let child = child();
    assert_eq!(child["data"]["a"], patched);
    let annotations = child["metadata"]["annotations"].as_object().unwrap();
    assert!(annotations.contains_key("kubectl.kubernetes.io/last-applied-configuration"), "{child}");
}
