//! The reads of plugins. A change calls only the plugins that have read the object.
//!
//! A later change, the fence, shows that nothing happened: a watch delivers changes in their order,
//! so the earlier one was handled when the reader of the fence has reacted.

use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, Host, config_map, definition, guest};

fn copied_value(cluster: &Cluster, namespace: &str, name: &str, key: &str) -> Option<String> {
    let copy = cluster.get(namespace, "configmap", &format!("{name}-copy"))?;
    copy["data"][key].as_str().map(str::to_owned)
}

fn await_copied_value(cluster: &Cluster, namespace: &str, name: &str, key: &str, expected: &str) {
    let mut last = None;
    cluster.eventually(&format!("{namespace}/{name} to tell of {key}: {expected:?}"), || {
        let now = copied_value(cluster, namespace, name, key);
        if now != last {
            eprintln!("{namespace}/{name} tells of {key}: {now:?}");
            last.clone_from(&now);
        }
        (last.as_deref() == Some(expected)).then_some(())
    });
}

fn reader(namespace: &str, name: &str, spec: Value) -> Value {
    guest("Reader", namespace, name, spec)
}

fn plans(host: &Host, namespace: &str, names: &[&str]) -> Vec<usize> {
    names.iter().map(|name| host.plans_about(&format!("{namespace}/{name}"))).collect()
}

#[test]
fn a_change_of_an_object_calls_only_its_readers() {
    let Some(cluster) = Cluster::for_test("gets", &["gets"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::READER], &["gets"]);
    cluster.apply_all(&[
        reader("gets", "one", json!({ "get": "one" })),
        reader("gets", "two", json!({ "get": "two" })),
        reader("gets", "nothing", json!({})),
        reader("gets", "fence", json!({ "get": "fence" })),
    ]);
    for name in ["one", "two", "fence"] {
        await_copied_value(&cluster, "gets", name, "get", "absent");
    }
    cluster.all_ready("gets", "reader", 4);
    cluster.settled(&host);
    let others = plans(&host, "gets", &["two", "nothing"]);

    cluster.apply(&config_map("gets", "one", json!({ "text": "created" })).to_string());
    await_copied_value(&cluster, "gets", "one", "get", r#"{"text":"created"}"#);
    cluster.apply(&config_map("gets", "one", json!({ "text": "changed" })).to_string());
    await_copied_value(&cluster, "gets", "one", "get", r#"{"text":"changed"}"#);
    cluster.settled(&host);
    let one = plans(&host, "gets", &["one"]);

    // An unread object, and then the fence.
    cluster.apply_all(&[config_map("gets", "three", json!({ "text": "unread" })), config_map("gets", "fence", json!({}))]);
    cluster.touch("gets", "configmap", "three", "again");
    cluster.delete("gets", "configmap", "three");
    cluster.apply(&config_map("gets", "fence", json!({ "text": "later" })).to_string());
    await_copied_value(&cluster, "gets", "fence", "get", r#"{"text":"later"}"#);
    cluster.settled(&host);
    assert_eq!(plans(&host, "gets", &["one"]), one);

    cluster.delete("gets", "configmap", "one");
    await_copied_value(&cluster, "gets", "one", "get", "absent");
    cluster.settled(&host);
    assert_eq!(plans(&host, "gets", &["two", "nothing"]), others, "they read none of it");
}

#[test]
fn a_change_of_a_list_calls_only_its_readers() {
    let Some(cluster) = Cluster::for_test("lists", &["lists"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::READER], &["lists"]);
    let label = |name: &str, label: &str| cluster.kubectl(&["label", "-n", "lists", "configmap", name, label]);
    cluster.apply_all(&[
        reader("lists", "web", json!({ "list": "app=web,tier notin (test)" })),
        reader("lists", "db", json!({ "list": "app=db" })),
        reader("lists", "odd", json!({ "list": "app in (web" })),
        config_map("lists", "a", json!({})),
        config_map("lists", "b", json!({})),
    ]);
    await_copied_value(&cluster, "lists", "web", "list", "");
    await_copied_value(&cluster, "lists", "db", "list", "");
    cluster.eventually("the selector to be refused", || {
        copied_value(&cluster, "lists", "odd", "list").filter(|value| value.starts_with("InvalidSelector: "))
    });
    cluster.all_ready("lists", "reader", 3);
    cluster.settled(&host);
    let db = plans(&host, "lists", &["db", "odd"]);
    label("a", "app=web");
    await_copied_value(&cluster, "lists", "web", "list", "lists/a");
    label("b", "app=web");
    await_copied_value(&cluster, "lists", "web", "list", "lists/a\nlists/b");
    label("a", "tier=test");
    await_copied_value(&cluster, "lists", "web", "list", "lists/b");
    cluster.settled(&host);
    let web = plans(&host, "lists", &["web"]);

    // The changed object and the new one match neither before nor after.
    cluster.touch("lists", "configmap", "a", "unseen");
    cluster.apply(&config_map("lists", "c", json!({})).to_string());
    cluster.settled(&host);
    assert_eq!(plans(&host, "lists", &["web"]), web);
    label("b", "app-");
    await_copied_value(&cluster, "lists", "web", "list", "");
    label("a", "tier-");
    await_copied_value(&cluster, "lists", "web", "list", "lists/a");
    cluster.delete("lists", "configmap", "a");
    await_copied_value(&cluster, "lists", "web", "list", "");
    cluster.settled(&host);
    assert_eq!(plans(&host, "lists", &["db", "odd"]), db, "none of it was in their lists");
}

#[test]
fn a_read_of_metadata_ignores_changes_of_the_content() {
    let Some(cluster) = Cluster::for_test("metadata", &["metadata"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::READER], &["metadata"]);
    let secret = |name: &str, labels: Value, password: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "stringData": { "password": password },
            "metadata": { "name": name, "namespace": "metadata", "labels": labels },
        })
    };
    cluster.apply_all(&[
        reader("metadata", "watched", json!({ "secret": "watched" })),
        reader("metadata", "fence", json!({ "secret": "fence" })),
        secret("watched", json!({ "stage": "test" }), "first"),
    ]);
    await_copied_value(&cluster, "metadata", "watched", "secret", r#"{"stage":"test"}"#);
    await_copied_value(&cluster, "metadata", "fence", "secret", "absent");
    cluster.all_ready("metadata", "reader", 2);
    cluster.settled(&host);
    let before = plans(&host, "metadata", &["watched"]);
    cluster.apply(&secret("watched", json!({ "stage": "test" }), "second").to_string());
    cluster.apply(&secret("fence", json!({}), "").to_string());
    await_copied_value(&cluster, "metadata", "fence", "secret", "{}");
    cluster.settled(&host);
    assert_eq!(plans(&host, "metadata", &["watched"]), before, "its data are none of the plugin's business");
    cluster.apply(&secret("watched", json!({ "stage": "live" }), "second").to_string());
    await_copied_value(&cluster, "metadata", "watched", "secret", r#"{"stage":"live"}"#);
}

#[test]
fn a_read_that_is_not_granted_is_refused() {
    let Some(cluster) = Cluster::for_test("grants", &["grants", "grants-far"]) else { return };
    let folder = Folder::new();
    let configuration = |grants: Value| {
        json!({ "mounts": [{
            "plugin": gyre_artifacts::probes::READER, "namespaces": ["grants", "grants-far"], "grants": grants,
        }] })
        .to_string()
    };
    let file = folder.put("gyre.yaml", configuration(json!({})));
    let host = cluster.host_with(&[], &[], &["--config", &file]);
    cluster.apply_all(&[
        config_map("grants", "near", json!({ "text": "near" })),
        config_map("grants-far", "far", json!({ "text": "far" })),
        reader("grants", "near", json!({ "get": "near" })),
        reader(
            "grants",
            "far",
            json!({ "get": "far", "getNamespace": "grants-far", "list": "far!=", "listNamespace": "grants-far" }),
        ),
        reader("grants", "all", json!({ "list": "everywhere=yes" })),
    ]);
    cluster.kubectl(&["label", "-n", "grants", "configmap", "near", "everywhere=yes"]);
    cluster.kubectl(&["label", "-n", "grants-far", "configmap", "far", "everywhere=yes"]);

    await_copied_value(&cluster, "grants", "near", "get", r#"{"text":"near"}"#);
    await_copied_value(&cluster, "grants", "far", "get", "NotGranted");
    await_copied_value(&cluster, "grants", "far", "list", "NotGranted");
    await_copied_value(&cluster, "grants", "all", "list", "grants/near");

    for granted in [json!("all"), json!(["*-far"])] {
        folder.put("gyre.yaml", configuration(json!({ "readNamespaces": granted })));
        await_copied_value(&cluster, "grants", "far", "get", r#"{"text":"far"}"#);
        await_copied_value(&cluster, "grants", "all", "list", "grants-far/far\ngrants/near");
        folder.put("gyre.yaml", configuration(json!({ "readNamespaces": ["grants"] })));
        await_copied_value(&cluster, "grants", "far", "list", "NotGranted");
        await_copied_value(&cluster, "grants", "all", "list", "grants/near");
    }
    folder.put("gyre.yaml", configuration(json!({ "reads": ["Secret.v1"] })));
    await_copied_value(&cluster, "grants", "near", "get", "NotGranted");
    cluster.settled(&host);
}

#[test]
fn a_read_outside_of_the_manifest_is_refused() {
    let Some(cluster) = Cluster::for_test("confined", &["confined", "confined-source"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::CONFINED], &["confined", "confined-source"]);
    let shared = |namespace: &str, name: &str, share: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": namespace, "labels": { "share": share } },
        })
    };
    cluster.apply_all(&[
        shared("confined-source", "a", "yes"),
        shared("confined-source", "b", "no"),
        shared("confined", "c", "yes"),
        guest("Confined", "confined", "of-a", json!({ "get": "a" })),
        guest("Confined", "confined", "of-b", json!({ "get": "b" })),
    ]);
    let sees = |name: &str, there: &str, list: &str| {
        let expected = json!({ "there": there, "here": "NotGranted", "list": list });
        cluster.eventually(&format!("{name} to see {expected}"), || {
            (cluster.get("confined", "configmap", name)?["data"] == expected).then_some(())
        });
    };
    sees("of-a", "seen", "a");
    sees("of-b", "absent", "a");
    cluster.apply(&shared("confined-source", "b", "yes").to_string());
    sees("of-b", "seen", "a b");
    cluster.apply(&shared("confined-source", "b", "no").to_string());
    sees("of-b", "absent", "a");
    sees("of-a", "seen", "a");
    cluster.settled(&host);
}

#[test]
fn a_kind_that_becomes_served_calls_its_readers() {
    let Some(cluster) = Cluster::for_test("hopeful", &["hopeful"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::HOPEFUL], &["hopeful"]);
    let hope = |expected: &str| {
        cluster.eventually(&format!("hope to be {expected}"), || {
            (cluster.get("hopeful", "configmap", "it")?["data"]["hope"] == expected).then_some(())
        });
    };
    cluster.apply(&guest("Hopeful", "hopeful", "it", json!({ "hope": "spring" })).to_string());
    hope("NotServed");
    // The first reconcile may come before the mount waits for its kinds.
    cluster.eventually("the kind to be awaited", || {
        (host.state_of("hopeful")["awaitedKinds"] == json!(["Hope.v1.guests.gyre.dev"])).then_some(())
    });
    cluster.eventually("a kind that may never come to hold nothing up", || {
        (host.http("/readyz").0 == "HTTP/1.0 200 OK").then_some(())
    });
    cluster.apply(&definition("Hope", "hopes"));
    hope("absent");
    assert_eq!(host.state_of("hopeful")["awaitedKinds"], json!([]));
    cluster.apply(&guest("Hope", "hopeful", "spring", json!({ "text": "eternal" })).to_string());
    hope("eternal");
}
