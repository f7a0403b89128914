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

use gyre_sdk::k8s::{ConfigMap, Container, Deployment, PodTemplate, Service};
use gyre_sdk::names::{dns_label, service_label};
use gyre_sdk::{
    Cluster, CustomResource, DynamicObject, Failure, Labels, Manifest, NoSettings, Object, ReadKind, Reconciler, Report,
    Response, Schema, Strategy, fingerprint,
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
            .children([ConfigMap::KIND, Deployment::KIND, Service::KIND], Strategy::Apply)
            .read(ReadKind::new(ConfigMap::KIND))
            .read(ReadKind::new(DefaultsSpec::KIND))
    }

    fn reconcile(website: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        let (spec, metadata) = (&website.spec, &website.metadata);
        let (name, content_name) = (service_label(&metadata.name), dns_label(&format!("{}-content", metadata.name)));
        let not_rendered = |reason, message| Ok(Response::status_only().report(Report::not_ready(reason, message)));
        if spec.template == content_name {
            let message = "is what this Website is rendered into; name another one as its template";
            return not_rendered("TemplateIsContent", format!("ConfigMap {content_name} {message}"));
        }
        let Some(template) = cluster.get::<DynamicObject>(ConfigMap::KIND, None, &spec.template)? else {
            let message = format!("there is no ConfigMap {} to render; what was rendered before stays", spec.template);
            return not_rendered("TemplateMissing", message);
        };
        let all: Vec<Object<DefaultsSpec>> = cluster.list(DefaultsSpec::KIND, None, None)?;
        // The list is sorted by name, and `min_by_key` returns the first minimum.
        let found = all.iter().min_by_key(|defaults| Reverse(defaults.spec.priority));
        let defaults = found.map(|found| found.spec.clone()).unwrap_or_default();
        let values = Labels::from([("title", &spec.title), ("host", &spec.host), ("name", &metadata.name)]);
        let values = values.with("namespace", metadata.namespace.as_deref().unwrap_or_default());
        let template_data: Labels = template.field("/data").unwrap_or_default();
        let data: Labels = template_data.iter().map(|(file, text)| (file, fill_in(text, &values))).collect();
        let binary_data: Labels = template.field("/binaryData").unwrap_or_default();
        let content = fingerprint(data.iter().chain(binary_data.iter()).flat_map(|(file, text)| [file, text]));
        // A selector is immutable, so it does not contain labels of the defaults.
        let selector = Labels::from([(INSTANCE, &name)]);
        let labels = defaults.labels.with(INSTANCE, &name);
        let (image, replicas) = (defaults.image.as_deref().unwrap_or(IMAGE), spec.replicas.or(defaults.replicas).unwrap_or(1));
        let container = Container::new("web", image).port("http", 8080).mount_read_only("content", "/usr/share/nginx/html");
        let pod = PodTemplate::new(container).config_map_volume("content", &content_name).restricted();
        let pod = pod.labels(&labels).annotations(&Labels::from([("web.gyre.dev/content", &content)]));
        let message = format!("Deployment {name} serves ConfigMap {}, rendered to {content_name}", spec.template);
        Response::children()
            .apply(&ConfigMap::new(content_name).labels(&labels).data(data.iter()).binary_data(binary_data.iter()))?
            .apply(&Deployment::new(&name, &selector, pod).labels(&labels).replicas(replicas))?
            .apply(&Service::new(&name, &selector).labels(&labels).port("http", 80, "http"))?
            .report(Report::ready("Rendered", message))
            .status(&WebsiteStatus { content, defaults: found.map(|found| found.metadata.name.clone()) })
    }
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
