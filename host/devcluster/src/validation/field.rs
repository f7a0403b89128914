//! A place in an object together with its path, as checks walk through it.

use serde_json::{Map, Value};

use crate::status::{Fault, FieldError};
use crate::validation::syntax;

/// A place in an object, there or not.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    value: Option<&'a Value>,
    path: String,
}

/// The errors found so far.
pub(crate) type Errors = Vec<FieldError>;

impl<'a> Field<'a> {
    /// The whole object.
    pub(crate) fn root(object: &'a Value) -> Self {
        Self { value: Some(object), path: String::new() }
    }

    /// `value` at `path`.
    pub(crate) fn at(value: Option<&'a Value>, path: impl Into<String>) -> Self {
        Self { value: value.filter(|value| !value.is_null()), path: path.into() }
    }

    /// A field of it.
    pub(crate) fn get(&self, name: &str) -> Self {
        Self::at(self.value.and_then(|value| value.get(name)), child(&self.path, name))
    }

    /// A field of a field of it.
    pub(crate) fn path_to(&self, names: &[&str]) -> Self {
        names.iter().fold(self.clone(), |field, name| field.get(name))
    }

    /// The same place under another path, where the API server's messages name another.
    pub(crate) fn named(&self, path: impl Into<String>) -> Self {
        Self { value: self.value, path: path.into() }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Its path with a field appended.
    pub(crate) fn child_path(&self, name: &str) -> String {
        child(&self.path, name)
    }

    /// Its value.
    pub(crate) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// Its value, null if there is none.
    pub(crate) fn shown(&self) -> Value {
        self.value.cloned().unwrap_or_default()
    }

    /// Returns whether it is there.
    pub(crate) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// Its text; empty if it has none.
    pub(crate) fn text(&self) -> &'a str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    /// Its number.
    pub(crate) fn integer(&self) -> Option<i64> {
        self.value.and_then(Value::as_i64)
    }

    /// Returns whether it is `true`.
    pub(crate) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool).unwrap_or_default()
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let path = self.path.clone();
        let items = self.value.and_then(Value::as_array).into_iter().flatten();
        items.enumerate().map(move |(index, item)| Field::at(Some(item), format!("{path}[{index}]")))
    }

    /// Returns the number of items or entries.
    pub(crate) fn len(&self) -> usize {
        match self.value {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(entries)) => entries.len(),
            _ => 0,
        }
    }

    /// The entries of a map.
    pub(crate) fn object(&self) -> Option<&'a Map<String, Value>> {
        self.value.and_then(Value::as_object)
    }

    /// The entries of a map, each named by its key: `data[key]`.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> + use<'a> {
        let path = self.path.clone();
        let entries = self.object().into_iter().flatten();
        entries.map(move |(key, value)| (key.as_str(), Field::at(Some(value), format!("{path}[{key}]"))))
    }

    /// `Required value` about it.
    pub(crate) fn required(&self, errors: &mut Errors, detail: &str) {
        errors.push(FieldError::required(self.path.clone(), detail));
    }

    /// `Required value` if it has no text. Returns whether it has.
    pub(crate) fn required_text(&self, errors: &mut Errors) -> bool {
        let has_text = !self.text().is_empty();
        if !has_text {
            self.required(errors, "");
        }
        has_text
    }

    /// `Invalid value` about it.
    pub(crate) fn invalid(&self, errors: &mut Errors, detail: impl Into<String>) {
        errors.push(FieldError::invalid(self.path.clone(), self.shown(), detail));
    }

    /// An `Invalid value` for each of `details`.
    pub(crate) fn invalid_each(&self, errors: &mut Errors, details: Vec<String>) {
        for detail in details {
            self.invalid(errors, detail);
        }
    }

    /// `Forbidden` about it.
    pub(crate) fn forbidden(&self, errors: &mut Errors, detail: &str) {
        errors.push(FieldError::forbidden(self.path.clone(), detail));
    }

    /// `Duplicate value` about it.
    pub(crate) fn duplicate(&self, errors: &mut Errors) {
        errors.push(FieldError::new(Fault::Duplicate(self.shown()), self.path.clone(), ""));
    }

    /// `Not found` about it.
    pub(crate) fn not_found(&self, errors: &mut Errors) {
        errors.push(FieldError::new(Fault::NotFound(self.shown()), self.path.clone(), ""));
    }

    /// `Too long` about it.
    pub(crate) fn too_long(&self, errors: &mut Errors, limit: usize) {
        let detail = format!("may not be more than {limit} bytes");
        errors.push(FieldError::new(Fault::TooLong, self.path.clone(), detail));
    }

    /// `Unsupported value` about it.
    pub(crate) fn unsupported(&self, errors: &mut Errors, supported: &[&str]) {
        let value = self.value.cloned().unwrap_or_else(|| Value::from(""));
        let supported = supported.iter().map(|text| (*text).to_owned()).collect();
        errors.push(FieldError::new(Fault::NotSupported { value, supported }, self.path.clone(), ""));
    }

    /// `Unsupported value` unless it is one of `supported`; `Required value` if it is empty.
    pub(crate) fn one_of(&self, errors: &mut Errors, supported: &[&str]) {
        match self.text() {
            "" => self.required(errors, ""),
            text if supported.contains(&text) => {}
            _ => self.unsupported(errors, supported),
        }
    }

    /// `Unsupported value` if it is there and none of `supported`.
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

    /// A DNS label.
    pub(crate) fn dns_label(&self, errors: &mut Errors) {
        self.invalid_each(errors, syntax::dns_label(self.text()));
    }

    /// A DNS subdomain.
    pub(crate) fn dns_subdomain(&self, errors: &mut Errors) {
        self.invalid_each(errors, syntax::dns_subdomain(self.text()));
    }

    /// A qualified name.
    pub(crate) fn qualified_name(&self, errors: &mut Errors) {
        self.invalid_each(errors, syntax::qualified_name(self.text()));
    }
}

/// The path of a field of an object at `path`.
pub(crate) fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
