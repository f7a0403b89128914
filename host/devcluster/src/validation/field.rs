use serde_json::{Map, Value};

use crate::status::{Fault, FieldError};
use crate::validation::syntax;

/// A place in an object with its path, for checks. The value may be absent.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    value: Option<&'a Value>,
    path: String,
}

pub(crate) type Errors = Vec<FieldError>;

impl<'a> Field<'a> {
    pub(crate) fn root(object: &'a Value) -> Self {
        Self { value: Some(object), path: String::new() }
    }

    pub(crate) fn at(value: Option<&'a Value>, path: impl Into<String>) -> Self {
        Self { value: value.filter(|value| !value.is_null()), path: path.into() }
    }

    pub(crate) fn get(&self, name: &str) -> Self {
        Self::at(self.value.and_then(|value| value.get(name)), child(&self.path, name))
    }

    pub(crate) fn path_to(&self, names: &[&str]) -> Self {
        names.iter().fold(self.clone(), |field, name| field.get(name))
    }

    /// Returns the same place under another path, because the API server's messages name another.
    pub(crate) fn named(&self, path: impl Into<String>) -> Self {
        Self { value: self.value, path: path.into() }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn child_path(&self, name: &str) -> String {
        child(&self.path, name)
    }

    pub(crate) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    pub(crate) fn shown(&self) -> Value {
        self.value.cloned().unwrap_or_default()
    }

    pub(crate) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    pub(crate) fn text(&self) -> &'a str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        self.value.and_then(Value::as_i64)
    }

    pub(crate) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool).unwrap_or_default()
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let path = self.path.clone();
        let items = self.value.and_then(Value::as_array).into_iter().flatten();
        items.enumerate().map(move |(index, item)| Field::at(Some(item), format!("{path}[{index}]")))
    }

    pub(crate) fn len(&self) -> usize {
        match self.value {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(entries)) => entries.len(),
            _ => 0,
        }
    }

    pub(crate) fn object(&self) -> Option<&'a Map<String, Value>> {
        self.value.and_then(Value::as_object)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> + use<'a> {
        let path = self.path.clone();
        let entries = self.object().into_iter().flatten();
        entries.map(move |(key, value)| (key.as_str(), Field::at(Some(value), format!("{path}[{key}]"))))
    }

    pub(crate) fn required(&self, errors: &mut Errors, detail: &str) {
        errors.push(FieldError::required(self.path.clone(), detail));
    }

    /// Requires a text, and returns whether it has one.
    pub(crate) fn required_text(&self, errors: &mut Errors) -> bool {
        let has_text = !self.text().is_empty();
        if !has_text {
            self.required(errors, "");
        }
        has_text
    }

    pub(crate) fn invalid(&self, errors: &mut Errors, detail: impl Into<String>) {
        errors.push(FieldError::invalid(self.path.clone(), self.shown(), detail));
    }

    pub(crate) fn invalid_each(&self, errors: &mut Errors, details: Vec<String>) {
        for detail in details {
            self.invalid(errors, detail);
        }
    }

    pub(crate) fn forbidden(&self, errors: &mut Errors, detail: &str) {
        errors.push(FieldError::forbidden(self.path.clone(), detail));
    }

    pub(crate) fn duplicate(&self, errors: &mut Errors) {
        errors.push(FieldError::new(Fault::Duplicate(self.shown()), self.path.clone(), ""));
    }

    pub(crate) fn not_found(&self, errors: &mut Errors) {
        errors.push(FieldError::new(Fault::NotFound(self.shown()), self.path.clone(), ""));
    }

    pub(crate) fn too_long(&self, errors: &mut Errors, limit: usize) {
        let detail = format!("may not be more than {limit} bytes");
        errors.push(FieldError::new(Fault::TooLong, self.path.clone(), detail));
    }

    pub(crate) fn unsupported(&self, errors: &mut Errors, supported: &[&str]) {
        let value = self.value.cloned().unwrap_or_else(|| Value::from(""));
        let supported = supported.iter().map(|text| (*text).to_owned()).collect();
        errors.push(FieldError::new(Fault::NotSupported { value, supported }, self.path.clone(), ""));
    }

    pub(crate) fn one_of(&self, errors: &mut Errors, supported: &[&str]) {
        match self.text() {
            "" => self.required(errors, ""),
            text if supported.contains(&text) => {}
            _ => self.unsupported(errors, supported),
        }
    }

    pub(crate) fn one_of_if_set(&self, errors: &mut Errors, supported: &[&str]) {
        if self.is_set() && !supported.contains(&self.text()) {
            self.unsupported(errors, supported);
        }
    }

    /// `ValidateNonnegativeField`.
    pub(crate) fn nonnegative(&self, errors: &mut Errors) {
        if self.integer().is_some_and(|number| number < 0) {
            self.invalid(errors, "must be greater than or equal to 0");
        }
    }

    /// `ValidateImmutableField`.
    pub(crate) fn immutable(&self, errors: &mut Errors, old: &Field<'_>) {
        if self.value != old.value {
            self.invalid(errors, "field is immutable");
        }
    }

    pub(crate) fn dns_label(&self, errors: &mut Errors) {
        self.invalid_each(errors, syntax::dns_label(self.text()));
    }

    pub(crate) fn dns_subdomain(&self, errors: &mut Errors) {
        self.invalid_each(errors, syntax::dns_subdomain(self.text()));
    }

    pub(crate) fn qualified_name(&self, errors: &mut Errors) {
        self.invalid_each(errors, syntax::qualified_name(self.text()));
    }
}

pub(crate) fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
