//! Creates a ConfigMap `<name>` with the largest `spec.size` so far, which it reads from its child.

use gyre_guests::{SizedParent, config_map};
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, Plan, Reconciler, Result, Strategy};
use serde_json::json;

struct Ratcheting;

impl Reconciler for Ratcheting {
    type Parent = SizedParent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe_with_version("Ratcheting", |version| version["schema"] = gyre_guests::sized(0))
            .child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let there = cluster.children::<ConfigMap>()?;
        let sizes = there.iter().filter_map(|child| child.data().get("size")?.parse().ok());
        let size: i64 = sizes.chain([parent.spec.size]).max().unwrap_or_default();
        Ok(Plan::children([config_map(&parent.metadata.name, json!({"size": size.to_string()}))]))
    }
}

gyre_sdk::export!(Ratcheting);
