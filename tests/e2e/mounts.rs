//! Mounts of a configuration file, which a running host reloads.

use std::os::unix::fs::symlink;
use std::path::Path;

use gyre_artifacts::probes::{CHOOSY, FINALIZING, STRATEGIES, TWOFOLD, VERSIONED};
use gyre_controlplane::AuditEvent;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, Host, condition, config_map, finalizers, guest};

const CONFIG: &str = "gyre.yaml";

/// Starts a host with a configuration file, and with a home namespace of this test.
fn host(cluster: &Cluster, folder: &Folder, name: &str, config: &str) -> Host {
    let path = folder.put(CONFIG, config);
    cluster.host_with(&[], &[], &["--config", &path, "--name", name, "--home-namespace", name])
}

fn await_data(cluster: &Cluster, namespace: &str, name: &str, key: &str, expected: &str) -> Value {
    let mut last = Value::Null;
    cluster.eventually(&format!("{namespace}/{name} to have {key}: {expected:?}"), || {
        let map = cluster.get(namespace, "configmap", name)?;
        if map["data"][key] != last {
            last = map["data"][key].clone();
            eprintln!("{namespace}/{name}: {key}: {last}");
        }
        (last == expected).then_some(map)
    })
}

fn reloads(host: &Host, result: &str) -> f64 {
    host.metric("gyre_config_reloads_total", &[&format!("result=\"{result}\"")])
}

/// Makes a change that the host refuses, and returns the logged problems.
fn refused_problems(cluster: &Cluster, host: &Host, change: impl FnOnce()) -> String {
    let said = || -> Vec<String> {
        host.log().lines().filter(|line| line.contains("configuration is refused")).map(str::to_owned).collect()
    };
    let (count, lines) = (reloads(host, "refused"), said().len());
    change();
    cluster.eventually("the change to be refused", || (reloads(host, "refused") > count).then_some(()));
    // The problems are logged after the refusal is counted.
    let problems = cluster.eventually("the problems", || Some(said().split_off(lines)).filter(|lines| !lines.is_empty()));
    assert_eq!(host.metric("gyre_config_refused", &[]), 1.0);
    problems.join("\n")
}

fn label(cluster: &Cluster, namespace: &str, kind: &str, name: &str, label: &str) {
    cluster.kubectl(&["label", "--overwrite", "-n", namespace, kind, name, label]);
}

fn writes_about(cluster: &Cluster, since: gyre_controlplane::Mark, names: &[&str]) -> Vec<AuditEvent> {
    let requests = cluster.requests(since);
    requests.into_iter().filter(|event| event.is_write() && names.iter().any(|name| event.name.starts_with(name))).collect()
}

fn assert_exist(cluster: &Cluster, namespace: &str, names: &[&str]) {
    for name in names {
        assert!(cluster.get(namespace, "configmap", name).is_some(), "{namespace}/{name} is gone");
    }
}

#[test]
fn each_reconciler_of_a_plugin_is_a_mount_of_its_own() {
    let name = "reconcilers";
    let Some(cluster) = Cluster::for_test(name, &[name]) else { return };
    let folder = Folder::new();
    let config = |grants: &str| {
        format!(
            "
            defaults: {{namespaces: [{name}], quarantineAfter: 1}}
            mounts:
              - {{plugin: {TWOFOLD}, reconciler: twofold, workers: 2, settings: {{prefix: 'to '}}}}
              - {{plugin: {TWOFOLD}, reconciler: backward, workers: 3{grants}}}
            "
        )
    };
    let host = host(&cluster, &folder, name, &config(""));
    let parent = |kind: &str, text: &str| guest(kind, name, &kind.to_lowercase(), json!({ "text": text }));
    cluster.apply_all(&[parent("Twofold", "one"), parent("Backward", "one")]);
    await_data(&cluster, name, "twofold", "text", "to one");
    await_data(&cluster, name, "backward", "text", "eno");
    let workers = |mount: &str| host.metric("controller_runtime_max_concurrent_reconciles", &[&format!("\"{mount}\"")]);
    assert_eq!(["twofold", "backward"].map(workers), [2.0, 3.0]);
    let owner = |child: &str| cluster.get(name, "configmap", child).unwrap()["metadata"]["labels"]["gyre.dev/plugin"].clone();
    assert_eq!(["twofold", "backward"].map(owner), ["twofold", "backward"]);

    // The faults of one do not stop the other.
    cluster.apply(&parent("Backward", "trap").to_string());
    cluster.eventually("a quarantine", || Some(()).filter(|()| host.state_of("backward")["quarantine"] != Value::Null));
    assert_eq!(host.state_of("twofold")["quarantine"], Value::Null);
    cluster.apply(&parent("Twofold", "two").to_string());
    await_data(&cluster, name, "twofold", "text", "to two");

    // Nor do the grants of one concern the other.
    cluster.apply(&parent("Backward", "two").to_string());
    folder.put(CONFIG, config(", grants: {children: []}"));
    cluster.reason(name, "backward", "backward", "Ready", "KindNotGranted");
    cluster.apply(&parent("Twofold", "three").to_string());
    await_data(&cluster, name, "twofold", "text", "to three");

    // A reconciler that is no longer mounted.
    let only = format!("mounts:\n- {{plugin: {TWOFOLD}, reconciler: backward, namespaces: [{name}]}}\n");
    folder.put(CONFIG, only);
    cluster.eventually("one to be unmounted", || host.find_state_of("twofold").is_none().then_some(()));
    await_data(&cluster, name, "backward", "text", "owt");
    let problems = refused_problems(&cluster, &host, || {
        folder.put(CONFIG, format!("mounts:\n- {{plugin: {TWOFOLD}}}\n"));
    });
    assert!(problems.contains("has several reconcilers: twofold and backward; name one of them"), "{problems}");
}

#[test]
fn each_mount_has_settings_workers_grants_and_adoption_of_its_own() {
    let (one, two) = ("own-one", "own-two");
    let Some(cluster) = Cluster::for_test("own", &[one, two]) else { return };
    for namespace in [one, two] {
        // A foreign object with the name of a child.
        cluster.create(&config_map(namespace, "foreign", json!({ "greeting": "mine" })).to_string());
    }
    let folder = Folder::new();
    let config = format!(
        "
        defaults: {{workers: 3}}
        mounts:
          - {{name: choosy-one, plugin: {CHOOSY}, namespaces: [{one}], adoption: true, settings: {{greeting: one, count: 7}}}}
          - {{name: choosy-two, plugin: {CHOOSY}, namespaces: [{two}], workers: 1, settings: {{greeting: two}}}}
          - name: narrow
            plugin: {STRATEGIES}
            namespaces: [{one}]
            grants: {{children: [ConfigMap.v1, Job.v1.batch]}}
        "
    );
    let host = host(&cluster, &folder, one, &config);
    let parents = [one, two].map(|namespace| ["it", "foreign"].map(|name| guest("Choosy", namespace, name, json!({}))));
    cluster.apply_all(parents.as_flattened());
    cluster.apply(&guest("Strategies", one, "narrow", json!({ "text": "granted" })).to_string());

    let map = await_data(&cluster, one, "it", "greeting", "one");
    assert_eq!(map["data"]["count"], "7");
    let map = await_data(&cluster, two, "it", "greeting", "two");
    assert_eq!(map["data"]["count"], "1", "as the plugin's schema has it");
    let workers = |mount: &str| host.metric("controller_runtime_max_concurrent_reconciles", &[&format!("\"{mount}\"")]);
    cluster.eventually("the workers of each mount", || {
        (["choosy-one", "choosy-two", "narrow"].map(workers) == [3.0, 1.0, 3.0]).then_some(())
    });

    let adopted = await_data(&cluster, one, "foreign", "greeting", "one");
    assert_eq!(adopted["metadata"]["ownerReferences"][0]["kind"], "Choosy");
    let refused = cluster.reason(two, "choosy", "foreign", "Ready", "ForeignObject");
    let message = condition(&refused, "Ready").unwrap()["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("foreign"), "{message}");
    let untouched = cluster.get(two, "configmap", "foreign").unwrap();
    assert_eq!((&untouched["data"]["greeting"], &untouched["metadata"]["ownerReferences"]), (&json!("mine"), &Value::Null));

    let narrow = cluster.reason(one, "strategies", "narrow", "Ready", "KindNotGranted");
    let message = condition(&narrow, "Ready").unwrap()["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("Secret"), "{message}");
    cluster.eventually("the event", || cluster.events(one, "narrow", "KindNotGranted").pop());
    assert!(host.metric("gyre_plugin_problems_total", &["\"narrow\"", "KindNotGranted"]) >= 1.0);
    await_data(&cluster, one, "narrow", "text", "granted");
    assert!(cluster.get(one, "job", "narrow").is_some());
    assert!(cluster.get(one, "secret", "narrow").is_none());
}

#[test]
fn a_selector_decides_which_parents_a_mount_has() {
    let namespace = "selected";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let config =
        |selector: &str| format!("mounts: [{{plugin: {FINALIZING}, namespaces: [{namespace}], selector: \"{selector}\"}}]");
    let host = host(&cluster, &folder, namespace, &config("team in (a, b)"));
    let Some(start) = cluster.audit_mark() else { return };
    cluster.apply_all(&["other", "ours", "moves"].map(|name| guest("Finalizing", namespace, name, json!({}))));
    label(&cluster, namespace, "finalizing", "ours", "team=a");
    label(&cluster, namespace, "finalizing", "moves", "team=b");
    for name in ["ours", "moves"] {
        let parent = cluster.ready(namespace, "finalizing", name);
        assert_eq!(finalizers(&parent), ["gyre.dev/finalizing"]);
    }
    cluster.settled(&host);
    let about_the_other = writes_about(&cluster, start, &["other"]);
    assert!(about_the_other.is_empty(), "{about_the_other:?}");

    label(&cluster, namespace, "finalizing", "moves", "team=c");
    let let_go = |name: &str| {
        cluster.eventually(&format!("{name} to be let go"), || {
            cluster.get(namespace, "finalizing", name).filter(|parent| finalizers(parent).is_empty())
        })
    };
    let_go("moves");
    assert_exist(&cluster, namespace, &["moves-a", "moves-b"]);
    cluster.settled(&host);
    let Some(quiet) = cluster.audit_mark() else { return };
    cluster.kubectl(&["patch", "-n", namespace, "finalizing", "moves", "--type=merge", "-p", r#"{"spec":{"new":1}}"#]);
    cluster.delete(namespace, "configmap", "moves-a");
    // The fence: each watch delivers these changes after the ones above.
    cluster.delete(namespace, "configmap", "ours-a");
    cluster.eventually("ours-a to be made again", || cluster.get(namespace, "configmap", "ours-a"));
    cluster.settled(&host);
    let about_it = writes_about(&cluster, quiet, &["moves"]);
    assert!(about_it.is_empty(), "{about_it:?}");
    cluster.delete(namespace, "finalizing", "moves");
    cluster.gone(namespace, "finalizing", &["moves"]);

    folder.put(CONFIG, config("team=c"));
    let_go("ours");
    assert_exist(&cluster, namespace, &["ours-a", "ours-b"]);
    label(&cluster, namespace, "finalizing", "other", "team=c");
    cluster.ready(namespace, "finalizing", "other");
    drop(host);
    cluster.kubectl(&[
        "patch",
        "-n",
        namespace,
        "finalizing",
        "other",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
}

#[test]
fn a_host_reloads_its_configuration_and_keeps_the_old_one_if_the_new_one_is_invalid() {
    let namespace = "follows";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let plugin = folder.put("versioned.wasm", gyre_artifacts::versioned(1).unwrap());
    let config = |greeting: &str| {
        format!(
            "
mounts:
  - {{plugin: {CHOOSY}, namespaces: [{namespace}], settings: {{greeting: {greeting}}}}}
  - {{plugin: {plugin}, namespaces: [{namespace}]}}
"
        )
    };
    let host = host(&cluster, &folder, namespace, &config("one"));
    cluster.apply_all(&[
        guest("Choosy", namespace, "first", json!({})),
        guest("Versioned", namespace, "it", json!({ "text": "t" })),
    ]);
    await_data(&cluster, namespace, "first", "greeting", "one");
    await_data(&cluster, namespace, "it-one", "version", "0000000001");
    cluster.settled(&host);

    let calls = host.calls("versioned");
    folder.put(CONFIG, config("two"));
    await_data(&cluster, namespace, "first", "greeting", "two");
    cluster.settled(&host);
    assert_eq!((host.calls("versioned"), reloads(&host, "taken")), (calls, 1.0));

    let wrong = [
        ("mounts: [", "gyre.yaml:1:"),
        (&*config("three").replace("namespaces", "namespace"), "gyre.yaml:3:"),
        (&*config("\"\""), "gyre.yaml:3:"),
        (&*config("forbidden"), "forbidden"),
        (&*config("three").replace(&plugin, "missing.wasm"), "gyre.yaml:4:"),
    ];
    for (index, (text, expected)) in wrong.into_iter().enumerate() {
        let problems = refused_problems(&cluster, &host, || drop(folder.put(CONFIG, text)));
        assert!(problems.contains(expected), "{text}: {expected}: {problems}");
        let name = format!("amid-{index}");
        cluster.apply(&guest("Choosy", namespace, &name, json!({})).to_string());
        await_data(&cluster, namespace, &name, "greeting", "two");
    }

    folder.put(CONFIG, config("four"));
    await_data(&cluster, namespace, "first", "greeting", "four");
    assert_eq!((host.metric("gyre_config_refused", &[]), reloads(&host, "taken")), (0.0, 2.0));

    let problems = refused_problems(&cluster, &host, || drop(folder.put("versioned.wasm", "rubbish")));
    assert!(problems.contains("gyre.yaml:4:") && problems.contains("not WebAssembly"), "{problems}");
    cluster.apply(&guest("Versioned", namespace, "amid", json!({ "text": "t" })).to_string());
    await_data(&cluster, namespace, "amid-two", "version", "0000000001");
    folder.put("versioned.wasm", gyre_artifacts::versioned(2).unwrap());
    await_data(&cluster, namespace, "it-one", "version", "0000000002");
    await_data(&cluster, namespace, "amid-two", "version", "0000000002");
}

/// Writes files as the kubelet does for a ConfigMap, by replacing a symlink.
fn mount_config_map(folder: &Path, version: &str, files: &[(&str, &[u8])]) {
    let content = folder.join(version);
    std::fs::create_dir(&content).unwrap();
    for (name, bytes) in files {
        std::fs::write(content.join(name), bytes).unwrap();
        if !folder.join(name).exists() {
            symlink(format!("..data/{name}"), folder.join(name)).unwrap();
        }
    }
    symlink(version, folder.join("..data_tmp")).unwrap();
    std::fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
}

#[test]
fn an_update_of_a_config_map_by_the_kubelet_is_noticed() {
    let namespace = "kubelet";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let config = format!("{{name: {namespace}, mounts: [{{plugin: plugin.wasm, namespaces: [{namespace}]}}]}}");
    let plugin = |version| gyre_artifacts::versioned(version).unwrap();
    mount_config_map(folder.path(), "..1", &[(CONFIG, config.as_bytes()), ("plugin.wasm", &plugin(1))]);
    let path = folder.path().join(CONFIG).display().to_string();
    let _host = cluster.host_with(&[], &[], &["--config", &path, "--home-namespace", namespace]);
    cluster.apply(&guest("Versioned", namespace, "it", json!({ "text": "t" })).to_string());
    await_data(&cluster, namespace, "it-one", "version", "0000000001");
    mount_config_map(folder.path(), "..2", &[(CONFIG, config.as_bytes()), ("plugin.wasm", &plugin(2))]);
    std::fs::remove_dir_all(folder.path().join("..1")).unwrap();
    await_data(&cluster, namespace, "it-one", "version", "0000000002");
    let settled = config.replace("plugin: plugin.wasm", "plugin: plugin.wasm, name: renamed");
    mount_config_map(folder.path(), "..3", &[(CONFIG, settled.as_bytes()), ("plugin.wasm", &plugin(3))]);
    await_data(&cluster, namespace, "it-one", "version", "0000000003");
}

/// Removes files as the kubelet does: replaces the symlink, and then removes the links to files.
fn empty_config_map(folder: &Path, version: &str, names: &[&str]) {
    mount_config_map(folder, version, &[]);
    for name in names {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn a_plugin_directory_that_is_empty_for_a_while_keeps_the_finalizers() {
    let namespace = "vanishes";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let plugins = Path::new(&folder.path()).join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    let component = std::fs::read(FINALIZING).unwrap();
    mount_config_map(&plugins, "..1", &[("it.wasm", &component)]);
    let config = format!("defaults: {{namespaces: [{namespace}]}}\npluginDirectory: plugins");
    let running = host(&cluster, &folder, namespace, &config);
    let names = ["a", "b", "c"];
    cluster.apply_all(&names.map(|name| guest("Finalizing", namespace, name, json!({}))));
    let held = |names: &[&str]| {
        for name in names {
            let parent = cluster.get(namespace, "finalizing", name).expect("a parent");
            assert_eq!(finalizers(&parent), ["gyre.dev/finalizing"], "{parent}");
        }
    };
    cluster.all_ready(namespace, "finalizing", names.len());
    held(&names);

    empty_config_map(&plugins, "..2", &["it.wasm"]);
    let says = |host: &Host, what: &str| {
        cluster.eventually(what, || host.log().contains(what).then_some(()));
    };
    says(&running, "disappeared from the plugin directory");
    let calls = running.calls("finalizing");
    cluster.delete(namespace, "finalizing", "a");
    cluster.gone(namespace, "finalizing", &["a"]);
    assert!(running.calls("finalizing") > calls);
    held(&["b", "c"]);

    // A host that starts meanwhile does not have the plugin, and keeps the finalizers, too.
    drop(running);
    let running = host(&cluster, &folder, namespace, &config);
    says(&running, "left unchanged for now");
    held(&["b", "c"]);
    mount_config_map(&plugins, "..3", &[("it.wasm", &component)]);
    cluster.eventually("the mount", || running.http("/debug/state").1.contains("finalizing").then_some(()));
    cluster.delete(namespace, "finalizing", "b");
    cluster.gone(namespace, "finalizing", &["b"]);
    assert!(running.calls("finalizing") > 0.0);
    held(&["c"]);

    drop(running);
    let running = host(&cluster, &folder, namespace, &format!("host: {{pluginDirGrace: 1s}}\n{config}"));
    cluster.eventually("the mount", || running.http("/debug/state").1.contains("finalizing").then_some(()));
    empty_config_map(&plugins, "..4", &["it.wasm"]);
    says(&running, "unmounting the plugin");
    cluster.eventually("c to be let go", || {
        cluster.get(namespace, "finalizing", "c").filter(|parent| finalizers(parent).is_empty())
    });
}

#[test]
fn mounts_come_and_go_while_the_host_runs() {
    let namespace = "comes-and-goes";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let finalizing = format!("{{plugin: {FINALIZING}, namespaces: [{namespace}]}}");
    let versioned = format!("{{plugin: {VERSIONED}, namespaces: [{namespace}]}}");
    let host = host(&cluster, &folder, namespace, &format!("mounts: [{versioned}]"));
    cluster.apply_all(&[
        guest("Versioned", namespace, "v", json!({ "text": "t" })),
        guest("Finalizing", namespace, "f", json!({})),
        guest("Finalizing", namespace, "never", json!({ "finalize": "never" })),
    ]);
    cluster.ready(namespace, "versioned", "v");
    cluster.settled(&host);
    let calls = host.calls("versioned");

    folder.put(CONFIG, format!("mounts: [{versioned}, {finalizing}]"));
    for name in ["f", "never"] {
        let parent = cluster.ready(namespace, "finalizing", name);
        assert_eq!(finalizers(&parent), ["gyre.dev/finalizing"]);
    }
    cluster.settled(&host);
    cluster.delete(namespace, "finalizing", "never");
    cluster.eventually("its teardown", || cluster.get(namespace, "configmap", "never-a").is_none().then_some(()));

    folder.put(CONFIG, format!("mounts: [{versioned}]"));
    cluster.gone(namespace, "finalizing", &["never"]);
    cluster.eventually("f to be let go", || {
        cluster.get(namespace, "finalizing", "f").filter(|parent| finalizers(parent).is_empty())
    });
    cluster.eventually("the mount to be gone", || {
        let (_, state) = host.http("/debug/state");
        (!state.contains("finalizing")).then_some(())
    });
    assert_exist(&cluster, namespace, &["f-a", "f-b", "v-one", "v-two"]);
    cluster.eventually("the inventory to have only the other mount", || {
        let inventory = cluster.get(namespace, "configmap", &format!("{namespace}-inventory"))?;
        (inventory["data"]["finalizing"].is_null() && inventory["data"]["versioned"].is_string()).then_some(())
    });
    assert_eq!(host.calls("versioned"), calls, "the other mount has had no part in it");

    cluster.delete(namespace, "finalizing", "f");
    cluster.gone(namespace, "finalizing", &["f"]);
    cluster.gone(namespace, "configmap", &["f-a", "f-b"]);
    drop(host);
}

#[test]
fn a_mount_that_leaves_a_namespace_leaves_no_finalizer_there() {
    let (stays, leaves) = ("stays", "leaves");
    let Some(cluster) = Cluster::for_test(leaves, &[stays, leaves]) else { return };
    let folder = Folder::new();
    let config = |namespaces: &str| format!("mounts: [{{plugin: {FINALIZING}, namespaces: [{namespaces}]}}]");
    let running = host(&cluster, &folder, leaves, &config(&format!("{stays}, {leaves}")));
    let held = |namespace: &str, name: &str| {
        cluster.eventually(&format!("{namespace}/{name} to be held"), || {
            cluster.get(namespace, "finalizing", name).filter(|parent| finalizers(parent) == ["gyre.dev/finalizing"])
        });
    };
    let let_go = |namespace: &str, name: &str| {
        cluster.eventually(&format!("{namespace}/{name} to be let go"), || {
            cluster.get(namespace, "finalizing", name).filter(|parent| finalizers(parent).is_empty())
        });
    };
    cluster.apply_all(&[stays, leaves].map(|namespace| guest("Finalizing", namespace, "it", json!({}))));
    held(stays, "it");
    held(leaves, "it");
    folder.put(CONFIG, config(stays));
    let_go(leaves, "it");
    assert_exist(&cluster, leaves, &["it-a", "it-b"]);
    held(stays, "it");

    folder.put(CONFIG, config(&format!("{stays}, {leaves}")));
    held(leaves, "it");
    drop(running);
    let running = host(&cluster, &folder, leaves, &config(stays));
    let_go(leaves, "it");
    held(stays, "it");

    // A mount with another name and the same plugin takes over the parents without releasing them.
    cluster.settled(&running);
    let Some(quiet) = cluster.audit_mark() else { return };
    folder.put(CONFIG, config(stays).replace("plugin:", "name: renamed, plugin:"));
    cluster.eventually("the mount to change its name", || {
        let (_, state) = running.http("/debug/state");
        (state.contains("\"renamed\"") && !state.contains("\"name\": \"finalizing\"") && state.contains("\"leaving\": []"))
            .then_some(())
    });
    cluster.settled(&running);
    let writes = writes_about(&cluster, quiet, &["it"]);
    assert!(writes.is_empty(), "{writes:?}");

    folder.put(CONFIG, "mounts: []");
    let_go(stays, "it");
    assert_exist(&cluster, stays, &["it-a", "it-b"]);
}
