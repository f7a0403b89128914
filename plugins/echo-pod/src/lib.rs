//! Shared by the plugins `echo` and `scheduled-echo`: the pod that writes the message, and the
//! settings. A plugin that depended on the other plugin would export both reconcilers.

use gyre_sdk::k8s::{Container, ImagePullPolicy, PodSecurityContext, PodSpec, PodTemplateSpec, RestartPolicy};
use serde::Deserialize;

/// The user `nonroot` of common base images.
const NOT_ROOT: i64 = 65532;

/// The settings of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, gyre_sdk::Schema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// If true, pods meet the restricted Pod Security Standard, which some namespaces require.
    #[schema(default = false)]
    pub restricted: bool,
    /// The image of the pods. It needs an `echo`, and, if restricted, to run as any user.
    #[schema(min_length = 1, default = "busybox:1.33.1")]
    pub image: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { restricted: false, image: "busybox:1.33.1".to_owned() }
    }
}

/// Returns a pod that writes a message once, in a container with this name.
pub fn pod(name: &str, message: &str, settings: &Settings) -> PodTemplateSpec {
    let container = Container::new(name, &settings.image)
        .with_image_pull_policy(ImagePullPolicy::IfNotPresent)
        .with_command(["echo", message]);
    let pod = PodSpec::new().with_containers([container]).with_restart_policy(RestartPolicy::Never);
    let pod = if settings.restricted { restricted(pod) } else { pod };
    PodTemplateSpec::new().with_spec(pod)
}

/// busybox runs as root by default.
fn restricted(pod: PodSpec) -> PodSpec {
    pod.with_security_context(PodSecurityContext::new().with_run_as_user(NOT_ROOT)).restricted()
}

#[cfg(test)]
mod tests {
    use gyre_sdk::k8s::{Job, JobSpec};
    use serde_json::{Value, json};

    use super::*;

    fn check(settings: Value, expected_pod: Value) {
        let settings: Settings = serde_json::from_value(settings).unwrap();
        let job = Job::new("hello").with_spec(JobSpec::new().with_template(pod("hello", "Good day.", &settings)));
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
    fn an_unknown_setting_is_refused() {
        let unknown = serde_json::from_value::<Settings>(json!({"restrictd": true})).unwrap_err().to_string();
        assert_eq!(unknown, "unknown field `restrictd`, expected `restricted` or `image`");
    }
}
