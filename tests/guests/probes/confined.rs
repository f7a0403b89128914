//! Reads ConfigMaps labelled `share=yes` in the namespace `confined-source`: its manifest declares
//! no others. Writes what it sees into its ConfigMap `<name>`:
//!
//! - `there`: whether it sees the ConfigMap `spec.get` of that namespace: `seen` or `absent`
//! - `here`: the same for its own namespace
//! - `list`: the names of all that it sees, sorted
//!
//! A failed read is written like that of `reader`.

use gyre_guests::{config_map, read_error};
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, ReadError, ReadKind, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

const SOURCE: &str = "confined-source";

#[derive(Deserialize)]
struct Spec {
    get: String,
}

struct Confined;

impl Reconciler for Confined {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let read = ReadKind::of::<ConfigMap>().in_namespace(SOURCE).labels("share=yes");
        gyre_guests::probe("Confined").child::<ConfigMap>(Strategy::Apply).read_kind(read)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let name = &parent.spec.get;
        let (there, here) = (cluster.in_namespace(SOURCE).get(name), cluster.get(name));
        let list = list(cluster).unwrap_or_else(|error| read_error(&error));
        let seen = json!({"there": told(there), "here": told(here), "list": list});
        Ok(Plan::children([config_map(&parent.metadata.name, seen)]))
    }
}

fn told(found: Result<Option<ConfigMap>, ReadError>) -> String {
    match found {
        Ok(Some(_)) => "seen".to_owned(),
        Ok(None) => "absent".to_owned(),
        Err(error) => read_error(&error),
    }
}

fn list(cluster: &Cluster) -> Result<String, ReadError> {
    let found = cluster.list_all::<ConfigMap>()?;
    Ok(found.iter().map(ConfigMap::name).collect::<Vec<_>>().join(" "))
}

gyre_sdk::export!(Confined);
