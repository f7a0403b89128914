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
