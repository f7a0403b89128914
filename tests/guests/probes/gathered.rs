//! A version of the reconciler `grouped` with one group of all parents: a ConfigMap `gathered` in
//! the namespace `default` has the number of members.

use gyre_guests::Parent;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Group, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};

struct Gathered;

impl Reconciler for Gathered {
    type Parent = Group<Object<Parent, NoStatus>>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Grouped").child::<ConfigMap>(Strategy::Apply).grouped()
    }

    fn reconcile(group: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let map = ConfigMap::new("gathered").with_namespace("default");
        let members = group.members.len().to_string();
        Ok(Plan::children([map.with_data([("members", members)])]))
    }
}

gyre_sdk::export!(Gathered);
