//! The usual kinds of children.
//!
//! Each type has methods for the usual fields, and `with` for others; see also [`DynamicObject`].
//!
//! ```
//! use gyre_sdk::Labels;
//! use gyre_sdk::k8s::{Container, Deployment, PodTemplate, Service};
//!
//! let selector = Labels::from([("app", "hello")]);
//! let container = Container::new("web", "example.com/web").port("http", 8080).with("/tty", true);
//! let pod = PodTemplate::new(container).restricted();
//! let deployment = Deployment::new("hello", &selector, pod).replicas(2);
//! let service = Service::new("hello", &selector).port("http", 80, "http");
//!
//! let pod = &deployment.as_json()["spec"]["template"]["spec"];
//! assert_eq!(pod["containers"][0]["ports"][0]["containerPort"], 8080);
//! assert_eq!(service.as_json()["spec"]["ports"][0]["targetPort"], "http");
//! ```

use serde::Serialize;
use serde_json::{Map, Value};

use crate::dynamic::DynamicObject;
use crate::fields::{fields, push, set, texts};
use crate::kind::Kind;
use crate::labels::Labels;

/// Defines the type of a kind, with the methods that all have.
macro_rules! child {
    ($(#[$documentation:meta])* $name:ident, $api_version:literal) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(transparent)]
        pub struct $name(DynamicObject);

        impl $name {
            /// The kind.
            pub const KIND: Kind = Kind::new($api_version, stringify!($name));

            /// Sets a namespace other than the parent's. The operator must grant it.
            pub fn namespace(self, namespace: impl Into<String>) -> Self {
                Self(self.0.namespace(namespace))
            }

            /// Sets the labels. The host adds its own.
            pub fn labels(self, labels: &Labels) -> Self {
                Self(self.0.labels(labels))
            }

            /// Sets the annotations. The host adds its own.
            pub fn annotations(self, annotations: &Labels) -> Self {
                Self(self.0.annotations(annotations))
            }

            /// Sets any field by its JSON pointer; see [`DynamicObject::with`].
            pub fn with(self, pointer: &str, value: impl Into<Value>) -> Self {
                Self(self.0.with(pointer, value))
            }

            /// Returns the object as JSON.
            pub fn as_json(&self) -> &Value {
                self.0.as_json()
            }
        }

        impl From<$name> for DynamicObject {
            fn from(child: $name) -> Self {
                child.0
            }
        }
    };
}

child! {
    /// A ConfigMap.
    ConfigMap, "v1"
}

impl ConfigMap {
    /// Returns an empty ConfigMap.
    pub fn new(name: impl Into<String>) -> Self {
        Self(DynamicObject::new(Self::KIND, name))
    }

    /// Sets the texts by key.
    pub fn data<K: Into<String>, V: Into<String>>(self, data: impl IntoIterator<Item = (K, V)>) -> Self {
        self.with("/data", texts(&data.into_iter().collect()))
    }

    /// Sets binary files by key, in base64. If there are none, the field is left out.
    pub fn binary_data<K: Into<String>, V: Into<String>>(self, data: impl IntoIterator<Item = (K, V)>) -> Self {
        let data: Labels = data.into_iter().collect();
        if data.is_empty() { self } else { self.with("/binaryData", texts(&data)) }
    }
}

child! {
    /// A Deployment.
    Deployment, "apps/v1"
}

impl Deployment {
    /// Returns a Deployment. The selector is immutable; its labels are added to those of the pods.
    pub fn new(name: impl Into<String>, selector: &Labels, pod: PodTemplate) -> Self {
        let PodTemplate { mut template, mut labels } = pod;
        for (key, value) in selector.iter() {
            labels.insert(key, value);
        }
        set(&mut template, "/metadata/labels", texts(&labels));
        let spec = fields([("selector", fields([("matchLabels", texts(selector))])), ("template", template)]);
        Self(DynamicObject::new(Self::KIND, name).with("/spec", spec))
    }

    /// Sets the number of pods. Leave it out if e.g. a HorizontalPodAutoscaler decides.
    pub fn replicas(self, replicas: i32) -> Self {
        self.with("/spec/replicas", replicas)
    }
}

child! {
    /// A Service.
    Service, "v1"
}

impl Service {
    /// Returns a Service for the pods that have these labels.
    pub fn new(name: impl Into<String>, selector: &Labels) -> Self {
        Self(DynamicObject::new(Self::KIND, name).with("/spec/selector", texts(selector)))
    }

    /// Adds a TCP port. `target` is the name or number of the port of the pods.
    pub fn port(mut self, name: &str, port: u16, target: impl Into<Value>) -> Self {
        let (port, target) = (port.into(), target.into());
        let port = fields([("name", name.into()), ("port", port), ("targetPort", target), ("protocol", "TCP".into())]);
        self.0.push("/spec/ports", port);
        self
    }
}

child! {
    /// A Job.
    Job, "batch/v1"
}

impl Job {
    /// Returns a Job. The restart policy of the pod must be `Never` or `OnFailure`.
    pub fn new(name: impl Into<String>, pod: PodTemplate) -> Self {
        Self(DynamicObject::new(Self::KIND, name).with("/spec/template", pod.finish()))
    }
}

child! {
    /// A CronJob.
    CronJob, "batch/v1"
}

impl CronJob {
    /// Returns a CronJob with a schedule in the syntax of cron; see [`Job::new`] for the pod. The
    /// name may have at most 52 characters: see
    /// [`dns_label_within`](crate::names::dns_label_within).
    pub fn new(name: impl Into<String>, schedule: &str, pod: PodTemplate) -> Self {
        let cron_job = DynamicObject::new(Self::KIND, name).with("/spec/schedule", schedule);
        Self(cron_job.with("/spec/jobTemplate/spec/template", pod.finish()))
    }
}

/// A template for pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodTemplate {
    template: Value,
    labels: Labels,
}

impl PodTemplate {
    /// Returns a template with this container.
    pub fn new(container: Container) -> Self {
        Self { template: Value::Object(Map::new()), labels: Labels::default() }.container(container)
    }

    /// Adds a container.
    pub fn container(mut self, container: Container) -> Self {
        push(&mut self.template, "/spec/containers", container.0);
        self
    }

    /// Sets the labels of the pods.
    pub fn labels(mut self, labels: &Labels) -> Self {
        labels.clone_into(&mut self.labels);
        self
    }

    /// Sets the annotations of the pods.
    pub fn annotations(self, annotations: &Labels) -> Self {
        self.with("/metadata/annotations", texts(annotations))
    }

    /// Sets the restart policy: `Always`, `OnFailure` or `Never`.
    pub fn restart_policy(self, policy: &str) -> Self {
        self.with("/spec/restartPolicy", policy)
    }

    /// Adds a volume with the files of a ConfigMap; [`Container::mount_read_only`] mounts it.
    pub fn config_map_volume(mut self, name: &str, config_map: &str) -> Self {
        let source = fields([("name", config_map.into())]);
        push(&mut self.template, "/spec/volumes", fields([("name", name.into()), ("configMap", source)]));
        self
    }

    /// Applies the restricted Pod Security Standard to the pod and to the containers added so far.
    pub fn restricted(mut self) -> Self {
        set(&mut self.template, "/spec/securityContext/runAsNonRoot", true.into());
        set(&mut self.template, "/spec/securityContext/seccompProfile/type", "RuntimeDefault".into());
        let containers = self.template.pointer_mut("/spec/containers").and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            set(container, "/securityContext/allowPrivilegeEscalation", false.into());
            set(container, "/securityContext/capabilities/drop", Value::Array(vec!["ALL".into()]));
        }
        self
    }

    /// Sets any field by its JSON pointer in the template, e.g. `/spec/serviceAccountName`.
    pub fn with(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        set(&mut self.template, pointer, value.into());
        self
    }

    fn finish(mut self) -> Value {
        if !self.labels.is_empty() {
            set(&mut self.template, "/metadata/labels", texts(&self.labels));
        }
        self.template
    }
}

/// A container of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container(Value);

impl Container {
    /// Returns a container with this name and image.
    pub fn new(name: &str, image: &str) -> Self {
        Self(fields([("name", name.into()), ("image", image.into())]))
    }

    /// Sets the pull policy: `Always`, `IfNotPresent` or `Never`.
    pub fn image_pull_policy(self, policy: &str) -> Self {
        self.with("/imagePullPolicy", policy)
    }

    /// Sets the program and its arguments.
    pub fn command<T: Into<String>>(self, command: impl IntoIterator<Item = T>) -> Self {
        self.with("/command", command.into_iter().map(|word| Value::String(word.into())).collect::<Vec<Value>>())
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        push(&mut self.0, "/env", fields([("name", name.into()), ("value", value.into())]));
        self
    }

    /// Adds a TCP port.
    pub fn port(mut self, name: &str, port: u16) -> Self {
        let port = fields([("name", name.into()), ("containerPort", port.into()), ("protocol", "TCP".into())]);
        push(&mut self.0, "/ports", port);
        self
    }

    /// Mounts a volume of the pod, read-only.
    pub fn mount_read_only(mut self, volume: &str, path: &str) -> Self {
        let mount = fields([("name", volume.into()), ("mountPath", path.into()), ("readOnly", true.into())]);
        push(&mut self.0, "/volumeMounts", mount);
        self
    }

    /// Sets any field by its JSON pointer in the container, e.g. `/resources/limits/memory`.
    pub fn with(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        set(&mut self.0, pointer, value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_any_depth_are_set_and_replaced() {
        let job = Job::new("it", PodTemplate::new(Container::new("it", "busybox")));
        let job = job.with("/spec/backoffLimit", 1).with("/spec/backoffLimit", 2).with("/metadata/annotations/a~1b~0c", "d");
        assert_eq!(job.as_json()["spec"]["backoffLimit"], 2);
        assert_eq!(job.as_json()["metadata"]["annotations"], json!({"a/b~c": "d"}));
        assert_eq!(job.with("/kind/nested", true).as_json()["kind"], json!({"nested": true}));
    }

    #[test]
    fn the_selector_of_a_deployment_is_among_the_labels_of_its_pods() {
        let pod =
            PodTemplate::new(Container::new("it", "nginx")).labels(&Labels::from([("team", "web"), ("example.com/app", "x")]));
        let selector = Labels::from([("example.com/app", "it")]);
        let deployment = Deployment::new("it", &selector, pod);
        let spec = &deployment.as_json()["spec"];
        assert_eq!(spec["selector"]["matchLabels"], json!({"example.com/app": "it"}));
        assert_eq!(spec["template"]["metadata"]["labels"], json!({"example.com/app": "it", "team": "web"}));
    }

    #[test]
    fn every_container_of_a_restricted_pod_is_restricted() {
        let pod = PodTemplate::new(Container::new("one", "nginx")).container(Container::new("two", "nginx")).restricted();
        let job = Job::new("it", pod.restart_policy("Never"));
        let pod = &job.as_json()["spec"]["template"]["spec"];
        for container in pod["containers"].as_array().unwrap() {
            assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false, "{container}");
        }
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    }
}
