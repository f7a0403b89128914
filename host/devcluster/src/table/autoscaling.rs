//! The rows of HorizontalPodAutoscalers and Scales.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::read::{first_few, list, number, shown, text};
use crate::object;

const METRICS_SHOWN: usize = 2;

pub(super) fn horizontal_pod_autoscaler(autoscaler: &Value, age: Value) -> Vec<Value> {
    let target = |field| text(autoscaler, field);
    vec![
        object::name(autoscaler).into(),
        format!("{}/{}", target("/spec/scaleTargetRef/kind"), target("/spec/scaleTargetRef/name")).into(),
        metrics(autoscaler).into(),
        shown(autoscaler, "/spec/minReplicas").unwrap_or_else(|| "<unset>".to_owned()).into(),
        number(autoscaler, "/spec/maxReplicas").into(),
        number(autoscaler, "/status/currentReplicas").into(),
        age,
    ]
}

pub(super) fn scale(scale: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        object::name(scale).into(),
        number(scale, "/spec/replicas").into(),
        number(scale, "/status/replicas").into(),
        age::since(Some(object::metadata(scale, "creationTimestamp")), now).into(),
    ]
}

fn metrics(autoscaler: &Value) -> String {
    // v1 has fields for a single metric.
    if let Some(target) = autoscaler.pointer("/spec/targetCPUUtilizationPercentage") {
        let current = autoscaler.pointer("/status/currentCPUUtilizationPercentage");
        let of = |value: &Value| json!({ "averageUtilization": value });
        let spec = json!({ "type": "Resource", "resource": { "name": "cpu", "target": of(target) } });
        let status = json!({ "resource": { "current": current.map(of) } });
        return metric(&spec, Some(&status));
    }
    let statuses = list(autoscaler, "/status/currentMetrics");
    let specs = list(autoscaler, "/spec/metrics").iter().enumerate();
    let metrics: Vec<String> = specs.map(|(index, spec)| metric(spec, statuses.get(index))).collect();
    if metrics.is_empty() {
        return "<none>".to_owned();
    }
    first_few(&metrics, METRICS_SHOWN, ", ")
}

fn metric(spec: &Value, status: Option<&Value>) -> String {
    let source = match text(spec, "/type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let target = |field: &str| shown(spec, &format!("/{source}/target/{field}"));
    let status = status.filter(|status| status.get(source).is_some());
    let current = |field: &str| status.and_then(|status| shown(status, &format!("/{source}/current/{field}")));
    // An absent measured quantity is zero.
    let measured = |field: &str| status.map(|_| current(field).unwrap_or_else(|| "0".to_owned()));
    let unknown = |value: Option<String>| value.unwrap_or_else(|| "<unknown>".to_owned());
    let zero = |value: Option<String>| value.unwrap_or_else(|| "0".to_owned());
    match (source, target("averageValue")) {
        ("external" | "object", Some(target)) => format!("{}/{target} (avg)", unknown(current("averageValue"))),
        ("external" | "object", None) => format!("{}/{}", unknown(measured("value")), zero(target("value"))),
        ("pods", average) => format!("{}/{}", unknown(measured("averageValue")), zero(average)),
        (_, Some(average)) => {
            format!("{}: {}/{average}", text(spec, &format!("/{source}/name")), unknown(measured("averageValue")))
        }
        (_, None) => {
            let percent = |value: Option<String>| value.map(|value| format!("{value}%"));
            let target = percent(target("averageUtilization")).unwrap_or_else(|| "<auto>".to_owned());
            let current = unknown(percent(current("averageUtilization")));
            format!("{}: {current}/{target}", text(spec, &format!("/{source}/name")))
        }
    }
}
