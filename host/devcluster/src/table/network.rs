//! The rows of Services, Endpoints, Ingresses and NetworkPolicies.

use std::collections::BTreeSet;

use serde_json::Value;

use super::read::{first_few, labels, list, none_if_empty, number, shown, text, text_or};
use super::workloads::selector;
use crate::object;

const SHOWN: usize = 3;

pub(super) fn service(service: &Value, age: Value) -> Vec<Value> {
    let ports = list(service, "/spec/ports").iter().map(|port| {
        let (number, protocol) = (number(port, "/port"), text(port, "/protocol"));
        match port.get("nodePort").and_then(Value::as_i64) {
            Some(node_port) if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    });
    let ports = none_if_empty(ports.collect::<Vec<_>>().join(","));
    vec![
        object::name(service).into(),
        text(service, "/spec/type").into(),
        text_or(service, "/spec/clusterIPs/0", "<none>").into(),
        external_address(service).into(),
        ports.into(),
        age,
        labels(service.pointer("/spec/selector")).into(),
    ]
}

fn external_address(service: &Value) -> String {
    let external = list(service, "/spec/externalIPs").iter().filter_map(Value::as_str);
    match text(service, "/spec/type") {
        "ClusterIP" | "NodePort" => none_if_empty(external.collect::<Vec<_>>().join(",")),
        "LoadBalancer" => {
            let balancer = load_balancer(service);
            let addresses: Vec<&str> = balancer.iter().copied().chain(external).collect();
            if addresses.is_empty() { "<pending>".to_owned() } else { addresses.join(",") }
        }
        "ExternalName" => text(service, "/spec/externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn load_balancer(object: &Value) -> BTreeSet<&str> {
    let ingress = list(object, "/status/loadBalancer/ingress").iter();
    let address = |ingress| match (text(ingress, "/ip"), text(ingress, "/hostname")) {
        ("", name) => name,
        (ip, _) => ip,
    };
    ingress.map(address).filter(|address| !address.is_empty()).collect()
}

pub(super) fn endpoints(endpoints: &Value, age: Value) -> Vec<Value> {
    let subsets = list(endpoints, "/subsets");
    let mut addresses = Vec::new();
    for subset in subsets {
        let hosts = || list(subset, "/addresses").iter().map(|address| text(address, "/ip"));
        let ports = list(subset, "/ports");
        // Services without a cluster address may have no ports.
        if ports.is_empty() {
            addresses.extend(hosts().map(str::to_owned));
        }
        for port in ports {
            addresses.extend(hosts().map(|host| {
                let port = number(port, "/port");
                if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
            }));
        }
    }
    let shown = if subsets.is_empty() { "<none>".to_owned() } else { first_few(&addresses, SHOWN, ",") };
    vec![object::name(endpoints).into(), shown.into(), age]
}

pub(super) fn endpoint_slice(slice: &Value, age: Value) -> Vec<Value> {
    let port = |port| shown(port, "/port").or_else(|| shown(port, "/name")).unwrap_or_else(|| "*".to_owned());
    let ports: Vec<String> = list(slice, "/ports").iter().map(port).collect();
    let addresses = list(slice, "/endpoints").iter().flat_map(|endpoint| list(endpoint, "/addresses"));
    let addresses: Vec<String> = addresses.filter_map(Value::as_str).map(str::to_owned).collect();
    let few = |texts: &[String]| match first_few(texts, SHOWN, ",") {
        text if text.is_empty() => Value::from("<unset>"),
        text => Value::from(text),
    };
    vec![object::name(slice).into(), text(slice, "/addressType").into(), few(&ports), few(&addresses), age]
}

pub(super) fn ingress(ingress: &Value, age: Value) -> Vec<Value> {
    let ports = if list(ingress, "/spec/tls").is_empty() { "80" } else { "80, 443" };
    vec![
        object::name(ingress).into(),
        text_or(ingress, "/spec/ingressClassName", "<none>").into(),
        hosts(list(ingress, "/spec/rules")).into(),
        load_balancer(ingress).into_iter().collect::<Vec<_>>().join(",").into(),
        ports.into(),
        age,
    ]
}

fn hosts(rules: &[Value]) -> String {
    let mut hosts = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= hosts.len() == SHOWN;
        let host = text(rule, "/host");
        if !more && !host.is_empty() {
            hosts.push(host);
        }
    }
    match hosts.join(",") {
        hosts if hosts.is_empty() => "*".to_owned(),
        hosts if more => format!("{hosts} + {} more...", rules.len().saturating_sub(SHOWN)),
        hosts => hosts,
    }
}

pub(super) fn ingress_class(class: &Value, age: Value) -> Vec<Value> {
    let parameters = match class.pointer("/spec/parameters") {
        None => "<none>".to_owned(),
        Some(parameters) => {
            let group = shown(parameters, "/apiGroup").map(|group| format!(".{group}")).unwrap_or_default();
            format!("{}{group}/{}", text(parameters, "/kind"), text(parameters, "/name"))
        }
    };
    let name = name_or_default(class, &["ingressclass.kubernetes.io/is-default-class"]);
    vec![name.into(), text(class, "/spec/controller").into(), parameters.into(), age]
}

pub(super) fn name_or_default(class: &Value, annotations: &[&str]) -> String {
    let is_default = annotations.iter().any(|annotation| {
        let annotations = class.pointer("/metadata/annotations");
        annotations.and_then(|annotations| annotations.get(*annotation)).and_then(Value::as_str) == Some("true")
    });
    format!("{}{}", object::name(class), if is_default { " (default)" } else { "" })
}

pub(super) fn network_policy(policy: &Value, age: Value) -> Vec<Value> {
    vec![object::name(policy).into(), selector(policy.pointer("/spec/podSelector")).into(), age]
}
