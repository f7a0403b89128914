//! Creates a ConfigMap, a Secret and a ServiceAccount `<name>` while `spec.wanted` is true. Their
//! dependents are orphaned, deleted before them, and deleted after them, respectively.

use gyre_guests::{CONFIG_MAP, SECRET};
use gyre_sdk::{
    ChildKind, Cluster, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Propagation, Reconciler, Response, Strategy,
};
use serde::Deserialize;
use serde_json::json;

const SERVICE_ACCOUNT: Kind = Kind::new("v1", "ServiceAccount");

const CHILDREN: [(Kind, Propagation); 3] =
    [(CONFIG_MAP, Propagation::Orphan), (SECRET, Propagation::Foreground), (SERVICE_ACCOUNT, Propagation::Background)];

#[derive(Deserialize)]
struct Spec {
    wanted: bool,
}

struct Propagating;

impl Reconciler for Propagating {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let declare = |manifest: Manifest, (kind, propagation)| {
            manifest.child_kind(ChildKind { kind, strategy: Strategy::Apply, propagation })
        };
        CHILDREN.into_iter().fold(gyre_guests::probe("Propagating"), declare)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let wanted = CHILDREN.into_iter().filter(|_| parent.spec.wanted);
        wanted.map(|(kind, _)| kind).try_fold(Response::children(), |response, kind| {
            let (api_version, kind) = (kind.api_version, kind.kind);
            response.apply(&json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": parent.metadata.name}}))
        })
    }
}

gyre_sdk::export!(Propagating);
