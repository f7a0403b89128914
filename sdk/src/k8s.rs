//! The built-in kinds, with all their fields.
//!
//! A kind is built with `with_…` and read by the names of its fields. Every field is optional, so
//! that a plugin says only what it wants to decide: the host applies these fields, and leaves
//! others to the defaults of the API server and to other writers.
//!
//! ```
//! use gyre_sdk::k8s::{Container, Job, JobSpec, PodSpec, RestartPolicy};
//!
//! let container = Container::new("hello", "busybox");
//! let pod = PodSpec::new().with_containers([container]).with_restart_policy(RestartPolicy::Never);
//! let spec = JobSpec::new().with_backoff_limit(2).with_template(pod.restricted());
//! let job = Job::new("hello").with_spec(spec);
//!
//! assert_eq!(job.spec().backoff_limit(), Some(2));
//! let container = job.spec().template().spec().containers().next().unwrap();
//! assert_eq!(container.image(), Some("busybox"));
//! assert_eq!(container.security_context().allow_privilege_escalation(), Some(false));
//! assert_eq!(job.status().completion_time(), None);
//! ```
//!
//! The same Job in short, without what the restricted Pod Security Standard demands, is
//! `Job::new("hello").with_container(container).with_backoff_limit(2)`.
//!
//! `new` takes the name, or the one field without which the API server refuses an object:
//! `ContainerPort::new(8080)`; that of a container takes its image, too. The data of a Secret are
//! plain bytes here, see [`Bytes`](crate::Bytes).
//!
//! The types are generated from the OpenAPI documents of the version of Kubernetes that the
//! in-memory API server imitates. See [`typed`](crate::typed) for their form.

mod apps;
mod autoscaling;
mod batch;
mod coordination;
mod core;
mod discovery;
mod events;
mod meta;
mod networking;
mod policy;
mod rbac;
mod scheduling;
mod storage;

pub use self::apps::*;
pub use self::autoscaling::*;
pub use self::batch::*;
pub use self::coordination::*;
pub use self::core::*;
pub use self::discovery::*;
pub use self::events::*;
pub use self::meta::*;
pub use self::networking::*;
pub use self::policy::*;
pub use self::rbac::*;
pub use self::scheduling::*;
pub use self::storage::*;

use crate::labels::Labels;

impl PodSpec {
    /// Adds what the restricted Pod Security Standard demands of the pod and of the containers that
    /// it has so far.
    pub fn restricted(self) -> Self {
        let containers: Vec<Container> = self.view().containers().map(restricted).collect();
        let init_containers: Vec<Container> = self.view().init_containers().map(restricted).collect();
        let security = self.view().security_context().to_owned();
        let profile = SeccompProfile::new(SeccompProfileType::RuntimeDefault);
        let pod = self
            .with_security_context(security.with_run_as_non_root(true).with_seccomp_profile(profile))
            .with_containers(containers);
        if init_containers.is_empty() { pod } else { pod.with_init_containers(init_containers) }
    }
}

fn restricted(container: ContainerView<'_>) -> Container {
    let security = container.security_context().to_owned();
    let security = security.with_allow_privilege_escalation(false);
    let security = security.with_capabilities(Capabilities::new().with_drop(["ALL"]));
    container.to_owned().with_security_context(security)
}

/// A template is a pod with labels and annotations, and this one has none.
impl From<PodSpec> for PodTemplateSpec {
    fn from(pod: PodSpec) -> Self {
        Self::new().with_spec(pod)
    }
}

impl LabelSelector {
    /// Returns a selector of objects with these labels.
    pub fn matching(labels: impl Into<Labels>) -> Self {
        Self::new().with_match_labels(labels)
    }
}

impl Container {
    /// Adds a TCP port on which it listens.
    pub fn with_port(self, port: i32) -> Self {
        let ports = self.view().ports().map(|port| port.to_owned());
        let ports: Vec<ContainerPort> = ports.chain([ContainerPort::new(port)]).collect();
        self.with_ports(ports)
    }
}

/// A variable with this name and value: `container.with_env([("COLOR", "blue")])`.
impl<N: Into<String>, V: Into<String>> From<(N, V)> for EnvVar {
    fn from((name, value): (N, V)) -> Self {
        Self::new(name).with_value(value)
    }
}

impl Deployment {
    /// Sets the number of pods.
    pub fn with_replicas(self, replicas: i32) -> Self {
        let spec = self.spec().to_owned().with_replicas(replicas);
        self.with_spec(spec)
    }

    /// Sets the labels of the pods, by which the Deployment selects them. They cannot be changed
    /// later.
    pub fn with_selector(self, labels: impl Into<Labels>) -> Self {
        let labels = labels.into();
        let spec = self.spec().to_owned();
        let template = spec.view().template().to_owned();
        let metadata = template.view().metadata().to_owned().with_labels(labels.clone());
        let template = template.with_metadata(metadata);
        self.with_spec(spec.with_selector(LabelSelector::matching(labels)).with_template(template))
    }

    /// Sets the pods to some that run this container. Their label is `app`, with the name of the
    /// Deployment, unless a selector is set.
    pub fn with_container(self, container: Container) -> Self {
        let has_selector = self.spec().selector().match_labels().iter().next().is_some();
        let name = self.name().to_owned();
        let deployment = if has_selector { self } else { self.with_selector([("app", name)]) };
        let spec = deployment.spec().to_owned();
        let template = spec.view().template().to_owned().with_spec(PodSpec::new().with_containers([container]));
        deployment.with_spec(spec.with_template(template))
    }

    /// Returns the number of pods that are wanted, if the spec says it.
    pub fn replicas(&self) -> Option<i32> {
        self.spec().replicas()
    }
}

impl Service {
    /// Sets the labels of the pods that serve it.
    pub fn with_selector(self, labels: impl Into<Labels>) -> Self {
        let spec = self.spec().to_owned().with_selector(labels);
        self.with_spec(spec)
    }

    /// Sets its only port, and the port of the pods to which it leads.
    pub fn with_port(self, port: i32, target: i32) -> Self {
        let spec = self.spec().to_owned().with_ports([ServicePort::new(port).with_target_port(target)]);
        self.with_spec(spec)
    }
}

impl Pod {
    /// Returns whether the pod can serve requests.
    pub fn is_ready(&self) -> bool {
        let mut conditions = self.status().conditions();
        conditions.any(|condition| condition.type_() == Some("Ready") && condition.status() == Some("True"))
    }
}

impl Job {
    /// Sets the pod of the Job. It is not restarted, unless its `restartPolicy` says so: that of
    /// other pods, `Always`, is not for Jobs.
    pub fn with_pod(self, pod: PodSpec) -> Self {
        let has_policy = pod.view().restart_policy().is_some();
        let pod = if has_policy { pod } else { pod.with_restart_policy(RestartPolicy::Never) };
        let spec = self.spec().to_owned();
        let template = spec.view().template().to_owned();
        self.with_spec(spec.with_template(template.with_spec(pod)))
    }

    /// Sets the pod of the Job to one that runs this container, and is not restarted.
    pub fn with_container(self, container: Container) -> Self {
        self.with_pod(PodSpec::new().with_containers([container]))
    }

    /// Sets whether Kubernetes starts a container that has failed again in the same pod.
    pub fn with_restart_policy(self, restart_policy: RestartPolicy) -> Self {
        let pod = self.spec().template().spec().to_owned().with_restart_policy(restart_policy);
        self.with_pod(pod)
    }

    /// Sets how often a pod may fail before the Job does.
    pub fn with_backoff_limit(self, backoff_limit: i32) -> Self {
        let spec = self.spec().to_owned().with_backoff_limit(backoff_limit);
        self.with_spec(spec)
    }

    /// Returns whether the Job has ended and its pods have succeeded.
    pub fn is_complete(&self) -> bool {
        self.has("Complete")
    }

    /// Returns whether the Job has ended and failed.
    pub fn is_failed(&self) -> bool {
        self.has("Failed")
    }

    /// Before these conditions, a Job has `SuccessCriteriaMet` or `FailureTarget`.
    fn has(&self, kind: &str) -> bool {
        self.status().conditions().any(|condition| condition.type_() == Some(kind) && condition.status() == Some("True"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_container_of_a_restricted_pod_is_restricted() {
        let containers = [Container::new("one", "busybox"), Container::new("two", "busybox")];
        let pod = PodSpec::new().with_containers(containers).with_init_containers([Container::new("zero", "busybox")]);
        let pod = pod.with_security_context(PodSecurityContext::new().with_run_as_user(1)).restricted();
        let pod = pod.view();
        for container in pod.containers().chain(pod.init_containers()) {
            assert_eq!(container.security_context().allow_privilege_escalation(), Some(false));
            assert_eq!(container.security_context().capabilities().drop().collect::<Vec<_>>(), ["ALL"]);
        }
        assert_eq!(pod.security_context().run_as_non_root(), Some(true));
        assert_eq!(pod.security_context().run_as_user(), Some(1));
    }

    #[test]
    fn a_variable_may_be_a_pair() {
        let container = || Container::new("main", "busybox");
        let variable = EnvVar::new("COLOR").with_value("blue");
        assert_eq!(container().with_env([("COLOR", "blue")]), container().with_env([variable]));
    }

    #[test]
    fn a_job_of_a_container_is_the_same_as_in_full() {
        let container = || Container::new("main", "busybox");
        let pod = || PodSpec::new().with_containers([container()]).with_restart_policy(RestartPolicy::Never);
        let full = JobSpec::new().with_backoff_limit(2).with_template(pod());
        let full = Job::new("it").with_spec(full);
        assert_eq!(Job::new("it").with_container(container()).with_backoff_limit(2), full);
        assert_eq!(Job::new("it").with_backoff_limit(2).with_pod(pod()), full);
        let on_failure = Job::new("it").with_pod(pod().with_restart_policy(RestartPolicy::OnFailure));
        assert_eq!(on_failure.spec().template().spec().restart_policy(), Some(RestartPolicy::OnFailure));
        assert_eq!(Job::new("it").with_pod(pod()).with_restart_policy(RestartPolicy::OnFailure), on_failure);
    }

    #[test]
    fn conditions_of_every_kind_are_read() {
        let status = json!({"conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Scheduled", "status": "False"},
        ]});
        let metadata = json!({"name": "it", "namespace": "default", "creationTimestamp": "2025-01-01T00:00:00Z"});
        let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap();
        assert!(pod.is_ready() && !Pod::new("it").is_ready());
        assert_eq!(pod.namespace(), Some("default"));
        let since = |kind: &str| pod.condition(kind).map(|condition| condition.last_transition_time.to_string());
        let times = ["Ready", "Scheduled", "Initialized"].map(since);
        assert_eq!(times, [Some("2026-01-01T00:00:00Z".to_owned()), Some("2025-01-01T00:00:00Z".to_owned()), None]);
    }

    #[test]
    fn fields_that_a_type_does_not_know_are_kept() {
        let object = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "it"}, "spec": {"new": 1}});
        let job: Job = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(serde_json::to_value(&job).unwrap(), object);
        assert_eq!(job.spec().parallelism(), None);
    }
}
