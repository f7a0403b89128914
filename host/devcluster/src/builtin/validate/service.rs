//! Services.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::status::{Fault, FieldError, shown};
use crate::validation::field::{Errors, Field};
use crate::validation::{self, syntax};

use super::port_number_or_name;

/// `MaxClientIPServiceAffinitySeconds`.
const AFFINITY_LIMIT: i64 = 86_400;

pub(super) fn validate(service: &Field<'_>, errors: &mut Errors) {
    let spec = service.get("spec");
    let kind = spec.get("type");
    let headless = spec.get("clusterIPs").items().next().is_some_and(|ip| ip.text() == "None");
    let ports = spec.get("ports");
    if ports.len() == 0 && !headless && kind.text() != "ExternalName" {
        ports.required(errors, "");
    }
    of_kind(&spec, headless, errors);
    let mut names = BTreeSet::new();
    for port in ports.items() {
        validate_port(&port, ports.len() > 1, &mut names, errors);
    }
    validation::labels(&spec.get("selector"), errors);
    let affinity = spec.get("sessionAffinity");
    affinity.one_of(errors, &["ClientIP", "None"]);
    if affinity.text() == "ClientIP" {
        let timeout = spec.path_to(&["sessionAffinityConfig", "clientIP", "timeoutSeconds"]);
        if timeout.integer().is_some_and(|seconds| !(1..=AFFINITY_LIMIT).contains(&seconds)) {
            timeout.invalid(errors, format!("must be greater than 0 and less than {AFFINITY_LIMIT}"));
        }
    }
    if kind.text() != "ExternalName" {
        cluster_ips(&spec, headless, errors);
    }
    for ip in spec.get("externalIPs").items() {
        address(&ip, errors);
    }
    kind.one_of(errors, &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
    if kind.text() == "ClusterIP" {
        for port in ports.items().filter(|port| port.get("nodePort").integer().unwrap_or_default() != 0) {
            port.get("nodePort").forbidden(errors, "may not be used when `type` is 'ClusterIP'");
        }
    }
    duplicate_ports(&ports, errors);
    let balancer = kind.text() == "LoadBalancer";
    let details = [
        ("loadBalancerSourceRanges", "LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'"),
        ("allocateLoadBalancerNodePorts", "allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'"),
        ("loadBalancerClass", "loadBalancerClass", "may only be used when `type` is 'LoadBalancer'"),
    ];
    for (name, shown, detail) in details {
        if !balancer && spec.get(name).is_set() {
            spec.get(name).named(spec.child_path(shown)).forbidden(errors, detail);
        }
    }
    spec.get("externalTrafficPolicy").one_of_if_set(errors, &["Cluster", "Local"]);
    spec.get("internalTrafficPolicy").one_of_if_set(errors, &["Cluster", "Local"]);
}

fn of_kind(spec: &Field<'_>, headless: bool, errors: &mut Errors) {
    let kind = spec.get("type").text();
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid(format!("{}[0]", spec.child_path("clusterIPs")), "None", detail));
        }
        "ExternalName" => {
            for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if spec.get(name).is_set() {
                    spec.get(name).forbidden(errors, "may not be set for ExternalName services");
                }
            }
            let name = spec.get("externalName");
            let host = name.text().strip_suffix('.').unwrap_or(name.text());
            if host.is_empty() {
                name.required(errors, "");
            } else {
                errors.extend(
                    syntax::dns_subdomain(host).into_iter().map(|message| FieldError::invalid(name.path(), host, message)),
                );
            }
        }
        _ => {}
    }
}

fn validate_port<'a>(port: &Field<'a>, needs_name: bool, names: &mut BTreeSet<&'a str>, errors: &mut Errors) {
    let name = port.get("name");
    if name.text().is_empty() {
        if needs_name {
            name.required(errors, "");
        }
    } else {
        name.dns_label(errors);
        if !names.insert(name.text()) {
            name.duplicate(errors);
        }
    }
    let number = port.get("port").integer().unwrap_or_default();
    let messages = syntax::port_number(number).into_iter();
    errors.extend(messages.map(|message| FieldError::invalid(port.child_path("port"), number, message)));
    port.get("protocol").one_of(errors, &["SCTP", "TCP", "UDP"]);
    port_number_or_name(&port.get("targetPort"), errors);
    let protocol = port.get("appProtocol");
    if protocol.is_set() {
        protocol.qualified_name(errors);
    }
}

fn duplicate_ports(ports: &Field<'_>, errors: &mut Errors) {
    let mut node_ports = BTreeSet::new();
    for port in ports.items() {
        let number = port.get("nodePort").integer().unwrap_or_default();
        if number != 0 && !node_ports.insert((port.get("protocol").text(), number)) {
            port.get("nodePort").duplicate(errors);
        }
    }
    let mut numbers = BTreeSet::new();
    for port in ports.items() {
        let (protocol, number) = (port.get("protocol").text(), port.get("port").integer().unwrap_or_default());
        if !numbers.insert((protocol, number)) {
            // The API server formats its internal type, whose fields have no JSON names.
            let protocol = shown(&protocol.into());
            let text = format!(
                "Duplicate value: {{\"Name\":\"\",\"Protocol\":{protocol},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
            );
            let fault = Fault::Worded { reason: "FieldValueDuplicate", text };
            errors.push(FieldError::new(fault, port.path(), ""));
        }
    }
}

fn cluster_ips(spec: &Field<'_>, headless: bool, errors: &mut Errors) {
    let (ip, ips) = (spec.get("clusterIP"), spec.get("clusterIPs"));
    let first = ips.items().next();
    match (ip.text(), &first) {
        ("", None) => {}
        ("", Some(_)) => ips.invalid(errors, "must be empty when `clusterIP` is not specified"),
        (_, None) => ips.required(errors, ""),
        (ip, Some(first)) if first.text() != ip => ips.invalid(errors, "first value must match `clusterIP`"),
        _ => {}
    }
    let mut families = BTreeSet::new();
    for family in spec.get("ipFamilies").items() {
        family.one_of_if_set(errors, &["IPv4", "IPv6"]);
        if !families.insert(family.text()) {
            family.duplicate(errors);
        }
    }
    spec.get("ipFamilyPolicy").one_of_if_set(errors, &["PreferDualStack", "RequireDualStack", "SingleStack"]);
    if headless {
        if ips.len() > 1 {
            ips.invalid(errors, "'None' must be the first and only value");
        }
        return;
    }
    for ip in ips.items() {
        address(&ip, errors);
    }
    if ips.len() > 2 {
        ips.invalid(errors, "may only hold up to 2 values");
    }
}

fn address(ip: &Field<'_>, errors: &mut Errors) {
    if ip.text().parse::<IpAddr>().is_err() {
        ip.invalid(errors, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    }
}

pub(super) fn validate_update(new: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    let (spec, before) = (new.get("spec"), old.get("spec"));
    let is_external = |spec: &Field<'_>| spec.get("type").text() == "ExternalName";
    if !is_external(&spec) && !is_external(&before) {
        let ip = |spec: &Field<'_>| spec.get("clusterIPs").items().next().map_or("", |ip| ip.text()).to_owned();
        if !ip(&before).is_empty() && ip(&before) != ip(&spec) {
            let path = format!("{}[0]", spec.child_path("clusterIPs"));
            let shown = spec.get("clusterIPs").shown();
            errors.push(FieldError::invalid(path, shown, "may not change once set"));
        }
    }
    validate(new, errors);
}
