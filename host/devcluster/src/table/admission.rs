//! The rows of admission webhooks and policies, and of APIServices.

use serde_json::Value;

use super::read::{count, list, text};
use crate::object;

pub(super) fn row(kind: &str, object: &Value, age: Value) -> Option<Vec<Value>> {
    let name = Value::from(object::name(object));
    Some(match kind {
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => vec![name, count(object, "/webhooks").into(), age],
        "ValidatingAdmissionPolicy" => {
            vec![name, count(object, "/spec/validations").into(), parameter_kind(object).into(), age]
        }
        "MutatingAdmissionPolicy" => vec![name, count(object, "/spec/mutations").into(), parameter_kind(object).into(), age],
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            vec![name, text(object, "/spec/policyName").into(), parameter(object).into(), age]
        }
        _ => return None,
    })
}

fn parameter_kind(policy: &Value) -> String {
    match policy.pointer("/spec/paramKind") {
        Some(kind) => format!("{}/{}", text(kind, "/apiVersion"), text(kind, "/kind")),
        None => "<unset>".to_owned(),
    }
}

fn parameter(binding: &Value) -> String {
    let Some(reference) = binding.pointer("/spec/paramRef") else { return "<unset>".to_owned() };
    match (text(reference, "/namespace"), text(reference, "/name")) {
        (_, "") => "<unset>".to_owned(),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

pub(super) fn api_service(service: &Value, age: Value) -> Vec<Value> {
    let server = match service.pointer("/spec/service") {
        Some(server) => format!("{}/{}", text(server, "/namespace"), text(server, "/name")),
        None => "Local".to_owned(),
    };
    let condition = list(service, "/status/conditions").iter().find(|condition| text(condition, "/type") == "Available");
    let available = match condition.map(|condition| (text(condition, "/status"), text(condition, "/reason"))) {
        None => "Unknown".to_owned(),
        Some((status @ "True", _) | (status, "")) => status.to_owned(),
        Some((status, reason)) => format!("{status} ({reason})"),
    };
    vec![object::name(service).into(), server.into(), available.into(), age]
}
