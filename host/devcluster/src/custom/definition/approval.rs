//! Groups of the Kubernetes community, which no others may define kinds in without saying so.

use serde_json::Value;

use crate::object;
use crate::status::FieldError;

const ANNOTATION: &str = "api-approved.kubernetes.io";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Invalid,
    Approved,
    Bypassed,
    Missing,
}

fn annotation(definition: &Value) -> &str {
    let annotations = definition.get("metadata").and_then(|metadata| metadata.get("annotations"));
    annotations.map_or("", |annotations| object::text(annotations, ANNOTATION))
}

fn state(definition: &Value) -> (State, String) {
    let given = annotation(definition);
    let url =
        given.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/'));
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match given {
        "" => (State::Missing, format!("protected groups must have approval annotation {ANNOTATION:?}, {see}")),
        _ if given.starts_with("unapproved") => (State::Bypassed, format!("not approved: {given:?}")),
        _ if url => (State::Approved, format!("approved in {given}")),
        _ => {
            let how = "with either a URL or a reason starting with \"unapproved\"";
            (State::Invalid, format!("protected groups must have approval annotation {ANNOTATION:?} {how}, {see}"))
        }
    }
}

fn is_protected(definition: &Value) -> bool {
    let group = definition.get("spec").map_or("", |spec| object::text(spec, "group"));
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|owned| group.strip_suffix(owned).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Validates the approval. An error that `old` also has is not reported.
pub(super) fn validate(definition: &Value, old: Option<&Value>) -> Option<FieldError> {
    if !is_protected(definition) {
        return None;
    }
    let (state, reason) = state(definition);
    if old.is_some_and(|old| self::state(old).0 == state) {
        return None;
    }
    let field = format!("metadata.annotations[{ANNOTATION}]");
    match state {
        State::Invalid => Some(FieldError::invalid(field, annotation(definition), reason)),
        State::Missing => Some(FieldError::required(field, reason)),
        State::Approved | State::Bypassed => None,
    }
}

/// Status, reason and message of the condition that says so.
pub(in crate::custom) fn condition(definition: &Value) -> Option<(&'static str, &'static str, String)> {
    if !is_protected(definition) {
        return None;
    }
    let (state, message) = state(definition);
    let (status, reason) = match state {
        State::Invalid => ("False", "InvalidAnnotation"),
        State::Missing => ("False", "MissingAnnotation"),
        State::Approved => ("True", "ApprovedAnnotation"),
        State::Bypassed => ("False", "UnapprovedAnnotation"),
    };
    Some((status, reason, message))
}
