//! The arguments of logs and traces.

use clap::Args;
use gyre_engine::telemetry::log::{self, LogFormat};
use gyre_engine::telemetry::traces::Traces;
use http::{HeaderName, HeaderValue, Uri};

use crate::config::values::one_of;

const FORMATS: &[(&str, &str, LogFormat)] =
    &[("text", "Text for people", LogFormat::Text), ("json", "One JSON object per line", LogFormat::Json)];

/// The levels and the format of the log.
#[derive(Clone, Debug, Args)]
pub(crate) struct LogArguments {
    /// Log filter: a level, or levels by target, e.g. "info,gyre=debug,plugin=trace" [default:
    /// info; for `gyre dev`, warnings and what plugins log].
    #[arg(id = "log_level", long = "log-level", value_name = "FILTER", env = "GYRE_LOG_LEVEL", value_parser = level)]
    level: Option<String>,
    /// Log format.
    #[arg(
        id = "log_format", long = "log-format", value_name = "FORMAT", env = "GYRE_LOG_FORMAT", value_parser = one_of(FORMATS),
        default_value = "text"
    )]
    format: LogFormat,
}

fn level(text: &str) -> Result<String, String> {
    log::check_filter(text).map(|()| text.to_owned())
}

impl LogArguments {
    /// Starts logging with the filter of the arguments or `default`, and tracing.
    pub(crate) fn start(&self, default: &str, traces: Option<&Traces>) -> anyhow::Result<()> {
        let filter = self.level.as_deref().filter(|level| !level.is_empty()).unwrap_or(default);
        log::start(filter, self.format, traces)
    }
}

/// Where traces are sent. The variables are OpenTelemetry's own; so are `OTEL_SERVICE_NAME` and
/// `OTEL_RESOURCE_ATTRIBUTES`, and those of the sampler and the batches.
#[derive(Clone, Debug, Args)]
pub(crate) struct TraceArguments {
    /// URL of an OpenTelemetry collector that receives a trace of each reconcile, e.g.
    /// http://collector:4318 (OTLP over HTTP, JSON).
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_parser = endpoint)]
    otlp_endpoint: Option<Uri>,
    /// Header to send to the collector. Can be repeated.
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
    let name = name.trim().parse().map_err(|_| "the name of the header is invalid".to_owned())?;
    let mut value: HeaderValue = value.trim().parse().map_err(|_| "the value of the header is invalid".to_owned())?;
    value.set_sensitive(true);
    Ok((name, value))
}

impl TraceArguments {
    pub(crate) fn traces(&self, instance: &str) -> anyhow::Result<Option<Traces>> {
        let Some(endpoint) = &self.otlp_endpoint else { return Ok(None) };
        Traces::to(endpoint.clone(), self.otlp_headers.clone(), instance).map(Some)
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
