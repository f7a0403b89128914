//! Replaces the Pods of a workload when a ConfigMap or a Secret changes that its containers use.
//!
//! ```text
//!   Deployment web, with the annotation reloader.gyre.dev/reload: "true"
//!     ├─ reads ConfigMap web-settings, Secret web-token
//!     └─ sets  spec.template.metadata.annotations: reloader.gyre.dev/digest: 7p6zycpx6db4p
//!                └─ changes with them ──▶ the Deployment controller rolls the Pods
//! ```
//!
//! There is a reconciler for each of Deployments, StatefulSets and DaemonSets. The operator grants
//! the annotation with `grants.parentFields: all`. A workload that loses the annotation `reload`
//! loses the digest, too.
//!
//! The first digest replaces the Pods once, because it is not known which data they have read. The
//! digest has 64 bits of all data together. Who may read the workload, but not the Secrets, could
//! confirm a guess of all the data by it; so a Secret whose only value is a short password is
//! better made by the host (`gyre_sdk::generated`).
//!
//! What is absent: a rollout of its own. The strategy of the workload decides how Pods are
//! replaced.

mod references;

use gyre_sdk::k8s::{
    ConfigMap, DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec, ObjectMeta, PodTemplateSpec, PodTemplateSpecView, Secret,
    StatefulSet, StatefulSetSpec,
};
use gyre_sdk::{Cluster, Manifest, NoSettings, Plan, Reconciler, Resource, Result, fingerprint};

use self::references::References;

/// The annotation of a workload whose Pods are to be replaced, with the value `true`.
pub const RELOAD: &str = "reloader.gyre.dev/reload";

/// The annotation of its template.
pub const DIGEST: &str = "reloader.gyre.dev/digest";

/// [`DIGEST`] as a field of a workload.
const DIGEST_FIELD: &str = "/spec/template/metadata/annotations/reloader.gyre.dev~1digest";

/// The reconciler of Deployments.
pub struct Deployments;
/// The reconciler of StatefulSets.
pub struct StatefulSets;
/// The reconciler of DaemonSets.
pub struct DaemonSets;

gyre_sdk::export!(Deployments, StatefulSets, DaemonSets);

/// A kind with a template of Pods.
trait Workload: Resource {
    /// The name of its reconciler.
    const RECONCILER: &'static str;

    fn asks_for_reload(&self) -> bool;
    fn template(&self) -> PodTemplateSpecView<'_>;
    /// Adds these fields of the template to a plan.
    fn set_template(&self, plan: Plan, template: PodTemplateSpec) -> Plan;
}

macro_rules! workload {
    ($workload:ident, $spec:ident, $reconciler:ident, $name:literal) => {
        impl Workload for $workload {
            const RECONCILER: &'static str = $name;

            fn asks_for_reload(&self) -> bool {
                self.metadata().annotations().get(RELOAD) == Some("true")
            }

            fn template(&self) -> PodTemplateSpecView<'_> {
                self.spec().template()
            }

            fn set_template(&self, plan: Plan, template: PodTemplateSpec) -> Plan {
                plan.parent_fields(Self::new(self.name()).with_spec($spec::new().with_template(template)))
            }
        }

        impl Reconciler for $reconciler {
            type Parent = $workload;
            type Settings = NoSettings;

            fn manifest() -> Manifest {
                manifest::<$workload>()
            }

            fn reconcile(workload: &$workload, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
                plan(workload, cluster)
            }
        }
    };
}

workload!(Deployment, DeploymentSpec, Deployments, "reloader-deployments");
workload!(StatefulSet, StatefulSetSpec, StatefulSets, "reloader-statefulsets");
workload!(DaemonSet, DaemonSetSpec, DaemonSets, "reloader-daemonsets");

fn manifest<W: Workload>() -> Manifest {
    Manifest::new(W::RECONCILER, env!("CARGO_PKG_VERSION"), W::KIND)
        .description(env!("CARGO_PKG_DESCRIPTION"))
        .reads::<ConfigMap>()
        .reads::<Secret>()
        .sets(DIGEST_FIELD)
}

fn plan<W: Workload>(workload: &W, cluster: &Cluster) -> Result<Plan> {
    let references = References::of(workload.template().spec());
    if !workload.asks_for_reload() || references.is_empty() {
        return Ok(Plan::no_children());
    }
    let digest = digest(&references, cluster)?;
    let template = PodTemplateSpec::new().with_metadata(ObjectMeta::new().with_annotations([(DIGEST, digest)]));
    Ok(workload.set_template(Plan::no_children(), template))
}

/// Returns a digest of the data of all references. One that is missing counts as empty, so that
/// Pods which start without it are replaced when it comes.
fn digest(references: &References, cluster: &Cluster) -> Result<String> {
    let mut texts = Vec::new();
    for name in &references.config_maps {
        texts.extend(["ConfigMap".to_owned(), name.clone()]);
        if let Some(config_map) = cluster.get::<ConfigMap>(name)? {
            let data = config_map.data().iter().chain(config_map.binary_data().encoded().iter());
            texts.extend(data.flat_map(|(key, value)| [key.to_owned(), value.to_owned()]));
        }
    }
    for name in &references.secrets {
        texts.extend(["Secret".to_owned(), name.clone()]);
        if let Some(secret) = cluster.get::<Secret>(name)? {
            texts.extend(secret.data().encoded().iter().flat_map(|(key, value)| [key.to_owned(), value.to_owned()]));
        }
    }
    Ok(fingerprint(texts.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests;
