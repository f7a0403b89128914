//! What serves the content: a pod that keeps to the restricted Pod Security Standard.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::workload::Labels;

/// Another content gives the pods another annotation, and so other pods.
pub(crate) const CONTENT: &str = "web.gyre.dev/content";

/// Where images find what they serve.
const FOLDER: &str = "/usr/share/nginx/html";

/// Where they serve it: a port that any user may open.
const PORT: u16 = 8080;

#[derive(Serialize)]
pub(crate) struct PodMetadata<'a> {
    pub(crate) labels: &'a Labels<'a>,
    pub(crate) annotations: BTreeMap<&'static str, &'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pod<'a> {
    containers: [Container<'a>; 1],
    security_context: PodSecurity,
    volumes: [Volume<'a>; 1],
}

impl<'a> Pod<'a> {
    pub(crate) fn new(image: &'a str, content_name: &'a str) -> Self {
        let container = Container {
            name: "web",
            image,
            ports: [Port { name: "http", container_port: PORT, protocol: "TCP" }],
            volume_mounts: [VolumeMount { name: "content", mount_path: FOLDER, read_only: true }],
            security_context: ContainerSecurity {
                allow_privilege_escalation: false,
                capabilities: Capabilities { drop: ["ALL"] },
            },
        };
        Self {
            containers: [container],
            security_context: PodSecurity { run_as_non_root: true, seccomp_profile: SeccompProfile { kind: "RuntimeDefault" } },
            volumes: [Volume { name: "content", config_map: VolumeSource { name: content_name } }],
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Container<'a> {
    name: &'static str,
    image: &'a str,
    ports: [Port; 1],
    volume_mounts: [VolumeMount; 1],
    security_context: ContainerSecurity,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Port {
    name: &'static str,
    container_port: u16,
    protocol: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VolumeMount {
    name: &'static str,
    mount_path: &'static str,
    read_only: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContainerSecurity {
    allow_privilege_escalation: bool,
    capabilities: Capabilities,
}

#[derive(Serialize)]
struct Capabilities {
    drop: [&'static str; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodSecurity {
    run_as_non_root: bool,
    seccomp_profile: SeccompProfile,
}

#[derive(Serialize)]
struct SeccompProfile {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Volume<'a> {
    name: &'static str,
    config_map: VolumeSource<'a>,
}

#[derive(Serialize)]
struct VolumeSource<'a> {
    name: &'a str,
}
