//! Has the status `spec.status`, whose schema knows an integer `size`. Returns a child of the kind
//! `Absent`, which no API server serves, if `spec.child` is set. Fails if `spec.fail` is set.

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{
    ChildKind, Cluster, DynamicObject, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result,
    Strategy,
};
use serde::Deserialize;
use serde_json::{Value, json};

const ABSENT: Kind = Kind::new("guests.gyre.dev/v1", "Absent");

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    fail: bool,
    status: Option<Value>,
    #[serde(default)]
    child: bool,
}

struct Ailing;

impl Reconciler for Ailing {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let status = json!({"type": "object", "properties": {
            "size": {"type": "integer"},
            "observedGeneration": {"type": "integer"},
            "conditions": {"type": "array", "items": any},
        }});
        gyre_guests::probe_with_version("Ailing", |version| version["schema"] = gyre_guests::schema(status))
            .child::<ConfigMap>(Strategy::Apply)
            .child_kind(ChildKind::new(ABSENT, Strategy::Apply))
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let Spec { fail, status, child } = &parent.spec;
        if *fail {
            return Err(Failure::transient("not yet"));
        }
        let mut plan = Plan::no_children();
        if *child {
            plan = plan.apply(DynamicObject::new(ABSENT, &parent.metadata.name));
        }
        Ok(match status {
            Some(status) => plan.status(status),
            None => plan,
        })
    }
}

gyre_sdk::export!(Ailing);
