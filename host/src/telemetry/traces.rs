//! Traces: what a reconcile did, as a span with its log lines in it, sent to an OpenTelemetry collector.
//!
//! ```text
//!   tracing ──▶ layer ──▶ the SDK's batches ──▶ otlp (JSON) ──▶ POST /v1/traces
//! ```
//!
//! An option: without an endpoint nothing of this is there. With one that does not answer, spans are dropped once the SDK's queue is full;
//! reconciles never wait.

mod otlp;

use std::time::Duration;

use clap::Args;
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

/// How long the end of the process waits for the last spans to be sent.
const FLUSHED_WITHIN: Duration = Duration::from_secs(3);

/// Where traces are sent. The variables are OpenTelemetry's own; so are `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, and those of
/// the sampler and the batches.
#[derive(Clone, Debug, Args)]
pub(crate) struct TraceArguments {
    /// Send a trace of each reconcile to the OpenTelemetry collector with this URL, e.g. http://collector:4318 (OTLP over HTTP, JSON).
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_parser = endpoint)]
    otlp_endpoint: Option<Uri>,
    /// A header for the collector. May be given several times.
    #[arg(
        long = "otlp-header", value_name = "NAME=VALUE", env = "OTEL_EXPORTER_OTLP_HEADERS", value_delimiter = ',',
        value_parser = header, hide_env_values = true
    )]
    otlp_headers: Vec<(HeaderName, HeaderValue)>,
}

fn endpoint(text: &str) -> Result<Uri, String> {
    let is_http = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
    text.parse().ok().filter(is_http).ok_or_else(|| "expected a URL such as http://collector:4318".to_owned())
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once('=').ok_or("expected a name, =, and a value")?;
    let name = name.trim().parse().map_err(|_| "that is no name of a header".to_owned())?;
    let mut value: HeaderValue = value.trim().parse().map_err(|_| "that is no value of a header".to_owned())?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// What sends traces. When it is dropped, the last ones are sent.
#[derive(Debug)]
pub(crate) struct Traces(SdkTracerProvider);

impl Drop for Traces {
    fn drop(&mut self) {
        // A collector that is gone is nothing to fail for.
        let _ = self.0.shutdown_with_timeout(FLUSHED_WITHIN);
    }
}

impl Traces {
    /// What sends traces, if the arguments say so, of the host with that name.
    ///
    /// # Errors
    ///
    /// When the connections cannot be set up. Nothing is sent yet.
    pub(crate) fn of(arguments: &TraceArguments, instance: &str) -> anyhow::Result<Option<Self>> {
        let Some(endpoint) = &arguments.otlp_endpoint else { return Ok(None) };
        let mut resource = Resource::builder().with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", instance.to_owned()),
        ]);
        if std::env::var_os("OTEL_SERVICE_NAME").is_none_or(|name| name.is_empty()) {
            resource = resource.with_service_name("gyre");
        }
        let exporter = Exporter::new(endpoint.clone(), arguments.otlp_headers.clone())?;
        Ok(Some(Self(SdkTracerProvider::builder().with_resource(resource.build()).with_batch_exporter(exporter).build())))
    }

    /// Where spans and log lines go in. What is logged is another matter: a host that logs little may well be traced.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        let what = Targets::new().with_target("gyre", LevelFilter::DEBUG).with_target("plugin", LevelFilter::TRACE);
        let tracer = self.0.tracer("gyre");
        tracing_opentelemetry::layer().with_tracer(tracer).with_threads(false).with_location(false).with_filter(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_named_by_its_url() {
        assert_eq!(endpoint("http://collector:4318").unwrap(), "http://collector:4318/");
        assert_eq!(endpoint("https://collector/otlp/").unwrap(), "https://collector/otlp/");
        for wrong in ["", "collector:4318", "grpc://collector:4317", "/v1/traces"] {
            assert!(endpoint(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_header_is_a_name_and_a_value() {
        let (name, value) = header("Authorization = Bearer a=b").unwrap();
        assert_eq!((name.as_str(), value.to_str().unwrap()), ("authorization", "Bearer a=b"));
        for wrong in ["", "name", "na me=value", "name=\u{1}"] {
            assert!(header(wrong).is_err(), "{wrong}");
        }
    }
}
