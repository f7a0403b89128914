//! Shared by the plugins `echo` and `scheduled-echo`: the pod that writes the message, and the
//! settings. A plugin that depended on the other plugin would export both reconcilers.

use gyre_sdk::k8s::{Container, PodTemplate};
use serde::Deserialize;

/// The JSON Schema of [`Settings`].
pub const SETTINGS_SCHEMA: &str = include_str!("../settings.json");

const IMAGE: &str = "busybox:1.33.1";

/// The user `nonroot` of common base images.
const NOT_ROOT: u32 = 65532;

/// The settings of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// If true, pods meet the restricted Pod Security Standard.
    pub restricted: bool,
    /// An image with the program `echo`.
    pub image: Option<String>,
}

/// Returns a pod that writes a message once, in a container with this name.
pub fn pod(name: &str, message: &str, settings: &Settings) -> PodTemplate {
    let image = settings.image.as_deref().unwrap_or(IMAGE);
    let container = Container::new(name, image).image_pull_policy("IfNotPresent").command(["echo", message]);
    let pod = PodTemplate::new(container).restart_policy("Never");
    // busybox runs as root by default.
    if settings.restricted { pod.restricted().with("/spec/securityContext/runAsUser", NOT_ROOT) } else { pod }
}

#[cfg(test)]
mod tests {
    use gyre_sdk::k8s::Job;
    use serde_json::{Value, json};

    use super::*;

    fn check(settings: Value, expected_pod: Value) {
        let settings: Settings = serde_json::from_value(settings).unwrap();
        let job = Job::new("hello", pod("hello", "Good day.", &settings));
        assert_eq!(job.as_json()["spec"], json!({"template": {"spec": expected_pod}}));
    }

    #[test]
    fn the_pod_is_that_of_echoperator() {
        check(json!({}), serde_json::from_str(include_str!("../pod.json")).unwrap());
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
