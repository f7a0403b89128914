//! Serves the files of a Website, rendered from a template, with defaults of the cluster.
//!
//! ```text
//!   Website ────────────────────────────┐
//!   ConfigMap, the template ── get ─────┼──▶ ConfigMap, the content ──▶ its fingerprint
//!   WebsiteDefaults, the first ── list ─┘                                   │
//!                                       └──▶ Deployment (pods carry it) ◀───┘  and a Service
//! ```
//!
//! - A missing template is no error: the host calls again when it exists.
//! - The pods have the content's fingerprint as an annotation, so that new content rolls them out.

use std::cmp::Reverse;

use gyre_sdk::k8s::{
    ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, Deployment, DeploymentSpec, LabelSelector, ObjectMeta, PodSpec,
    PodTemplateSpec, Protocol, Service, ServicePort, ServiceSpec, Volume, VolumeMount,
};
use gyre_sdk::names::{dns_label, service_label};
use gyre_sdk::{
    Bytes, Cluster, CustomResource, Labels, Manifest, Metadata, NoSettings, Object, Plan, Reconciler, Report, Result, Schema,
    Strategy, fingerprint,
};
use serde::{Deserialize, Serialize};

const IMAGE: &str = "nginxinc/nginx-unprivileged:1.29-alpine";
/// The label that identifies the pods of a Website.
const INSTANCE: &str = "app.kubernetes.io/instance";

/// Serves files that are rendered from a template.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "web.gyre.dev", version = "v1alpha1", kind = "Website", status = WebsiteStatus)]
#[resource(column("Template", ".spec.template"), column("Defaults", ".status.defaults"), condition("Ready"))]
#[resource(column("Reason", r#".status.conditions[?(@.type=="Ready")].reason"#, 1), age)]
pub struct WebsiteSpec {
    /// The ConfigMap of this namespace whose data are the files. {{title}}, {{host}}, {{name}} and
    /// {{namespace}} in them are replaced.
    #[schema(min_length = 1, max_length = 253)]
    template: String,
    /// The text that replaces {{title}}.
    #[serde(default)]
    title: String,
    /// The text that replaces {{host}}.
    #[serde(default)]
    host: String,
    /// The number of pods that serve it. By default, the number of the WebsiteDefaults, or 1.
    #[schema(minimum = 0)]
    replicas: Option<i32>,
}

#[derive(Serialize, Schema)]
struct WebsiteStatus {
    /// The fingerprint of the files: it changes when they do.
    content: String,
    /// The WebsiteDefaults that apply to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    defaults: Option<String>,
}

/// Defaults for all Websites. The one with the highest priority applies, and of several the first
/// by name.
#[derive(Clone, Debug, Default, Deserialize, CustomResource)]
#[serde(default)]
#[resource(group = "web.gyre.dev", version = "v1alpha1", kind = "WebsiteDefaults", plural = "websitedefaults")]
#[resource(cluster_scoped, no_status, column("Priority", ".spec.priority", "integer"), column("Image", ".spec.image"))]
#[resource(column("Replicas", ".spec.replicas", "integer"), age)]
struct DefaultsSpec {
    /// The WebsiteDefaults with the highest priority apply.
    #[schema(default = 0)]
    priority: i64,
    /// An image that serves /usr/share/nginx/html on port 8080 as any user but root.
    #[schema(min_length = 1)]
    image: Option<String>,
    /// The number of pods of a Website that does not set it.
    #[schema(minimum = 0)]
    replicas: Option<i32>,
    /// Labels of all children of a Website.
    #[schema(max_properties = 32, elements(max_length = 63, pattern = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"))]
    labels: Labels,
}

/// The plugin.
pub struct WebsiteReconciler;

gyre_sdk::export!(WebsiteReconciler);

impl Reconciler for WebsiteReconciler {
    type Parent = Object<WebsiteSpec>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(Self::Parent)
            .crd(DefaultsSpec::CRD)
            .child::<ConfigMap>(Strategy::Apply)
            .child::<Deployment>(Strategy::Apply)
            .child::<Service>(Strategy::Apply)
            .reads::<ConfigMap>()
            .reads::<WebsiteDefaults>()
    }

    fn reconcile(website: &Object<WebsiteSpec>, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let names = Names::of(website);
        let template_name = &website.spec.template;
        if *template_name == names.content {
            return Ok(Plan::keep_children().report(template_is_content(template_name)));
        }
        let Some(template) = cluster.get::<ConfigMap>(template_name)? else {
            return Ok(Plan::keep_children().report(template_missing(template_name)));
        };
        let defaults = first_defaults(cluster)?;
        let content = Content::render(&template, website);
        let status = WebsiteStatus {
            content: content.fingerprint(),
            defaults: defaults.as_ref().map(|defaults| defaults.metadata.name.clone()),
        };
        let defaults = defaults.map(|defaults| defaults.spec).unwrap_or_default();
        let labels = defaults.labels.clone().with(INSTANCE, &names.service);
        let message = format!("Deployment {} serves ConfigMap {template_name}, rendered to {}", names.service, names.content);

        Ok(Plan::no_children()
            .apply(content.config_map(&names).with_labels(&labels))
            .apply(deployment(website, &names, &defaults, &content).with_labels(&labels))
            .apply(service(&names).with_labels(&labels))
            .status(status)
            .ready("Rendered", message))
    }
}

/// A template that this plugin writes would be rendered again and again.
fn template_is_content(name: &str) -> Report {
    let message = format!("ConfigMap {name} is what this Website is rendered into; name another one as its template");
    Report::not_ready("TemplateIsContent", message)
}

fn template_missing(name: &str) -> Report {
    let message = format!("there is no ConfigMap {name} to render; what was rendered before stays");
    Report::not_ready("TemplateMissing", message)
}

/// Returns the defaults with the highest priority. Of several with the same priority, it is the
/// first by name.
fn first_defaults(cluster: &Cluster) -> Result<Option<WebsiteDefaults>> {
    // The list is sorted by name, and `min_by_key` returns the first minimum.
    let all = cluster.list_all::<WebsiteDefaults>()?;
    Ok(all.into_iter().min_by_key(|defaults| Reverse(defaults.spec.priority)))
}

/// The names of the children.
struct Names {
    /// The name of the Deployment and of the Service.
    service: String,
    /// The name of the ConfigMap.
    content: String,
}

impl Names {
    fn of(website: &Object<WebsiteSpec>) -> Self {
        let name = &website.metadata.name;
        Self { service: service_label(name), content: dns_label(&format!("{name}-content")) }
    }

    /// Returns the labels by which the Service and the Deployment find their pods. A selector is
    /// immutable, so it has no labels of the defaults.
    fn selector(&self) -> Labels {
        Labels::from([(INSTANCE, &self.service)])
    }
}

/// The files of a Website.
struct Content {
    texts: Labels,
    binaries: Bytes,
}

impl Content {
    fn render(template: &ConfigMap, website: &Object<WebsiteSpec>) -> Self {
        let values = values_of(website);
        let texts = template.data().iter().map(|(file, text)| (file, fill_in(text, &values)));
        Self { texts: texts.collect(), binaries: template.binary_data().to_owned() }
    }

    fn fingerprint(&self) -> String {
        let files = self.texts.iter().chain(self.binaries.encoded().iter());
        fingerprint(files.flat_map(|(file, text)| [file, text]))
    }

    fn config_map(&self, names: &Names) -> ConfigMap {
        let config_map = ConfigMap::new(&names.content).with_data(&self.texts);
        if self.binaries.is_empty() { config_map } else { config_map.with_binary_data(self.binaries.clone()) }
    }
}

/// Returns the values of the placeholders.
fn values_of(website: &Object<WebsiteSpec>) -> Labels {
    let Metadata { name, namespace, .. } = &website.metadata;
    let namespace = namespace.as_deref().unwrap_or_default();
    let WebsiteSpec { title, host, .. } = &website.spec;
    Labels::from([("title", title.as_str()), ("host", host), ("name", name), ("namespace", namespace)])
}

fn deployment(website: &Object<WebsiteSpec>, names: &Names, defaults: &DefaultsSpec, content: &Content) -> Deployment {
    let replicas = website.spec.replicas.or(defaults.replicas).unwrap_or(1);
    let image = defaults.image.as_deref().unwrap_or(IMAGE);
    // Pods do not notice that a mounted file has changed, so another fingerprint rolls them out.
    let metadata = ObjectMeta::new()
        .with_labels(defaults.labels.clone().with(INSTANCE, &names.service))
        .with_annotations([("web.gyre.dev/content", content.fingerprint())]);
    let spec = DeploymentSpec::new()
        .with_replicas(replicas)
        .with_selector(LabelSelector::matching(names.selector()))
        .with_template(PodTemplateSpec::new().with_metadata(metadata).with_spec(pod(names, image)));
    Deployment::new(&names.service).with_spec(spec)
}

/// Returns a pod that serves the ConfigMap.
fn pod(names: &Names, image: &str) -> PodSpec {
    let port = ContainerPort::new(8080).with_name("http").with_protocol(Protocol::TCP);
    let mount = VolumeMount::new("content").with_mount_path("/usr/share/nginx/html").with_read_only(true);
    let container = Container::new("web", image).with_ports([port]).with_volume_mounts([mount]);
    let files = ConfigMapVolumeSource::new().with_name(&names.content);
    let volume = Volume::new("content").with_config_map(files);
    PodSpec::new().with_containers([container]).with_volumes([volume]).restricted()
}

fn service(names: &Names) -> Service {
    let port = ServicePort::new(80).with_name("http").with_target_port("http").with_protocol(Protocol::TCP);
    let spec = ServiceSpec::new().with_selector(names.selector()).with_ports([port]);
    Service::new(&names.service).with_spec(spec)
}

/// Replaces `{{title}}` etc. once; values are not searched again, and other braces stay.
fn fill_in(text: &str, values: &Labels) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        if let Some((value, after)) = placeholder(after, values) {
            filled.push_str(value);
            rest = after;
        } else {
            // Only one brace, because the last two of three may open a placeholder.
            filled.push('{');
            rest = rest.get(before.len() + 1..).unwrap_or_default();
        }
    }
    filled.push_str(rest);
    filled
}

/// Returns the value of a placeholder, whose braces have been opened, and the text after it. It
/// searches only up to the next brace, so that a text of braces takes linear time.
fn placeholder<'a>(text: &'a str, values: &'a Labels) -> Option<(&'a str, &'a str)> {
    let end = text.find(['{', '}'])?;
    let (name, braces) = text.split_at_checked(end)?;
    let value = values.get(name.trim())?;
    Some((value, braces.strip_prefix("}}")?))
}

#[cfg(test)]
mod tests;
