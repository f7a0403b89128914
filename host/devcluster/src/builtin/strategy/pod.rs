//! The strategy of Pods, and their admission.

use gyre_core::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::{replace_except, set_field, set_nested_field};
use crate::object;

const ACCOUNT_MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The letters of generated names, without vowels to avoid words.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

pub(super) fn prepare_for_create(pod: &mut Value) {
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        tolerations(spec);
    }
    let gated = pod
        .get("spec")
        .and_then(|spec| spec.get("schedulingGates"))
        .and_then(Value::as_array)
        .is_some_and(|gates| !gates.is_empty());
    let mut status = json!({ "phase": "Pending", "qosClass": quality_of_service(pod) });
    if gated {
        let condition = json!({
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null, "lastTransitionTime": null,
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        });
        set_field(&mut status, "conditions", Some(json!([condition])));
    }
    set_field(pod, "status", Some(status));
}

/// Admission fills these fields on updates, too, so that a manifest without them changes nothing.
pub(super) fn prepare_for_update(pod: &mut Value, old: &Value) {
    for field in ["priority", "preemptionPolicy", "serviceAccountName", "serviceAccount"] {
        let before = old.get("spec").and_then(|spec| spec.get(field)).cloned();
        let spec = pod.get_mut("spec").and_then(Value::as_object_mut);
        if let (Some(before), Some(spec)) = (before, spec) {
            spec.entry(field).or_insert(before);
        }
    }
}

pub(super) fn prepare_status(pod: &mut Value, old: &Value) {
    let before = old.get("status").and_then(|status| status.get("qosClass")).cloned();
    if pod.get("status").and_then(|status| status.get("qosClass")).is_none() && before.is_some() {
        set_nested_field(pod, "status", "qosClass", before);
    }
}

pub(super) fn keep_all_but_ephemeral_containers(pod: &mut Value, old: &Value) {
    let containers = pod.get("spec").and_then(|spec| spec.get("ephemeralContainers")).cloned();
    replace_except(pod, old, &[]);
    set_nested_field(pod, "spec", "ephemeralContainers", containers);
}

pub(super) fn keep_all_but_resources(pod: &mut Value, old: &Value) {
    let wanted = pod.get("spec").cloned().unwrap_or_default();
    replace_except(pod, old, &[]);
    for list in ["containers", "initContainers"] {
        let containers = pod.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let mut others = wanted.get(list).and_then(Value::as_array).into_iter().flatten();
            if let Some(other) = others.find(|other| other.get("name") == container.get("name")) {
                set_field(container, "resources", other.get("resources").cloned());
                set_field(container, "resizePolicy", other.get("resizePolicy").cloned());
            }
        }
    }
}

/// `ServiceAccount` admission: adds the account of this name, its pull secrets and a volume with
/// its token, named by the Pod's UID.
pub(crate) fn admit_service_account(pod: &mut Value, name: &str, account: &Value) {
    let uid = object::metadata(pod, "uid").to_owned();
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.insert("serviceAccountName".to_owned(), json!(name));
    spec.insert("serviceAccount".to_owned(), json!(name));
    if let Some(secrets) = account.get("imagePullSecrets") {
        spec.entry("imagePullSecrets").or_insert_with(|| secrets.clone());
    }
    let wanted = |value: Option<&Value>| value.and_then(Value::as_bool);
    let mounts = wanted(spec.get("automountServiceAccountToken")).or(wanted(account.get("automountServiceAccountToken")));
    if mounts != Some(false) {
        mount_token(spec, &uid);
    }
}

fn mount_token(spec: &mut Map<String, Value>, uid: &str) {
    let volume = format!("kube-api-access-{}", suffix(uid));
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            let Some(mounts) = container.entry("volumeMounts").or_insert_with(|| json!([])).as_array_mut() else { continue };
            if mounts.iter().any(|mount| mount.get("mountPath").and_then(Value::as_str) == Some(ACCOUNT_MOUNT)) {
                continue;
            }
            mounts.push(json!({ "name": volume, "readOnly": true, "mountPath": ACCOUNT_MOUNT }));
            mounted = true;
        }
    }
    if !mounted {
        return;
    }
    if let Some(volumes) = spec.entry("volumes").or_insert_with(|| json!([])).as_array_mut() {
        volumes.push(json!({ "name": volume, "projected": { "defaultMode": 420, "sources": [
            { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
            { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
            { "downwardAPI": { "items": [{ "path": "namespace", "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" } }] } },
        ] } }));
    }
}

fn suffix(uid: &str) -> String {
    let mut hash = super::service::hash(uid);
    let mut suffix = String::new();
    for _ in 0..5 {
        let index = usize::try_from(hash % LETTERS.len() as u64).unwrap_or_default();
        suffix.push(LETTERS.get(index).copied().map_or('b', char::from));
        hash /= LETTERS.len() as u64;
    }
    suffix
}

/// `DefaultTolerationSeconds` admission.
fn tolerations(spec: &mut Map<String, Value>) {
    let Some(list) = spec.entry("tolerations").or_insert_with(|| json!([])).as_array_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = list.iter().any(|toleration| {
            let text = |name: &str| toleration.get(name).and_then(Value::as_str).unwrap_or_default();
            (text("key") == key || text("key").is_empty()) && (text("effect") == "NoExecute" || text("effect").is_empty())
        });
        if !tolerated {
            list.push(json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }));
        }
    }
}

/// `GetPodQOS`.
fn quality_of_service(pod: &Value) -> &'static str {
    let (mut any, mut guaranteed) = (false, true);
    let zero = Quantity::parse("0").ok();
    for list in ["containers", "initContainers"] {
        let containers = pod.get("spec").and_then(|spec| spec.get(list)).and_then(Value::as_array).into_iter().flatten();
        for container in containers {
            let amount = |of: &str, resource: &str| {
                let text = container.get("resources")?.get(of)?.get(resource)?.as_str()?;
                Quantity::parse(text).ok().filter(|quantity| Some(quantity) > zero.as_ref())
            };
            for resource in ["cpu", "memory"] {
                let (request, limit) = (amount("requests", resource), amount("limits", resource));
                any |= request.is_some() || limit.is_some();
                guaranteed &= limit.is_some() && request == limit;
            }
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
