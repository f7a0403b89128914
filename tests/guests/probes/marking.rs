//! Sets the fields of its parent that `spec.fields` has. The manifest declares labels, annotations,
//! `spec.note` and `spec.replicas`.
//!
//! With `spec.wait`, it returns no fields and leaves the children: the fields stay as they are.

use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Spec {
    fields: Option<Value>,
    #[serde(default)]
    wait: bool,
}

struct Marking;

impl Reconciler for Marking {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Marking")
            .sets("/metadata/labels")
            .sets("/metadata/annotations")
            .sets("/spec/note")
            .sets("/spec/replicas")
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let Spec { fields, wait } = &parent.spec;
        if *wait {
            return Ok(Plan::keep_children());
        }
        let plan = Plan::no_children();
        Ok(match fields {
            Some(fields) => plan.parent_fields(fields.clone()),
            None => plan,
        })
    }
}

gyre_sdk::export!(Marking);
