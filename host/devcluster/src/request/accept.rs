//! The requested form of an answer: `Accept`.

use http::{HeaderMap, StatusCode, header};
use serde_json::json;

use crate::status::Status;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Object,
    Table,
    /// `PartialObjectMetadata`.
    Metadata,
    /// `PartialObjectMetadataList`.
    MetadataList,
    AggregatedDiscovery,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Json,
    Yaml,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) form: Form,
    pub(crate) encoding: Encoding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Resource,
    Discovery,
    Json,
}

impl Accept {
    /// Reads `Accept`; JSON if absent or empty.
    ///
    /// # Errors
    ///
    /// `NotAcceptable` if it accepts no supported form.
    pub(crate) fn of(headers: &HeaderMap, offer: Offer) -> Result<Self, Status> {
        let values: Vec<&str> = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        let joined = values.join(",");
        if joined.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut clauses: Vec<(&str, u32)> = joined.split(',').map(|clause| (clause.trim(), quality(clause))).collect();
        clauses.sort_by_key(|(_, quality)| std::cmp::Reverse(*quality));
        let mut target = None;
        for (clause, _) in clauses {
            match read(clause, offer) {
                Clause::Acceptable(accept) => return Ok(accept),
                Clause::UnknownTarget => target = Some(()),
                Clause::Other => {}
            }
        }
        let accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
        // The kind's handler refuses known encodings; the router before it refuses all others.
        if target.is_some() || offer != Offer::Resource {
            let message = format!("only the following media types are accepted: {accepted}");
            return Err(Status::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message));
        }
        let message = format!(
            "406: Not Acceptable\n\nAvailable representations: {accepted}, application/json;stream=watch, \
             application/vnd.kubernetes.protobuf;stream=watch"
        );
        Err(Status { details: Some(json!({})), ..Status::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message) })
    }
}

enum Clause {
    Acceptable(Accept),
    UnknownTarget,
    Other,
}

/// Returns the quality, e.g. `q=0.5`, in thousandths.
fn quality(clause: &str) -> u32 {
    let quality = clause.split(';').skip(1).find_map(|parameter| parameter.trim().strip_prefix("q=")?.parse::<f32>().ok());
    quality.map_or(1000, |quality| (quality.clamp(0.0, 1.0) * 1000.0).round() as u32)
}

fn read(clause: &str, offer: Offer) -> Clause {
    let mut parts = clause.split(';').map(str::trim);
    let encoding = match parts.next().unwrap_or_default() {
        "application/json" | "*/*" => Encoding::Json,
        "application/yaml" if offer != Offer::Json => Encoding::Yaml,
        _ => return Clause::Other,
    };
    let (mut target, mut group, mut version) = ("", "", "");
    for (key, value) in parts.filter_map(|parameter| parameter.split_once('=')) {
        match key.trim() {
            "as" => target = value.trim(),
            "g" => group = value.trim(),
            "v" => version = value.trim(),
            _ => {}
        }
    }
    let form = match (offer, target, group, version) {
        (_, "", ..) => Form::Object,
        (Offer::Resource, "Table", "meta.k8s.io", "v1") => Form::Table,
        (Offer::Resource, "PartialObjectMetadata", "meta.k8s.io", "v1") => Form::Metadata,
        (Offer::Resource, "PartialObjectMetadataList", "meta.k8s.io", "v1") => Form::MetadataList,
        (Offer::Discovery, "APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Form::AggregatedDiscovery,
        _ => return Clause::UnknownTarget,
    };
    Clause::Acceptable(Accept { form, encoding })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(accept: &str, offer: Offer) -> Option<(Form, Encoding)> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        Accept::of(&headers, offer).ok().map(|accept| (accept.form, accept.encoding))
    }

    #[test]
    fn the_first_acceptable_form_is_taken() {
        let kubectl =
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(form(kubectl, Offer::Resource), Some((Form::Table, Encoding::Json)));
        assert_eq!(form(kubectl, Offer::Json), Some((Form::Object, Encoding::Json)));
        let protobuf = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(form(protobuf, Offer::Resource), Some((Form::Object, Encoding::Json)));
        assert_eq!(form("application/json;q=0.1, application/yaml", Offer::Resource), Some((Form::Object, Encoding::Yaml)));
        assert_eq!(form("text/html", Offer::Resource), None);
        assert_eq!(form("application/json;as=Table;v=v9;g=meta.k8s.io", Offer::Resource), None);
        assert_eq!(form("*/*", Offer::Resource), Some((Form::Object, Encoding::Json)));
    }
}
