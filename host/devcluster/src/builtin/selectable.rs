//! Fields that field selectors may name, from the strategies' `ToSelectableFields` and the kinds'
//! field label conversions.

use serde_json::Value;

use crate::kinds::Kind;

pub(crate) fn selectable_field(kind: &Kind, object: &Value, field: &str) -> Option<String> {
    let path = match (kind.group(), &*kind.kind) {
        ("", "Pod") => return pod(object, field),
        ("", "Event") => match field {
            "reason" | "type" => field,
            "reportingComponent" => "reportingComponent",
            "source" => return Some(source(object)),
            _ if is_reference(field, "involvedObject") => field,
            _ => return None,
        },
        ("events.k8s.io", "Event") => match field {
            "reason" | "type" => field,
            "reportingController" if object.get("reportingController").is_none() => "reportingComponent",
            "reportingController" => field,
            // Both groups are stored with the fields of the core group.
            _ if is_reference(field, "regarding") && object.get("regarding").is_none() => {
                return Some(text(object, &field.replacen("regarding", "involvedObject", 1)));
            }
            _ if is_reference(field, "regarding") => field,
            _ => return None,
        },
        ("", "Namespace") => match field {
            "status.phase" => field,
            "name" => "metadata.name",
            _ => return None,
        },
        ("", "Secret") if field == "type" => field,
        ("", "Service") if matches!(field, "spec.clusterIP" | "spec.type") => field,
        ("", "Node") if field == "spec.unschedulable" => return Some(flag(object, "spec.unschedulable")),
        ("", "PersistentVolume" | "PersistentVolumeClaim") if field == "name" => "metadata.name",
        ("", "ReplicationController") | ("apps", "ReplicaSet") if field == "status.replicas" => {
            return Some(count(object, field));
        }
        ("batch", "Job") if field == "status.successful" => return Some(count(object, "status.succeeded")),
        _ => return None,
    };
    Some(text(object, path))
}

fn pod(pod: &Value, field: &str) -> Option<String> {
    match field {
        "spec.nodeName"
        | "spec.restartPolicy"
        | "spec.schedulerName"
        | "spec.serviceAccountName"
        | "status.phase"
        | "status.nominatedNodeName" => Some(text(pod, field)),
        "status.podIP" => {
            Some(value_at(pod, "status.podIPs").and_then(|ips| ips.get(0)?.get("ip")?.as_str()).unwrap_or_default().to_owned())
        }
        "spec.hostNetwork" => Some(flag(pod, field)),
        _ => None,
    }
}

fn is_reference(field: &str, reference: &str) -> bool {
    let name = field.strip_prefix(reference).and_then(|rest| rest.strip_prefix('.'));
    matches!(name, Some("kind" | "namespace" | "name" | "uid" | "apiVersion" | "resourceVersion" | "fieldPath"))
}

fn source(event: &Value) -> String {
    let component = text(event, "source.component");
    if component.is_empty() { text(event, "reportingComponent") } else { component }
}

fn value_at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(object, |value, name| value.get(name))
}

fn text(object: &Value, path: &str) -> String {
    value_at(object, path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn flag(object: &Value, path: &str) -> String {
    value_at(object, path).and_then(Value::as_bool).unwrap_or_default().to_string()
}

fn count(object: &Value, path: &str) -> String {
    value_at(object, path).and_then(Value::as_i64).unwrap_or_default().to_string()
}
