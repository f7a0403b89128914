//! Prepares objects for storage, like the strategies of the API server's registries
//! (`pkg/registry/*/*/strategy.go`) and the admission that is always on.

mod pod;
mod service;

pub(crate) use pod::admit_service_account;
pub(crate) use service::allocate as allocate_for_service;

use serde_json::{Map, Value, json};

use crate::kinds::{Kind, Subresource};
use crate::object;
use crate::user::User;

/// Metadata that some status updates cannot change.
const RESET_FOR_STATUS: [&str; 6] =
    ["deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences", "managedFields"];

pub(crate) fn prepare_for_create(kind: &Kind, object: &mut Value) {
    let name = (kind.group(), &*kind.kind);
    if kind.has(Subresource::Status) && name != ("", "Node") {
        reset_status(kind, object);
    }
    if counts_generation(kind) || matches!(name, ("scheduling.k8s.io", "PriorityClass")) {
        object::set_metadata(object, "generation", json!(1));
    }
    match name {
        ("", "Pod") => pod::prepare_for_create(object),
        ("", "Service") => service::prepare_for_create(object),
        ("", "Namespace") => namespace(object),
        ("", "PersistentVolumeClaim") => protect(object, "kubernetes.io/pvc-protection"),
        ("", "PersistentVolume") => protect(object, "kubernetes.io/pv-protection"),
        ("", "ServiceAccount") => clean_secret_references(object),
        ("apps", "DaemonSet") => set_template_generation(object, 1),
        ("batch", "Job") => job(object),
        ("apiregistration.k8s.io", "APIService") => api_service(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => stored_versions(object),
        _ => {}
    }
    // The real server defaults again when it reads the stored object; e.g. a Job gets the labels
    // that its template got above.
    super::defaults::default(kind, object);
}

pub(crate) fn prepare_for_update(kind: &Kind, subresource: Option<Subresource>, object: &mut Value, old: &Value) {
    let generation = old.get("metadata").and_then(|metadata| metadata.get("generation")).cloned();
    match &generation {
        Some(generation) => object::set_metadata(object, "generation", generation.clone()),
        None => drop(object::remove_metadata(object, "generation")),
    }
    match subresource {
        Some(Subresource::Status) => prepare_status(kind, object, old),
        Some(Subresource::Finalize) => {
            let finalizers = object.get("spec").cloned();
            replace_except(object, old, &["metadata"]);
            set_field(object, "spec", finalizers);
        }
        Some(Subresource::EphemeralContainers) => pod::keep_all_but_ephemeral_containers(object, old),
        Some(Subresource::Resize) => pod::keep_all_but_resources(object, old),
        Some(Subresource::Approval) => {
            let conditions = object.get("status").and_then(|status| status.get("conditions")).cloned();
            replace_except(object, old, &["metadata"]);
            set_nested_field(object, "status", "conditions", conditions);
        }
        _ => prepare_main(kind, object, old),
    }
    super::defaults::default(kind, object);
    if subresource == Some(Subresource::Status) {
        return;
    }
    let changed = match (kind.group(), &*kind.kind) {
        ("apps", "Deployment") => {
            let annotations = |object: &Value| object.get("metadata").and_then(|metadata| metadata.get("annotations")).cloned();
            object.get("spec") != old.get("spec") || annotations(object) != annotations(old)
        }
        ("discovery.k8s.io", "EndpointSlice") => {
            let rest = |object: &Value| {
                let mut object = object.clone();
                let labels = object.get("metadata").and_then(|metadata| metadata.get("labels")).cloned();
                set_field(&mut object, "metadata", labels);
                object
            };
            rest(object) != rest(old)
        }
        ("", "PodTemplate") => object.get("template") != old.get("template"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => {
            object.get("webhooks") != old.get("webhooks")
        }
        _ => object.get("spec") != old.get("spec"),
    };
    if changed && (counts_generation(kind) || matches!(&*kind.kind, "CSIDriver")) {
        let count = generation.and_then(|generation| generation.as_i64()).unwrap_or_default();
        object::set_metadata(object, "generation", json!(count.saturating_add(1)));
    }
}

pub(crate) fn reset_fields(kind: &Kind, subresource: Option<Subresource>) -> Vec<Vec<&'static str>> {
    match (subresource, &*kind.kind) {
        (None, "CertificateSigningRequest") => vec![vec!["spec"], vec!["status"]],
        (None, _) if kind.has(Subresource::Status) => vec![vec!["status"]],
        (Some(Subresource::Approval), _) => vec![vec!["spec"], vec!["status", "certificate"]],
        (Some(Subresource::Finalize), _) => vec![vec!["status"]],
        (Some(Subresource::Status), "Pod") => {
            vec![vec!["spec"], vec!["metadata", "deletionTimestamp"], vec!["metadata", "ownerReferences"]]
        }
        (Some(Subresource::Status), "Deployment") => vec![vec!["spec"], vec!["metadata", "labels"]],
        (Some(Subresource::Status), "CertificateSigningRequest") => vec![vec!["spec"], vec!["status", "conditions"]],
        (Some(Subresource::Status), "ServiceCIDR" | "VolumeAttachment" | "CustomResourceDefinition" | "APIService") => {
            vec![vec!["metadata"], vec!["spec"]]
        }
        (Some(Subresource::Status), _) => vec![vec!["spec"]],
        _ => Vec::new(),
    }
}

fn counts_generation(kind: &Kind) -> bool {
    matches!(
        (kind.group(), &*kind.kind),
        ("", "Pod" | "PodTemplate" | "ReplicationController")
            | ("apps", "DaemonSet" | "StatefulSet" | "Deployment" | "ReplicaSet")
            | ("batch", "Job" | "CronJob")
            | ("networking.k8s.io", "IngressClass" | "NetworkPolicy" | "Ingress")
            | ("policy", "PodDisruptionBudget")
            | ("discovery.k8s.io", "EndpointSlice")
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
            | ("admissionregistration.k8s.io", _)
    )
}

fn prepare_main(kind: &Kind, object: &mut Value, old: &Value) {
    if kind.has(Subresource::Status) {
        set_field(object, "status", old.get("status").cloned());
    }
    match (kind.group(), &*kind.kind) {
        ("", "Namespace") => {
            let finalizers = old.get("spec").and_then(|spec| spec.get("finalizers")).cloned();
            set_nested_field(object, "spec", "finalizers", finalizers);
        }
        ("", "Pod") => pod::prepare_for_update(object, old),
        ("", "Service") => service::prepare_for_update(object, old),
        ("", "ServiceAccount") => clean_secret_references(object),
        ("certificates.k8s.io", "CertificateSigningRequest") => set_field(object, "spec", old.get("spec").cloned()),
        ("apps", "DaemonSet") => {
            let template = |object: &Value| object.get("spec").and_then(|spec| spec.get("template")).cloned();
            let before = template_generation(old);
            let changed = template(object) != template(old);
            set_template_generation(object, if changed { before.saturating_add(1) } else { before });
        }
        _ => {}
    }
}

fn prepare_status(kind: &Kind, object: &mut Value, old: &Value) {
    replace_except(object, old, &["metadata", "status"]);
    match (kind.group(), &*kind.kind) {
        ("", "Pod") => {
            keep_metadata(object, old, &["deletionTimestamp", "ownerReferences"]);
            pod::prepare_status(object, old);
        }
        ("apps", "Deployment") => keep_metadata(object, old, &["labels"]),
        ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("apiregistration.k8s.io", "APIService")
        | ("networking.k8s.io", "ServiceCIDR")
        | ("storage.k8s.io", "VolumeAttachment") => {
            keep_metadata(object, old, &RESET_FOR_STATUS);
        }
        _ => {}
    }
}

fn replace_except(object: &mut Value, old: &Value, fields: &[&str]) {
    let mut own = std::mem::take(object);
    let is_replaced = |name: &String| !fields.contains(&name.as_str());
    let old = old.as_object().into_iter().flatten().filter(|(name, _)| is_replaced(name));
    *object = old.map(|(name, value)| (name.clone(), value.clone())).collect();
    for name in fields {
        let kept = own.as_object_mut().and_then(|own| own.remove(*name));
        set_field(object, name, kept);
    }
}

fn keep_metadata(object: &mut Value, old: &Value, fields: &[&str]) {
    for field in fields {
        let before = old.get("metadata").and_then(|metadata| metadata.get(*field)).cloned();
        set_nested_field(object, "metadata", field, before);
    }
}

fn set_field(object: &mut Value, name: &str, value: Option<Value>) {
    if let Some(object) = object.as_object_mut() {
        match value {
            Some(value) => drop(object.insert(name.to_owned(), value)),
            None => drop(object.remove(name)),
        }
    }
}

fn set_nested_field(object: &mut Value, outer: &str, name: &str, value: Option<Value>) {
    if let Some(outer) = object.as_object_mut().map(|object| object.entry(outer).or_insert_with(|| json!({}))) {
        set_field(outer, name, value);
    }
}

/// Replaces the status by the initial one: what Go encodes for an empty status.
fn reset_status(kind: &Kind, object: &mut Value) {
    let status = kind.schema.root().always.get("status").cloned();
    set_field(object, "status", status);
    match (kind.group(), &*kind.kind) {
        ("", "PersistentVolume" | "PersistentVolumeClaim") => set_field(object, "status", Some(json!({ "phase": "Pending" }))),
        ("", "Namespace") => set_field(object, "status", Some(json!({ "phase": "Active" }))),
        _ => {}
    }
}

/// Sets the user who creates a CertificateSigningRequest.
pub(crate) fn set_requestor(object: &mut Value, user: Option<&User>) {
    for field in ["uid", "extra"] {
        set_nested_field(object, "spec", field, None);
    }
    set_nested_field(object, "spec", "username", user.map(|user| json!(user.name)));
    set_nested_field(object, "spec", "groups", user.map(|user| json!(user.groups)));
}

/// An APIService without a Service is served by the API server itself.
fn api_service(object: &mut Value) {
    if object.get("spec").is_some_and(|spec| spec.get("service").is_none()) {
        let condition = json!({
            "type": "Available", "status": "True", "lastTransitionTime": object::metadata(object, "creationTimestamp"),
            "reason": "Local", "message": "Local APIServices are always available",
        });
        set_nested_field(object, "status", "conditions", Some(json!([condition])));
    }
}

fn namespace(object: &mut Value) {
    let finalizers = object.get_mut("spec").and_then(|spec| spec.get_mut("finalizers")).and_then(Value::as_array_mut);
    match finalizers {
        Some(finalizers) => {
            if !finalizers.iter().any(|finalizer| finalizer == "kubernetes") {
                finalizers.push(json!("kubernetes"));
            }
        }
        None => set_nested_field(object, "spec", "finalizers", Some(json!(["kubernetes"]))),
    }
}

fn protect(object: &mut Value, finalizer: &str) {
    if object::finalizers(object).any(|present| present == finalizer) {
        return;
    }
    let finalizers = object::metadata_mut(object).map(|metadata| metadata.entry("finalizers").or_insert_with(|| json!([])));
    if let Some(finalizers) = finalizers.and_then(Value::as_array_mut) {
        finalizers.push(json!(finalizer));
    }
}

fn clean_secret_references(object: &mut Value) {
    for secret in object.get_mut("secrets").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = secret.get("name").cloned();
        *secret = name.map_or_else(|| json!({}), |name| json!({ "name": name }));
    }
}

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(object: &Value) -> i64 {
    let annotations = object.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let text = annotations.and_then(|annotations| annotations.get(TEMPLATE_GENERATION)).and_then(Value::as_str);
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Sets how often the template of a DaemonSet changed, at least 1.
fn set_template_generation(object: &mut Value, generation: i64) {
    let generation = generation.max(1).to_string();
    let annotations = object::metadata_mut(object).map(|metadata| metadata.entry("annotations").or_insert_with(|| json!({})));
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), Value::from(generation));
    }
}

/// A Job without a manual selector selects its Pods by its UID.
fn job(object: &mut Value) {
    let spec = object.get("spec");
    if spec.and_then(|spec| spec.get("manualSelector")).and_then(Value::as_bool) == Some(true) {
        return;
    }
    let (uid, name) = (object::metadata(object, "uid").to_owned(), object::name(object).to_owned());
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(labels) = nested(spec, &["template", "metadata", "labels"]) {
        for key in ["job-name", "batch.kubernetes.io/job-name"] {
            labels.entry(key).or_insert_with(|| Value::from(name.clone()));
        }
        for key in ["controller-uid", "batch.kubernetes.io/controller-uid"] {
            labels.entry(key).or_insert_with(|| Value::from(uid.clone()));
        }
    }
    if let Some(selected) = nested(spec, &["selector", "matchLabels"]) {
        selected.entry("batch.kubernetes.io/controller-uid").or_insert_with(|| Value::from(uid));
    }
}

fn nested<'a>(object: &'a mut Map<String, Value>, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    path.iter().try_fold(object, |object, name| {
        let value = object.entry(*name).or_insert_with(|| json!({}));
        if value.is_null() {
            *value = json!({});
        }
        value.as_object_mut()
    })
}

fn stored_versions(object: &mut Value) {
    let versions = object.get("spec").and_then(|spec| spec.get("versions")).and_then(Value::as_array).into_iter().flatten();
    let stored: Vec<Value> = versions
        .filter(|version| version.get("storage").and_then(Value::as_bool) == Some(true))
        .filter_map(|version| version.get("name").cloned())
        .collect();
    set_field(
        object,
        "status",
        Some(json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": stored })),
    );
}
