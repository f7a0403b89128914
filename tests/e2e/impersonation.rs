//! Mounts that write as their own service accounts, with the rules of `gyre rbac`.

use gyre_controlplane::AuditEvent;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, Host, finalizers, guest, with_kind};
use crate::permissions::rbac;
use crate::plane::Plane;

const NAMESPACES: [&str; 2] = ["strand", "strand-far"];
const HOST: &str = "system:serviceaccount:strand:host";
const WRITER: &str = "system:serviceaccount:strand:writer";

/// Two mounts that write as `strand/writer`, and one that writes as the host.
struct Mounts {
    folder: Folder,
    far: String,
}

impl Mounts {
    fn new(cluster: &Cluster) -> Self {
        let folder = Folder::new();
        let far =
            folder.put("far.wasm", with_kind(gyre_artifacts::probes::CROSS_NAMESPACE, "CrossNamespace", "StrandedThings"));
        cluster.install_crds(&[&far]);
        Self { folder, far }
    }

    fn configure(&self, has_all: bool) -> String {
        let mut mounts = vec![json!({ "plugin": gyre_artifacts::probes::FICKLE, "namespaces": ["strand"] })];
        if has_all {
            let finalizing = gyre_artifacts::probes::FINALIZING;
            mounts.push(json!({ "plugin": finalizing, "namespaces": ["strand"], "impersonate": "strand/writer" }));
            // It also declares ClusterRoles, which are not granted: the account cannot list them.
            let grants = json!({ "children": ["ConfigMap.v1"], "writeNamespaces": ["strand-far"] });
            mounts.push(json!({
                "plugin": self.far, "namespaces": NAMESPACES, "impersonate": "strand/writer", "grants": grants,
            }));
        }
        self.folder.put("gyre.yaml", json!({ "name": "strand", "mounts": mounts }).to_string())
    }
}

fn parents(round: usize) -> [Value; 4] {
    let name = |state: &str| format!("{state}-{round}");
    let far = |state: &str| guest("StrandedThings", "strand", &name(state), json!({ "namespace": "strand-far" }));
    let finalizing = |state: &str, finalize: &str| guest("Finalizing", "strand", &name(state), json!({ "finalize": finalize }));
    [finalizing("living", ""), finalizing("leaving", "never"), far("living"), far("leaving")]
}

#[test]
fn a_mount_that_impersonates_leaves_no_finalizer_behind_under_the_rules_that_are_printed() {
    let Some(cluster) = Cluster::for_test("strand", &NAMESPACES) else { return };
    let Plane::Real(plane) = &cluster.plane else { panic!("devcluster authorizes nobody") };
    let mounts = Mounts::new(&cluster);
    for account in ["host", "writer"] {
        cluster.kubectl(&["create", "serviceaccount", account, "-n", "strand"]);
    }
    let file = mounts.configure(true);
    let arguments = ["--config", &file, "--home-namespace", "strand"];
    cluster.apply_all(&rbac(&[&arguments[..], &["--service-account", "strand/host"]].concat()));
    let kubeconfig = plane.kubeconfig_for_service_account("strand", "host").expect("a token");
    let run = || -> Host { cluster.host_as(&kubeconfig, &[], &[], &arguments) };
    let Some(mark) = cluster.audit_mark() else { return };
    let mut host = run();
    for round in 0..2 {
        cluster.apply_all(&parents(round));
        for kind in ["finalizing", "strandedthings"] {
            for state in ["living", "leaving"] {
                let parent = cluster.ready("strand", kind, &format!("{state}-{round}"));
                assert_eq!(finalizers(&parent).len(), 1, "{parent}");
            }
        }
        cluster.apply(&guest("StrandedThings", "strand", "short-lived", json!({ "namespace": "strand-far" })).to_string());
        cluster.ready("strand", "strandedthings", "short-lived");
        cluster.delete("strand", "strandedthings", "short-lived");
        cluster.gone("strand", "strandedthings", &["short-lived"]);
        assert!(cluster.get("strand-far", "configmap", "strand-short-lived").is_none());

        // One parent of each kind is being deleted when the mounts are removed.
        let leaving = format!("leaving-{round}");
        cluster.delete("strand", "finalizing", &leaving);
        cluster.reason("strand", "finalizing", &leaving, "Ready", "Finalizing");
        if round == 0 {
            mounts.configure(false);
        } else {
            drop(host);
            cluster.delete("strand", "strandedthings", &leaving);
            mounts.configure(false);
            host = run();
        }
        cluster.gone("strand", "finalizing", &[&leaving]);
        for kind in ["finalizing", "strandedthings"] {
            cluster.eventually(&format!("the finalizers of {kind} to go"), || {
                cluster.list("strand", kind).iter().all(|parent| finalizers(parent).is_empty()).then_some(())
            });
        }
        if round == 1 {
            cluster.gone("strand", "strandedthings", &[&leaving]);
            assert!(
                cluster.get("strand-far", "configmap", &format!("strand-{leaving}")).is_none(),
                "it goes before its parent"
            );
        }
        assert!(
            cluster.get("strand-far", "configmap", &format!("strand-living-{round}")).is_some(),
            "unmounting deletes nothing"
        );
        cluster.eventually("the inventory to know", || {
            let inventory = cluster.get("strand", "configmap", "strand-inventory")?;
            (inventory["data"].as_object()?.keys().collect::<Vec<_>>() == ["fickle"]).then_some(())
        });
        mounts.configure(true);
    }
    drop(host);

    plane.audit_barrier().expect("an audit log");
    let of_parents = |event: &AuditEvent| {
        event.user == HOST && event.verb == "patch" && ["finalizings", "strandedthings"].contains(&event.resource.as_str())
    };
    let patches = plane.audit().expect("an audit log").matching(mark, of_parents).expect("it parses");
    assert!(!patches.is_empty());
    let refused: Vec<&AuditEvent> = patches.iter().filter(|event| event.code == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(patches.iter().all(|event| event.impersonated.as_deref() == Some(WRITER)), "the host itself writes no parent");
}

/// A person who upgrades a plugin applies its rules first. These no longer permit to list Secrets.
#[test]
fn a_former_kind_without_rules_stops_nothing_and_the_inventory_knows_the_rules() {
    let Some(cluster) = Cluster::for_test("former", &["former"]) else { return };
    let Plane::Real(plane) = &cluster.plane else { panic!("devcluster authorizes nobody") };
    let folder = Folder::new();
    for account in ["host", "writer"] {
        cluster.kubectl(&["create", "serviceaccount", account, "-n", "former"]);
    }
    let plugin = folder.put_plugin("narrowing.wasm", gyre_artifacts::probes::WIDENED);
    let mount = json!({ "plugin": plugin, "namespaces": ["former"], "impersonate": "former/writer" });
    let file = folder.put("gyre.yaml", json!({ "name": "former", "mounts": [mount] }).to_string());
    let arguments = ["--config", &file, "--home-namespace", "former"];
    let permit = |more: &[&str]| {
        cluster.apply_all(&rbac(&[&arguments[..], &["--service-account", "former/host"], more].concat()));
    };
    permit(&[]);
    let kubeconfig = plane.kubeconfig_for_service_account("former", "host").expect("a token");
    let host = cluster.host_as(&kubeconfig, &[], &[], &arguments);
    cluster.apply(&guest("Narrowing", "former", "it", json!({})).to_string());
    cluster.ready("former", "narrowing", "it");
    drop(host);

    folder.put_plugin("narrowing.wasm", gyre_artifacts::probes::NARROWED);
    permit(&[]);
    let host = cluster.host_as(&kubeconfig, &[], &[], &arguments);
    cluster.apply(&guest("Narrowing", "former", "new", json!({})).to_string());
    cluster.ready("former", "narrowing", "new");
    assert!(cluster.get("former", "secret", "it").is_some());
    let state = host.state_of("narrowing");
    assert_eq!((&state["phase"], &state["unprunedKinds"][0]["kind"]), (&json!("Running"), &json!("Secret.v1")), "{state}");
    let error = state["unprunedKinds"][0]["error"].as_str().unwrap();
    assert!(error.contains("cannot list resource \"secrets\""), "{error}");
    assert_eq!(host.metric("gyre_plugin_unpruned_kinds", &["narrowing"]), 1.0);
    assert!(host.log().contains("mounted without pruning this kind"));
    assert!(host.http("/readyz").0.contains("200"), "{}", host.http("/readyz?verbose").1);

    let admin = cluster.kubeconfig().to_str().unwrap().to_owned();
    permit(&["--from-cluster", "--kubeconfig", &admin]);
    drop(host);
    let host = cluster.host_as(&kubeconfig, &[], &[], &arguments);
    cluster.gone("former", "secret", &["it"]);
    assert_eq!(host.metric("gyre_plugin_unpruned_kinds", &["narrowing"]), 0.0);
    assert_eq!(host.state_of("narrowing")["unprunedKinds"], json!([]));
}
