//! Conversion between versions. Two built-in kinds have several: Event (the core group and
//! `events.k8s.io`) and HorizontalPodAutoscaler.

use serde_json::{Map, Value, json};

use super::settle;
use crate::kinds::Kind;

const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(crate) fn convert(value: &Value, from: &Kind, to: &Kind) -> Value {
    let mut converted = value.clone();
    let Some(object) = converted.as_object_mut() else { return converted };
    match (from.group(), to.group(), &*to.kind) {
        ("", "events.k8s.io", "Event") => rename(object, EVENT_FIELDS),
        ("events.k8s.io", "", "Event") => rename(object, EVENT_FIELDS.map(|(core, events)| (events, core))),
        ("autoscaling", "autoscaling", "HorizontalPodAutoscaler") => match (&*from.version, &*to.version) {
            ("v1", "v2") => autoscaler_to_v2(object),
            ("v2", "v1") => autoscaler_to_v1(object),
            _ => {}
        },
        _ => {}
    }
    object.insert("apiVersion".to_owned(), Value::from(to.api_version()));
    object.insert("kind".to_owned(), Value::from(&*to.kind));
    settle(to, &mut converted);
    converted
}

fn rename(object: &mut Map<String, Value>, names: [(&str, &str); 7]) {
    for (from, to) in names {
        if let Some(value) = object.remove(from) {
            object.insert(to.to_owned(), value);
        }
    }
}

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";

/// In v1, the target CPU utilization is a field, and other metrics are in an annotation.
fn autoscaler_to_v1(object: &mut Map<String, Value>) {
    let mut others = Vec::new();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let metrics = spec.remove("metrics").and_then(|metrics| metrics.as_array().cloned()).unwrap_or_default();
        for metric in metrics {
            let resource = metric.get("resource");
            let is_processor = resource.and_then(|resource| resource.get("name")).and_then(Value::as_str) == Some("cpu");
            let target = resource.and_then(|resource| resource.get("target")?.get("averageUtilization")).cloned();
            match target {
                Some(target) if is_processor => drop(spec.insert("targetCPUUtilizationPercentage".to_owned(), target)),
                _ => others.push(metric),
            }
        }
        spec.remove("behavior");
    }
    if !others.is_empty()
        && let Some(metadata) = object.entry("metadata").or_insert_with(|| json!({})).as_object_mut()
        && let Some(annotations) = metadata.entry("annotations").or_insert_with(|| json!({})).as_object_mut()
    {
        annotations.insert(METRICS.to_owned(), Value::from(Value::Array(others).to_string()));
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("currentMetrics");
        status.remove("conditions");
        status.entry("currentReplicas").or_insert_with(|| json!(0));
        status.entry("desiredReplicas").or_insert_with(|| json!(0));
    }
}

fn autoscaler_to_v2(object: &mut Map<String, Value>) {
    let annotations =
        object.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations")).and_then(Value::as_object_mut);
    let others = annotations.and_then(|annotations| annotations.remove(METRICS));
    let others = others.and_then(|text| serde_json::from_str::<Vec<Value>>(text.as_str()?).ok()).unwrap_or_default();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let mut metrics = others;
        if let Some(target) = spec.remove("targetCPUUtilizationPercentage") {
            let resource = json!({ "name": "cpu", "target": { "type": "Utilization", "averageUtilization": target } });
            metrics.insert(0, json!({ "type": "Resource", "resource": resource }));
        }
        if !metrics.is_empty() {
            spec.insert("metrics".to_owned(), Value::Array(metrics));
        }
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("currentCPUUtilizationPercentage");
        status.entry("currentMetrics").or_insert(Value::Null);
    }
}
