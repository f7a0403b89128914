//! What is made for a Website.

use std::collections::BTreeMap;

use gyre_sdk::{Desired, Kind};
use serde::Serialize;
use serde_json::{Value, json};

use crate::content::Content;
use crate::defaults::WebsiteDefaults;
use crate::{CONFIG_MAP, DEPLOYMENT, SERVICE};

/// Serves files on a port that any user may open, as a user that is not root.
const IMAGE: &str = "nginxinc/nginx-unprivileged:1.29-alpine";

/// Where [`IMAGE`] finds them.
const FOLDER: &str = "/usr/share/nginx/html";

/// Where [`IMAGE`] serves them.
const PORT: u16 = 8080;

/// Tells the pods of one Website from those of another of its namespace.
const INSTANCE: &str = "app.kubernetes.io/instance";

/// Another content gives the pods another annotation, and so other pods.
const CONTENT: &str = "web.gyre.dev/content";

/// The children of one Website.
pub(crate) struct Workload<'a> {
    name: &'a str,
    replicas: u32,
    image: &'a str,
    /// By key.
    labels: Vec<(&'a str, &'a str)>,
    content_name: &'a str,
    fingerprint: &'a str,
}

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
        let mut labels: BTreeMap<&str, &str> = labels.map(|(key, value)| (key.as_str(), value.as_str())).collect();
        labels.insert(INSTANCE, name);
        Self {
            name,
            replicas: replicas.or(defaults.and_then(|defaults| defaults.replicas)).unwrap_or(1),
            image: defaults.and_then(|defaults| defaults.image.as_deref()).unwrap_or(IMAGE),
            labels: labels.into_iter().collect(),
            content_name,
            fingerprint,
        }
    }

    pub(crate) fn config_map<'b>(&'b self, content: &'b Content) -> ConfigMap<'b> {
        let metadata = ConfigMapMetadata { name: self.content_name, labels: self.labels.iter().copied().collect() };
        ConfigMap { kind: CONFIG_MAP, metadata, content }
    }

    pub(crate) fn deployment(&self) -> Desired<'_, Value> {
        let labels: BTreeMap<&str, &str> = self.labels.iter().copied().collect();
        let spec = json!({
            "replicas": self.replicas,
            "selector": {"matchLabels": {INSTANCE: self.name}},
            "template": {
                "metadata": {"labels": labels, "annotations": {CONTENT: self.fingerprint}},
                "spec": {
                    "containers": [{
                        "name": "web",
                        "image": self.image,
                        "ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}],
                        "volumeMounts": [{"name": "content", "mountPath": FOLDER, "readOnly": true}],
                        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                    }],
                    "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                    "volumes": [{"name": "content", "configMap": {"name": self.content_name}}],
                },
            },
        });
        Desired::new(DEPLOYMENT, self.name, spec).labels(&self.labels)
    }

    pub(crate) fn service(&self) -> Desired<'_, Value> {
        let spec = json!({
            "selector": {INSTANCE: self.name},
            "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}],
        });
        Desired::new(SERVICE, self.name, spec).labels(&self.labels)
    }
}

/// A child without a `spec`.
#[derive(Serialize)]
pub(crate) struct ConfigMap<'a> {
    #[serde(flatten)]
    kind: Kind,
    metadata: ConfigMapMetadata<'a>,
    #[serde(flatten)]
    content: &'a Content,
}

#[derive(Serialize)]
struct ConfigMapMetadata<'a> {
    name: &'a str,
    labels: BTreeMap<&'a str, &'a str>,
}
