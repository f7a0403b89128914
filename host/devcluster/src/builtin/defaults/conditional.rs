//! Defaults that depend on other fields.

use serde_json::{Map, Value, json};

use super::put;
use crate::kinds::Kind;
use crate::object;

type Object = Map<String, Value>;

/// Applies the kind's defaulting function, before those of its parts.
pub(super) fn root(kind: &Kind, object: &mut Value) {
    match (kind.group(), &*kind.kind) {
        ("", "Pod") => pod(object),
        ("", "Namespace") => namespace(object),
        ("", "Secret") => string_data(object),
        ("", "ReplicationController") => replication_controller(object),
        ("batch", "Job") => labels_of_template(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => custom_resource_definition(object),
        _ => {}
    }
}

/// Applies the defaults that depend on the defaults of the parts.
pub(super) fn root_after(kind: &Kind, object: &mut Value) {
    match (kind.group(), &*kind.kind) {
        ("", "Pod") => {
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                host_ports(spec);
            }
        }
        ("apps", "DaemonSet") => {
            let annotations =
                object::metadata_mut(object).map(|metadata| metadata.entry("annotations").or_insert_with(|| json!({})));
            if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
                // This annotation replaced the removed field `templateGeneration`.
                put(annotations, "deprecated.daemonset.template.generation", &json!("0"));
            }
        }
        _ => {}
    }
}

pub(super) fn definition(name: &str, root: &str, object: &mut Object) {
    match name {
        "Container" | "EphemeralContainer" => pull_policy(object, "image", "imagePullPolicy"),
        "ImageVolumeSource" => pull_policy(object, "reference", "pullPolicy"),
        "Volume" if object.iter().all(|(name, value)| name == "name" || value.is_null()) => put(object, "emptyDir", &json!({})),
        "PodSpec" => service_account(object),
        "PodStatus" => pod_ips(object),
        "NodeStatus" => {
            if let Some(capacity) = object.get("capacity").cloned() {
                put(object, "allocatable", &capacity);
            }
        }
        "NodeSpec" => pod_cidrs(object),
        "ServiceSpec" => service(object),
        "LimitRangeItem" => limits(object),
        "DeploymentStrategy" => rolling_update(object, &json!({ "maxUnavailable": "25%", "maxSurge": "25%" })),
        "DaemonSetUpdateStrategy" => rolling_update(object, &json!({ "maxUnavailable": 1, "maxSurge": 0 })),
        "StatefulSetUpdateStrategy" if text(object, "type").is_empty() => put(object, "rollingUpdate", &json!({})),
        "JobSpec" if root == "Job" => job(object),
        "NetworkPolicySpec" => policy_types(object),
        "Subject" if root.ends_with("RoleBinding") && matches!(text(object, "kind"), "User" | "Group") => {
            put(object, "apiGroup", &json!("rbac.authorization.k8s.io"));
        }
        _ => {}
    }
}

fn text<'a>(object: &'a Object, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn is_set(object: &Object, name: &str) -> bool {
    object.get(name).is_some_and(|value| !value.is_null())
}

/// Images with the tag `latest` or without a tag are always pulled.
fn pull_policy(object: &mut Object, image: &str, policy: &str) {
    if !text(object, policy).is_empty() {
        return;
    }
    let image = text(object, image);
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or(name);
    let tag = last.split_once(':').map(|(_, tag)| tag);
    let latest = match (tag, digest) {
        (Some(tag), _) => tag == "latest",
        (None, Some(_)) => false,
        (None, None) => is_image(name),
    };
    object.insert(policy.to_owned(), json!(if latest { "Always" } else { "IfNotPresent" }));
}

/// Returns whether a text can be the name of an image, whose path is lowercase.
fn is_image(name: &str) -> bool {
    let path = name
        .split_once('/')
        .filter(|(domain, _)| domain.contains(['.', ':']) || *domain == "localhost")
        .map_or(name, |(_, path)| path);
    !path.is_empty()
        && path.split('/').all(|part| {
            let edges = part.starts_with(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit())
                && part.ends_with(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit());
            edges
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.'))
        })
}

fn pod(object: &mut Value) {
    for list in ["containers", "initContainers"] {
        let containers = object.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) else { continue };
            let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { continue };
            let requests = resources.entry("requests").or_insert_with(|| json!({}));
            if let Some(requests) = requests.as_object_mut() {
                limits.iter().for_each(|(name, limit)| put(requests, name, limit));
            }
        }
    }
}

fn host_ports(spec: &mut Object) {
    if spec.get("hostNetwork").and_then(Value::as_bool) != Some(true) {
        return;
    }
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                let Some(port) = port.as_object_mut() else { continue };
                if let Some(number) = port.get("containerPort").cloned() {
                    put(port, "hostPort", &number);
                }
            }
        }
    }
}

/// `serviceAccount` is the old name of `serviceAccountName`, which takes precedence.
fn service_account(spec: &mut Object) {
    let old = spec.get("serviceAccount").cloned().filter(|name| name.as_str() != Some(""));
    if let Some(old) = old {
        put(spec, "serviceAccountName", &old);
    }
    if let Some(name) = spec.get("serviceAccountName").cloned() {
        spec.insert("serviceAccount".to_owned(), name);
    }
}

fn pod_ips(status: &mut Object) {
    if let Some(ip) = status.get("podIP").cloned() {
        put(status, "podIPs", &json!([{ "ip": ip }]));
    }
    let first = status.get("podIPs").and_then(|ips| ips.get(0)).and_then(|ip| ip.get("ip")).cloned();
    if let Some(first) = first {
        put(status, "podIP", &first);
    }
}

fn pod_cidrs(spec: &mut Object) {
    if let Some(cidr) = spec.get("podCIDR").cloned() {
        put(spec, "podCIDRs", &json!([cidr]));
    }
    let first = spec.get("podCIDRs").and_then(|cidrs| cidrs.get(0)).cloned();
    if let Some(first) = first {
        put(spec, "podCIDR", &first);
    }
}

fn namespace(object: &mut Value) {
    let name = object::name(object).to_owned();
    if name.is_empty() {
        return;
    }
    let labels = object::metadata_mut(object).map(|metadata| metadata.entry("labels").or_insert_with(|| json!({})));
    if let Some(labels) = labels.and_then(Value::as_object_mut) {
        labels.insert("kubernetes.io/metadata.name".to_owned(), Value::from(name));
    }
}

/// The write-only `stringData` becomes `data`, as in the conversion to the internal type.
fn string_data(object: &mut Value) {
    let Some(texts) = object.as_object_mut().and_then(|object| object.remove("stringData")) else { return };
    let Some(texts) = texts.as_object().filter(|texts| !texts.is_empty()) else { return };
    let data = object.as_object_mut().map(|object| object.entry("data").or_insert_with(|| json!({})));
    if let Some(data) = data.and_then(Value::as_object_mut) {
        for (key, text) in texts {
            let encoded = crate::builtin::base64::encode(text.as_str().unwrap_or_default().as_bytes());
            data.insert(key.clone(), Value::from(encoded));
        }
    }
}

fn labels_of_template(object: &mut Value) {
    let labels = object.get("spec").and_then(|spec| spec.get("template")?.get("metadata")?.get("labels")).cloned();
    if let (Some(labels), Some(metadata)) = (labels.filter(Value::is_object), object::metadata_mut(object)) {
        put(metadata, "labels", &labels);
    }
}

fn replication_controller(object: &mut Value) {
    let labels = object.get("spec").and_then(|spec| spec.get("template")?.get("metadata")?.get("labels")).cloned();
    labels_of_template(object);
    if let (Some(labels), Some(spec)) = (labels, object.get_mut("spec").and_then(Value::as_object_mut)) {
        put(spec, "selector", &labels);
    }
}

fn service(spec: &mut Object) {
    match text(spec, "sessionAffinity") {
        "" | "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => put(spec, "sessionAffinityConfig", &json!({ "clientIP": { "timeoutSeconds": 10800 } })),
        _ => {}
    }
    let has_external_ips = spec.get("externalIPs").and_then(Value::as_array).is_some_and(|ips| !ips.is_empty());
    let kind = match text(spec, "type") {
        "" => "ClusterIP".to_owned(),
        kind => kind.to_owned(),
    };
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && has_external_ips) {
        put(spec, "externalTrafficPolicy", &json!("Cluster"));
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        put(spec, "internalTrafficPolicy", &json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        put(spec, "allocateLoadBalancerNodePorts", &json!(true));
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(port) = port.as_object_mut() else { continue };
        let target = port.get("targetPort");
        if target.is_none_or(|target| target.as_i64() == Some(0) || target.as_str() == Some("")) {
            let number = port.get("port").cloned().unwrap_or_else(|| json!(0));
            port.insert("targetPort".to_owned(), number);
        }
    }
}

fn limits(item: &mut Object) {
    if text(item, "type") != "Container" {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        let Some(source) = item.get(from).and_then(Value::as_object).cloned() else { continue };
        if source.is_empty() {
            continue;
        }
        if let Some(target) = item.entry(to).or_insert_with(|| json!({})).as_object_mut() {
            source.iter().for_each(|(name, value)| put(target, name, value));
        }
    }
}

fn rolling_update(strategy: &mut Object, defaults: &Value) {
    if !matches!(text(strategy, "type"), "" | "RollingUpdate") {
        return;
    }
    put(strategy, "rollingUpdate", &json!({}));
    if let (Some(update), Some(defaults)) =
        (strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut), defaults.as_object())
    {
        defaults.iter().for_each(|(name, value)| put(update, name, value));
    }
}

fn job(spec: &mut Object) {
    if !is_set(spec, "completions") && !is_set(spec, "parallelism") {
        put(spec, "completions", &json!(1));
    }
    let limit = if is_set(spec, "backoffLimitPerIndex") { i32::MAX } else { 6 };
    put(spec, "backoffLimit", &json!(limit));
    let replacement = if is_set(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    put(spec, "podReplacementPolicy", &json!(replacement));
}

fn policy_types(spec: &mut Object) {
    if spec.get("policyTypes").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        let egress = spec.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
        let types = if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
        spec.insert("policyTypes".to_owned(), types);
    }
}

fn custom_resource_definition(object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else { return };
    let stored = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
    let stored: Vec<Value> = stored
        .filter(|version| version.get("storage").and_then(Value::as_bool) == Some(true))
        .filter_map(|version| version.get("name").cloned())
        .collect();
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = text(names, "kind").to_owned();
        if text(names, "singular").is_empty() {
            names.insert("singular".to_owned(), Value::from(kind.to_lowercase()));
        }
        if text(names, "listKind").is_empty() && !kind.is_empty() {
            names.insert("listKind".to_owned(), Value::from(format!("{kind}List")));
        }
    }
    if let Some(status) = object.as_object_mut().map(|object| object.entry("status").or_insert_with(|| json!({})))
        && let Some(status) = status.as_object_mut()
        && status.get("storedVersions").and_then(Value::as_array).is_none_or(Vec::is_empty)
    {
        status.insert("storedVersions".to_owned(), Value::Array(stored));
    }
}
