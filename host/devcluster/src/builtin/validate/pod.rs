//! Pods and their templates.

use serde_json::Value;

use crate::status::FieldError;
use crate::validation::field::{Errors, Field};
use crate::validation::{self, syntax};

use super::{container, volume};

/// The mutable fields, as in the API server's message.
const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
                         additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously \
                         negative)";

pub(super) fn validate_create(pod: &Field<'_>, errors: &mut Errors) {
    let spec = pod.get("spec");
    validate_spec(&spec, errors);
    if spec.get("ephemeralContainers").len() > 0 {
        spec.get("ephemeralContainers").forbidden(errors, "cannot be set on create");
    }
    if !spec.get("nodeName").text().is_empty() && spec.get("schedulingGates").len() > 0 {
        spec.get("nodeName").forbidden(errors, "cannot be set until all schedulingGates have been cleared");
    }
}

pub(super) fn template(template: &Field<'_>, errors: &mut Errors) {
    validation::labels(&template.path_to(&["metadata", "labels"]).named(template.child_path("labels")), errors);
    validation::annotations(&template.path_to(&["metadata", "annotations"]).named(template.child_path("annotations")), errors);
    let spec = template.get("spec");
    validate_spec(&spec, errors);
    if spec.get("ephemeralContainers").len() > 0 {
        spec.get("ephemeralContainers").forbidden(errors, "ephemeral containers not allowed in pod template");
    }
}

fn validate_spec(spec: &Field<'_>, errors: &mut Errors) {
    let volumes = volume::volumes(&spec.get("volumes"), errors);
    container::containers(&spec.get("containers"), &volumes, errors);
    container::init_containers(&spec.get("initContainers"), &spec.get("containers"), &volumes, errors);
    spec.get("restartPolicy").one_of(errors, &["Always", "OnFailure", "Never"]);
    spec.get("dnsPolicy").one_of(errors, &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    validation::labels(&spec.get("nodeSelector"), errors);
    for name in ["serviceAccountName", "nodeName", "priorityClassName"] {
        if !spec.get(name).text().is_empty() {
            spec.get(name).dns_subdomain(errors);
        }
    }
    let deadline = spec.get("activeDeadlineSeconds");
    if let Some(number) = deadline.integer() {
        deadline.invalid_each(errors, syntax::in_range(number, 1, i32::MAX.into()));
    }
    for name in ["hostname", "subdomain"] {
        if !spec.get(name).text().is_empty() {
            spec.get(name).dns_label(errors);
        }
    }
    tolerations(&spec.get("tolerations"), errors);
    spec.get("preemptionPolicy").one_of_if_set(errors, &["PreemptLowerPriority", "Never"]);
}

fn tolerations(tolerations: &Field<'_>, errors: &mut Errors) {
    for toleration in tolerations.items() {
        let (key, operator, value) = (toleration.get("key"), toleration.get("operator"), toleration.get("value"));
        if !key.text().is_empty() {
            key.qualified_name(errors);
        } else if operator.text() != "Exists" {
            operator
                .invalid(errors, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
        }
        let effect = toleration.get("effect");
        if toleration.get("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
            effect.invalid(errors, "effect must be 'NoExecute' when `tolerationSeconds` is set");
        }
        match operator.text() {
            "Equal" | "" => value.named(operator.path()).invalid_each(errors, syntax::label_value(value.text())),
            "Exists" if !value.text().is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid(operator.path(), value.text(), detail));
            }
            "Exists" | "Lt" | "Gt" => {}
            _ => operator.unsupported(errors, &["Equal", "Exists"]),
        }
        if !effect.text().is_empty() && !matches!(effect.text(), "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
            effect.unsupported(errors, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        }
    }
}

pub(super) fn validate_update(pod: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    let (spec, before) = (pod.get("spec"), old.get("spec"));
    validate_spec(&spec, errors);
    for list in ["containers", "initContainers"] {
        let (new, old) = (spec.get(list), before.get(list));
        if new.len() != old.len() {
            new.forbidden(errors, "pod updates may not add or remove containers");
            return;
        }
        for image in new.items().map(|container| container.get("image")) {
            image.required_text(errors);
        }
    }
    let (deadline, old_deadline) = (spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"));
    match (deadline.integer(), old_deadline.integer()) {
        (Some(new), Some(old)) if new > old => deadline.invalid(errors, "must be less than or equal to previous value"),
        (None, Some(_)) => deadline.invalid(errors, "must not update from a positive integer to nil value"),
        _ => {}
    }
    let added: Vec<Value> = spec.get("tolerations").items().map(|toleration| toleration.shown()).collect();
    if before.get("tolerations").items().any(|toleration| !added.contains(&toleration.shown())) {
        spec.get("tolerations").forbidden(errors, "existing toleration can not be modified except its tolerationSeconds");
    }
    if allowed(&spec, &before) != before.shown() {
        spec.forbidden(
            errors,
            &format!("pod updates may not change fields other than {UPDATABLE}\n{}", difference(&spec, &before)),
        );
    }
}

/// Returns the new spec with the mutable fields taken from the old one.
fn allowed(spec: &Field<'_>, before: &Field<'_>) -> Value {
    let mut munged = spec.shown();
    for list in ["containers", "initContainers"] {
        let containers = munged.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for (container, old) in containers.zip(before.get(list).items()) {
            if let (Some(container), Some(image)) = (container.as_object_mut(), old.get("image").value()) {
                container.insert("image".to_owned(), image.clone());
            }
        }
    }
    if let Some(munged) = munged.as_object_mut() {
        for name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
            match before.get(name).value() {
                Some(value) => drop(munged.insert(name.to_owned(), value.clone())),
                None => drop(munged.remove(name)),
            }
        }
    }
    munged
}

/// Lists the differing fields, one per line. The real server compares its internal Go types, and
/// prints many more lines.
fn difference(spec: &Field<'_>, before: &Field<'_>) -> String {
    let munged = allowed(spec, before);
    let names = munged.as_object().into_iter().flatten().map(|(name, _)| name);
    let names = names.chain(before.object().into_iter().flatten().map(|(name, _)| name));
    let mut names: Vec<&String> = names.filter(|name| munged.get(*name) != before.get(name).value()).collect();
    names.sort_unstable();
    names.dedup();
    let lines = names.into_iter().map(|name| {
        let shown = |value: Option<&Value>| value.cloned().unwrap_or_default();
        format!("- {name}: {}\n+ {name}: {}\n", shown(before.get(name).value()), shown(munged.get(name)))
    });
    lines.collect()
}

pub(super) fn status(pod: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    let class = pod.path_to(&["status", "qosClass"]);
    class.immutable(errors, &old.path_to(&["status", "qosClass"]));
    let statuses = pod.path_to(&["status", "containerStatuses"]);
    let restart_policy = old.path_to(&["spec", "restartPolicy"]);
    if restart_policy.text() == "Always" {
        return;
    }
    let before: Vec<Field<'_>> = old.path_to(&["status", "containerStatuses"]).items().collect();
    for status in statuses.items() {
        let terminated = status.path_to(&["state", "terminated"]);
        let same = before.iter().find(|old| old.get("name").text() == status.get("name").text());
        let Some(old) = same.map(|old| old.path_to(&["state", "terminated"])).filter(Field::is_set) else { continue };
        let may_restart = restart_policy.text() == "OnFailure" && old.get("exitCode").integer().is_some_and(|code| code != 0);
        if !terminated.is_set() && !may_restart {
            status.get("state").forbidden(errors, "may not be transitioned to non-terminated state");
        }
    }
}
