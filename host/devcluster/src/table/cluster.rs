//! The rows of nodes, storage, events, access and others.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::age;
use super::network::name_or_default;
use super::read::{condition, count, filled_or, flag, list, none_if_empty, number, shown, text, text_or};
use crate::object;

pub(super) fn config_map(map: &Value, age: Value) -> Vec<Value> {
    vec![object::name(map).into(), (count(map, "/data") + count(map, "/binaryData")).into(), age]
}

pub(super) fn secret(secret: &Value, age: Value) -> Vec<Value> {
    vec![object::name(secret).into(), text(secret, "/type").into(), count(secret, "/data").into(), age]
}

pub(super) fn texts(object: &Value, paths: &[&str], age: Value) -> Vec<Value> {
    let mut cells = vec![object::name(object).into()];
    cells.extend(paths.iter().map(|path| Value::from(text(object, path))));
    cells.push(age);
    cells
}

pub(super) fn node(node: &Value, age: Value) -> Vec<Value> {
    let mut status = vec![match condition(node, "Ready") {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }];
    if flag(node, "/spec/unschedulable") {
        status.push("SchedulingDisabled");
    }
    let roles: BTreeSet<&str> = object::labels(node)
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None => (key == "kubernetes.io/role").then_some(value),
        })
        .filter(|role| !role.is_empty())
        .collect();
    let address = |kind: &str| {
        let addresses = list(node, "/status/addresses").iter();
        let mut addresses = addresses.filter(|address| text(address, "/type") == kind);
        addresses.next().map_or("<none>", |address| text(address, "/address"))
    };
    let described = |field| filled_or(node, field, "<unknown>");
    let mut kernel = described("/status/nodeInfo/kernelVersion").to_owned();
    match text(node, "/status/nodeInfo/architecture") {
        "" => {}
        architecture => kernel.push_str(&format!(" ({architecture})")),
    }
    vec![
        object::name(node).into(),
        status.join(",").into(),
        none_if_empty(roles.into_iter().collect::<Vec<_>>().join(",")).into(),
        age,
        text(node, "/status/nodeInfo/kubeletVersion").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        described("/status/nodeInfo/osImage").into(),
        kernel.into(),
        described("/status/nodeInfo/containerRuntimeVersion").into(),
    ]
}

pub(super) fn persistent_volume(volume: &Value, age: Value) -> Vec<Value> {
    let claim = match volume.pointer("/spec/claimRef") {
        Some(claim) => format!("{}/{}", text(claim, "/namespace"), text(claim, "/name")),
        None => String::new(),
    };
    vec![
        object::name(volume).into(),
        shown(volume, "/spec/capacity/storage").unwrap_or_else(|| "0".to_owned()).into(),
        access_modes(volume, "/spec/accessModes").into(),
        text(volume, "/spec/persistentVolumeReclaimPolicy").into(),
        phase(volume).into(),
        claim.into(),
        storage_class(volume).into(),
        text_or(volume, "/spec/volumeAttributesClassName", "<unset>").into(),
        text(volume, "/status/reason").into(),
        age,
        text_or(volume, "/spec/volumeMode", "<unset>").into(),
    ]
}

pub(super) fn persistent_volume_claim(claim: &Value, age: Value) -> Vec<Value> {
    let (capacity, modes) = match text(claim, "/spec/volumeName") {
        "" => (String::new(), String::new()),
        _ => (
            shown(claim, "/status/capacity/storage").unwrap_or_else(|| "0".to_owned()),
            access_modes(claim, "/status/accessModes"),
        ),
    };
    vec![
        object::name(claim).into(),
        phase(claim).into(),
        text(claim, "/spec/volumeName").into(),
        capacity.into(),
        modes.into(),
        storage_class(claim).into(),
        text_or(claim, "/spec/volumeAttributesClassName", "<unset>").into(),
        age,
        text_or(claim, "/spec/volumeMode", "<unset>").into(),
    ]
}

fn phase(volume: &Value) -> &str {
    if object::is_deleting(volume) { "Terminating" } else { text(volume, "/status/phase") }
}

fn storage_class(volume: &Value) -> &str {
    let annotation = "/metadata/annotations/volume.beta.kubernetes.io~1storage-class";
    text_or(volume, annotation, text(volume, "/spec/storageClassName"))
}

fn access_modes(volume: &Value, path: &str) -> String {
    let modes = [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let has = |mode: &str| list(volume, path).iter().any(|value| value.as_str() == Some(mode));
    modes.into_iter().filter(|(mode, _)| has(mode)).map(|(_, short)| short).collect::<Vec<_>>().join(",")
}

struct EventFields {
    object: &'static str,
    message: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
    source: &'static str,
    controller: &'static str,
}

const CORE_EVENT: EventFields = EventFields {
    object: "/involvedObject",
    message: "/message",
    first: "/firstTimestamp",
    last: "/lastTimestamp",
    count: "/count",
    source: "/source",
    controller: "/reportingComponent",
};

const EVENT: EventFields = EventFields {
    object: "/regarding",
    message: "/note",
    first: "/deprecatedFirstTimestamp",
    last: "/deprecatedLastTimestamp",
    count: "/deprecatedCount",
    source: "/deprecatedSource",
    controller: "/reportingController",
};

pub(super) fn event(event: &Value, group: &str, now: Timestamp) -> Vec<Value> {
    let fields = if group.is_empty() { CORE_EVENT } else { EVENT };
    let time = |path| event.pointer(path).and_then(Value::as_str);
    let first = age::since(time(fields.first).or_else(|| time("/eventTime")), now);
    let mut last = time(fields.last).map_or_else(|| first.clone(), |last| age::since(Some(last), now));
    let mut count = number(event, fields.count).max(1);
    if event.get("series").is_some_and(|series| !series.is_null()) {
        last = age::since(time("/series/lastObservedTime"), now);
        count = number(event, "/series/count");
    }
    let object = event.pointer(fields.object).unwrap_or(&Value::Null);
    let mut target = text(object, "/kind").to_lowercase();
    if !text(object, "/name").is_empty() {
        target = format!("{target}/{}", text(object, "/name"));
    }
    let source = event.pointer(fields.source).unwrap_or(&Value::Null);
    let component = filled_or(source, "/component", text(event, fields.controller));
    let source = match filled_or(source, "/host", text(event, "/reportingInstance")) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    };
    vec![
        last.into(),
        text(event, "/type").into(),
        text(event, "/reason").into(),
        target.into(),
        text(object, "/fieldPath").into(),
        source.into(),
        text(event, fields.message).trim().into(),
        first.into(),
        count.into(),
        object::name(event).into(),
    ]
}

pub(super) fn role_binding(binding: &Value, age: Value) -> Vec<Value> {
    let subjects = |kind: &str| {
        let subjects = list(binding, "/subjects").iter().filter(|subject| text(subject, "/kind") == kind);
        let names = subjects.map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", text(subject, "/namespace"), text(subject, "/name")),
            _ => text(subject, "/name").to_owned(),
        });
        Value::from(names.collect::<Vec<_>>().join(", "))
    };
    vec![
        object::name(binding).into(),
        format!("{}/{}", text(binding, "/roleRef/kind"), text(binding, "/roleRef/name")).into(),
        age,
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

pub(super) fn resource_quota(quota: &Value, age: Value) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let hard = quota.pointer("/status/hard").and_then(Value::as_object);
    let mut names: Vec<&String> = hard.into_iter().flat_map(|hard| hard.keys()).collect();
    names.sort();
    for name in names {
        let amount = |field: &str| {
            let amounts = quota.get("status").and_then(|status| status.get(field));
            amounts.and_then(|amounts| shown(amounts, &format!("/{}", name.replace('~', "~0").replace('/', "~1"))))
        };
        let [used, hard] = ["used", "hard"].map(|field| amount(field).unwrap_or_else(|| "0".to_owned()));
        let column = if name.starts_with("limits.") { &mut limits } else { &mut requests };
        column.push(format!("{name}: {used}/{hard}"));
    }
    vec![object::name(quota).into(), requests.join(", ").into(), limits.join(", ").into(), age]
}

pub(super) fn priority_class(class: &Value, age: Value) -> Vec<Value> {
    vec![
        object::name(class).into(),
        number(class, "/value").into(),
        flag(class, "/globalDefault").into(),
        age,
        text(class, "/preemptionPolicy").into(),
    ]
}

pub(super) fn storage_class_row(class: &Value, age: Value) -> Vec<Value> {
    let annotations = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    vec![
        name_or_default(class, &annotations).into(),
        text(class, "/provisioner").into(),
        text_or(class, "/reclaimPolicy", "Delete").into(),
        text_or(class, "/volumeBindingMode", "Immediate").into(),
        flag(class, "/allowVolumeExpansion").into(),
        age,
    ]
}

pub(super) fn csi_driver(driver: &Value, age: Value) -> Vec<Value> {
    let joined = |texts: Vec<&str>| texts.join(",");
    let modes = list(driver, "/spec/volumeLifecycleModes").iter().filter_map(Value::as_str).collect();
    let audiences = match driver.pointer("/spec/tokenRequests").and_then(Value::as_array) {
        Some(requests) => joined(requests.iter().map(|request| text(request, "/audience")).collect()),
        None => "<unset>".to_owned(),
    };
    vec![
        object::name(driver).into(),
        driver.pointer("/spec/attachRequired").and_then(Value::as_bool).unwrap_or(true).into(),
        flag(driver, "/spec/podInfoOnMount").into(),
        flag(driver, "/spec/storageCapacity").into(),
        audiences.into(),
        flag(driver, "/spec/requiresRepublish").into(),
        none_if_empty(joined(modes)).into(),
        age,
    ]
}

pub(super) fn volume_attachment(attachment: &Value, age: Value) -> Vec<Value> {
    vec![
        object::name(attachment).into(),
        text(attachment, "/spec/attacher").into(),
        text(attachment, "/spec/source/persistentVolumeName").into(),
        text(attachment, "/spec/nodeName").into(),
        flag(attachment, "/status/attached").into(),
        age,
    ]
}

pub(super) fn signing_request(request: &Value, age: Value) -> Vec<Value> {
    let has = |kind: &str| list(request, "/status/conditions").iter().any(|condition| text(condition, "/type") == kind);
    let mut condition = match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    }
    .to_owned();
    if has("Failed") {
        condition.push_str(",Failed");
    }
    if !text(request, "/status/certificate").is_empty() {
        condition.push_str(",Issued");
    }
    let duration = request.pointer("/spec/expirationSeconds").and_then(Value::as_i64);
    vec![
        object::name(request).into(),
        age,
        filled_or(request, "/spec/signerName", "<none>").into(),
        text(request, "/spec/username").into(),
        duration.map_or_else(|| "<none>".to_owned(), |seconds| age::human(SignedDuration::from_secs(seconds))).into(),
        condition.into(),
    ]
}
