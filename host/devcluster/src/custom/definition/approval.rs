//! The approval annotation, which definitions in the groups of the Kubernetes community need.

use serde_json::Value;

use crate::object;
use crate::status::FieldError;

const ANNOTATION: &str = "api-approved.kubernetes.io";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Approval {
    Invalid,
    Approved,
    Bypassed,
    Missing,
}

fn annotation(definition: &Value) -> &str {
    let annotations = definition.get("metadata").and_then(|metadata| metadata.get("annotations"));
    annotations.map_or("", |annotations| object::text(annotations, ANNOTATION))
}

fn approval_of(definition: &Value) -> (Approval, String) {
    let given = annotation(definition);
    let url =
        given.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/'));
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match given {
        "" => (Approval::Missing, format!("protected groups must have approval annotation {ANNOTATION:?}, {see}")),
        _ if given.starts_with("unapproved") => (Approval::Bypassed, format!("not approved: {given:?}")),
        _ if url => (Approval::Approved, format!("approved in {given}")),
        _ => {
            let how = "with either a URL or a reason starting with \"unapproved\"";
            (Approval::Invalid, format!("protected groups must have approval annotation {ANNOTATION:?} {how}, {see}"))
        }
    }
}

fn is_protected(definition: &Value) -> bool {
    let group = definition.get("spec").map_or("", |spec| object::text(spec, "group"));
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|owned| group.strip_suffix(owned).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Validates the approval. Ignores an error that `old` has, too.
pub(super) fn validate(definition: &Value, old: Option<&Value>) -> Option<FieldError> {
    if !is_protected(definition) {
        return None;
    }
    let (approval, reason) = approval_of(definition);
    if old.is_some_and(|old| approval_of(old).0 == approval) {
        return None;
    }
    let field = format!("metadata.annotations[{ANNOTATION}]");
    match approval {
        Approval::Invalid => Some(FieldError::invalid(field, annotation(definition), reason)),
        Approval::Missing => Some(FieldError::required(field, reason)),
        Approval::Approved | Approval::Bypassed => None,
    }
}

pub(in crate::custom) fn condition(definition: &Value) -> Option<(&'static str, &'static str, String)> {
    if !is_protected(definition) {
        return None;
    }
    let (approval, message) = approval_of(definition);
    let (status, reason) = match approval {
        Approval::Invalid => ("False", "InvalidAnnotation"),
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
    };
    Some((status, reason, message))
}
