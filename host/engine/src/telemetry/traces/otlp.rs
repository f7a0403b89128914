//! The OpenTelemetry Protocol over HTTP, in JSON:
//! <https://opentelemetry.io/docs/specs/otlp/#otlphttp>.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use kube::{Client, Config};
use opentelemetry::trace::{SpanId, SpanKind, Status};
use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tracing::{info, warn};

use crate::error::error_chain;

const SENT_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Exporter {
    endpoint: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    runtime: Runtime,
    client: Connection,
    resource: serde_json::Value,
    /// Whether the last batch was lost: each series of failures is logged once.
    is_failing: AtomicBool,
}

/// kube's client serves as an HTTP client with the system's certificate authorities.
struct Connection(Client);

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Connection")
    }
}

impl Exporter {
    pub(super) fn new(endpoint: Uri, headers: Vec<(HeaderName, HeaderValue)>) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot set up the sending of traces")?;
        let mut config = Config::new(endpoint.clone());
        config.connect_timeout = Some(SENT_WITHIN);
        config.default_retry = false;
        let client = {
            let _entered = runtime.enter();
            Client::try_from(config).with_context(|| format!("cannot set up the sending of traces to {endpoint}"))?
        };
        let (client, resource, is_failing) = (Connection(client), json!({}), AtomicBool::new(false));
        Ok(Self { endpoint, headers, runtime, client, resource, is_failing })
    }

    fn send(&self, spans: &[SpanData]) -> Result<(), String> {
        let mut request = Request::builder().method(Method::POST).uri("/v1/traces");
        request = request.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let body = encode(&self.resource, spans).to_string().into_bytes();
        let request = request.body(body).map_err(|error| error.to_string())?;
        let sent = async { tokio::time::timeout(SENT_WITHIN, self.client.0.request_text(request)).await };
        match self.runtime.block_on(sent) {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error_chain(&error)),
            Err(_) => Err(format!("no answer within {SENT_WITHIN:?}")),
        }
    }
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.send(&batch);
        let was_failing = self.is_failing.swap(sent.is_err(), Ordering::Relaxed);
        match &sent {
            Ok(()) if was_failing => info!(endpoint = %self.endpoint, "sending traces again"),
            Err(error) if !was_failing => warn!(endpoint = %self.endpoint, error, "cannot send traces; they are dropped"),
            Ok(()) | Err(_) => {}
        }
        sent.map_err(OTelSdkError::InternalFailure)
    }

    fn set_resource(&mut self, resource: &Resource) {
        let attributes = resource.iter().map(|(key, value)| json!({ "key": key.as_str(), "value": any_value(value) }));
        self.resource = json!({ "attributes": attributes.collect::<Vec<_>>() });
    }
}

fn encode(resource: &serde_json::Value, spans: &[SpanData]) -> serde_json::Value {
    let spans: Vec<_> = spans.iter().map(span).collect();
    let scope = json!({ "name": "gyre", "version": env!("CARGO_PKG_VERSION") });
    json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [{ "scope": scope, "spans": spans }] }] })
}

fn span(data: &SpanData) -> serde_json::Value {
    let kind = match data.span_kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
        SpanKind::Producer => 4,
        SpanKind::Consumer => 5,
    };
    let events = data.events.iter().map(|event| {
        json!({
            "timeUnixNano": nanoseconds(event.timestamp), "name": event.name, "attributes": attributes(&event.attributes),
            "droppedAttributesCount": event.dropped_attributes_count,
        })
    });
    let parent = data.parent_span_id;
    json!({
        "traceId": data.span_context.trace_id().to_string(),
        "spanId": data.span_context.span_id().to_string(),
        "parentSpanId": if parent == SpanId::INVALID { String::new() } else { parent.to_string() },
        "name": data.name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds(data.start_time),
        "endTimeUnixNano": nanoseconds(data.end_time),
        "attributes": attributes(&data.attributes),
        "droppedAttributesCount": data.dropped_attributes_count,
        "events": events.collect::<Vec<_>>(),
        "droppedEventsCount": data.events.dropped_count,
        "status": match &data.status {
            Status::Unset => json!({}),
            Status::Ok => json!({ "code": 1 }),
            Status::Error { description } => json!({ "code": 2, "message": description }),
        },
    })
}

/// 64-bit numbers are strings in protobuf's JSON.
fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

fn attributes(attributes: &[KeyValue]) -> Vec<serde_json::Value> {
    let attribute = |KeyValue { key, value, .. }: &KeyValue| json!({ "key": key.as_str(), "value": any_value(value) });
    attributes.iter().map(attribute).collect()
}

fn any_value(value: &Value) -> serde_json::Value {
    let array = |values: Vec<serde_json::Value>| json!({ "arrayValue": { "values": values } });
    match value {
        Value::Bool(value) => json!({ "boolValue": value }),
        Value::I64(value) => json!({ "intValue": value.to_string() }),
        Value::F64(value) => json!({ "doubleValue": value }),
        Value::String(value) => json!({ "stringValue": value.as_str() }),
        Value::Array(Array::Bool(values)) => array(values.iter().map(|value| any_value(&Value::Bool(*value))).collect()),
        Value::Array(Array::I64(values)) => array(values.iter().map(|value| any_value(&Value::I64(*value))).collect()),
        Value::Array(Array::F64(values)) => array(values.iter().map(|value| any_value(&Value::F64(*value))).collect()),
        Value::Array(Array::String(values)) => {
            array(values.iter().map(|value| any_value(&Value::String(value.clone()))).collect())
        }
        other => json!({ "stringValue": other.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use opentelemetry::InstrumentationScope;
    use opentelemetry::trace::{Event, SpanContext, TraceFlags, TraceId, TraceState};
    use opentelemetry_sdk::trace::{SpanEvents, SpanLinks};

    use super::*;

    #[test]
    fn spans_are_written_as_the_protocol_has_them() {
        let at = |nanoseconds| UNIX_EPOCH + Duration::from_nanos(nanoseconds);
        let mut events = SpanEvents::default();
        events.events.push(Event::new("planned", at(1_500), vec![KeyValue::new("count", 2_i64)], 0));
        let (trace, own) = (TraceId::from(0x5b8efff798038103d269b633813fc60c), SpanId::from(0xeee19b7ec3c1b174));
        let data = SpanData {
            span_context: SpanContext::new(trace, own, TraceFlags::SAMPLED, false, TraceState::default()),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: Cow::Borrowed("reconcile"),
            start_time: at(1_000),
            end_time: at(2_000),
            attributes: vec![KeyValue::new("mount", "echo"), KeyValue::new("parts", Value::Array(Array::I64(vec![1])))],
            dropped_attributes_count: 0,
            events,
            links: SpanLinks::default(),
            status: Status::error("no"),
            instrumentation_scope: InstrumentationScope::default(),
        };
        let expected = json!({
            "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "parentSpanId": "",
            "name": "reconcile", "kind": 1, "startTimeUnixNano": "1000", "endTimeUnixNano": "2000",
            "attributes": [
                { "key": "mount", "value": { "stringValue": "echo" } },
                { "key": "parts", "value": { "arrayValue": { "values": [{ "intValue": "1" }] } } },
            ],
            "droppedAttributesCount": 0,
            "events": [{
                "timeUnixNano": "1500", "name": "planned", "attributes": [{ "key": "count", "value": { "intValue": "2" } }],
                "droppedAttributesCount": 0,
            }],
            "droppedEventsCount": 0,
            "status": { "code": 2, "message": "no" },
        });
        let encoded = encode(&json!({ "attributes": [] }), &[data]);
        assert_eq!(encoded["resourceSpans"][0]["scopeSpans"][0]["spans"], json!([expected]));
        assert_eq!(encoded["resourceSpans"][0]["resource"], json!({ "attributes": [] }));
    }
}
