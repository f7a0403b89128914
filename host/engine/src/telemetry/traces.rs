//! Traces: each reconcile is a span with its log lines, sent to an OpenTelemetry collector.
//!
//! ```text
//!   tracing ─▶ layer ─▶ the SDK's batches ─▶ otlp (JSON) ─▶ POST /v1/traces
//! ```
//!
//! Optional. If the collector does not answer, spans are dropped once the SDK's queue is full;
//! reconciles never wait.

mod otlp;

use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use otlp::Exporter;

const FLUSHED_WITHIN: Duration = Duration::from_secs(3);

/// An exporter of traces. It sends the last ones when it is dropped.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Drop for Traces {
    fn drop(&mut self) {
        let _ = self.0.shutdown_with_timeout(FLUSHED_WITHIN);
    }
}

impl Traces {
    /// An exporter to a collector. Fails if the connections cannot be set up.
    pub fn to(endpoint: Uri, headers: Vec<(HeaderName, HeaderValue)>, instance: &str) -> anyhow::Result<Self> {
        let mut resource = Resource::builder().with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", instance.to_owned()),
        ]);
        if std::env::var_os("OTEL_SERVICE_NAME").is_none_or(|name| name.is_empty()) {
            resource = resource.with_service_name("gyre");
        }
        let exporter = Exporter::new(endpoint, headers)?;
        Ok(Self(SdkTracerProvider::builder().with_resource(resource.build()).with_batch_exporter(exporter).build()))
    }

    /// Independent of the log filter.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        let what = Targets::new().with_target("gyre", LevelFilter::DEBUG).with_target("plugin", LevelFilter::TRACE);
        let tracer = self.0.tracer("gyre");
        tracing_opentelemetry::layer().with_tracer(tracer).with_threads(false).with_location(false).with_filter(what)
    }
}
