//! Creates a ConfigMap, a Secret and a ServiceAccount `<name>` while `spec.wanted` is true. Their
//! dependents are orphaned, deleted before them, and deleted after them, respectively.

use gyre_sdk::k8s::{ConfigMap, Secret, ServiceAccount};
use gyre_sdk::{
    ChildKind, Cluster, DynamicObject, Kind, Manifest, NoSettings, NoStatus, Object, Plan, Propagation, Reconciler, Result,
    Strategy,
};
use serde::Deserialize;

const CHILDREN: [(Kind, Propagation); 3] = [
    (ConfigMap::KIND, Propagation::Orphan),
    (Secret::KIND, Propagation::Foreground),
    (ServiceAccount::KIND, Propagation::Background),
];

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
            manifest.child_kind(ChildKind::new(kind, Strategy::Apply).propagation(propagation))
        };
        CHILDREN.into_iter().fold(gyre_guests::probe("Propagating"), declare)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let wanted = CHILDREN.into_iter().filter(|_| parent.spec.wanted);
        Ok(Plan::children(wanted.map(|(kind, _)| DynamicObject::new(kind, &parent.metadata.name))))
    }
}

gyre_sdk::export!(Propagating);
