//! Containers.

use std::collections::BTreeSet;

use gyre_core::quantity::Quantity;

use crate::status::FieldError;
use crate::validation::field::{Errors, Field};
use crate::validation::syntax;

use super::{port_number_or_name, volume};

pub(super) fn containers(containers: &Field<'_>, volumes: &BTreeSet<&str>, errors: &mut Errors) {
    if containers.len() == 0 {
        return containers.required(errors, "");
    }
    let mut names = BTreeSet::new();
    for container in containers.items() {
        common(&container, volumes, errors);
        let name = container.get("name");
        if !names.insert(name.text()) {
            duplicate_name(&name, errors);
        }
        probes(&container, errors);
        container.get("restartPolicy").one_of_if_set(errors, &["Always", "Never", "OnFailure"]);
    }
    host_port_conflicts(containers, errors);
}

pub(super) fn init_containers(init: &Field<'_>, regular: &Field<'_>, volumes: &BTreeSet<&str>, errors: &mut Errors) {
    let mut names: BTreeSet<&str> = regular.items().map(|container| container.get("name").text()).collect();
    for container in init.items() {
        common(&container, volumes, errors);
        let restart_policy = container.get("restartPolicy");
        restart_policy.one_of_if_set(errors, &["Always", "Never", "OnFailure"]);
        let name = container.get("name");
        if names.contains(name.text()) {
            duplicate_name(&name, errors);
        } else if !name.text().is_empty() {
            names.insert(name.text());
        }
        if restart_policy.text() == "Always" {
            probes(&container, errors);
            continue;
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if container.get(field).is_set() {
                container.get(field).forbidden(errors, "may not be set for init containers without restartPolicy=Always");
            }
        }
    }
}

fn duplicate_name(name: &Field<'_>, errors: &mut Errors) {
    let fault = crate::status::Fault::Duplicate(name.text().into());
    errors.push(FieldError::new(fault, name.path(), ""));
}

fn common(container: &Field<'_>, volumes: &BTreeSet<&str>, errors: &mut Errors) {
    let (name, image) = (container.get("name"), container.get("image"));
    if name.required_text(errors) {
        name.dns_label(errors);
    }
    if image.required_text(errors) && image.text().trim() != image.text() {
        image.invalid(errors, "must not have leading or trailing whitespace");
    }
    container.get("terminationMessagePolicy").one_of(errors, &["File", "FallbackToLogsOnError"]);
    ports(&container.get("ports"), errors);
    environment(&container.get("env"), errors);
    environment_sources(&container.get("envFrom"), errors);
    volume::mounts(container, volumes, errors);
    container.get("imagePullPolicy").one_of(errors, &["Always", "IfNotPresent", "Never"]);
    resources(&container.get("resources"), errors);
}

fn ports(ports: &Field<'_>, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for port in ports.items() {
        let name = port.get("name");
        if !name.text().is_empty() {
            let messages = syntax::port_name(name.text());
            if messages.is_empty() && !names.insert(name.text()) {
                name.duplicate(errors);
            }
            name.invalid_each(errors, messages);
        }
        let number = port.get("containerPort");
        match number.integer().unwrap_or_default() {
            0 => number.required(errors, ""),
            value => number.invalid_each(errors, syntax::port_number(value)),
        }
        let host = port.get("hostPort");
        if let Some(value) = host.integer().filter(|value| *value != 0) {
            host.invalid_each(errors, syntax::port_number(value));
        }
        port.get("protocol").one_of(errors, &["SCTP", "TCP", "UDP"]);
    }
}

fn host_port_conflicts(containers: &Field<'_>, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for container in containers.items() {
        for port in container.get("ports").items() {
            let Some(number) = port.get("hostPort").integer().filter(|number| *number != 0) else { continue };
            let key = format!("{}/{}/{number}", port.get("hostIP").text(), port.get("protocol").text());
            if !taken.insert(key.clone()) {
                let shown = format!("{}/{}/{number}", port.get("protocol").text(), port.get("hostIP").text());
                errors.push(FieldError::new(crate::status::Fault::Duplicate(shown.into()), port.child_path("hostPort"), ""));
            }
        }
    }
}

fn environment(variables: &Field<'_>, errors: &mut Errors) {
    for variable in variables.items() {
        let name = variable.get("name");
        if name.required_text(errors) {
            name.invalid_each(errors, syntax::environment_name(name.text()));
        }
        let source = variable.get("valueFrom");
        if source.is_set() {
            environment_source(&variable, &source, errors);
        }
    }
}

fn environment_source(variable: &Field<'_>, source: &Field<'_>, errors: &mut Errors) {
    for name in ["configMapKeyRef", "secretKeyRef"] {
        if source.get(name).is_set() {
            volume::key_selector(&source.get(name), errors);
        }
    }
    let field = source.get("fieldRef");
    if field.is_set() {
        field_reference(&field, errors);
    }
    let resource = source.path_to(&["resourceFieldRef", "resource"]);
    if source.get("resourceFieldRef").is_set() && resource.text().is_empty() {
        resource.required(errors, "");
    }
    let detail = match source.len() {
        0 => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        _ if !variable.get("value").text().is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(source.path(), "", detail));
}

fn field_reference(reference: &Field<'_>, errors: &mut Errors) {
    const KNOWN: [&str; 9] = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    let (version, path) = (reference.get("apiVersion"), reference.get("fieldPath"));
    if !version.required_text(errors) || !path.required_text(errors) {
        return;
    }
    let subscripted = ["metadata.labels['", "metadata.annotations['"].iter().any(|prefix| path.text().starts_with(prefix));
    if !subscripted && !KNOWN.contains(&path.text()) {
        let top = path.text().split('.').next().unwrap_or_default();
        if matches!(top, "metadata" | "spec" | "status") {
            path.unsupported(errors, &KNOWN);
        } else {
            path.invalid(errors, format!("error converting fieldPath: field label not supported: {}", path.text()));
        }
    }
}

fn environment_sources(sources: &Field<'_>, errors: &mut Errors) {
    for source in sources.items() {
        let prefix = source.get("prefix");
        if !prefix.text().is_empty() {
            prefix.invalid_each(errors, syntax::environment_name(prefix.text()));
        }
        let (config_map, secret) = (source.get("configMapRef"), source.get("secretRef"));
        for reference in [&config_map, &secret].into_iter().filter(|reference| reference.is_set()) {
            reference.get("name").required_text(errors);
        }
        let detail = match (config_map.is_set(), secret.is_set()) {
            (false, false) => "must specify one of: `configMapRef` or `secretRef`",
            (true, true) => "may not have more than one field specified at a time",
            _ => continue,
        };
        errors.push(FieldError::invalid(source.path(), "", detail));
    }
}

fn resources(resources: &Field<'_>, errors: &mut Errors) {
    let (limits, requests) = (resources.get("limits"), resources.get("requests"));
    for list in [&limits, &requests] {
        for (name, amount) in list.entries() {
            resource_name(list, name, errors);
            let Ok(quantity) = Quantity::parse(amount.text()) else { continue };
            if quantity.is_negative() {
                amount.invalid(errors, "must be greater than or equal to 0");
            }
        }
    }
    for (name, request) in requests.entries() {
        let Some(limit) = limits.object().and_then(|limits| limits.get(name)?.as_str()) else { continue };
        let (Ok(requested), Ok(limited)) = (Quantity::parse(request.text()), Quantity::parse(limit)) else { continue };
        if requested > limited {
            // The API server reports the path of all requests.
            request.named(requests.path()).invalid(errors, format!("must be less than or equal to {name} limit of {limit}"));
        }
    }
}

fn resource_name(list: &Field<'_>, name: &str, errors: &mut Errors) {
    let path = format!("{}[{name}]", list.path());
    let messages = syntax::qualified_name(name);
    let good = messages.is_empty();
    errors.extend(messages.into_iter().map(|message| FieldError::invalid(path.clone(), name, message)));
    let standard = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if good && !name.contains('/') && !standard {
        let detail = "must be a standard resource for containers";
        errors.push(FieldError::invalid(path.clone(), name, "must be a standard resource type or fully qualified"));
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn probes(container: &Field<'_>, errors: &mut Errors) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.get(name);
        if !probe.is_set() {
            continue;
        }
        handler(&probe, errors);
        for field in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] {
            probe.get(field).nonnegative(errors);
        }
        let success = probe.get("successThreshold");
        if name != "readinessProbe" && success.integer().is_some_and(|number| number != 1) {
            success.invalid(errors, "must be 1");
        }
    }
    let lifecycle = container.get("lifecycle");
    for name in ["postStart", "preStop"] {
        if lifecycle.get(name).is_set() {
            handler(&lifecycle.get(name), errors);
        }
    }
}

fn handler(of: &Field<'_>, errors: &mut Errors) {
    let names = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let mut set = names.into_iter().map(|name| (name, of.get(name))).filter(|(_, action)| action.is_set());
    let Some((name, action)) = set.next() else { return of.required(errors, "must specify a handler type") };
    match name {
        "exec" if action.get("command").len() == 0 => action.get("command").required(errors, ""),
        "httpGet" => {
            action.get("path").required_text(errors);
            port_number_or_name(&action.get("port"), errors);
            action.get("scheme").one_of_if_set(errors, &["HTTP", "HTTPS"]);
            for header in action.get("httpHeaders").items() {
                header
                    .get("name")
                    .named(action.child_path("httpHeaders"))
                    .invalid_each(errors, syntax::header_name(header.get("name").text()));
            }
        }
        "tcpSocket" => port_number_or_name(&action.get("port"), errors),
        "grpc" => {
            let port = action.get("port").integer().unwrap_or_default();
            let messages = syntax::port_number(port).into_iter();
            errors.extend(messages.map(|message| FieldError::invalid(action.child_path("port"), port, message)));
        }
        _ => {}
    }
    for (_, other) in set {
        other.forbidden(errors, "may not specify more than 1 handler type");
    }
}
