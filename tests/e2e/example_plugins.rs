//! The example plugins for fields and deletions of parents, copies, generated values and groups:
//! recordings and comparisons of them, and a host that has nothing to do. One host mounts all.

use std::fs;

use gyre_artifacts::{CLEANER, DATABASE, RELOADER, REPLICATOR, TENANTS};
use gyre_controlplane::AuditEvent;
use parking_lot::MutexGuard;
use serde_json::{Value, json};

use crate::generated::{assert_no_values, database, values};
use crate::groups::{BINDINGS, CLAIMS, GROUPS, claim};
use crate::harness::{Cluster, Folder, Host, tenants};
use crate::parent_deletion::{finish, job};
use crate::parent_fields::{DIGEST, deployment, settings};
use crate::plane::Server;
use crate::replicator::secret;
use crate::shadow::{changes, compared_of, diff, gyre, patched, writes};

/// The name of the test in the data of [`EXAMPLES`].
const TEST: &str = "TEST";

/// The label by which mounts for all namespaces select the objects of a test.
const LABEL: &str = "example";

/// The number of parents of all mounts: each has one, except the two with two members of a group.
const PARENTS: usize = 8;

/// A mount of an example plugin.
struct Example {
    /// The reconciler, after which the mount is named.
    mount: &'static str,
    plugin: &'static str,
    /// The other keys of the mount.
    keys: &'static str,
    /// The kind and the name of an object about which the plugin is called.
    object: (&'static str, &'static str),
    /// A field of the plugin's answer, as a JSON Pointer.
    answer: &'static str,
    shadow: Shadow,
    /// The verb, the kind and the name of a change that the shadow makes.
    change: [&'static str; 3],
}

/// The shadow of a mount.
enum Shadow {
    /// A version with the second text in place of the first.
    Version(&'static str, &'static str),
    /// Other settings.
    Settings(&'static str),
}

const EXAMPLES: [Example; 6] = [
    Example {
        mount: "reloader-deployments",
        plugin: RELOADER,
        keys: "namespaces: [TEST], grants: {parentFields: all}",
        object: ("deployment", "web"),
        answer: "/parent",
        shadow: Shadow::Version("reloader.gyre.dev/reload", "reloader.gyre.dev/RELOAD"),
        change: ["update", "Deployment", "web"],
    },
    Example {
        mount: "replicator",
        plugin: REPLICATOR,
        keys: "selector: example=TEST, grants: {writeNamespaces: [TEST-copies]}",
        object: ("secret", "registry"),
        answer: "/children/0/apply",
        shadow: Shadow::Version("replicator.gyre.dev/to", "replicator.gyre.dev/TO"),
        change: ["delete", "Secret", "registry"],
    },
    Example {
        mount: "cleaner",
        plugin: CLEANER,
        keys: "namespaces: [TEST], grants: {deleteParents: true}, settings: {succeededSeconds: 86400000}",
        object: ("job", "done"),
        answer: "/deleteParent",
        shadow: Shadow::Settings("{succeededSeconds: 1}"),
        change: ["delete", "Job", "done"],
    },
    Example {
        mount: "database",
        plugin: DATABASE,
        keys: "namespaces: [TEST]",
        object: ("database", "orders"),
        answer: "/children/0/apply",
        shadow: Shadow::Version("?sslmode=verify-full", "?sslmode=verify-part"),
        change: ["update", "Secret", "orders"],
    },
    Example {
        mount: "addresses",
        plugin: TENANTS,
        keys: "selector: example=TEST, settings: {pools: {TEST: 192.0.2.0/27}}",
        object: (CLAIMS, "claim-0"),
        answer: "/members/0/status",
        shadow: Shadow::Settings("{pools: {TEST: 198.51.100.0/27}}"),
        change: ["status", "AddressClaim", "claim-0"],
    },
    Example {
        mount: "teams",
        plugin: TENANTS,
        keys: "selector: example=TEST",
        object: ("namespace", "TEST"),
        answer: "/children/0/apply",
        shadow: Shadow::Settings("{clusterRole: edit}"),
        change: ["update", "ClusterRoleBinding", "tenants:TEST"],
    },
];

/// Whether the mounts have shadows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shadows {
    Absent,
    Present,
}

/// A cluster with the objects of all examples, in a namespace of the test's name.
struct Examples {
    cluster: Cluster,
    test: &'static str,
    folder: Folder,
    _tenants: MutexGuard<'static, ()>,
}

impl Examples {
    /// Returns the examples for a test, or `None` if the test was skipped.
    fn for_test(test: &'static str) -> Option<Self> {
        let copies = format!("{test}-copies");
        let cluster = Cluster::for_test(test, &[test, &copies])?;
        let tenants = tenants();
        cluster.install_crds(&[DATABASE, TENANTS]);
        let with_label = |mut object: Value| {
            object["metadata"]["labels"] = json!({ LABEL: test });
            object
        };
        let mut done = job(test, "done", "keep");
        done["metadata"]["annotations"] = json!({});
        cluster.apply_all(&[
            settings(test, "en"),
            deployment(test),
            with_label(secret(test, Some(&copies), "one")),
            done,
            with_label(claim(test, "claim-0", test)),
            with_label(claim(test, "claim-1", test)),
        ]);
        cluster.apply(&database(test, 0));
        finish(&cluster, test, "done", "2026-01-01T00:00:00Z");
        let (label, team) = (format!("{LABEL}={test}"), format!("tenants.gyre.dev/team={test}"));
        cluster.kubectl(&["label", "namespace", test, &copies, &label, &team]);
        Some(Self { cluster, test, folder: Folder::new(), _tenants: tenants })
    }

    /// Starts a host that mounts all examples, and waits until nothing is left to do.
    fn host(&self) -> Host {
        let Self { cluster, test, .. } = self;
        let config = self.folder.put("gyre.yaml", self.config(Shadows::Absent));
        let host = cluster.host_with(&[], &[], &["--config", &config, "--name", test, "--home-namespace", test]);
        cluster.eventually("the digest", || {
            let deployment = cluster.get(test, "deployment", "web")?;
            deployment.pointer("/spec/template/metadata/annotations")?.get(DIGEST).cloned()
        });
        cluster.eventually("the copy", || cluster.get(&format!("{test}-copies"), "secret", "registry"));
        cluster.reason(test, "database", "orders", "Ready", "Running");
        cluster.all_ready(test, CLAIMS, 2);
        cluster.eventually("the binding", || {
            let binding = cluster.get("default", BINDINGS, &format!("tenants:{test}"))?;
            (binding["subjects"].as_array()?.len() == 2).then_some(())
        });
        for example in &EXAMPLES {
            cluster.eventually(&format!("a call of {}", example.mount), || (host.calls(example.mount) >= 1.0).then_some(()));
        }
        cluster.settled(&host);
        host
    }

    fn config(&self, shadows: Shadows) -> String {
        let mounts = EXAMPLES.iter().map(|example| {
            let Example { mount, plugin, keys, .. } = example;
            let shadow = match shadows {
                Shadows::Absent => String::new(),
                Shadows::Present => format!(", shadow: {{{}}}", self.shadow(example)),
            };
            format!("- {{plugin: {plugin}, reconciler: {mount}, {}{shadow}}}\n", keys.replace(TEST, self.test))
        });
        format!("mounts:\n{}", mounts.collect::<String>())
    }

    /// Returns the keys of a shadow.
    fn shadow(&self, example: &Example) -> String {
        let Example { mount, plugin, .. } = example;
        match example.shadow {
            Shadow::Version(from, to) => {
                let version = patched(&fs::read(plugin).expect("a plugin"), from, to);
                format!("plugin: {}", self.folder.put(&format!("{mount}.wasm"), version))
            }
            Shadow::Settings(settings) => format!("plugin: {plugin}, settings: {}", settings.replace(TEST, self.test)),
        }
    }

    /// Ends the host once it has deleted the objects of its groups, which are cluster-scoped.
    fn end(self, host: Host) {
        let Self { cluster, test, .. } = &self;
        cluster.kubectl(&["delete", CLAIMS, "--all", "-n", test]);
        cluster.kubectl(&["label", "namespace", test, &format!("{test}-copies"), "tenants.gyre.dev/team-"]);
        cluster.eventually("the end of the groups", || {
            let groups = cluster.list("default", GROUPS);
            (!groups.iter().any(|group| group["spec"]["value"] == *test)).then_some(())
        });
        drop(host);
    }
}

/// Returns the answer of the only call in a recording.
fn answer(recording: &str) -> Value {
    let call = recording.lines().find(|line| line.starts_with("{\"call\"")).expect("a call");
    let call: Value = serde_json::from_str(call).expect("JSON");
    call["call"]["answer"]["result"]["response"].clone()
}

#[test]
fn a_call_of_each_example_is_recorded_and_replays_and_a_diff_shows_no_change() {
    let Some(examples) = Examples::for_test("examples-recorded") else { return };
    let host = examples.host();
    let Examples { cluster, test, folder, .. } = &examples;
    let generated = values(cluster, test);
    for Example { mount, plugin, answer: field, .. } in &EXAMPLES {
        let file = format!("{}/{mount}.jsonl", folder.path());
        let (code, said) = gyre(&["record", mount, "--from", &host.url(), "--to", &file, "--all", "--calls", "1"]);
        assert_eq!(code, Some(0), "{mount}: {said}");
        let recording = fs::read_to_string(&file).expect("a recording");
        assert_no_values(&format!("recording of {mount}"), &recording, &generated);
        let answer = answer(&recording);
        assert!(answer.pointer(field).is_some_and(|field| !field.is_null()), "{mount}: {field} is not in {answer}");
        let (code, said) = gyre(&["replay", plugin, &file]);
        assert_eq!(code, Some(0), "{mount}: {said}");
        assert!(said.contains(": 1 identical, 0 differ"), "{mount}: {said}");
    }
    let difference = diff(cluster, folder, &examples.config(Shadows::Absent));
    assert_eq!(difference["changes"], json!([]), "{difference}");
    assert_eq!((&difference["changing"], &difference["parents"]), (&json!(0), &json!(PARENTS)), "{difference}");
    examples.end(host);
}

#[test]
fn a_shadow_of_each_example_says_what_would_differ_and_writes_nothing() {
    let Some(examples) = Examples::for_test("examples-shadowed") else { return };
    let host = examples.host();
    let Examples { cluster, test, folder, .. } = &examples;
    let generated = values(cluster, test);
    let mark = cluster.audit_mark();
    folder.put("gyre.yaml", examples.config(Shadows::Present));
    for Example { mount, change, .. } in &EXAMPLES {
        let report = compared_of(cluster, &host, Some(mount), 1, |report| report["changing"] == 1);
        let expected = change.map(|word| word.replace(TEST, test));
        let changes = changes(&report);
        assert!(changes.iter().any(|change| change[..3] == expected), "{mount}: {expected:?} is not in {changes:?}");
        assert_no_values(&format!("report about {mount}"), &report.to_string(), &generated);
    }
    if let Some(mark) = mark {
        let mut writes = writes(cluster, mark);
        writes.retain(|write| !write.starts_with("update leases"));
        assert_eq!(writes, [""; 0]);
    }
    drop(host);
    let host = examples.host();
    examples.end(host);
}

#[test]
fn calls_of_the_examples_write_nothing_when_nothing_differs() {
    let Some(examples) = Examples::for_test("examples-unchanged") else { return };
    let host = examples.host();
    let Examples { cluster, test, .. } = &examples;
    let mark = cluster.audit_mark();
    // The plugins are called, and answer as before.
    for Example { mount, object: (kind, name), .. } in &EXAMPLES {
        let calls = host.calls(mount);
        cluster.touch(test, kind, &name.replace(TEST, test), "again");
        cluster.eventually(&format!("a call of {mount}"), || (host.calls(mount) > calls).then_some(()));
    }
    cluster.settled(&host);
    drop(host);
    // Another host does not know what was written.
    let host = examples.host();
    // On a control plane, controllers change objects meanwhile.
    if let Some(mark) = mark.filter(|_| Server::of_this_run() == Server::Devcluster) {
        // The inventory is of the mounts, and a Lease of the host.
        let is_of_host = |event: &AuditEvent| event.name.ends_with("-inventory") || event.resource == "leases";
        let is_counted = |event: &AuditEvent| event.is_write() && !is_of_host(event);
        let described = |event: &AuditEvent| format!("{} {}/{} {}", event.verb, event.resource, event.subresource, event.name);
        let requests = cluster.requests(mark);
        let writes: Vec<String> = requests.iter().filter(|event| is_counted(event)).map(described).collect();
        assert_eq!(writes, [""; 0]);
    }
    examples.end(host);
}
