//! Field selectors, as in `?fieldSelector=`. Label selectors are in `gyre_core::selector`.

use serde_json::Value;

use crate::kinds::{Kind, Origin, Scope};
use crate::status::Status;

/// A selector by fields. The default matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    operator: Operator,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equals,
    NotEquals,
}

impl FieldSelector {
    /// Reads `metadata.name=x,status.phase!=Running`; a backslash escapes a comma, an equals sign
    /// or itself.
    ///
    /// # Errors
    ///
    /// `BadRequest` about the first invalid term.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let (field, operator, value) = split_term(part)
                .ok_or_else(|| Status::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'")))?;
            let value = unescaped(value)?;
            // A term of nothing but its operator says nothing.
            if !field.is_empty() || !value.is_empty() {
                terms.push(Term { field: field.to_owned(), operator, value });
            }
        }
        Ok(Self { terms })
    }

    /// Checks that the kind's objects can be selected by these fields.
    ///
    /// # Errors
    ///
    /// `BadRequest` about the first field that they cannot be selected by.
    pub(crate) fn check(&self, kind: &Kind) -> Result<(), Status> {
        let label = Labels::of(kind);
        for Term { field, .. } in &self.terms {
            let known = match field.as_str() {
                "metadata.name" => true,
                "metadata.namespace" => kind.scope == Scope::Namespaced || label == Labels::Default,
                other => kind.selectable_field(&Value::Null, other).is_some(),
            };
            if !known {
                return Err(Status::bad_request(label.unsupported(field)));
            }
        }
        Ok(())
    }

    /// Returns whether it matches everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value that a field must have, if there is only one.
    pub(crate) fn required(&self, field: &str) -> Option<&str> {
        let mut terms = self.terms.iter().filter(|term| term.operator == Operator::Equals && term.field == field);
        terms.next().map(|term| term.value.as_str())
    }

    /// Returns whether an object with these fields matches; one that is absent counts as empty.
    pub(crate) fn matches(&self, value_of: impl Fn(&str) -> Option<String>) -> bool {
        self.terms.iter().all(|term| {
            let equal = value_of(&term.field).unwrap_or_default() == term.value;
            equal == (term.operator == Operator::Equals)
        })
    }
}

/// The function of the API server that knows the fields. Each has its own error texts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Labels {
    /// The kind.
    Kind,
    /// Jobs.
    Job,
    /// The default of kinds without selectable fields.
    Default,
}

impl Labels {
    fn of(kind: &Kind) -> Self {
        match (&kind.origin, kind.group(), &*kind.kind) {
            (Origin::Custom(_), ..)
            | (_, "", "Pod" | "Node" | "ReplicationController" | "Event" | "Namespace" | "Secret" | "Service")
            | (_, "events.k8s.io", "Event")
            | (_, "certificates.k8s.io", "CertificateSigningRequest") => Self::Kind,
            (_, "batch", "Job") => Self::Job,
            _ => Self::Default,
        }
    }

    fn unsupported(self, field: &str) -> String {
        match self {
            Self::Kind => format!("field label not supported: {field}"),
            Self::Job => format!("field label {field:?} not supported for Job"),
            Self::Default => {
                format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
            }
        }
    }
}

/// Splits a text at its commas.
fn split_terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    let at_comma = |character: char| {
        let is_comma = character == ',' && !escaped;
        escaped = character == '\\' && !escaped;
        is_comma
    };
    text.split(at_comma).collect()
}

fn split_term(term: &str) -> Option<(&str, Operator, &str)> {
    let operators = [("!=", Operator::NotEquals), ("==", Operator::Equals), ("=", Operator::Equals)];
    term.char_indices().find_map(|(index, _)| {
        let (field, rest) = term.split_at_checked(index)?;
        operators.into_iter().find_map(|(sign, operator)| Some((field, operator, rest.strip_prefix(sign)?)))
    })
}

fn unescaped(value: &str) -> Result<String, Status> {
    let invalid_escape =
        |sequence: &str| Status::bad_request(format!("invalid field selector: invalid escape sequence: {sequence}"));
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => text.push(escaped),
                Some(other) => return Err(invalid_escape(&format!("\\{other}"))),
                None => return Err(invalid_escape("\\")),
            },
            ',' | '=' => {
                let code = u32::from(character);
                return Err(Status::bad_request(format!("invalid field selector: unescaped character in value: {code}")));
            }
            other => text.push(other),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
