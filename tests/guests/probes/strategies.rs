//! Creates a ConfigMap (apply), a Job (recreate) and a Secret (create-only), all `<name>`.
//!
//! `spec.text` is in the ConfigMap and the Secret, and `spec.image` is the Job's. With `spec.keep`,
//! the ConfigMap is kept: neither created nor changed. `spec.recreate` lists the kinds of children
//! that name the strategy recreate; the manifest declares it for ConfigMaps.

use gyre_guests::config_map;
use gyre_sdk::k8s::{ConfigMap, Container, Job, JobSpec, PodSpec, PodTemplateSpec, RestartPolicy, Secret};
use gyre_sdk::{
    Child, ChildKind, Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Resource, Result, Strategy,
};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    text: String,
    image: Option<String>,
    #[serde(default)]
    keep: bool,
    #[serde(default)]
    recreate: Vec<String>,
}

impl Spec {
    fn with_strategy<T: Resource>(&self, child: impl Into<Child>) -> Child {
        let child = child.into();
        if self.recreate.iter().any(|kind| kind == T::KIND.kind) { child.strategy(Strategy::Recreate) } else { child }
    }
}

struct Strategies;

impl Reconciler for Strategies {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Strategies")
            .child_kind(ChildKind::new(ConfigMap::KIND, Strategy::Apply).up_to(Strategy::Recreate))
            .child::<Job>(Strategy::Recreate)
            .child::<Secret>(Strategy::CreateOnly)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let (name, spec) = (&parent.metadata.name, &parent.spec);
        let plan = if spec.keep {
            Plan::no_children().keep_child(ConfigMap::named(name))
        } else {
            Plan::children([spec.with_strategy::<ConfigMap>(config_map(name, json!({"text": spec.text})))])
        };
        let image = spec.image.as_deref().unwrap_or("busybox:1.33.1");
        let container = Container::new("job", image).with_command(["true"]);
        let pod = PodSpec::new().with_restart_policy(RestartPolicy::Never).with_containers([container]);
        let job = JobSpec::new().with_template(PodTemplateSpec::new().with_spec(pod));
        let secret = Secret::new(name).with_string_data([("text", &spec.text)]);
        Ok(plan.apply(Job::new(name).with_spec(job)).apply(spec.with_strategy::<Secret>(secret)))
    }
}

gyre_sdk::export!(Strategies);
