//! Copies a Secret to the namespaces that its annotation names.
//!
//! ```text
//!   Secret shared/registry                         Namespaces team-a, team-b, other
//!     replicator.gyre.dev/to: "team-*" ──────────▶ Secrets team-a/registry, team-b/registry
//! ```
//!
//! A copy has the type and the data of the Secret, and follows both. It goes when the Secret no
//! longer names its namespace, and with the Secret. A Secret that somebody else made is not
//! overwritten. Where copies may be written, the operator decides: `grants.writeNamespaces`. The
//! mount is for all namespaces, because it reads Namespaces; a `selector` restricts its Secrets.
//!
//! What is absent: copies of copies. A copy does not get the labels and annotations of the Secret,
//! because Argo CD and Helm would then manage the copy.

use gyre_sdk::k8s::{Namespace, Secret};
use gyre_sdk::{Cluster, Event, Manifest, NoSettings, Plan, ReadKind, Reconciler, Result, Strategy};

/// The annotation with the namespaces of the copies: names separated by commas, in which `*` stands
/// for any characters.
pub const TO: &str = "replicator.gyre.dev/to";

/// The type of Secrets that belong to one ServiceAccount of their namespace.
const SERVICE_ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";

/// The plugin.
pub struct Replicator;

gyre_sdk::export!(Replicator);

impl Reconciler for Replicator {
    type Parent = Secret;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("replicator", env!("CARGO_PKG_VERSION"), Secret::KIND)
            .description(env!("CARGO_PKG_DESCRIPTION"))
            .child::<Secret>(Strategy::Apply)
            .read_kind(ReadKind::of::<Namespace>().metadata_only())
    }

    fn reconcile(secret: &Secret, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let annotations = secret.metadata().annotations();
        let Some(to) = annotations.get(TO) else { return Ok(Plan::no_children()) };
        if secret.type_() == Some(SERVICE_ACCOUNT_TOKEN) {
            let message = format!("a Secret of the type {SERVICE_ACCOUNT_TOKEN} belongs to a ServiceAccount of its namespace");
            return Ok(Plan::no_children().event(Event::warning("NotReplicable", message)));
        }
        let patterns: Vec<&str> = to.split(',').map(str::trim).filter(|pattern| !pattern.is_empty()).collect();
        let namespaces = cluster.list_all::<Namespace>()?;
        let targets = namespaces.iter().filter(|namespace| is_target(namespace, secret, &patterns));
        let plan = Plan::children(targets.map(|namespace| copy(secret, namespace.name())));

        let exists = |name: &str| namespaces.iter().any(|namespace| namespace.name() == name);
        let missing: Vec<&str> =
            patterns.iter().copied().filter(|pattern| !pattern.contains('*') && !exists(pattern)).collect();
        if missing.is_empty() {
            return Ok(plan);
        }
        let message = format!("there is no namespace {} yet: the copy is made once there is", missing.join(", "));
        Ok(plan.event(Event::normal("NamespaceMissing", message)))
    }
}

fn is_target(namespace: &Namespace, secret: &Secret, patterns: &[&str]) -> bool {
    let is_leaving = namespace.metadata().deletion_timestamp().is_some();
    let is_own = secret.namespace() == Some(namespace.name());
    !is_leaving && !is_own && patterns.iter().any(|pattern| matches(pattern, namespace.name()))
}

fn copy(secret: &Secret, namespace: &str) -> Secret {
    Secret::new(secret.name()).with_namespace(namespace).with_type(secret.type_().unwrap_or("Opaque")).with_data(secret.data())
}

/// Returns whether a name fits a pattern, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let (between, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(name) = name.strip_prefix(start).and_then(|name| name.strip_suffix(end)) else { return false };
    let found = between.split('*').try_fold(name, |name, part| name.split_once(part).map(|(_, after)| after));
    found.is_some()
}

#[cfg(test)]
mod tests;
