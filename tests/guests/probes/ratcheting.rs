//! Creates a ConfigMap `<name>` with the largest `spec.size` so far, which it reads from its child.

use gyre_guests::{CONFIG_MAP, SizedParent, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, Reconciler, Response, Strategy};
use serde_json::{Value, json};

struct Ratcheting;

impl Reconciler for Ratcheting {
    type Parent = SizedParent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe_with_version("Ratcheting", |version| version["schema"] = gyre_guests::sized(0))
            .child(CONFIG_MAP, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        let there: Vec<Value> = cluster.children(CONFIG_MAP)?;
        let sizes = there.iter().filter_map(|child| child.pointer("/data/size")?.as_str()?.parse().ok());
        let size: i64 = sizes.chain([parent.spec.size]).max().unwrap_or_default();
        Response::children().apply(&config_map(&parent.metadata.name, json!({"size": size.to_string()})))
    }
}

gyre_sdk::export!(Ratcheting);
