//! Checks a configuration file by the schema, and describes the errors.

use std::collections::BTreeSet;
use std::fmt::Display;

use gyre_core::text::list;
use gyre_input::document::{Node, Part};
use gyre_input::problem::Problems;
use gyre_input::schema::{keys, report_unknown, schema_of};
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::LocationSegment;
use serde::Deserialize as _;
use serde_json::Value;

use super::keys::File;
use super::types::{CHECK, Check, REMEDY};
use super::{process, schema};

/// Reports the schema errors of a file. Returns the valid rest, and pointers to invalid values. Not
/// rules about several keys, which the reader of the keys describes better.
pub(super) fn check(root: &Part, problems: &mut Problems) -> (Option<File>, BTreeSet<String>) {
    let mut report = Report { root, schema: schema::schema(), problems, wrong: BTreeSet::new() };
    let mut json = root.node().map(Node::to_json).unwrap_or_default();
    match schema::validator(&report.schema) {
        Ok(validator) => validator.iter_errors(&json).for_each(|error| report.add(&error)),
        Err(error) => report.defect(&error),
    }
    for pointer in &report.wrong {
        if let Some(value) = json.pointer_mut(pointer) {
            *value = Value::Null;
        }
    }
    let file = serde_json::from_value(json).unwrap_or_else(|error| {
        report.defect(&error);
        None
    });
    (file, report.wrong)
}

struct Report<'a> {
    root: &'a Part,
    schema: Value,
    problems: &'a mut Problems,
    wrong: BTreeSet<String>,
}

impl Report<'_> {
    fn add(&mut self, error: &ValidationError<'_>) {
        let (schema, at) = (schema_of(error, &self.schema), error.instance_path());
        let part = self.root.at(at.as_str());
        match error.kind() {
            ValidationErrorKind::Required { .. } | ValidationErrorKind::Not { .. } => {}
            ValidationErrorKind::AnyOf { .. } if at.is_empty() => {}
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let known = |known: &[&str]| format!("known here are {}", list(known));
                report_unknown(&part, "key", unexpected, schema, known, self.problems);
            }
            // An alternative with only some invalid parts is the intended one.
            ValidationErrorKind::AnyOf { context }
                if let Some(errors) = context.iter().find(|errors| errors.iter().all(|inner| inner.instance_path() != at)) =>
            {
                errors.iter().for_each(|error| self.add(error));
            }
            _ => {
                let (value, is_key) = (error.instance(), matches!(at.segments().last(), Some(LocationSegment::Property(_))));
                // A key with `null` counts as not set.
                if !(value.is_null() && is_key) && self.wrong.insert(at.as_str().to_owned()) {
                    let what = what(schema, value).unwrap_or_else(|| {
                        let value = part.node().map_or_else(|| "this".to_owned(), Node::describe);
                        format!("{value} is not valid here")
                    });
                    self.problems.add(part.place(), what, remedy(schema, value));
                }
            }
        }
    }

    fn defect(&mut self, error: &dyn Display) {
        let what = format!("it does not fit the types of gyre: {error}");
        self.problems.add(self.root.document(), what, "this is a defect of gyre: report it");
    }
}

/// The reason why a schema refuses a value, if it is known.
fn what(schema: &Value, value: &Value) -> Option<String> {
    Check::deserialize(schema.get(CHECK)?).ok()?.check(value).err()?
}

fn remedy(schema: &Value, value: &Value) -> String {
    let flag = schema.get(process::FLAG).and_then(|key| process::flags().into_iter().find(|flag| *key == *flag.key));
    let own = schema.get(REMEDY).and_then(Value::as_str).map(str::to_owned);
    flag.and_then(|flag| flag.refusal(value)).or(own).unwrap_or_else(|| format!("write {}", expected(schema)))
}

fn expected(schema: &Value) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parts = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
    let known = keys(schema);
    if !known.is_empty() {
        format!("a map of {}", list(&known))
    } else if let Some(alternatives) = parts("anyOf") {
        alternatives.iter().map(expected).collect::<Vec<_>>().join(", or ")
    } else if let Some(words) = parts("enum") {
        let mut words: Vec<String> = words.iter().map(word).collect();
        words.dedup();
        words.join(" or ")
    } else if let (Some(least), Some(most)) = (schema.get("minimum"), schema.get("maximum")) {
        format!("a number from {least} to {most}")
    } else if let Some(value) = schema.get("const") {
        word(value)
    } else if parts("type").is_some() {
        "a text, a number, true or false".to_owned()
    } else {
        "true or false".to_owned()
    }
}
