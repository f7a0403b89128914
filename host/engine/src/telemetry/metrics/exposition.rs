//! The formats of metrics: Prometheus' text format, and OpenMetrics.
//!
//! A counter `x_total` belongs to the family `x_total` in the text format, but to `x` in
//! OpenMetrics. In the wrong format, counters lose their type and help.

/// A format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Version 0.0.4, which all clients support.
    Text,
    /// OpenMetrics 1.0.0, on request.
    OpenMetrics,
}

impl Form {
    /// Returns the format that a request accepts.
    pub fn accepted(accept: Option<&str>) -> Self {
        let is_asked_for = |range: &str| {
            let mut parts = range.split(';').map(str::trim);
            parts.next() == Some("application/openmetrics-text") && !parts.any(|part| part == "q=0")
        };
        if accept.is_some_and(|accept| accept.split(',').any(is_asked_for)) { Self::OpenMetrics } else { Self::Text }
    }

    /// Returns the media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    pub(super) fn of(self, open_metrics: String) -> String {
        match self {
            Self::Text => text(&open_metrics),
            Self::OpenMetrics => open_metrics,
        }
    }
}

fn text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(named) = line.strip_prefix("# HELP ") {
            help = named.split_once(' ').map(|(_, help)| help);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.rsplit_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            if let Some(help) = help.take() {
                text.push_str(&format!("# HELP {name}{suffix} {help}\n"));
            }
            text.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
        } else if !line.starts_with("# ") {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_called_as_its_sample_in_the_text_format() {
        let open_metrics = "# HELP a A thing.\n# TYPE a counter\na_total{b=\"# c\"} 1\n# HELP d_seconds D.\n# TYPE d_seconds gauge\n\
                            # UNIT d_seconds seconds\nd_seconds 0.5\n# EOF\n";
        let expected = "# HELP a_total A thing.\n# TYPE a_total counter\na_total{b=\"# c\"} 1\n# HELP d_seconds D.\n\
                        # TYPE d_seconds gauge\nd_seconds 0.5\n";
        assert_eq!(Form::Text.of(open_metrics.to_owned()), expected);
        assert_eq!(Form::OpenMetrics.of(open_metrics.to_owned()), open_metrics);
    }

    #[test]
    fn open_metrics_are_returned_on_request() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert_eq!(Form::accepted(Some(prometheus)), Form::OpenMetrics);
        for accept in [None, Some(""), Some("*/*"), Some("text/plain"), Some("application/openmetrics-text;q=0,*/*")] {
            assert_eq!(Form::accepted(accept), Form::Text, "{accept:?}");
        }
    }
}
