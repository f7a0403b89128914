//! Warnings about valid but risky objects, as in the strategies' `WarningsOnCreate`, and about what
//! devcluster does not do with an object.

use serde_json::Value;

use crate::custom::definition;
use crate::kinds::{Kind, Origin};
use crate::object;

/// Returns the warnings about an object that replaces `old`, or that is new.
pub(crate) fn of(kind: &Kind, value: &Value, old: Option<&Value>) -> Vec<String> {
    let is_new = old.is_none();
    match &kind.origin {
        Origin::Custom(_) if is_new => finalizers(value),
        Origin::Custom(_) => Vec::new(),
        Origin::Builtin if kind.is_definition() => definition::warnings(value, old),
        Origin::Builtin if kind.is_pod() && is_new => pod(value, ""),
        Origin::Builtin => match template(kind) {
            Some(path) => {
                let spec = |object: &Value| object.pointer(path).cloned();
                let is_changed = old.is_none_or(|old| spec(old) != spec(value));
                let template = value.pointer(path).filter(|_| is_changed);
                template
                    .map(|template| pod(template, &format!("{}.", path.trim_start_matches('/').replace('/', "."))))
                    .unwrap_or_default()
            }
            None => without_effect(kind).into_iter().collect(),
        },
    }
}

/// The path of the Pod template.
fn template(kind: &Kind) -> Option<&'static str> {
    match (kind.group(), &*kind.kind) {
        ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
        | ("batch", "Job")
        | ("", "ReplicationController") => Some("/spec/template"),
        ("batch", "CronJob") => Some("/spec/jobTemplate/spec/template"),
        ("", "PodTemplate") => Some("/template"),
        _ => None,
    }
}

/// The warning that devcluster only stores objects of this kind.
fn without_effect(kind: &Kind) -> Option<String> {
    let lack = match (kind.group(), &*kind.kind) {
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => {
            "it calls no admission webhooks"
        }
        ("admissionregistration.k8s.io", _) => "it evaluates no admission policies",
        ("apiregistration.k8s.io", _) => "it forwards no requests to other API servers",
        ("certificates.k8s.io", _) => "it signs no certificates",
        ("node.k8s.io", _) => "it runs no containers",
        _ => return None,
    };
    Some(format!("devcluster stores this {}, but it has no effect: {lack}", kind.kind))
}

fn finalizers(value: &Value) -> Vec<String> {
    let bare = object::finalizers(value)
        .filter(|finalizer| !finalizer.contains('/') && !matches!(*finalizer, "orphan" | "foregroundDeletion" | "kubernetes"));
    bare.map(|finalizer| {
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other \
             finalizer writers"
        )
    })
    .collect()
}

/// The warnings about a Pod or a Pod template, whose path ends in a dot.
fn pod(pod: &Value, path: &str) -> Vec<String> {
    const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
    let mut warnings = Vec::new();
    let list = |name: &str| pod.get("spec").and_then(|spec| spec.get(name)).and_then(Value::as_array).into_iter().flatten();
    let secrets: Vec<&str> = list("imagePullSecrets").map(|secret| object::text(secret, "name")).collect();
    for (index, name) in
        secrets.iter().enumerate().filter(|(index, name)| secrets.iter().take(*index).any(|other| other == *name))
    {
        warnings.push(format!("{path}spec.imagePullSecrets[{index}].name: duplicate name {name:?}"));
    }
    for (index, _) in secrets.iter().enumerate().filter(|(_, name)| name.is_empty()) {
        warnings.push(format!("{path}spec.imagePullSecrets[{index}].name: invalid empty name \"\""));
    }
    let has_profile = pod.pointer("/spec/securityContext/seccompProfile").is_some();
    if !has_profile && pod.pointer("/metadata/annotations").and_then(|annotations| annotations.get(SECCOMP)).is_some() {
        let instead = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
        warnings.push(format!("{path}metadata.annotations[{SECCOMP}]: {instead}"));
    }
    for containers in ["initContainers", "containers"] {
        for (index, container) in list(containers).enumerate() {
            let at = format!("{path}spec.{containers}[{index}]");
            let variables: Vec<&Value> = container.get("env").and_then(Value::as_array).into_iter().flatten().collect();
            for (position, variable) in variables.iter().enumerate() {
                let name = object::text(variable, "name");
                let is_repeated = variables.iter().take(position).any(|earlier| object::text(earlier, "name") == name);
                let (value, reference) = (object::text(variable, "value"), format!("$({name})"));
                let hides = variable.get("valueFrom").is_some() || value == reference || !value.contains(&reference);
                if is_repeated && hides {
                    warnings.push(format!(
                        "{at}.env[{position}]: hides previous definition of {name:?}, which may be dropped when using apply"
                    ));
                }
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{Request, header};
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::server::{Options, Server};

    /// Sends a request, and returns the warnings of its answer, which must be a success.
    fn warnings(server: &mut Server, method: &str, path: &str, body: &Value) -> Vec<String> {
        let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(path).header("content-type", content_type);
        let answer = server.handle(Timestamp::UNIX_EPOCH, &request.body(Bytes::from(body.to_string())).unwrap());
        assert!(answer.status.is_success(), "{method} {path}: {answer:?}");
        answer.headers.get_all(header::WARNING).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_write_of_an_object_without_effect_is_warned_of() {
        let mut server = Server::new(&Options::default(), Timestamp::UNIX_EPOCH);
        for (path, fields, lack) in [
            ("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", json!({}), "no admission webhooks"),
            ("admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", json!({}), "no admission webhooks"),
            ("admissionregistration.k8s.io/v1/validatingadmissionpolicies", json!({}), "no admission policies"),
            ("admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", json!({}), "no admission policies"),
            ("apiregistration.k8s.io/v1/apiservices", json!({}), "other API servers"),
            ("certificates.k8s.io/v1/certificatesigningrequests", json!({}), "signs no certificates"),
            ("node.k8s.io/v1/runtimeclasses", json!({ "handler": "a" }), "runs no containers"),
        ] {
            let mut body = fields;
            body["metadata"] = json!({ "name": "a.example.com" });
            let created = warnings(&mut server, "POST", &format!("/apis/{path}"), &body);
            let changes = json!({ "metadata": { "labels": { "a": "b" } } });
            let changed = warnings(&mut server, "PATCH", &format!("/apis/{path}/a.example.com"), &changes);
            for warned in [created, changed] {
                assert!(
                    matches!(&warned[..], [one] if one.starts_with("299 - \"devcluster ") && one.contains(lack)),
                    "{path}: {warned:?}"
                );
            }
        }
        let path = "/api/v1/namespaces/default/configmaps";
        assert_eq!(warnings(&mut server, "POST", path, &json!({ "metadata": { "name": "a" } })), [""; 0]);
    }

    #[test]
    fn a_conversion_webhook_that_is_not_called_is_warned_of() {
        let mut server = Server::new(&Options::default(), Timestamp::UNIX_EPOCH);
        let version = |name: &str, storage: bool| json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": { "type": "object" } } });
        let service = json!({ "service": { "name": "a", "namespace": "default" } });
        let webhook =
            json!({ "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": service } });
        let definition = json!({
            "metadata": { "name": "hooks.example.com" },
            "spec": {
                "group": "example.com", "scope": "Cluster", "names": { "plural": "hooks", "kind": "Hook" },
                "versions": [version("v1alpha1", false), version("v1", true)], "conversion": webhook,
            },
        });
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let expected = "299 - \"devcluster calls no conversion webhooks: ";
        let is_warned = |warned: &[String]| matches!(warned, [one] if one.starts_with(expected));
        assert!(is_warned(&warnings(&mut server, "POST", definitions, &definition)));
        let hook = |version: &str, name: &str| json!({ "apiVersion": format!("example.com/{version}"), "kind": "Hook", "metadata": { "name": name } });
        assert_eq!(warnings(&mut server, "POST", "/apis/example.com/v1/hooks", &hook("v1", "a")), [""; 0]);
        assert!(is_warned(&warnings(&mut server, "POST", "/apis/example.com/v1alpha1/hooks", &hook("v1alpha1", "b"))));
        assert!(is_warned(&warnings(&mut server, "GET", "/apis/example.com/v1alpha1/hooks/a", &json!({}))));
        let none = json!({ "spec": { "conversion": { "strategy": "None", "webhook": null } } });
        assert_eq!(warnings(&mut server, "PATCH", &format!("{definitions}/hooks.example.com"), &none), [""; 0]);
        assert_eq!(warnings(&mut server, "GET", "/apis/example.com/v1alpha1/hooks/a", &json!({})), [""; 0]);
    }
}
