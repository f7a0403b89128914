//! What the plugins `echo` and `scheduled-echo` have in common: the pod that writes the message, and the settings.
//!
//! It is a crate of its own because a plugin that depended on the other would export both reconcilers.

use serde::{Deserialize, Serialize};

/// The JSON Schema of [`Settings`].
pub const SETTINGS_SCHEMA: &str = include_str!("../settings.json");

const IMAGE: &str = "busybox:1.33.1";

/// Any user but root will do; this one is called `nonroot` in common base images.
const NOT_ROOT: u32 = 65532;

/// What an operator may set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether pods keep to the restricted Pod Security Standard.
    pub restricted: bool,
    /// Another image; it needs an `echo`.
    pub image: Option<String>,
}

/// The spec of a Job that writes a message once.
#[derive(Debug, Serialize)]
pub struct JobSpec<'a> {
    template: Template<'a>,
}

impl<'a> JobSpec<'a> {
    /// `name` is the container's.
    pub fn new(name: &'a str, message: &'a str, settings: &'a Settings) -> Self {
        let (pod_security, container_security) = if settings.restricted {
            (Some(PodSecurity::RESTRICTED), Some(ContainerSecurity::RESTRICTED))
        } else {
            (None, None)
        };
        let container = Container {
            name,
            image: settings.image.as_deref().unwrap_or(IMAGE),
            image_pull_policy: "IfNotPresent",
            command: ["echo", message],
            security_context: container_security,
        };
        let spec = Pod { containers: [container], restart_policy: "Never", security_context: pod_security };
        Self { template: Template { spec } }
    }
}

#[derive(Debug, Serialize)]
struct Template<'a> {
    spec: Pod<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pod<'a> {
    containers: [Container<'a>; 1],
    restart_policy: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_context: Option<PodSecurity>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Container<'a> {
    name: &'a str,
    image: &'a str,
    image_pull_policy: &'static str,
    command: [&'a str; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    security_context: Option<ContainerSecurity>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PodSecurity {
    run_as_non_root: bool,
    run_as_user: u32,
    seccomp_profile: SeccompProfile,
}

impl PodSecurity {
    /// busybox runs as root unless told otherwise.
    const RESTRICTED: Self =
        Self { run_as_non_root: true, run_as_user: NOT_ROOT, seccomp_profile: SeccompProfile { kind: "RuntimeDefault" } };
}

#[derive(Debug, Serialize)]
struct SeccompProfile {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ContainerSecurity {
    allow_privilege_escalation: bool,
    capabilities: Capabilities,
}

impl ContainerSecurity {
    const RESTRICTED: Self = Self { allow_privilege_escalation: false, capabilities: Capabilities { drop: ["ALL"] } };
}

#[derive(Debug, Serialize)]
struct Capabilities {
    drop: [&'static str; 1],
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(settings: Value, expected_pod: Value) {
        let settings: Settings = serde_json::from_value(settings).unwrap();
        let spec = serde_json::to_value(JobSpec::new("hello", "Good day.", &settings)).unwrap();
        assert_eq!(spec, json!({"template": {"spec": expected_pod}}));
    }

    #[test]
    fn the_pod_is_that_of_echoperator() {
        check(
            json!({}),
            json!({
                "restartPolicy": "Never",
                "containers": [{
                    "name": "hello",
                    "image": "busybox:1.33.1",
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["echo", "Good day."],
                }],
            }),
        );
    }

    #[test]
    fn settings_make_it_restricted_and_change_the_image() {
        check(
            json!({"restricted": true, "image": "registry.example.com/busybox:1"}),
            json!({
                "restartPolicy": "Never",
                "securityContext": {
                    "runAsNonRoot": true,
                    "runAsUser": 65532,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [{
                    "name": "hello",
                    "image": "registry.example.com/busybox:1",
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["echo", "Good day."],
                    "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                }],
            }),
        );
    }

    #[test]
    fn the_schema_and_the_type_know_the_same_settings() {
        let schema: Value = serde_json::from_str(SETTINGS_SCHEMA).unwrap();
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["image"]["default"], IMAGE);
        let mut known: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        known.sort();
        assert_eq!(known, ["image", "restricted"]);
        let unknown = serde_json::from_value::<Settings>(json!({"restrictd": true})).unwrap_err().to_string();
        assert_eq!(unknown, "unknown field `restrictd`, expected `restricted` or `image`");
    }
}
