//! Laws of everything that the chart renders.

use std::collections::BTreeSet;

use gyre_chart_tests::helm::NAMESPACE;
use serde_json::{Map, Value, json};

const LABELS: [&str; 5] = [
    "helm.sh/chart",
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
    "app.kubernetes.io/managed-by",
];
const CLUSTER_SCOPED: [&str; 3] = ["CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"];

/// Returns the violations in the objects of a release, one line each.
pub(crate) fn broken(objects: &[Value]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut seen = BTreeSet::new();
    for object in objects {
        let id = format!("{} {}/{}", object["kind"], object["metadata"]["namespace"], object["metadata"]["name"]);
        let mut report = |law: &str| broken.push(format!("{id}: {law}"));
        if !seen.insert(id.clone()) {
            report("is rendered twice");
        }
        named(object, &mut report);
        labelled(object, &mut report);
        match object["kind"].as_str().unwrap() {
            "Deployment" => {
                pod(&object["spec"]["template"]["spec"], &mut report);
                selects(&object["spec"]["selector"]["matchLabels"], objects, &mut report);
                mounted(object, objects, &mut report);
            }
            "Pod" => pod(&object["spec"], &mut report),
            "Service" => {
                selects(&object["spec"]["selector"], objects, &mut report);
                served(object, objects, &mut report);
            }
            "PodDisruptionBudget" => selects(&object["spec"]["selector"]["matchLabels"], objects, &mut report),
            "NetworkPolicy" => selects(&object["spec"]["podSelector"]["matchLabels"], objects, &mut report),
            "ConfigMap" => texts(object, &mut report),
            "Role" | "ClusterRole" => exact(object, &mut report),
            "RoleBinding" | "ClusterRoleBinding" => bound(object, objects, &mut report),
            _ => {}
        }
    }
    broken
}

fn named(object: &Value, report: &mut impl FnMut(&str)) {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let is_label = !name.contains('.') && name.len() <= 63;
    if name.is_empty()
        || name.len() > 253
        || !name.chars().all(is_part)
        || name.starts_with(['-', '.'])
        || name.ends_with(['-', '.'])
    {
        report("has a name that is none");
    }
    if object["kind"] == "Service" && !is_label {
        report("has a name that is no label");
    }
    if object["apiVersion"].as_str().is_none() {
        report("has no apiVersion");
    }
    let is_cluster_scoped = CLUSTER_SCOPED.iter().any(|kind| object["kind"] == *kind);
    if object["metadata"]["namespace"].is_string() == is_cluster_scoped {
        report("has a namespace where it has none, or none where it has one");
    }
}

fn labelled(object: &Value, report: &mut impl FnMut(&str)) {
    let empty = Map::new();
    let mut sets = vec![&object["metadata"]["labels"]];
    if object["kind"] == "Deployment" {
        sets.push(&object["spec"]["template"]["metadata"]["labels"]);
    }
    for labels in sets {
        let labels = labels.as_object().unwrap_or(&empty);
        for label in LABELS {
            if !labels.contains_key(label) {
                report(&format!("lacks the label {label}"));
            }
        }
        for (label, value) in labels {
            let value = value.as_str().unwrap_or("?");
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
            let is_end = |c: char| c.is_ascii_alphanumeric();
            let is_value =
                value.len() <= 63 && value.chars().all(is_part) && value.starts_with(is_end) && value.ends_with(is_end);
            if !is_value && !value.is_empty() {
                report(&format!("has the label {label} with the value {value:?}, which is none"));
            }
        }
    }
}

/// Pods meet the restricted Pod Security Standard, and their file system is read-only.
fn pod(spec: &Value, report: &mut impl FnMut(&str)) {
    let security = &spec["securityContext"];
    if security["runAsNonRoot"] != true || security["seccompProfile"]["type"] != "RuntimeDefault" {
        report("may run as root, or without seccomp");
    }
    let list = |key: &str| spec[key].as_array().cloned().unwrap_or_default();
    let volumes: BTreeSet<String> = list("volumes").iter().map(|volume| volume["name"].to_string()).collect();
    let mut used = BTreeSet::new();
    for container in list("containers").into_iter().chain(list("initContainers")) {
        let name = container["name"].as_str().unwrap_or_default();
        if name.is_empty() || name.len() > 63 || name.contains('.') {
            report(&format!("has a container whose name is no label: {name:?}"));
        }
        let security = &container["securityContext"];
        let is_restricted = security["allowPrivilegeEscalation"] == false
            && security["readOnlyRootFilesystem"] == true
            && security["capabilities"]["drop"] == json!(["ALL"]);
        if !is_restricted {
            report(&format!("has a container that is not restricted: {name}"));
        }
        let mut places = BTreeSet::new();
        for mount in container["volumeMounts"].as_array().into_iter().flatten() {
            used.insert(mount["name"].to_string());
            if !places.insert(mount["mountPath"].to_string()) {
                report(&format!("mounts two volumes at {}", mount["mountPath"]));
            }
        }
        let ports: BTreeSet<String> =
            container["ports"].as_array().into_iter().flatten().map(|port| port["name"].to_string()).collect();
        let schemes: BTreeSet<String> = ["startupProbe", "livenessProbe", "readinessProbe"]
            .iter()
            .filter(|probe| container[**probe].is_object())
            .map(|probe| container[*probe]["httpGet"]["scheme"].to_string())
            .collect();
        if schemes.len() > 1 {
            report(&format!("is probed by {schemes:?} at one port"));
        }
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            if container[probe].is_object() && !ports.contains(&container[probe]["httpGet"]["port"].to_string()) {
                report(&format!("has a {probe} at a port that there is not"));
            }
        }
    }
    if volumes != used {
        report(&format!("has the volumes {volumes:?} and mounts {used:?}"));
    }
}

/// A selector selects the pods of the Deployment, and not those of tests.
fn selects(selector: &Value, objects: &[Value], report: &mut impl FnMut(&str)) {
    let selects = |labels: &Value| {
        selector.as_object().is_some_and(|all| !all.is_empty() && all.iter().all(|(label, value)| labels[label] == *value))
    };
    for object in objects {
        let (labels, expected) = match object["kind"].as_str() {
            Some("Deployment") => (&object["spec"]["template"]["metadata"]["labels"], true),
            Some("Pod") => (&object["metadata"]["labels"], false),
            _ => continue,
        };
        if selects(labels) != expected {
            report("does not select the pods of the Deployment, and those alone");
        }
    }
}

/// The ConfigMaps of the release that the pods name exist.
fn mounted(deployment: &Value, objects: &[Value], report: &mut impl FnMut(&str)) {
    let own = deployment["metadata"]["name"].as_str().unwrap();
    let spec = &deployment["spec"]["template"]["spec"];
    let mut named: Vec<&str> =
        spec["volumes"].as_array().unwrap().iter().filter_map(|volume| volume["configMap"]["name"].as_str()).collect();
    named.extend(
        spec["containers"][0]["envFrom"].as_array().unwrap().iter().filter_map(|from| from["configMapRef"]["name"].as_str()),
    );
    for name in named.into_iter().filter(|name| name.starts_with(own)) {
        if !objects.iter().any(|object| object["kind"] == "ConfigMap" && object["metadata"]["name"] == name) {
            report(&format!("names the ConfigMap {name}, which is not there"));
        }
    }
}

fn served(service: &Value, objects: &[Value], report: &mut impl FnMut(&str)) {
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let ports = deployment["spec"]["template"]["spec"]["containers"][0]["ports"].as_array().unwrap();
    for port in service["spec"]["ports"].as_array().unwrap() {
        if !ports.iter().any(|there| there["name"] == port["targetPort"]) {
            report(&format!("leads to the port {}, which is not there", port["targetPort"]));
        }
    }
}

/// Values of a ConfigMap are texts, of at most 1 MiB in total.
fn texts(map: &Value, report: &mut impl FnMut(&str)) {
    let mut size = 0;
    for value in ["data", "binaryData"].iter().filter_map(|key| map[*key].as_object()).flat_map(Map::values) {
        size += value.as_str().map_or(0, str::len);
        if !value.is_string() {
            report(&format!("has {value}, which is no text"));
        }
    }
    if size > 1 << 20 {
        report("is larger than 1 MiB");
    }
}

/// No rule has a wildcard, and none is repeated.
fn exact(role: &Value, report: &mut impl FnMut(&str)) {
    let rules = role["rules"].as_array().unwrap();
    for (index, rule) in rules.iter().enumerate() {
        if rule.to_string().contains("\"*\"") {
            report(&format!("grants more than is needed: {rule}"));
        }
        if rules.iter().take(index).any(|other| other == rule) {
            report(&format!("says twice {rule}"));
        }
    }
}

/// A binding refers to an existing role and the account of the pods.
fn bound(binding: &Value, objects: &[Value], report: &mut impl FnMut(&str)) {
    let role = &binding["roleRef"];
    let is_there = |object: &&Value| {
        object["kind"] == role["kind"]
            && object["metadata"]["name"] == role["name"]
            && object["metadata"]["namespace"] == binding["metadata"]["namespace"]
    };
    if objects.iter().find(is_there).is_none() {
        report("binds a role that is not there");
    }
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let account = &deployment["spec"]["template"]["spec"]["serviceAccountName"];
    let host = json!({"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE});
    let own = deployment["metadata"]["name"].as_str().unwrap();
    // A role for another account has a dot after the name of the plugin.
    let of_plugin = role["name"].as_str().and_then(|name| name.strip_prefix(&format!("{own}-plugin-")));
    let is_hosts = of_plugin.is_some_and(|rest| !rest.contains('.'))
        || [own.to_owned(), format!("{own}-host")].iter().any(|name| role["name"] == *name);
    let subjects = binding["subjects"].as_array().unwrap();
    if is_hosts != (subjects[..] == [host.clone()]) || subjects.len() != 1 {
        report(&format!("binds {subjects:?}, and the host is {host}"));
    }
}
