//! ConfigMaps, Secrets, Namespaces, Events and PersistentVolumeClaims.

use gyre_core::quantity::Quantity;
use serde_json::Value;

use crate::builtin::base64;
use crate::status::FieldError;
use crate::validation::field::{Errors, Field};
use crate::validation::{selector, syntax};

/// `MaxSecretSize`: the maximum size of all values of a ConfigMap or Secret, in bytes.
const DATA_LIMIT: usize = 1024 * 1024;

pub(super) fn config_map(config_map: &Field<'_>, errors: &mut Errors) {
    let (data, binary) = (config_map.get("data"), config_map.get("binaryData"));
    let mut size = 0;
    for (key, value) in data.entries() {
        let named = |message: String| FieldError::invalid(value.path(), key, message);
        errors.extend(syntax::config_key(key).into_iter().map(named));
        if binary.object().is_some_and(|binary| binary.contains_key(key)) {
            errors.push(named("duplicate of key present in binaryData".to_owned()));
        }
        size += value.text().len();
    }
    for (key, value) in binary.entries() {
        errors.extend(syntax::config_key(key).into_iter().map(|message| FieldError::invalid(value.path(), key, message)));
        size += decoded_length(&value);
    }
    if size > DATA_LIMIT {
        Field::at(None, "[]").too_long(errors, DATA_LIMIT);
    }
}

fn decoded_length(value: &Field<'_>) -> usize {
    base64::decode(value.text()).map_or(0, |bytes| bytes.len())
}

pub(super) fn secret(secret: &Field<'_>, errors: &mut Errors) {
    let data = secret.get("data");
    let mut size = 0;
    for (key, value) in data.entries() {
        errors.extend(syntax::config_key(key).into_iter().map(|message| FieldError::invalid(value.path(), key, message)));
        size += decoded_length(&value);
    }
    if size > DATA_LIMIT {
        data.too_long(errors, DATA_LIMIT);
    }
    let bytes = |key: &str| data.object().and_then(|data| data.get(key)?.as_str()).and_then(base64::decode);
    let required = |errors: &mut Errors, key: &str| errors.push(FieldError::required(format!("data[{key}]"), ""));
    match secret.get("type").text() {
        "kubernetes.io/service-account-token" => {
            let annotations = secret.path_to(&["metadata", "annotations"]);
            let name = "kubernetes.io/service-account.name";
            if annotations.object().and_then(|annotations| annotations.get(name)?.as_str()).unwrap_or_default().is_empty() {
                errors.push(FieldError::required(format!("metadata.annotations[{name}]"), ""));
            }
        }
        kind @ ("kubernetes.io/dockercfg" | "kubernetes.io/dockerconfigjson") => {
            let key = if kind.ends_with("json") { ".dockerconfigjson" } else { ".dockercfg" };
            match bytes(key).map(|bytes| serde_json::from_slice::<serde_json::Map<String, Value>>(&bytes)) {
                None => required(errors, key),
                Some(Err(_)) => {
                    let detail = "invalid character looking for beginning of value";
                    errors.push(FieldError::invalid(format!("data[{key}]"), "<secret contents redacted>", detail));
                }
                Some(Ok(_)) => {}
            }
        }
        "kubernetes.io/basic-auth" if bytes("username").is_none() && bytes("password").is_none() => {
            required(errors, "username");
            required(errors, "password");
        }
        "kubernetes.io/ssh-auth" if bytes("ssh-privatekey").unwrap_or_default().is_empty() => {
            required(errors, "ssh-privatekey")
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if bytes(key).is_none() {
                    required(errors, key);
                }
            }
        }
        _ => {}
    }
}

pub(super) fn immutable_data(new: &Field<'_>, old: &Field<'_>, fields: &[&str], errors: &mut Errors) {
    if !old.get("immutable").is_true() {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if !new.get("immutable").is_true() {
        new.get("immutable").forbidden(errors, detail);
    }
    for name in fields {
        if new.get(name).value() != old.get(name).value() {
            new.get(name).forbidden(errors, detail);
        }
    }
}

pub(super) fn namespace(namespace: &Field<'_>, errors: &mut Errors) {
    let finalizers = namespace.path_to(&["spec", "finalizers"]);
    for finalizer in finalizers.items() {
        let finalizer = finalizer.named(finalizers.path());
        let messages = syntax::qualified_name(finalizer.text());
        let good = messages.is_empty();
        finalizer.invalid_each(errors, messages);
        if good
            && !finalizer.text().contains('/')
            && !matches!(finalizer.text(), "kubernetes" | "orphan" | "foregroundDeletion")
        {
            finalizer.invalid(errors, "name is neither a standard finalizer name nor is it fully qualified");
        }
    }
}

/// The field names of an event in one of the two groups.
struct EventNames {
    involved: &'static str,
    controller: &'static str,
}

/// `legacyValidateEvent` for the core group.
pub(super) fn event(event: &Field<'_>, errors: &mut Errors) {
    any_event(event, &EventNames { involved: "involvedObject", controller: "reportingComponent" }, errors);
}

fn any_event(event: &Field<'_>, names: &EventNames, errors: &mut Errors) {
    let namespace = event.path_to(&["metadata", "namespace"]);
    let involved = event.path_to(&[names.involved, "namespace"]);
    let mismatch = |errors: &mut Errors| {
        errors.push(FieldError::invalid("involvedObject.namespace", involved.text(), "does not match event.namespace"));
    };
    if event.get("eventTime").is_set() {
        if involved.text().is_empty() && !matches!(namespace.text(), "default" | "kube-system") {
            mismatch(errors);
        }
        let controller = event.get(names.controller);
        controller.required_text(errors);
        errors.extend(
            syntax::qualified_name(controller.text())
                .into_iter()
                .map(|message| FieldError::invalid(controller.path(), controller.text(), message)),
        );
        for (name, limit) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
            let field = event.get(name);
            field.required_text(errors);
            if field.text().len() > limit {
                errors.push(FieldError::invalid(field.path(), "", format!("can have at most {limit} characters")));
            }
        }
        let message = [event.get("message"), event.get("note")].into_iter().map(|field| field.text().len()).max();
        if message.is_some_and(|length| length > 1024) {
            errors.push(FieldError::invalid("message", "", "can have at most 1024 characters"));
        }
    } else {
        let agrees = match involved.text() {
            "" => matches!(namespace.text(), "" | "default"),
            involved => namespace.text() == involved,
        };
        if !agrees {
            mismatch(errors);
        }
    }
    namespace.named("namespace").dns_subdomain(errors);
}

/// `ValidateEventCreate` for `events.k8s.io`, which is stricter.
pub(super) fn new_event(event: &Field<'_>, errors: &mut Errors) {
    any_event(event, &EventNames { involved: "regarding", controller: "reportingController" }, errors);
    if !event.get("eventTime").is_set() {
        event.get("eventTime").required(errors, "");
    }
    let kind = event.get("type").text();
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", "", format!("has invalid value: {kind}")));
    }
    let unset = [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ];
    for (name, shown) in unset {
        if event.get(name).is_set() {
            errors.push(FieldError::invalid(shown, "", "needs to be unset"));
        }
    }
    if event.get("deprecatedSource").len() > 0 {
        errors.push(FieldError::invalid("source", "", "needs to be unset"));
    }
}

/// `ValidateEventUpdate` for `events.k8s.io`.
pub(super) fn new_event_update(new: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    any_event(new, &EventNames { involved: "regarding", controller: "reportingController" }, errors);
    let names = [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ];
    for (name, shown) in names {
        new.get(name).named(shown).immutable(errors, &old.get(name));
    }
}

pub(super) fn claim(spec: &Field<'_>, errors: &mut Errors) {
    const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    let modes = spec.get("accessModes");
    if modes.len() == 0 {
        modes.required(errors, "at least 1 access mode is required");
    }
    if spec.get("selector").is_set() {
        selector::validate(&spec.get("selector"), errors);
    }
    for mode in modes.items().filter(|mode| !MODES.contains(&mode.text())) {
        mode.named(modes.path()).unsupported(errors, &MODES);
    }
    let is_exclusive = modes.items().any(|mode| mode.text() == "ReadWriteOncePod");
    if is_exclusive && modes.items().any(|mode| mode.text() != "ReadWriteOncePod" && MODES.contains(&mode.text())) {
        modes.forbidden(errors, "may not use ReadWriteOncePod with other access modes");
    }
    let storage =
        spec.path_to(&["resources", "requests", "storage"]).named(format!("{}[storage]", spec.child_path("resources")));
    match Quantity::parse(storage.text()) {
        _ if !storage.is_set() => storage.required(errors, ""),
        Ok(amount) if amount.is_negative() || amount.canonical() == "0" => storage.invalid(errors, "must be greater than zero"),
        _ => {}
    }
    if !spec.get("storageClassName").text().is_empty() {
        spec.get("storageClassName").dns_subdomain(errors);
    }
    spec.get("volumeMode").one_of_if_set(errors, &["Block", "Filesystem"]);
}

pub(super) fn claim_update(new: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    claim(&new.get("spec"), errors);
    let fixed = |object: &Field<'_>| {
        let mut spec = object.get("spec").shown();
        if let Some(spec) = spec.as_object_mut() {
            for name in
                ["resources", "volumeAttributesClassName", "volumeName", "storageClassName", "dataSource", "dataSourceRef"]
            {
                spec.remove(name);
            }
        }
        spec
    };
    let given = |name: &str| old.path_to(&["spec", name]);
    let renamed = ["volumeName", "storageClassName"]
        .into_iter()
        .any(|name| given(name).is_set() && given(name).value() != new.path_to(&["spec", name]).value());
    if fixed(new) != fixed(old) || renamed {
        let detail =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        new.get("spec").forbidden(errors, detail);
    }
    let amount =
        |object: &Field<'_>| Quantity::parse(object.path_to(&["spec", "resources", "requests", "storage"]).text()).ok();
    if let (Some(new_amount), Some(old_amount)) = (amount(new), amount(old))
        && new_amount < old_amount
    {
        let path = "spec.resources.requests.storage";
        errors.push(FieldError::forbidden(path, "field can not be less than status.capacity"));
    }
}
