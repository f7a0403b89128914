//! A Website serves what a template says, with what the cluster's defaults say.
//!
//! It shows how a plugin composes: it reads what is not its own, and is called again when that changes.
//!
//! ```text
//!   Website ────────────────────────────┐
//!   ConfigMap, the template ── get ─────┼──▶ ConfigMap, the content ──▶ its fingerprint
//!   WebsiteDefaults, the first ── list ─┘                                   │
//!                                       └──▶ Deployment (pods carry it) ◀───┘  and a Service
//! ```
//!
//! - A template that is missing is no error: the host records that nothing was there, and calls again when something is. Until then
//!   whatever was made before goes on serving.
//! - The pods carry the content's fingerprint as an annotation, so that another content rolls the Deployment.
//!
//! What is absent: a watch, a cache, a work queue, and a word about when to look again. Placeholders are filled in as they are,
//! without regard to the language of the file, and others than `{{title}}`, `{{host}}`, `{{name}}` and `{{namespace}}` stay.

mod content;
mod defaults;
mod pod;
mod workload;

use gyre_sdk::names::{dns_label, service_label};
use gyre_sdk::{
    Cluster, Condition, Event, Failure, Kind, Manifest, NoSettings, NoStatus, Object, ReadKind, Reconciler, Response, Strategy,
};
use serde::{Deserialize, Serialize};

use crate::content::{Content, Template, Values};
use crate::defaults::WebsiteDefaults;
use crate::workload::Workload;

/// What is reconciled.
pub const WEBSITE: Kind = Kind::new("web.gyre.dev/v1alpha1", "Website");

/// What holds for all Websites of a cluster.
pub const WEBSITE_DEFAULTS: Kind = Kind::new("web.gyre.dev/v1alpha1", "WebsiteDefaults");

/// Templates are such, and contents.
pub const CONFIG_MAP: Kind = Kind::new("v1", "ConfigMap");

/// What serves the content.
pub const DEPLOYMENT: Kind = Kind::new("apps/v1", "Deployment");

/// Under which name it is served.
pub const SERVICE: Kind = Kind::new("v1", "Service");

/// The plugin.
pub struct WebsiteReconciler;

gyre_sdk::export!(WebsiteReconciler);

impl Reconciler for WebsiteReconciler {
    type Parent = Website;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("website", env!("CARGO_PKG_VERSION"), WEBSITE)
            .description(env!("CARGO_PKG_DESCRIPTION"))
            .child(CONFIG_MAP, Strategy::Apply)
            .child(DEPLOYMENT, Strategy::Apply)
            .child(SERVICE, Strategy::Apply)
            .read(ReadKind::new(CONFIG_MAP))
            .read(ReadKind::new(WEBSITE_DEFAULTS))
            .crd(include_str!("../crd.json"))
            .crd(include_str!("../defaults.crd.json"))
    }

    fn reconcile(website: &Website, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        let template_name = website.spec.template.as_str();
        let content_name = dns_label(&format!("{}-content", website.metadata.name));
        if template_name == content_name {
            let message =
                format!("ConfigMap {template_name} is what this Website is rendered into; name another one as its template");
            return Ok(not_rendered("TemplateIsContent", message));
        }
        let Some(template) = cluster.get::<Template>(CONFIG_MAP, None, template_name)? else {
            let message = format!("there is no ConfigMap {template_name} to render; what was rendered before stays");
            return Ok(not_rendered("TemplateMissing", message));
        };
        let defaults = defaults::of(cluster)?;

        let content = template.render(&Values {
            title: &website.spec.title,
            host: &website.spec.host,
            name: &website.metadata.name,
            namespace: website.metadata.namespace.as_deref().unwrap_or_default(),
        });
        rendered(website, defaults.as_ref(), &content_name, &content)
    }
}

/// Children and status stay as they are.
fn not_rendered(reason: &str, message: String) -> Response {
    Response::leaving_children()
        .event(Event::warning(reason, message.as_str()))
        .condition(Condition::no("Ready", reason, message))
}

fn rendered(
    website: &Website,
    defaults: Option<&WebsiteDefaults>,
    content_name: &str,
    content: &Content,
) -> Result<Response, Failure> {
    let name = service_label(&website.metadata.name);
    let fingerprint = content.fingerprint();
    let workload = Workload::new(&name, website.spec.replicas, defaults, content_name, &fingerprint);
    let message = format!("Deployment {name} serves ConfigMap {}, rendered to {content_name}", website.spec.template);
    let status = WebsiteStatus { content: &fingerprint, defaults: defaults.map(|defaults| defaults.metadata.name.as_str()) };
    Ok(Response::new()
        .apply(&workload.config_map(content))?
        .apply(&workload.deployment())?
        .apply(&workload.service())?
        .status(&status)?
        .condition(Condition::yes("Ready", "Rendered", message.as_str()))
        .event(Event::normal("Rendered", message)))
}

/// The parent. Nothing of its status is read.
pub type Website = Object<WebsiteSpec, NoStatus>;

/// What its user wants.
#[derive(Debug, Deserialize)]
pub struct WebsiteSpec {
    /// The ConfigMap, in the namespace of the Website, whose data are rendered.
    pub template: String,
    /// What `{{title}}` stands for.
    #[serde(default)]
    pub title: String,
    /// What `{{host}}` stands for.
    #[serde(default)]
    pub host: String,
    /// How many pods serve it; none: as many as the defaults say, or else 1.
    pub replicas: Option<u32>,
}

#[derive(Serialize)]
struct WebsiteStatus<'a> {
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    defaults: Option<&'a str>,
}

#[cfg(test)]
mod tests;
