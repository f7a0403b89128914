//! A PostgreSQL server whose password, connection string and certificate the host makes: this
//! plugin never sees them.
//!
//! ```text
//!   Database ──▶ Secret: password, its SCRAM verifier, connection string, CA, certificate
//!                  │ digests of the values, once they are made
//!                  └──▶ StatefulSet (pods carry the digest of the password and certificate), Service
//! ```
//!
//! - A StatefulSet begins when the values are there, so its pods start with the right digests.
//! - A higher `passwordEpoch` makes a new password. With it, the digest changes, and the pods are
//!   replaced; a renewed certificate replaces them, too.

use gyre_sdk::generated::{Certificate, Hash, Password, Text};
use gyre_sdk::k8s::{
    Container, ContainerPort, EnvVar, EnvVarSource, LabelSelector, ObjectMeta, PodSpec, PodTemplateSpec, Secret,
    SecretKeySelector, SecretVolumeSource, Service, ServicePort, ServiceSpec, StatefulSet, StatefulSetSpec, Volume,
    VolumeMount,
};
use gyre_sdk::names::service_label;
use gyre_sdk::{
    Cluster, CustomResource, Labels, Manifest, NoSettings, Object, Plan, Reconciler, Report, Result, Severity, Strategy,
    fingerprint,
};
use serde::Deserialize;

const IMAGE: &str = "postgres:18-alpine";
/// The label that identifies the pods of a Database.
const INSTANCE: &str = "app.kubernetes.io/instance";
/// The values on whose change the pods are replaced.
const REPLACED_WITH: [&str; 2] = ["password", "tls.crt"];

/// A PostgreSQL server.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "db.gyre.dev", version = "v1alpha1", kind = "Database", condition("Ready"), age)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseSpec {
    /// The name of the database and of its user.
    #[schema(min_length = 1, max_length = 63, pattern = "^[a-z][a-z0-9_]*$")]
    name: String,
    /// A higher number makes a new password.
    #[serde(default)]
    password_epoch: u32,
}

/// The plugin.
pub struct DatabaseReconciler;

gyre_sdk::export!(DatabaseReconciler);

impl Reconciler for DatabaseReconciler {
    type Parent = Object<DatabaseSpec>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(Self::Parent)
            .child::<Secret>(Strategy::Apply)
            .child::<Service>(Strategy::Apply)
            .child::<StatefulSet>(Strategy::Apply)
    }

    fn reconcile(database: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let name = service_label(&database.metadata.name);
        let plan = Plan::no_children().apply(secret(database, &name)).apply(service(&name));
        let existing = cluster.children::<Secret>()?.into_iter().find(|secret| secret.name() == name);
        let digests = existing.and_then(|secret| {
            let digests: Option<Vec<&str>> = REPLACED_WITH.iter().map(|key| secret.generated(key)).collect();
            digests.map(fingerprint)
        });
        Ok(match digests {
            Some(digest) => plan
                .apply(stateful_set(database, &name, &digest))
                .ready("Running", format!("StatefulSet {name} runs with the values of Secret {name}")),
            // The host calls again once the Secret is there. Until then, what runs goes on.
            None => plan.keep_child(StatefulSet::named(&name)).report(creating(&name)),
        })
    }
}

fn creating(name: &str) -> Report {
    Report::not_ready("Creating", format!("Secret {name} is being created")).severity(Severity::Normal)
}

/// The keys of the Secret. Those who connect need `url` and `ca.crt`; `tls.key` is the server's.
fn secret(database: &Object<DatabaseSpec>, name: &str) -> Secret {
    let user = &database.spec.name;
    let namespace = database.metadata.namespace.as_deref().unwrap_or_default();
    let host = format!("{name}.{namespace}.svc");
    Secret::new(name)
        .with_generated("password", Password::of(32).epoch(database.spec.password_epoch.into()))
        .with_generated("password.scram", Hash::scram_sha256("password"))
        .with_generated("url", Text::new(format!("postgresql://{user}:{{password}}@{host}:5432/{user}?sslmode=verify-full")))
        .with_generated("ca.crt", Certificate::ca(&format!("{name} CA"), "ca.key").valid_days(3650))
        .with_generated("tls.crt", Certificate::signed_by("ca.crt", "tls.key").dns_names([name, &host]).valid_days(90))
}

fn stateful_set(database: &Object<DatabaseSpec>, name: &str, digest: &str) -> StatefulSet {
    let of_secret = SecretKeySelector::new("password").with_name(name);
    let password = EnvVar::new("POSTGRES_PASSWORD").with_value_from(EnvVarSource::new().with_secret_key_ref(of_secret));
    let user = EnvVar::new("POSTGRES_USER").with_value(&database.spec.name);
    let port = ContainerPort::new(5432).with_name("postgresql");
    let mount = VolumeMount::new("tls").with_mount_path("/tls").with_read_only(true);
    let container = Container::new("postgres", IMAGE)
        .with_args(["-c", "ssl=on", "-c", "ssl_cert_file=/tls/tls.crt", "-c", "ssl_key_file=/tls/tls.key"])
        .with_env([user, password])
        .with_ports([port])
        .with_volume_mounts([mount]);
    // PostgreSQL refuses a key that others may read.
    let tls = SecretVolumeSource::new().with_secret_name(name).with_default_mode(0o640);
    let pod = PodSpec::new().with_containers([container]).with_volumes([Volume::new("tls").with_secret(tls)]);
    let metadata = ObjectMeta::new().with_labels(labels(name)).with_annotations([("db.gyre.dev/secret", digest)]);
    let spec = StatefulSetSpec::new()
        .with_replicas(1)
        .with_service_name(name)
        .with_selector(LabelSelector::matching(labels(name)))
        .with_template(PodTemplateSpec::new().with_metadata(metadata).with_spec(pod));
    StatefulSet::new(name).with_spec(spec)
}

fn service(name: &str) -> Service {
    let port = ServicePort::new(5432).with_name("postgresql").with_target_port("postgresql");
    Service::new(name).with_spec(ServiceSpec::new().with_selector(labels(name)).with_ports([port]))
}

fn labels(name: &str) -> Labels {
    Labels::from([(INSTANCE, name)])
}

#[cfg(test)]
mod tests;
