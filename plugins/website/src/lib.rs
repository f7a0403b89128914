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
    Cluster, CustomResource, Labels, Manifest, NoSettings, Object, Plan, Reconciler, Result, Schema, Strategy, fingerprint,
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
            .read::<ConfigMap>()
            .read::<Object<DefaultsSpec>>()
    }

    fn reconcile(website: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let names = Names::of(website);
        let template_name = &website.spec.template;
        if *template_name == names.content {
            let message = "is what this Website is rendered into; name another one as its template";
            return Ok(Plan::unchanged().not_ready("TemplateIsContent", format!("ConfigMap {} {message}", names.content)));
        }
        let Some(template) = cluster.get::<ConfigMap>(template_name)? else {
            let message = format!("there is no ConfigMap {template_name} to render; what was rendered before stays");
            return Ok(Plan::unchanged().not_ready("TemplateMissing", message));
        };
        let found = first_defaults(cluster)?;
        let defaults = found.as_ref().map(|found| found.spec.clone()).unwrap_or_default();
        let content = Content::render(&template, website);
        let message = format!("Deployment {} serves ConfigMap {template_name}, rendered to {}", names.service, names.content);
        let status = WebsiteStatus { content: content.fingerprint(), defaults: found.map(|found| found.metadata.name) };

        let labels = defaults.labels.clone().with(INSTANCE, &names.service);
        Ok(Plan::no_children()
            .apply(content.config_map(&names).with_labels(labels.clone()))
            .apply(deployment(website, &names, &defaults, &labels, &content).with_labels(labels.clone()))
            .apply(service(&names).with_labels(labels))
            .status(&status)
            .ready("Rendered", message))
    }
}

struct Names {
    /// Of the Deployment and the Service.
    service: String,
    /// Of the ConfigMap.
    content: String,
}

impl Names {
    fn of(website: &Object<WebsiteSpec>) -> Self {
        let name = &website.metadata.name;
        Self { service: service_label(name), content: dns_label(&format!("{name}-content")) }
    }

    /// A selector is immutable, so it has no labels of the defaults.
    fn selector(&self) -> Labels {
        Labels::from([(INSTANCE, &self.service)])
    }
}

/// The files of a Website.
struct Content {
    texts: Labels,
    /// In base64.
    binaries: Labels,
}

impl Content {
    fn render(template: &ConfigMap, website: &Object<WebsiteSpec>) -> Self {
        let WebsiteSpec { title, host, .. } = &website.spec;
        let namespace = website.metadata.namespace.as_deref().unwrap_or_default();
        let name = &website.metadata.name;
        let values = Labels::from([("title", title.as_str()), ("host", host), ("name", name), ("namespace", namespace)]);
        let texts = template.data().iter().map(|(file, text)| (file, fill_in(text, &values))).collect();
        Self { texts, binaries: template.binary_data() }
    }

    fn fingerprint(&self) -> String {
        let files = self.texts.iter().chain(self.binaries.iter());
        fingerprint(files.flat_map(|(file, text)| [file, text]))
    }

    fn config_map(&self, names: &Names) -> ConfigMap {
        let config_map = ConfigMap::new(&names.content).with_data(self.texts.clone());
        if self.binaries.is_empty() { config_map } else { config_map.with_binary_data(self.binaries.clone()) }
    }
}

/// Returns the defaults of the highest priority, and of several the first by name.
fn first_defaults(cluster: &Cluster) -> Result<Option<Object<DefaultsSpec>>> {
    // The list is sorted by name, and `min_by_key` returns the first minimum.
    let all = cluster.list::<Object<DefaultsSpec>>()?;
    Ok(all.into_iter().min_by_key(|defaults| Reverse(defaults.spec.priority)))
}

fn deployment(
    website: &Object<WebsiteSpec>,
    names: &Names,
    defaults: &DefaultsSpec,
    labels: &Labels,
    content: &Content,
) -> Deployment {
    let port = ContainerPort::new().with_name("http").with_container_port(8080).with_protocol(Protocol::TCP);
    let mount = VolumeMount::new().with_name("content").with_mount_path("/usr/share/nginx/html").with_read_only(true);
    let container = Container::new()
        .with_name("web")
        .with_image(defaults.image.as_deref().unwrap_or(IMAGE))
        .with_ports([port])
        .with_volume_mounts([mount]);
    let files = ConfigMapVolumeSource::new().with_name(&names.content);
    let volume = Volume::new().with_name("content").with_config_map(files);
    let pod = PodSpec::new().with_containers([container]).with_volumes([volume]).restricted();
    let annotations = [("web.gyre.dev/content", content.fingerprint())];
    let metadata = ObjectMeta::new().with_labels(labels.clone()).with_annotations(annotations);
    let spec = DeploymentSpec::new()
        .with_replicas(website.spec.replicas.or(defaults.replicas).unwrap_or(1))
        .with_selector(LabelSelector::matching(names.selector()))
        .with_template(PodTemplateSpec::new().with_metadata(metadata).with_spec(pod));
    Deployment::new(&names.service).with_spec(spec)
}

fn service(names: &Names) -> Service {
    let port = ServicePort::new().with_name("http").with_port(80).with_target_port("http").with_protocol(Protocol::TCP);
    Service::new(&names.service).with_spec(ServiceSpec::new().with_selector(names.selector()).with_ports([port]))
}

/// Replaces `{{title}}` etc. once; values are not searched again, and other braces stay.
fn fill_in(text: &str, values: &Labels) -> String {
    let (mut filled, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("{{") {
        // Search only up to the next brace, so that a text of braces takes linear time.
        let placeholder = after.find(['{', '}']).and_then(|end| after.split_at_checked(end));
        let found = placeholder.and_then(|(name, end)| Some((values.get(name.trim())?, end.strip_prefix("}}")?)));
        // Otherwise take one brace, because the last two of three may open a placeholder.
        let (value, after) = found.unwrap_or_else(|| ("{", rest.get(before.len() + 1..).unwrap_or_default()));
        filled.extend([before, value]);
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests;
