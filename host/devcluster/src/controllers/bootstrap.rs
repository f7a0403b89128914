use serde_json::{Value, json};

/// Returns the objects that the API server itself creates; controllers add those in namespaces.
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
    let class = |name: &str, value: u32, description: &str| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": name },
            "value": value, "description": description, "preemptionPolicy": "PreemptLowerPriority",
        })
    };
    let moved = "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.";
    let kept = "Used for system critical pods that must not be moved from their current node.";
    let classes = [class("system-cluster-critical", 2_000_000_000, moved), class("system-node-critical", 2_000_001_000, kept)];
    let names = ["default", "kube-node-lease", "kube-public", "kube-system"];
    names.into_iter().map(namespace).chain([service]).chain(classes).collect()
}
