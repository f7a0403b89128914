//! The other groups.

use crate::kinds::Kind;
use crate::status::{Fault, FieldError, shown};
use crate::validation::field::{Errors, Field};
use crate::validation::selector;
use crate::validation::syntax::{self, Whole};

use super::{not_more_than_all, port_number_or_name, positive_number_or_percent};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn validate(kind: &Kind, object: &Field<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    match (kind.group(), &*kind.kind) {
        (RBAC, "Role" | "ClusterRole") => {
            for rule in object.get("rules").items() {
                policy_rule(&rule, &kind.kind, errors);
            }
        }
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => role_binding(object, &kind.kind, errors),
        ("coordination.k8s.io", "Lease") => lease(&spec, errors),
        ("policy", "PodDisruptionBudget") => budget(&spec, errors),
        ("networking.k8s.io", "Ingress") => ingress(&spec, errors),
        ("networking.k8s.io", "NetworkPolicy") => network_policy(&spec, errors),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler(&spec, errors),
        ("scheduling.k8s.io", "PriorityClass") => priority_class(object, errors),
        ("storage.k8s.io", "StorageClass") => {
            object.get("provisioner").required_text(errors);
            object.get("reclaimPolicy").one_of_if_set(errors, &["Delete", "Retain"]);
            object.get("volumeBindingMode").one_of_if_set(errors, &["Immediate", "WaitForFirstConsumer"]);
        }
        ("discovery.k8s.io", "EndpointSlice") => object.get("addressType").one_of(errors, &["FQDN", "IPv4", "IPv6"]),
        _ => {}
    }
}

pub(super) fn validate_update(kind: &Kind, new: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    match (kind.group(), &*kind.kind) {
        (RBAC, "RoleBinding" | "ClusterRoleBinding") if new.get("roleRef").value() != old.get("roleRef").value() => {
            // The API server formats its internal type, whose fields have no JSON names.
            let text = |name: &str| shown(&new.get("roleRef").get(name).text().into());
            let role = format!("{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}", text("apiGroup"), text("kind"), text("name"));
            let fault = Fault::Worded { reason: "FieldValueInvalid", text: format!("Invalid value: {role}") };
            errors.push(FieldError::new(fault, "roleRef", "cannot change roleRef"));
        }
        ("scheduling.k8s.io", "PriorityClass") => {
            for name in ["value", "preemptionPolicy"] {
                if new.get(name).value() != old.get(name).value() {
                    new.get(name).forbidden(errors, "may not be changed in an update.");
                }
            }
        }
        ("storage.k8s.io", "StorageClass") => {
            for name in ["parameters", "provisioner", "reclaimPolicy"] {
                if new.get(name).value() != old.get(name).value() {
                    new.get(name).forbidden(errors, &format!("updates to {name} are forbidden."));
                }
            }
            new.get("volumeBindingMode").immutable(errors, &old.get("volumeBindingMode"));
        }
        ("discovery.k8s.io", "EndpointSlice") => new.get("addressType").immutable(errors, &old.get("addressType")),
        _ => {}
    }
}

fn policy_rule(rule: &Field<'_>, kind: &str, errors: &mut Errors) {
    if rule.get("verbs").len() == 0 {
        rule.get("verbs").required(errors, "verbs must contain at least one value");
    }
    let urls = rule.get("nonResourceURLs");
    if urls.len() > 0 {
        if kind == "Role" {
            urls.invalid(errors, "namespaced rules cannot apply to non-resource URLs");
        }
        if ["apiGroups", "resources", "resourceNames"].into_iter().any(|name| rule.get(name).len() > 0) {
            urls.invalid(errors, "rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    if rule.get("apiGroups").len() == 0 {
        rule.get("apiGroups").required(errors, "resource rules must supply at least one api group");
    }
    if rule.get("resources").len() == 0 {
        rule.get("resources").required(errors, "resource rules must supply at least one resource");
    }
}

fn role_binding(binding: &Field<'_>, kind: &str, errors: &mut Errors) {
    let role = binding.get("roleRef");
    if role.get("apiGroup").text() != RBAC {
        role.get("apiGroup").unsupported(errors, &[RBAC]);
    }
    let kinds: &[&str] = if kind == "RoleBinding" { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&role.get("kind").text()) {
        role.get("kind").unsupported(errors, kinds);
    }
    let name = role.get("name");
    if name.required_text(errors) {
        name.invalid_each(errors, syntax::path_segment(name.text(), Whole::Name));
    }
    for subject in binding.get("subjects").items() {
        let (name, group) = (subject.get("name"), subject.get("apiGroup"));
        name.required_text(errors);
        match subject.get("kind").text() {
            "ServiceAccount" => {
                if !name.text().is_empty() {
                    name.dns_subdomain(errors);
                }
                if !group.text().is_empty() {
                    group.unsupported(errors, &[""]);
                }
                if kind == "ClusterRoleBinding" && subject.get("namespace").text().is_empty() {
                    subject.get("namespace").required(errors, "");
                }
            }
            "User" | "Group" => {
                if group.text() != RBAC {
                    group.unsupported(errors, &[RBAC]);
                }
            }
            _ => subject.get("kind").unsupported(errors, &["ServiceAccount", "User", "Group"]),
        }
    }
}

fn lease(spec: &Field<'_>, errors: &mut Errors) {
    let duration = spec.get("leaseDurationSeconds");
    if duration.integer().is_some_and(|seconds| seconds <= 0) {
        duration.invalid(errors, "must be greater than 0");
    }
    spec.get("leaseTransitions").nonnegative(errors);
    if !spec.get("preferredHolder").text().is_empty() && spec.get("strategy").text().is_empty() {
        spec.get("preferredHolder").forbidden(errors, "may only be specified if `strategy` is defined");
    }
}

fn budget(spec: &Field<'_>, errors: &mut Errors) {
    let (available, unavailable) = (spec.get("minAvailable"), spec.get("maxUnavailable"));
    if available.is_set() && unavailable.is_set() {
        spec.invalid(errors, "minAvailable and maxUnavailable cannot be both set");
    }
    for field in [available, unavailable] {
        positive_number_or_percent(&field, errors);
        not_more_than_all(&field, errors);
    }
    selector::validate(&spec.get("selector"), errors);
    spec.get("unhealthyPodEvictionPolicy").one_of_if_set(errors, &["AlwaysAllow", "IfHealthyBudget"]);
}

fn ingress(spec: &Field<'_>, errors: &mut Errors) {
    let (rules, backend) = (spec.get("rules"), spec.get("defaultBackend"));
    if rules.len() == 0 && !backend.is_set() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(spec.path(), rules.shown(), detail));
    }
    if backend.is_set() {
        ingress_backend(&backend, errors);
    }
    for rule in rules.items() {
        let host = rule.get("host");
        if host.text().contains('*') {
            host.invalid_each(errors, syntax::wildcard_subdomain(host.text()));
        } else if !host.text().is_empty() {
            host.dns_subdomain(errors);
        }
        let http = rule.get("http");
        if http.is_set() && http.get("paths").len() == 0 {
            http.get("paths").required(errors, "");
        }
        for path in http.get("paths").items() {
            let (kind, text) = (path.get("pathType"), path.get("path"));
            match kind.text() {
                "" => kind.required(errors, "pathType must be specified"),
                "Exact" | "Prefix" => {
                    if !text.text().starts_with('/') {
                        text.invalid(errors, "must be an absolute path");
                    }
                }
                "ImplementationSpecific" => {
                    if !text.text().is_empty() && !text.text().starts_with('/') {
                        text.invalid(errors, "must be an absolute path");
                    }
                }
                _ => kind.unsupported(errors, &["Exact", "ImplementationSpecific", "Prefix"]),
            }
            ingress_backend(&path.get("backend"), errors);
        }
    }
    let class = spec.get("ingressClassName");
    if class.is_set() {
        class.dns_subdomain(errors);
    }
}

fn ingress_backend(backend: &Field<'_>, errors: &mut Errors) {
    let (service, resource) = (backend.get("service"), backend.get("resource"));
    match (service.is_set(), resource.is_set()) {
        (true, true) => backend.invalid(errors, "cannot set both resource and service backends"),
        (false, false) => backend.required(errors, "either `service` or `resource` is required"),
        (false, true) => {}
        (true, false) => {
            let name = service.get("name");
            if name.required_text(errors) {
                name.dns_label(errors);
            }
            let (number, port_name) = (service.path_to(&["port", "number"]), service.path_to(&["port", "name"]));
            match (number.integer(), port_name.is_set()) {
                (None, false) => backend.required(errors, "port name or number is required"),
                (Some(_), true) => backend.invalid(errors, "cannot set both port name & port number"),
                (None, true) => port_name.invalid_each(errors, syntax::port_name(port_name.text())),
                (Some(value), false) => number.invalid_each(errors, syntax::port_number(value)),
            }
        }
    }
}

fn network_policy(spec: &Field<'_>, errors: &mut Errors) {
    selector::validate(&spec.get("podSelector"), errors);
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.get(rules).items() {
            for port in rule.get("ports").items() {
                port.get("protocol").one_of_if_set(errors, &["SCTP", "TCP", "UDP"]);
                if port.get("port").is_set() {
                    port_number_or_name(&port.get("port"), errors);
                }
            }
            for peer in rule.get(peers).items() {
                if peer.len() == 0 {
                    peer.required(errors, "must specify a peer");
                }
                for name in ["podSelector", "namespaceSelector"] {
                    selector::validate(&peer.get(name), errors);
                }
                if peer.get("ipBlock").is_set() && peer.len() > 1 {
                    peer.forbidden(errors, "may not specify both ipBlock and another peer");
                }
            }
        }
    }
    let types = spec.get("policyTypes");
    if types.len() > 2 {
        return types.invalid(errors, "may not specify more than two policyTypes");
    }
    for each in types.items() {
        each.one_of_if_set(errors, &["Egress", "Ingress"]);
    }
}

fn autoscaler(spec: &Field<'_>, errors: &mut Errors) {
    let (least, most) = (spec.get("minReplicas"), spec.get("maxReplicas"));
    if least.integer().is_some_and(|number| number < 1) {
        least.invalid(errors, "must be greater than or equal to 1");
    }
    let most_number = most.integer().unwrap_or_default();
    if most_number < 1 {
        most.invalid(errors, "must be greater than 0");
    }
    if least.integer().is_some_and(|number| most_number < number) {
        most.invalid(errors, "must be greater than or equal to `minReplicas`");
    }
    for name in ["kind", "name"] {
        let field = spec.path_to(&["scaleTargetRef", name]);
        if field.required_text(errors) {
            field.invalid_each(errors, syntax::path_segment(field.text(), Whole::Name));
        }
    }
}

fn priority_class(class: &Field<'_>, errors: &mut Errors) {
    let name = class.path_to(&["metadata", "name"]);
    if name.text().starts_with("system-") && !matches!(name.text(), "system-node-critical" | "system-cluster-critical") {
        let detail = "priority class names with 'system-' prefix are reserved for system use only. error: only \
                      system-cluster-critical and system-node-critical may use it";
        name.forbidden(errors, detail);
    } else if class.get("value").integer().is_some_and(|value| value > 1_000_000_000) && !name.text().starts_with("system-") {
        class.get("value").forbidden(errors, "maximum allowed value of a user defined priority is 1000000000");
    }
    class.get("preemptionPolicy").one_of_if_set(errors, &["Never", "PreemptLowerPriority"]);
}
