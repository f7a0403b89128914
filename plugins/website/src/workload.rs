//! What is made for a Website.

use std::collections::BTreeMap;

use gyre_sdk::Desired;
use serde::Serialize;

use crate::content::Content;
use crate::defaults::WebsiteDefaults;
use crate::pod::{CONTENT, Pod, PodMetadata};
use crate::{CONFIG_MAP, DEPLOYMENT, SERVICE};

/// Serves `/usr/share/nginx/html` on port 8080, as a user that is not root.
const IMAGE: &str = "nginxinc/nginx-unprivileged:1.29-alpine";

/// The children of one Website.
pub(crate) struct Workload<'a> {
    name: &'a str,
    replicas: u32,
    image: &'a str,
    labels: Labels<'a>,
    label_pairs: Vec<(&'a str, &'a str)>,
    content_name: &'a str,
    fingerprint: &'a str,
}

pub(crate) type Labels<'a> = BTreeMap<&'a str, &'a str>;

impl<'a> Workload<'a> {
    pub(crate) fn new(
        name: &'a str,
        replicas: Option<u32>,
        defaults: Option<&'a WebsiteDefaults>,
        content_name: &'a str,
        fingerprint: &'a str,
    ) -> Self {
        let defaults = defaults.map(|defaults| &defaults.spec);
        let labels = defaults.into_iter().flat_map(|defaults| &defaults.labels);
        let mut labels: Labels<'_> = labels.map(|(key, value)| (key.as_str(), value.as_str())).collect();
        labels.insert(Instance::LABEL, name);
        Self {
            name,
            replicas: replicas.or(defaults.and_then(|defaults| defaults.replicas)).unwrap_or(1),
            image: defaults.and_then(|defaults| defaults.image.as_deref()).unwrap_or(IMAGE),
            label_pairs: labels.iter().map(|(key, value)| (*key, *value)).collect(),
            labels,
            content_name,
            fingerprint,
        }
    }

    pub(crate) fn config_map<'b>(&'b self, content: &'b Content) -> ConfigMap<'b> {
        ConfigMap {
            api_version: CONFIG_MAP.api_version,
            kind: CONFIG_MAP.kind,
            metadata: Metadata { name: self.content_name, labels: &self.labels },
            data: &content.data,
            binary_data: &content.binary_data,
        }
    }

    pub(crate) fn deployment(&self) -> Desired<'_, DeploymentSpec<'_>> {
        let metadata = PodMetadata { labels: &self.labels, annotations: BTreeMap::from([(CONTENT, self.fingerprint)]) };
        let spec = DeploymentSpec {
            replicas: self.replicas,
            selector: Selector { match_labels: Instance { name: self.name } },
            template: PodTemplate { metadata, spec: Pod::new(self.image, self.content_name) },
        };
        Desired::new(DEPLOYMENT, self.name, spec).labels(&self.label_pairs)
    }

    pub(crate) fn service(&self) -> Desired<'_, ServiceSpec<'_>> {
        let port = ServicePort { name: "http", port: 80, target_port: "http", protocol: "TCP" };
        let spec = ServiceSpec { selector: Instance { name: self.name }, ports: [port] };
        Desired::new(SERVICE, self.name, spec).labels(&self.label_pairs)
    }
}

/// A child without a `spec`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigMap<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    data: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    binary_data: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    name: &'a str,
    labels: &'a Labels<'a>,
}

#[derive(Serialize)]
pub(crate) struct DeploymentSpec<'a> {
    replicas: u32,
    selector: Selector<'a>,
    template: PodTemplate<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Selector<'a> {
    match_labels: Instance<'a>,
}

/// The one label that tells the pods of a Website from those of another of its namespace. A selector cannot be changed, so it has
/// nothing of what the defaults say.
#[derive(Serialize)]
struct Instance<'a> {
    #[serde(rename = "app.kubernetes.io/instance")]
    name: &'a str,
}

impl Instance<'_> {
    const LABEL: &'static str = "app.kubernetes.io/instance";
}

#[derive(Serialize)]
struct PodTemplate<'a> {
    metadata: PodMetadata<'a>,
    spec: Pod<'a>,
}

#[derive(Serialize)]
pub(crate) struct ServiceSpec<'a> {
    selector: Instance<'a>,
    ports: [ServicePort; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServicePort {
    name: &'static str,
    port: u16,
    target_port: &'static str,
    protocol: &'static str,
}
