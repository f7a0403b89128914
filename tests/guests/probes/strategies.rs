//! Creates a ConfigMap (apply), a Job (recreate) and a Secret (create-only), all `<name>`.
//!
//! `spec.text` is in the ConfigMap and the Secret, and `spec.image` is the Job's. With `spec.keep`,
//! the ConfigMap is kept: neither created nor changed.

use gyre_guests::config_map;
use gyre_sdk::k8s::{ConfigMap, Container, Job, JobSpec, PodSpec, PodTemplateSpec, RestartPolicy, Secret};
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    text: String,
    image: Option<String>,
    #[serde(default)]
    keep: bool,
}

struct Strategies;

impl Reconciler for Strategies {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Strategies")
            .child::<ConfigMap>(Strategy::Apply)
            .child::<Job>(Strategy::Recreate)
            .child::<Secret>(Strategy::CreateOnly)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let (name, spec) = (&parent.metadata.name, &parent.spec);
        let plan = if spec.keep {
            Plan::no_children().keep(ConfigMap::named(name))
        } else {
            Plan::children([config_map(name, json!({"text": spec.text}))])
        };
        let image = spec.image.as_deref().unwrap_or("busybox:1.33.1");
        let container = Container::new("job").with_image(image).with_command(["true"]);
        let pod = PodSpec::new().with_restart_policy(RestartPolicy::Never).with_containers([container]);
        let job = JobSpec::new().with_template(PodTemplateSpec::new().with_spec(pod));
        let secret = Secret::new(name).with_string_data([("text", &spec.text)]);
        Ok(plan.apply(Job::new(name).with_spec(job)).apply(secret))
    }
}

gyre_sdk::export!(Strategies);
