//! Creates a ConfigMap and a Secret `<name>`, which outlive the parent, and a ServiceAccount, which
//! does not. Without a text, it wants only the latter. The status tells the ConfigMaps that the
//! plugin sees.

use gyre_sdk::k8s::{ConfigMap, Secret, ServiceAccount};
use gyre_sdk::{Child, ChildKind, Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Spec {
    text: String,
}

struct Outliving;

impl Reconciler for Outliving {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Outliving")
            .child_kind(ChildKind::new(ConfigMap::KIND, Strategy::Apply).outlives_parent())
            .child_kind(ChildKind::new(Secret::KIND, Strategy::CreateOnly).outlives_parent())
            .child::<ServiceAccount>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let (name, text) = (&parent.metadata.name, &parent.spec.text);
        let outliving = [
            Child::from(ConfigMap::new(name).with_data([("text", text)])),
            Child::from(Secret::new(name).with_data([("text", text)])),
        ];
        let children = outliving.into_iter().filter(|_| !text.is_empty()).chain([Child::from(ServiceAccount::new(name))]);
        let seen = cluster.children::<ConfigMap>()?.len();
        Ok(Plan::children(children).status(json!({ "seen": seen })).ready("Written", "they are written"))
    }
}

gyre_sdk::export!(Outliving);
