//! What every cluster has from the start.

use serde_json::{Value, json};

/// The objects that the server itself creates before it serves: the namespaces, and the Service that clients inside find it by. What
/// each namespace gets (the ServiceAccount `default`, the ConfigMap `kube-root-ca.crt`) the controllers create.
pub(crate) fn bootstrap_objects() -> Vec<Value> {
    let namespace = |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": { "component": "apiserver", "provider": "kubernetes" },
        },
        "spec": {
            "type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
            "ports": [{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": 443 }],
        },
    });
    let names = ["default", "kube-node-lease", "kube-public", "kube-system"];
    names.into_iter().map(namespace).chain([service]).collect()
}
