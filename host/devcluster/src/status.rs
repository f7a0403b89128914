//! Errors of the API server, with the messages of apimachinery's `pkg/api/errors` and
//! `pkg/util/validation/field`, because clients parse them.

use std::collections::HashSet;
use std::fmt;

use http::StatusCode;
use serde_json::{Value, json};

use crate::go;

/// A failed request, whose `Display` is the message.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The HTTP status, and `code`.
    pub code: StatusCode,
    /// `reason`, e.g. `NotFound`, `Conflict`, `Invalid`; may be empty.
    pub reason: &'static str,
    /// `message`.
    pub message: String,
    /// `details` without empty fields.
    pub details: Option<Value>,
    /// `metadata.continue`: continues a list whose start is forgotten.
    pub continue_token: Option<Box<str>>,
    /// Warnings for the client.
    pub warnings: Box<[String]>,
}

/// The name of a resource in messages: `jobs.batch "hello" not found`.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// API group; empty for the core group.
    pub group: &'a str,
    /// The plural, or in `Invalid` the kind.
    pub resource: &'a str,
    /// The name of the object.
    pub name: &'a str,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group {
            "" => write!(f, "{} {:?}", self.resource, self.name),
            group => write!(f, "{}.{group} {:?}", self.resource, self.name),
        }
    }
}

impl Named<'_> {
    fn details(&self) -> Value {
        let mut details = serde_json::Map::new();
        for (key, text) in [("name", self.name), ("group", self.group), ("kind", self.resource)] {
            if !text.is_empty() {
                details.insert(key.to_owned(), Value::from(text));
            }
        }
        Value::Object(details)
    }
}

impl Status {
    /// An error without details.
    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, continue_token: None, warnings: Box::default() }
    }

    /// 404: the object does not exist.
    pub fn not_found(named: Named<'_>) -> Self {
        let message = format!("{named} not found");
        Self { details: Some(named.details()), ..Self::new(StatusCode::NOT_FOUND, "NotFound", message) }
    }

    /// 404: the path does not exist.
    pub fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self { details: Some(json!({})), ..Self::new(StatusCode::NOT_FOUND, "NotFound", message) }
    }

    /// 409: the name is taken.
    pub fn already_exists(named: Named<'_>) -> Self {
        let message = format!("{named} already exists");
        Self { details: Some(named.details()), ..Self::new(StatusCode::CONFLICT, "AlreadyExists", message) }
    }

    /// 409: a precondition does not hold.
    pub fn conflict(named: Named<'_>, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {named}: {why}");
        Self { details: Some(named.details()), ..Self::new(StatusCode::CONFLICT, "Conflict", message) }
    }

    /// 400: the request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 422: the object is invalid. `named.resource` is the kind.
    pub fn invalid(named: Named<'_>, errors: &[FieldError]) -> Self {
        let joined = match errors {
            [one] => one.to_string(),
            several => {
                let mut known = HashSet::new();
                let mut texts: Vec<String> = several.iter().map(ToString::to_string).collect();
                texts.retain(|text| known.insert(text.clone()));
                match texts.as_slice() {
                    [one] => one.clone(),
                    texts => format!("[{}]", texts.join(", ")),
                }
            }
        };
        let mut details = named.details();
        let causes: Vec<Value> = errors.iter().map(FieldError::cause).collect();
        if let Some(details) = details.as_object_mut()
            && !causes.is_empty()
        {
            details.insert("causes".to_owned(), Value::Array(causes));
        }
        let message = format!("{named} is invalid: {joined}");
        Self { details: Some(details), ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message) }
    }

    /// 405: the kind does not have this verb.
    pub fn method_not_allowed() -> Self {
        Self {
            details: Some(json!({})),
            ..Self::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )
        }
    }

    /// 410: the revision is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// 403: the object does not allow this now.
    pub fn forbidden(named: Named<'_>, why: &str) -> Self {
        let message = format!("{named} is forbidden: {why}");
        Self { details: Some(named.details()), ..Self::new(StatusCode::FORBIDDEN, "Forbidden", message) }
    }

    /// 413: the body of the request is larger than `limit` bytes.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// 409: the generated name is taken.
    pub fn generate_name_conflict(named: Named<'_>) -> Self {
        let message = format!("{named} already exists, the server was not able to generate a unique name for the object");
        let mut details = named.details();
        if let Some(details) = details.as_object_mut() {
            details.insert("retryAfterSeconds".to_owned(), Value::from(1));
        }
        Self { details: Some(details), ..Self::new(StatusCode::CONFLICT, "AlreadyExists", message) }
    }

    pub(crate) fn with_warnings(mut self, warnings: &[String]) -> Self {
        self.warnings = warnings.into();
        self
    }

    /// 500: a defect of this server.
    pub fn internal(message: impl fmt::Display) -> Self {
        let text = message.to_string();
        Self {
            details: Some(json!({ "causes": [{ "message": text }] })),
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", format!("Internal error occurred: {text}"))
        }
    }

    /// Returns the `Status` object.
    pub fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code.as_u16(),
        });
        if let Some(status) = status.as_object_mut() {
            if !self.reason.is_empty() {
                status.insert("reason".to_owned(), Value::from(self.reason));
            }
            if let Some(token) = &self.continue_token {
                status.insert("metadata".to_owned(), json!({ "continue": &**token }));
            }
            if let Some(details) = &self.details {
                status.insert("details".to_owned(), details.clone());
            }
        }
        status
    }

    /// Returns the `Status` object as Go writes it, with the fields in the order of its structs:
    /// tests of clients compare the text.
    pub(crate) fn to_text(&self) -> String {
        const STATUS: &[&str] = &["kind", "apiVersion", "metadata", "status", "message", "reason", "details", "code"];
        const DETAILS: &[&str] = &["name", "group", "kind", "uid", "causes", "retryAfterSeconds"];
        const CAUSE: &[&str] = &["reason", "message", "field"];
        let mut text = String::new();
        encode(&self.to_json(), &[STATUS, DETAILS, CAUSE], &mut text);
        text.push('\n');
        go::escape_markup(&text)
    }
}

/// Writes JSON. The fields of each level of objects have the order of a list in `orders`.
fn encode(value: &Value, orders: &[&[&str]], text: &mut String) {
    let separator = |index: usize| if index == 0 { "" } else { "," };
    match (value, orders) {
        (Value::Object(fields), [order, below @ ..]) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| order.iter().position(|known| known == name).unwrap_or(order.len()));
            text.push('{');
            for (index, (name, value)) in fields.into_iter().enumerate() {
                text.push_str(separator(index));
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                encode(value, below, text);
            }
            text.push('}');
        }
        (Value::Array(items), _) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(separator(index));
                encode(item, orders, text);
            }
            text.push(']');
        }
        (other, _) => text.push_str(&other.to_string()),
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

/// The maximum size of all errors about one object in bytes. A deep path of long names takes
/// megabytes, and there may be a hundred thousand of them.
pub(crate) const MAX_ERROR_BYTES: usize = 32 << 20;

/// An error in one field: `field.Error` in Go.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The kind of error.
    pub fault: Fault,
    /// The path of the field, e.g. `spec.template.spec.containers[0].name`; `<nil>` for the object.
    pub field: String,
    /// The sentence that follows; may be empty.
    pub detail: String,
}

/// The kind of error: `field.ErrorType` in Go. Messages contain values as [`shown`] formats them.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// `Required value`.
    Required,
    /// `Invalid value: …`.
    Invalid(Value),
    /// `Invalid value: …`, with a value that is not JSON, as the server shows it.
    InvalidShown(String),
    /// `Invalid value`, for a value that is too large to be shown.
    InvalidUnshown,
    /// `Unsupported value: …: supported values: …`.
    NotSupported {
        /// The value.
        value: Value,
        /// The supported values.
        supported: Vec<String>,
    },
    /// `Duplicate value: …`.
    Duplicate(Value),
    /// `Duplicate value`, for a value that is too large to be shown.
    DuplicateUnshown,
    /// `Forbidden`.
    Forbidden,
    /// `Too long: may not be more than … bytes`; the detail contains the limit.
    TooLong,
    /// `Too many: …`.
    TooMany {
        /// The number of items.
        actual: usize,
        /// The maximum number of items.
        limit: usize,
    },
    /// `Not found: …`.
    NotFound(Value),
    /// `Invalid value: …`, with the reason `FieldValueTypeInvalid`.
    TypeInvalid(Value),
    /// `Internal error`.
    Internal,
    /// A sentence of the server that follows no pattern.
    Worded {
        /// The reason of the cause, e.g. `FieldValueNotSupported`.
        reason: &'static str,
        /// The text after the field.
        text: String,
    },
}

impl FieldError {
    /// An error at `field`.
    pub fn new(fault: Fault, field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { fault, field: field.into(), detail: detail.into() }
    }

    /// `Required value`.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Fault::Required, field, detail)
    }

    /// `Invalid value`.
    pub fn invalid(field: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(Fault::Invalid(value.into()), field, detail)
    }

    /// `Forbidden`.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Fault::Forbidden, field, detail)
    }

    pub(crate) fn footprint(&self) -> usize {
        let value = match &self.fault {
            Fault::Invalid(value)
            | Fault::TypeInvalid(value)
            | Fault::Duplicate(value)
            | Fault::NotFound(value)
            | Fault::NotSupported { value, .. } => crate::object::footprint(value),
            _ => 0,
        };
        size_of::<Self>() + self.field.len() + self.detail.len() + value
    }

    fn reason(&self) -> &'static str {
        match self.fault {
            Fault::Required => "FieldValueRequired",
            Fault::Invalid(_) | Fault::InvalidShown(_) | Fault::InvalidUnshown => "FieldValueInvalid",
            Fault::NotSupported { .. } => "FieldValueNotSupported",
            Fault::Duplicate(_) | Fault::DuplicateUnshown => "FieldValueDuplicate",
            Fault::Forbidden => "FieldValueForbidden",
            Fault::TooLong => "FieldValueTooLong",
            Fault::TooMany { .. } => "FieldValueTooMany",
            Fault::NotFound(_) => "FieldValueNotFound",
            Fault::TypeInvalid(_) => "FieldValueTypeInvalid",
            Fault::Internal => "InternalError",
            Fault::Worded { reason, .. } => reason,
        }
    }

    fn body(&self) -> String {
        let head = match &self.fault {
            Fault::Required => "Required value".to_owned(),
            Fault::Invalid(value) | Fault::TypeInvalid(value) => format!("Invalid value: {}", shown(value)),
            Fault::NotSupported { value, supported } => {
                let supported: Vec<String> = supported.iter().map(|text| go::quoted(text)).collect();
                return format!("Unsupported value: {}: supported values: {}", shown(value), supported.join(", "));
            }
            Fault::InvalidShown(shown) => format!("Invalid value: {shown}"),
            Fault::InvalidUnshown => "Invalid value".to_owned(),
            Fault::DuplicateUnshown => "Duplicate value".to_owned(),
            Fault::Duplicate(value) => format!("Duplicate value: {}", shown(value)),
            Fault::Forbidden => "Forbidden".to_owned(),
            Fault::TooLong => "Too long".to_owned(),
            Fault::TooMany { actual, limit } => {
                let items = if *limit == 1 { "item" } else { "items" };
                return format!("Too many: {actual}: must have at most {limit} {items}");
            }
            Fault::NotFound(value) => format!("Not found: {}", shown(value)),
            Fault::Internal => "Internal error".to_owned(),
            Fault::Worded { text, .. } => text.clone(),
        };
        if self.detail.is_empty() { head } else { format!("{head}: {}", self.detail) }
    }

    fn cause(&self) -> Value {
        json!({ "reason": self.reason(), "message": self.body(), "field": self.field })
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// Formats a value for messages: text in quotes, lists and objects as JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => go::quoted(text),
        Value::Array(_) | Value::Object(_) => go::escape_markup(&value.to_string()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of kube-apiserver, which the tests of the Python client expect.
    #[test]
    fn a_status_is_written_in_the_order_of_go() {
        let taken = Status::already_exists(Named { group: "", resource: "services", name: "mock-2" });
        let expected = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"services \"mock-2\" already exists","reason":"AlreadyExists","details":{"name":"mock-2","kind":"services"},"code":409}"#;
        assert_eq!(taken.to_text(), format!("{expected}\n"));
        let invalid = Status::invalid(
            Named { group: "apps", resource: "Deployment", name: "a" },
            &[FieldError::required("spec.selector", "<needed>")],
        );
        let end = r#""details":{"name":"a","group":"apps","kind":"Deployment","causes":[{"reason":"FieldValueRequired","message":"Required value: \u003cneeded\u003e","field":"spec.selector"}]},"code":422}"#;
        assert!(invalid.to_text().ends_with(&format!("{end}\n")), "{}", invalid.to_text());
    }
}
