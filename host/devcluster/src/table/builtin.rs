//! The rows of built-in kinds, like the API server's printers.

use jiff::Timestamp;
use serde_json::Value;

use super::read::labels;
use super::{admission, age, autoscaling, cluster, network, pod, workloads};
use crate::kinds::Kind;
use crate::object;

pub(super) fn has_printer(kind: &Kind) -> bool {
    row(kind, &Value::Null, Timestamp::UNIX_EPOCH).is_some()
}

pub(super) fn cells(kind: &Kind, object: &Value, now: Timestamp) -> Vec<Value> {
    row(kind, object, now).unwrap_or_default()
}

pub(super) fn conditions(kind: &Kind, object: &Value) -> Option<Value> {
    if kind.group().is_empty() && &*kind.kind == "Pod" { pod::conditions(object) } else { None }
}

fn row(kind: &Kind, object: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let age = Value::from(age::since(Some(object::metadata(object, "creationTimestamp")), now));
    Some(match (kind.group(), &*kind.kind) {
        ("", kind) => return core_row(kind, object, age, now),
        ("batch", "Job") => workloads::job(object, age, now),
        ("batch", "CronJob") => workloads::cron_job(object, age, now),
        ("apps", "Deployment") => workloads::deployment(object, age),
        ("apps", "ReplicaSet") => workloads::replica_set(object, age, workloads::selector(object.pointer("/spec/selector"))),
        ("apps", "StatefulSet") => workloads::stateful_set(object, age),
        ("apps", "DaemonSet") => workloads::daemon_set(object, age),
        ("apps", "ControllerRevision") => workloads::controller_revision(object, age),
        ("policy", "PodDisruptionBudget") => workloads::pod_disruption_budget(object, age),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::horizontal_pod_autoscaler(object, age),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(object, age),
        ("networking.k8s.io", "Ingress") => network::ingress(object, age),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(object, age),
        ("networking.k8s.io", "NetworkPolicy") => network::network_policy(object, age),
        ("events.k8s.io", "Event") => cluster::event(object, "events.k8s.io", now),
        ("coordination.k8s.io", "Lease") => cluster::texts(object, &["/spec/holderIdentity"], age),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => cluster::role_binding(object, age),
        ("scheduling.k8s.io", "PriorityClass") => cluster::priority_class(object, age),
        ("storage.k8s.io", "StorageClass") => cluster::storage_class_row(object, age),
        ("storage.k8s.io", "CSIDriver") => cluster::csi_driver(object, age),
        ("storage.k8s.io", "CSINode") => {
            vec![object::name(object).into(), super::read::count(object, "/spec/drivers").into(), age]
        }
        ("storage.k8s.io", "VolumeAttachment") => cluster::volume_attachment(object, age),
        ("storage.k8s.io", "VolumeAttributesClass") => cluster::texts(object, &["/driverName"], age),
        ("storage.k8s.io", "CSIStorageCapacity") => {
            let capacity = super::read::shown(object, "/capacity").unwrap_or_else(|| "<unset>".to_owned());
            let class = super::read::text(object, "/storageClassName");
            vec![object::name(object).into(), class.into(), capacity.into()]
        }
        ("node.k8s.io", "RuntimeClass") => cluster::texts(object, &["/handler"], age),
        ("admissionregistration.k8s.io", kind) => return admission::row(kind, object, age),
        ("apiregistration.k8s.io", "APIService") => admission::api_service(object, age),
        ("certificates.k8s.io", "CertificateSigningRequest") => cluster::signing_request(object, age),
        _ => return None,
    })
}

fn core_row(kind: &str, object: &Value, age: Value, now: Timestamp) -> Option<Vec<Value>> {
    Some(match kind {
        "Pod" => pod::cells(object, now),
        "ReplicationController" => workloads::replica_set(object, age, labels(object.pointer("/spec/selector"))),
        "PodTemplate" => workloads::pod_template(object),
        "Service" => network::service(object, age),
        "Endpoints" => network::endpoints(object, age),
        "ConfigMap" => cluster::config_map(object, age),
        "Secret" => cluster::secret(object, age),
        "ServiceAccount" => cluster::texts(object, &[], age),
        "Namespace" => cluster::texts(object, &["/status/phase"], age),
        "Node" => cluster::node(object, age),
        "PersistentVolume" => cluster::persistent_volume(object, age),
        "PersistentVolumeClaim" => cluster::persistent_volume_claim(object, age),
        "Event" => cluster::event(object, "", now),
        "ResourceQuota" => cluster::resource_quota(object, age),
        _ => return None,
    })
}
