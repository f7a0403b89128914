//! The group `apps`, and ReplicationControllers.

use serde_json::Value;

use crate::status::FieldError;
use crate::validation::field::{Errors, Field};
use crate::validation::selector;

use super::{not_more_than_all, number_or_percent, pod, positive_number_or_percent};

pub(super) fn deployment(spec: &Field<'_>, errors: &mut Errors) {
    spec.get("replicas").nonnegative(errors);
    selector_and_template(spec, "deployment", "invalid label selector", errors);
    let strategy = spec.get("strategy");
    match strategy.get("type").text() {
        "Recreate" => {
            if strategy.get("rollingUpdate").is_set() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                strategy.get("rollingUpdate").forbidden(errors, detail);
            }
        }
        "RollingUpdate" => rolling_update(&strategy.get("rollingUpdate"), errors),
        _ => strategy.unsupported(errors, &["Recreate", "RollingUpdate"]),
    }
    for name in ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
        spec.get(name).nonnegative(errors);
    }
    let deadline = spec.get("progressDeadlineSeconds");
    if deadline.integer().is_some_and(|seconds| seconds <= spec.get("minReadySeconds").integer().unwrap_or_default()) {
        deadline.invalid(errors, "must be greater than minReadySeconds");
    }
}

fn rolling_update(update: &Field<'_>, errors: &mut Errors) {
    let (unavailable, surge) = (update.get("maxUnavailable"), update.get("maxSurge"));
    positive_number_or_percent(&unavailable, errors);
    positive_number_or_percent(&surge, errors);
    if number_or_percent(&unavailable) == 0 && number_or_percent(&surge) == 0 {
        unavailable.invalid(errors, "may not be 0 when `maxSurge` is 0");
    }
    not_more_than_all(&unavailable, errors);
}

pub(super) fn replica_set(spec: &Field<'_>, errors: &mut Errors) {
    spec.get("replicas").nonnegative(errors);
    spec.get("minReadySeconds").nonnegative(errors);
    selector_and_template(spec, "deployment", "invalid label selector", errors);
}

pub(super) fn replication_controller(spec: &Field<'_>, errors: &mut Errors) {
    spec.get("minReadySeconds").nonnegative(errors);
    let selected = spec.get("selector");
    if selected.len() == 0 {
        selected.required(errors, "");
    }
    spec.get("replicas").nonnegative(errors);
    let template = spec.get("template");
    if !template.is_set() {
        return template.required(errors, "");
    }
    let labels = template.path_to(&["metadata", "labels"]);
    let matches = selected
        .object()
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.object().and_then(|labels| labels.get(key)) == Some(value));
    if !matches {
        labels.invalid(errors, "`selector` does not match template `labels`");
    }
    pod::template(&template, errors);
    restart_policy_is_always(&template, errors);
}

pub(super) fn daemon_set(spec: &Field<'_>, errors: &mut Errors) {
    selector_of(spec, "daemonset", errors);
    let labels = spec.path_to(&["template", "metadata", "labels"]);
    if selector::selects(&spec.get("selector"), labels.object()) == Some(false) {
        labels.invalid(errors, "`selector` does not match template `labels`");
    }
    let template = spec.get("template");
    pod::template(&template, errors);
    restart_policy_is_always(&template, errors);
    no_deadline(&template, "DaemonSet", errors);
    for name in ["minReadySeconds", "revisionHistoryLimit"] {
        spec.get(name).nonnegative(errors);
    }
    let strategy = spec.get("updateStrategy");
    match strategy.get("type").text() {
        "OnDelete" => {}
        "RollingUpdate" => {
            let update = strategy.get("rollingUpdate");
            let (unavailable, surge) = (update.get("maxUnavailable"), update.get("maxSurge"));
            for field in [&unavailable, &surge] {
                positive_number_or_percent(field, errors);
                not_more_than_all(field, errors);
            }
            match (number_or_percent(&unavailable) != 0, number_or_percent(&surge) != 0) {
                (true, true) => surge.invalid(errors, "may not be set when maxUnavailable is non-zero"),
                (false, false) => unavailable.required(errors, "cannot be 0 when maxSurge is 0"),
                _ => {}
            }
        }
        _ => strategy.unsupported(errors, &["RollingUpdate", "OnDelete"]),
    }
}

pub(super) fn stateful_set(spec: &Field<'_>, errors: &mut Errors) {
    let policy = spec.get("podManagementPolicy");
    match policy.text() {
        "" => policy.required(errors, ""),
        "OrderedReady" | "Parallel" => {}
        _ => policy.invalid(errors, "must be 'OrderedReady' or 'Parallel'"),
    }
    let strategy = spec.get("updateStrategy");
    let update = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "" => strategy.required(errors, ""),
        "OnDelete" if update.is_set() => update.invalid(errors, "only allowed for updateStrategy 'RollingUpdate'"),
        "OnDelete" => {}
        "RollingUpdate" => update.get("partition").nonnegative(errors),
        _ => strategy.invalid(errors, "must be 'RollingUpdate' or 'OnDelete'"),
    }
    for name in ["whenDeleted", "whenScaled"] {
        let policy = spec.path_to(&["persistentVolumeClaimRetentionPolicy", name]);
        policy.one_of_if_set(errors, &["Retain", "Delete"]);
    }
    for name in ["replicas", "minReadySeconds"] {
        spec.get(name).nonnegative(errors);
    }
    if !spec.get("serviceName").text().is_empty() {
        spec.get("serviceName").dns_label(errors);
    }
    for claim in spec.get("volumeClaimTemplates").items() {
        super::core::claim(&claim.get("spec"), errors);
    }
    selector_of(spec, "statefulset", errors);
    let labels = spec.path_to(&["template", "metadata", "labels"]);
    match selector::selects(&spec.get("selector"), labels.object()) {
        None => spec.get("selector").invalid(errors, ""),
        Some(false) => labels.invalid(errors, "`selector` does not match template `labels`"),
        Some(true) => {}
    }
    // Claims become volumes of the Pods, so volume mounts may name them.
    let mut template = spec.get("template").shown();
    let claims = spec.get("volumeClaimTemplates").items().map(|claim| claim.path_to(&["metadata", "name"]).shown());
    let claims: Vec<Value> = claims.collect();
    if !claims.is_empty()
        && let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut)
        && let Some(volumes) = spec.entry("volumes").or_insert_with(|| serde_json::json!([])).as_array_mut()
    {
        volumes.retain(|volume| !volume.get("name").is_some_and(|name| claims.contains(name)));
        let made =
            claims.iter().map(|name| serde_json::json!({ "name": name, "persistentVolumeClaim": { "claimName": name } }));
        volumes.splice(0..0, made);
    }
    let template = Field::at(Some(&template), spec.child_path("template"));
    pod::template(&template, errors);
    restart_policy_is_always(&template, errors);
    no_deadline(&template, "StatefulSet", errors);
}

pub(super) fn stateful_set_update(object: &Value, old: &Value, errors: &mut Errors) {
    const MUTABLE: [&str; 7] = [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ];
    let fixed = |object: &Value| {
        let mut spec = object.get("spec").cloned().unwrap_or_default();
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|name, _| !MUTABLE.contains(&name.as_str()));
        }
        spec
    };
    if fixed(object) != fixed(old) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
                      'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        errors.push(FieldError::forbidden("spec", detail));
    }
}

pub(super) fn controller_revision(revision: &Field<'_>, errors: &mut Errors) {
    revision.get("revision").nonnegative(errors);
    let data = revision.get("data");
    match data.value() {
        None => data.required(errors, "data is mandatory"),
        Some(Value::Object(_)) => {}
        Some(_) => data.required(errors, "data must be a valid JSON object"),
    }
}

pub(super) fn status(object: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    let status = object.get("status");
    let counters = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "currentReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "fullyLabeledReplicas",
        "terminatingReplicas",
        "collisionCount",
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
    ];
    for name in counters {
        status.get(name).nonnegative(errors);
    }
    let number = |name: &str| status.get(name).integer().unwrap_or_default();
    for name in ["fullyLabeledReplicas", "updatedReplicas", "readyReplicas", "currentReplicas", "availableReplicas"] {
        if number(name) > number("replicas") {
            status.get(name).invalid(errors, "cannot be greater than status.replicas");
        }
    }
    if number("availableReplicas") > number("readyReplicas") {
        status.get("availableReplicas").invalid(errors, "cannot be greater than readyReplicas");
    }
    let before = old.path_to(&["status", "collisionCount"]).integer();
    if before.is_some_and(|before| before > number("collisionCount")) {
        let shown = number("collisionCount");
        errors.push(FieldError::invalid(status.child_path("collisionCount"), shown, "cannot be decremented"));
    }
}

fn selector_of(spec: &Field<'_>, kind: &str, errors: &mut Errors) {
    let selected = spec.get("selector");
    if !selected.is_set() {
        return selected.required(errors, "");
    }
    selector::validate(&selected, errors);
    if selected.get("matchLabels").len() + selected.get("matchExpressions").len() == 0 {
        selected.invalid(errors, format!("empty selector is invalid for {kind}"));
    }
}

fn selector_and_template(spec: &Field<'_>, kind: &str, unreadable: &str, errors: &mut Errors) {
    selector_of(spec, kind, errors);
    let template = spec.get("template");
    let labels = template.path_to(&["metadata", "labels"]);
    let selected = spec.get("selector");
    match selector::selects(&selected, labels.object()) {
        None => return selected.invalid(errors, unreadable),
        // An absent selector selects nothing; the API server reports that, too.
        Some(false) => labels.invalid(errors, "`selector` does not match template `labels`"),
        Some(true) => {}
    }
    pod::template(&template, errors);
    restart_policy_is_always(&template, errors);
    no_deadline(&template, "ReplicaSet", errors);
}

fn restart_policy_is_always(template: &Field<'_>, errors: &mut Errors) {
    let policy = template.path_to(&["spec", "restartPolicy"]);
    if policy.text() != "Always" {
        policy.unsupported(errors, &["Always"]);
    }
}

fn no_deadline(template: &Field<'_>, kind: &str, errors: &mut Errors) {
    let deadline = template.path_to(&["spec", "activeDeadlineSeconds"]);
    if deadline.is_set() {
        deadline.forbidden(errors, &format!("activeDeadlineSeconds in {kind} is not Supported"));
    }
}
