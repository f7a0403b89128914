use serde_json::{Value, json};

pub(crate) fn config_map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

/// The path of the ConfigMap that [`data`] returns.
pub(crate) const A: &str = "v1/configmaps/a";

pub(crate) fn data(data: Value) -> Value {
    config_map("a", data)
}

pub(crate) fn labelled(name: &str, labels: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": labels } })
}

pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "example.invalid/main:1" }] },
    })
}

/// Returns a Deployment with one container and its name as the label `app`.
pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
        "spec": {
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "example.invalid/main:1" }] },
            },
        },
    })
}

pub(crate) fn job(name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name },
        "spec": { "template": { "spec": {
            "restartPolicy": "Never",
            "containers": [{ "name": "main", "image": "example.invalid/main:1" }],
        } } },
    })
}

/// Returns the CRD of the namespaced kind `Widget` in the check's group with this `spec`.
pub(crate) fn widget_crd(spec: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.{group}" },
        "spec": {
            "group": "{group}", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
            }],
        },
    })
}

pub(crate) fn any() -> Value {
    json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// Returns [`widget_crd`] with a status of any form, as a subresource.
pub(crate) fn widget_crd_with_status(spec: Value) -> Value {
    let mut crd = widget_crd(spec);
    let version = &mut crd["spec"]["versions"][0];
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = any();
    version["subresources"] = json!({ "status": {} });
    crd
}

pub(crate) fn widget(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "{group}/v1", "kind": "Widget", "metadata": { "name": name }, "spec": spec })
}
