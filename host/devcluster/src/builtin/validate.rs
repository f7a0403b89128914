//! Validates built-in objects beyond their metadata, like `pkg/apis/*/validation`. Functions are
//! named after those of the server, e.g. `deployment` after `ValidateDeploymentSpec`.

mod apps;
mod batch;
mod container;
mod core;
mod others;
mod pod;
mod service;
mod volume;

use serde_json::Value;

use crate::kinds::{Kind, Subresource};
use crate::status::FieldError;
use crate::validation::field::{Errors, Field};
use crate::validation::{self, syntax};

pub(crate) fn validate(kind: &Kind, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    finalizers(kind, object, &mut errors);
    validate_content(kind, object, &mut errors);
    errors
}

/// `validateKubeFinalizerName`: without a domain, only standard finalizers are valid.
fn finalizers(kind: &Kind, object: &Value, errors: &mut Errors) {
    if matches!(&*kind.kind, "Event" | "CustomResourceDefinition") {
        return;
    }
    for finalizer in Field::root(object).path_to(&["metadata", "finalizers"]).items() {
        if !finalizer.text().contains('/') && !matches!(finalizer.text(), "kubernetes" | "orphan" | "foregroundDeletion") {
            finalizer.invalid(errors, "name is neither a standard finalizer name nor is it fully qualified");
        }
    }
}

/// Validates metadata again, like the update validation of kinds: the API server's answer lists
/// these causes twice.
fn metadata_update(kind: &Kind, subresource: Option<Subresource>, object: &Value, old: &Value, errors: &mut Errors) {
    if &*kind.kind == "Event" && kind.group().is_empty() {
        return;
    }
    errors.extend(validation::validate_metadata_update(object, old));
    finalizers(kind, object, errors);
    let spec_only = ["Namespace", "Deployment", "StatefulSet", "CronJob", "Service", "PersistentVolumeClaim"];
    if subresource.is_none() && !spec_only.contains(&&*kind.kind) {
        errors.extend(validation::validate_metadata(kind, object));
        finalizers(kind, object, errors);
    }
}

fn validate_content(kind: &Kind, object: &Value, errors_ref: &mut Errors) {
    let object = Field::root(object);
    let spec = object.get("spec");
    match (kind.group(), &*kind.kind) {
        ("", "Pod") => pod::validate_create(&object, errors_ref),
        ("", "PodTemplate") => pod::template(&object.get("template"), errors_ref),
        ("", "ConfigMap") => core::config_map(&object, errors_ref),
        ("", "Secret") => core::secret(&object, errors_ref),
        ("", "Namespace") => core::namespace(&object, errors_ref),
        ("", "Event") => core::event(&object, errors_ref),
        ("events.k8s.io", "Event") => core::new_event(&object, errors_ref),
        ("", "Service") => service::validate(&object, errors_ref),
        ("", "PersistentVolumeClaim") => core::claim(&spec, errors_ref),
        ("", "ReplicationController") => apps::replication_controller(&spec, errors_ref),
        ("apps", "Deployment") => apps::deployment(&spec, errors_ref),
        ("apps", "ReplicaSet") => apps::replica_set(&spec, errors_ref),
        ("apps", "DaemonSet") => apps::daemon_set(&spec, errors_ref),
        ("apps", "StatefulSet") => apps::stateful_set(&spec, errors_ref),
        ("apps", "ControllerRevision") => apps::controller_revision(&object, errors_ref),
        ("batch", "Job") => batch::job(&object, errors_ref),
        ("batch", "CronJob") => batch::cron_job(&object, errors_ref),
        _ => others::validate(kind, &object, errors_ref),
    }
}

pub(crate) fn validate_update(kind: &Kind, subresource: Option<Subresource>, object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    metadata_update(kind, subresource, object, old, &mut errors);
    let (new, before) = (Field::root(object), Field::root(old));
    let name = (kind.group(), &*kind.kind);
    let errors_ref = &mut errors;
    match subresource {
        Some(Subresource::Status) => {
            match name {
                ("batch", "Job") => batch::job_status(&new, &before, errors_ref),
                ("apps", _) | ("", "ReplicationController") => apps::status(&new, &before, errors_ref),
                ("", "Pod") => pod::status(&new, &before, errors_ref),
                _ => {}
            }
            return errors;
        }
        Some(Subresource::Finalize | Subresource::EphemeralContainers | Subresource::Resize) => return errors,
        _ => {}
    }
    match name {
        ("", "Pod") => pod::validate_update(&new, &before, errors_ref),
        ("", "ConfigMap") => {
            core::immutable_data(&new, &before, &["data", "binaryData"], errors_ref);
            core::config_map(&new, errors_ref);
        }
        ("", "Secret") => {
            new.get("type").immutable(errors_ref, &before.get("type"));
            core::immutable_data(&new, &before, &["data"], errors_ref);
            core::secret(&new, errors_ref);
        }
        ("", "Namespace") => {}
        ("", "Service") => service::validate_update(&new, &before, errors_ref),
        ("", "PersistentVolumeClaim") => core::claim_update(&new, &before, errors_ref),
        ("batch", "Job") => batch::job_update(&new, &before, errors_ref),
        ("batch", "CronJob") => batch::cron_job_update(&new, &before, errors_ref),
        ("apps", "StatefulSet") => {
            apps::stateful_set(&new.get("spec"), errors_ref);
            apps::stateful_set_update(object, old, errors_ref);
        }
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet") => {
            validate_content(kind, object, errors_ref);
            new.path_to(&["spec", "selector"]).immutable(errors_ref, &before.path_to(&["spec", "selector"]));
        }
        ("apps", "ControllerRevision") => {
            validate_content(kind, object, errors_ref);
            new.get("data").immutable(errors_ref, &before.get("data"));
        }
        ("events.k8s.io", "Event") => core::new_event_update(&new, &before, errors_ref),
        _ => {
            validate_content(kind, object, errors_ref);
            others::validate_update(kind, &new, &before, errors_ref);
        }
    }
    errors
}

fn positive_number_or_percent(field: &Field<'_>, errors: &mut Errors) {
    match field.value() {
        Some(Value::String(text)) => field.invalid_each(errors, syntax::percent(text)),
        Some(_) => field.nonnegative(errors),
        None => {}
    }
}

fn number_or_percent(field: &Field<'_>) -> i64 {
    field.integer().unwrap_or_else(|| percentage(field).unwrap_or_default())
}

fn percentage(field: &Field<'_>) -> Option<i64> {
    field.text().strip_suffix('%').and_then(|digits| digits.parse().ok())
}

fn not_more_than_all(field: &Field<'_>, errors: &mut Errors) {
    if percentage(field).is_some_and(|percentage| percentage > 100) {
        field.invalid(errors, "must not be greater than 100%");
    }
}

fn port_number_or_name(field: &Field<'_>, errors: &mut Errors) {
    match field.value() {
        Some(Value::String(name)) => field.invalid_each(errors, syntax::port_name(name)),
        _ => {
            let number = field.integer().unwrap_or_default();
            let messages = syntax::port_number(number).into_iter();
            errors.extend(messages.map(|message| FieldError::invalid(field.path(), number, message)));
        }
    }
}
