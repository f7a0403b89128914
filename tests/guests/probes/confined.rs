//! Reads ConfigMaps labelled `share=yes` in the namespace `confined-source`: its manifest declares
//! no others. Writes what it sees into its ConfigMap `<name>`:
//!
//! - `there`: whether it sees the ConfigMap `spec.get` of that namespace: `seen` or `absent`
//! - `here`: the same for its own namespace
//! - `list`: the names of all that it sees, sorted
//!
//! A failed read is written like that of `reader`.

use gyre_guests::{CONFIG_MAP, config_map, read_error};
use gyre_sdk::{
    Cluster, Failure, Manifest, Metadata, NoSettings, NoStatus, Object, ReadError, ReadKind, Reconciler, Response, Strategy,
};
use serde::Deserialize;
use serde_json::json;

const SOURCE: &str = "confined-source";

#[derive(Deserialize)]
struct Spec {
    get: String,
}

#[derive(Deserialize)]
struct Read {
    metadata: Metadata,
}

struct Confined;

impl Reconciler for Confined {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let read = ReadKind::new(CONFIG_MAP).namespace(SOURCE).label_selector("share=yes");
        gyre_guests::probe("Confined").child(CONFIG_MAP, Strategy::Apply).read(read)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        let get = |namespace: Option<&str>| match cluster.get::<Read>(CONFIG_MAP, namespace, &parent.spec.get) {
            Ok(Some(_)) => "seen".to_owned(),
            Ok(None) => "absent".to_owned(),
            Err(error) => read_error(&error),
        };
        let list = list(cluster).unwrap_or_else(|error| read_error(&error));
        let seen = json!({"there": get(Some(SOURCE)), "here": get(None), "list": list});
        Response::children().apply(&config_map(&parent.metadata.name, seen))
    }
}

fn list(cluster: &Cluster) -> Result<String, ReadError> {
    let found: Vec<Read> = cluster.list(CONFIG_MAP, None, None)?;
    Ok(found.into_iter().map(|read| read.metadata.name).collect::<Vec<_>>().join(" "))
}

gyre_sdk::export!(Confined);
