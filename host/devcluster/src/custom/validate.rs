//! Validates a value by a schema, with the order and the messages of kube-openapi.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde_json::{Number, Value};

use super::correlate::{Correlated, OldItems};
use super::format;
use super::path::Path;
use super::structural::{Additional, Checks, MAX_VALUE_DEPTH, Node};
use crate::go;
use crate::status::{Fault, FieldError, MAX_ERROR_BYTES};

/// Validates `value` at `path`. Ignores errors in values that are the same in `old`.
pub(crate) fn validate(value: &Value, schema: &Node, path: &Path, old: Option<&Value>) -> Vec<FieldError> {
    let correlated = old.map(|old| Correlated { new: value, old, schema });
    let validation = Validation { base: path, left: Cell::new(MAX_ERROR_BYTES) };
    let outcome = validation.node(value, schema, &Path::root(), correlated, 0);
    outcome.errors.into_iter().map(|finding| finding.error).collect()
}

/// The outcome for one value and one schema. Of several failed alternatives, the errors of the one
/// with the most matches are reported.
#[derive(Default)]
struct Outcome {
    errors: Vec<Finding>,
    sentences: HashSet<Arc<str>>,
    matches: usize,
}

struct Finding {
    /// The message; of several errors with the same one, only the first is reported.
    sentence: Arc<str>,
    error: FieldError,
}

impl Outcome {
    fn add(&mut self, finding: Finding) {
        if self.sentences.insert(Arc::clone(&finding.sentence)) {
            self.errors.push(finding);
        }
    }

    fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        if self.errors.is_empty() {
            (self.errors, self.sentences) = (other.errors, other.sentences);
            return;
        }
        for finding in other.errors {
            self.add(finding);
        }
    }

    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}

struct Validation<'a> {
    /// The path of the validated value. Messages contain paths relative to it.
    base: &'a Path,
    left: Cell<usize>,
}

impl Validation<'_> {
    fn node(&self, value: &Value, schema: &Node, path: &Path, old: Option<Correlated<'_>>, depth: usize) -> Outcome {
        let mut outcome = Outcome::default();
        if depth > MAX_VALUE_DEPTH {
            return outcome;
        }
        outcome.merge(self.kind(value, schema, path));
        if !value.is_null() {
            outcome.merge(self.alternatives(value, schema, path, old, depth));
            match value {
                Value::String(text) => self.text(text, schema, path, &mut outcome),
                Value::Number(number) => self.number(number, schema, path, &mut outcome),
                Value::Array(items) => self.list(items, schema, path, old, depth, &mut outcome),
                Value::Null | Value::Bool(_) | Value::Object(_) => {}
            }
        }
        self.choice(value, schema, path, &mut outcome);
        if let Value::Object(_) = value {
            self.object(value, schema, path, old, depth, &mut outcome);
        }
        outcome.matches += 1;
        outcome
    }

    /// Validates a value that has a predecessor. Drops the errors if it is unchanged.
    fn ratcheted(&self, value: &Value, schema: &Node, path: &Path, old: Option<Correlated<'_>>, depth: usize) -> Outcome {
        let mut outcome = self.node(value, schema, path, old, depth);
        if !outcome.is_valid() && old.is_some_and(Correlated::is_unchanged) {
            outcome.errors.clear();
            outcome.sentences.clear();
        }
        outcome
    }

    fn kind(&self, value: &Value, schema: &Node, path: &Path) -> Outcome {
        let admitted: Vec<&str> = match (schema.int_or_string, schema.kind.as_str()) {
            (true, _) => vec!["integer", "string"],
            (false, "") => Vec::new(),
            (false, kind) => vec![kind],
        };
        let format = schema.format.as_deref().filter(|format| format::is_known(&schema.kind, schema.int_or_string, format));
        let matches = if admitted.is_empty() && format.is_none() { 0 } else { 2 };
        let mut outcome = Outcome { matches, ..Outcome::default() };
        let mut wrong = |expected: &str, actual: &str| {
            outcome.matches = 1;
            outcome.add(self.type_error(path, expected, actual));
        };
        if value.is_null() {
            if !admitted.is_empty() && !schema.nullable {
                wrong(&admitted.join(","), "null");
            }
            return outcome;
        }
        let (actual, actual_format) = describe(value);
        let admits = |kind: &str| admitted.contains(&kind);
        let whole = actual == "number" && value.as_f64().is_some_and(is_whole) && admits("integer");
        let admitted_kind = admits(actual) || whole || actual == "integer" && admits("number");
        let scalar_or_object = !value.is_string() && !value.is_array();
        match format {
            Some(format) if scalar_or_object && !admitted_kind && format != actual_format => wrong(format, actual_format),
            Some(_) if !scalar_or_object && !admits("number") && !admits("integer") => {}
            _ if !admitted.is_empty() && !admitted_kind => wrong(&admitted.join(","), actual),
            _ => {}
        }
        outcome
    }

    fn alternatives(&self, value: &Value, schema: &Node, path: &Path, old: Option<Correlated<'_>>, depth: usize) -> Outcome {
        let checks = &schema.checks;
        let mut outcome = Outcome { matches: 1, ..Outcome::default() };
        let try_each = |schemas: &[Node]| -> Vec<Outcome> {
            schemas.iter().map(|schema| self.node(value, schema, path, old, depth + 1)).collect()
        };
        if !checks.any_of.is_empty() {
            let outcomes = try_each(&checks.any_of);
            let valid = outcomes.iter().any(Outcome::is_valid);
            if !valid {
                outcome.add(self.composite(|| format!("{:?} must validate at least one schema (anyOf)", path.text())));
            }
            if let Some(chosen) = choose(outcomes, valid) {
                outcome.merge(chosen);
            }
        }
        if !checks.one_of.is_empty() {
            let outcomes = try_each(&checks.one_of);
            let valid = outcomes.iter().filter(|outcome| outcome.is_valid()).count();
            match valid {
                0 => outcome.add(self.composite(|| one_of(path, "Found none valid"))),
                1 => {}
                several => outcome.add(self.composite(|| one_of(path, &format!("Found {several} valid alternatives")))),
            }
            if valid <= 1
                && let Some(chosen) = choose(outcomes, valid == 1)
            {
                outcome.merge(chosen);
            }
        }
        if !checks.all_of.is_empty() {
            let outcomes = try_each(&checks.all_of);
            let valid = outcomes.iter().filter(|outcome| outcome.is_valid()).count();
            let total = outcomes.len();
            outcomes.into_iter().for_each(|part| outcome.merge(part));
            if valid != total {
                let none = if valid == 0 { ". None validated" } else { "" };
                outcome.add(self.composite(|| format!("{:?} must validate all the schemas (allOf){none}", path.text())));
            }
        }
        if let Some(not) = &checks.not
            && self.node(value, not, path, old, depth + 1).is_valid()
        {
            outcome.add(self.composite(|| format!("{:?} must not validate the schema (not)", path.text())));
        }
        outcome
    }

    fn text(&self, text: &str, schema: &Node, path: &Path, outcome: &mut Outcome) {
        let checks = &schema.checks;
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        outcome.matches += 1;
        if let Some(most) = checks.max_length.filter(|most| length > *most) {
            let bytes = if most == 1 { "byte" } else { "bytes" };
            outcome.add(self.finding(|| {
                let error =
                    FieldError::new(Fault::TooLong, self.full_path(path), format!("may not be more than {most} {bytes}"));
                (format!("{} in body should be at most {most} chars long", path.text()), error)
            }));
        } else if let Some(least) = checks.min_length.filter(|least| length < *least) {
            outcome.add(self.invalid(path, || text.into(), format_args!("should be at least {least} chars long")));
        } else if let Some(pattern) = &checks.pattern {
            match &pattern.regex {
                Ok(regex) if regex.is_match(text) => {}
                Ok(_) => outcome.add(self.invalid(path, || text.into(), format_args!("should match '{}'", pattern.text))),
                Err(error) => {
                    let detail = format_args!("should match '{}, but pattern is invalid: {error}'", pattern.text);
                    outcome.add(self.invalid(path, || text.into(), detail));
                }
            }
        }
        if let Some(format) =
            schema.format.as_deref().filter(|format| format::is_known(&schema.kind, schema.int_or_string, format))
            && let Some(valid) = format::check(format, text)
        {
            if !valid {
                outcome.add(self.type_error(path, format, text));
            }
            outcome.matches += 1;
        }
    }

    fn number(&self, number: &Number, schema: &Node, path: &Path, outcome: &mut Outcome) {
        let checks = &schema.checks;
        let of_type = if schema.int_or_string { "" } else { schema.kind.as_str() };
        let format = schema
            .format
            .as_deref()
            .filter(|format| format::is_known(of_type, schema.int_or_string, format))
            .unwrap_or_default();
        outcome.matches += 2;
        let in_range = |number: &Number, what: &str| {
            let kind = out_of_range(number, of_type, format)?;
            Some(self.composite(|| format!("{what} value must be of type {kind} in {}", path.text())))
        };
        let float = number.as_f64().unwrap_or(f64::NAN);
        if let Some(finding) = in_range(number, "Checked") {
            outcome.add(finding);
        }
        let mut bound = |limit: Option<f64>, what: &str, test: &dyn Fn(f64, bool) -> Option<String>| {
            let Some(limit) = limit else { return };
            let fits = Number::from_f64(limit).and_then(|limit| in_range(&limit, what));
            let native = fits.is_none();
            if let Some(finding) = fits {
                outcome.add(finding);
            }
            let factor = native_factor(number, limit, native);
            if what == "MultipleOf" && factor <= 0.0 {
                outcome.add(self.finding(|| {
                    let sentence =
                        format!("factor MultipleOf declared for {} must be positive: {}", path.text(), shown(factor));
                    let error = FieldError::new(invalid_fault(&Value::from(factor)), self.full_path(path), &sentence);
                    (sentence, error)
                }));
            } else if let Some(detail) = test(limit, native) {
                outcome.add(self.invalid(path, || Value::Number(number.clone()), detail));
            }
        };
        bound(checks.multiple_of, "MultipleOf", &|factor, native| multiple_of(number, factor, native));
        // Like the server, compares whole numbers with truncated bounds.
        let native_bound = |bound: f64, native: bool| if native && number.is_i64() { bound.trunc() } else { bound };
        bound(checks.minimum, "Minimum boundary", &|least, native| {
            let least = native_bound(least, native);
            let fails = if checks.exclusive_minimum { float <= least } else { float < least };
            let how = if checks.exclusive_minimum { "" } else { " or equal to" };
            fails.then(|| format!("should be greater than{how} {}", shown(least)))
        });
        bound(checks.maximum, "Maximum boundary", &|most, native| {
            let most = native_bound(most, native);
            let fails = if checks.exclusive_maximum { float >= most } else { float > most };
            let how = if checks.exclusive_maximum { "" } else { " or equal to" };
            fails.then(|| format!("should be less than{how} {}", shown(most)))
        });
    }

    fn list(
        &self,
        items: &[Value],
        schema: &Node,
        path: &Path,
        old: Option<Correlated<'_>>,
        depth: usize,
        outcome: &mut Outcome,
    ) {
        outcome.matches += 2;
        if let Some(each) = &schema.items {
            let before = old.map(|old| OldItems::of(old.schema, old.old));
            for (index, item) in items.iter().enumerate() {
                let old = before.as_ref().and_then(|before| before.correlated(item));
                outcome.merge(self.ratcheted(item, each, &path.key(index), old, depth + 1));
            }
        }
        let checks = &schema.checks;
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = checks.min_items.filter(|least| size < *least) {
            outcome.add(self.invalid(path, || size.into(), format_args!("should have at least {least} items")));
        }
        if let Some(most) = checks.max_items.filter(|most| size > *most) {
            outcome.add(self.too_many(path, items.len(), most, "items"));
        }
        // Limited, because it is quadratic. Definitions with `uniqueItems` are rejected anyway.
        let has_duplicates =
            || items.iter().take(1000).enumerate().any(|(index, item)| items.iter().take(index).any(|other| other == item));
        if checks.unique_items && has_duplicates() {
            outcome.add(self.invalid(path, || "".into(), "shouldn't contain duplicates".to_owned()));
        }
    }

    fn object(
        &self,
        value: &Value,
        schema: &Node,
        path: &Path,
        old: Option<Correlated<'_>>,
        depth: usize,
        outcome: &mut Outcome,
    ) {
        let Some(fields) = value.as_object() else { return };
        let checks = &schema.checks;
        outcome.matches += 1;
        let size = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        if let Some(least) = checks.min_properties.filter(|least| size < *least) {
            outcome.add(self.invalid(path, || size.into(), format_args!("should have at least {least} properties")));
        }
        if let Some(most) = checks.max_properties.filter(|most| size > *most) {
            outcome.add(self.too_many(path, fields.len(), most, "properties"));
        }
        for (name, field) in fields {
            // Errors about the type of an object are never ignored.
            let is_type = path.is_root() && matches!(name.as_str(), "kind" | "apiVersion");
            let old = old.filter(|_| !is_type).and_then(|old| old.key(name));
            let (schema, below) = match (schema.properties.get(name), &schema.additional) {
                (Some(property), _) => (property, path.child(name)),
                (None, Additional::Each(each)) => (&**each, path.child(name)),
                (None, Additional::Forbidden) => {
                    outcome.add(self.finding(|| {
                        let sentence = format!("{}.{name} in body is a forbidden property", path.text());
                        (sentence.clone(), FieldError::invalid(self.full_path(path), name.as_str(), sentence))
                    }));
                    continue;
                }
                (None, Additional::Anything | Additional::Unset) => continue,
            };
            outcome.merge(self.ratcheted(field, schema, &below, old, depth + 1));
        }
        self.required(value, checks, path, outcome);
    }

    fn required(&self, value: &Value, checks: &Checks, path: &Path, outcome: &mut Outcome) {
        for name in checks.required.iter().filter(|name| value.get(name.as_str()).is_none()) {
            outcome.add(self.finding(|| {
                let sentence = format!("{}.{name} in body is required", path.text());
                (sentence, FieldError::required(self.full_path(&path.child(name)), ""))
            }));
        }
    }

    fn choice(&self, value: &Value, schema: &Node, path: &Path, outcome: &mut Outcome) {
        let choices = &schema.checks.choices;
        let is = |choice: &Value| match (value, choice) {
            (Value::Number(value), Value::Number(choice)) => value == choice || value.as_f64() == choice.as_f64(),
            (Value::Null, _) => false,
            (value, choice) => value == choice,
        };
        outcome.matches += 1;
        if choices.is_empty() || choices.iter().any(is) {
            return;
        }
        outcome.add(self.finding(|| {
            let supported: Vec<String> =
                choices.iter().map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)).collect();
            let sentence = format!("{} in body should be one of [{}]", path.text(), supported.join(" "));
            let fault = Fault::NotSupported { value: value.clone(), supported };
            (sentence, FieldError::new(fault, self.full_path(path), ""))
        }));
    }

    fn full_path(&self, path: &Path) -> Path {
        if path.is_root() { self.base.clone() } else { self.base.child(&path.text()) }
    }

    /// Returns an error with its message, or a notice once the errors have used up their bytes.
    fn finding(&self, make: impl FnOnce() -> (String, FieldError)) -> Finding {
        let left = self.left.get();
        if left == 0 {
            let why = "there are more errors than are listed";
            return Finding { sentence: why.into(), error: FieldError::new(Fault::Internal, self.base, why) };
        }
        let (sentence, error) = make();
        self.left.set(left.saturating_sub(sentence.len() + error.footprint()));
        Finding { sentence: sentence.into(), error }
    }

    fn composite(&self, sentence: impl FnOnce() -> String) -> Finding {
        self.finding(|| {
            let sentence = sentence();
            (sentence.clone(), FieldError::invalid(self.base, "", sentence))
        })
    }

    fn invalid(&self, path: &Path, value: impl FnOnce() -> Value, detail: impl fmt::Display) -> Finding {
        self.finding(|| {
            let sentence = format!("{} in body {detail}", path.text());
            (sentence.clone(), FieldError::new(invalid_fault(&value()), self.full_path(path), sentence))
        })
    }

    fn type_error(&self, path: &Path, expected: &str, actual: &str) -> Finding {
        self.finding(|| {
            let sentence = format!("{} in body must be of type {expected}: {actual:?}", path.text());
            (sentence.clone(), FieldError::new(Fault::TypeInvalid(Value::from(actual)), self.full_path(path), sentence))
        })
    }

    fn too_many(&self, path: &Path, actual: usize, most: i64, what: &str) -> Finding {
        self.finding(|| {
            let fault = Fault::TooMany { actual, limit: usize::try_from(most).unwrap_or_default() };
            (
                format!("{} in body should have at most {most} {what}", path.text()),
                FieldError::new(fault, self.full_path(path), ""),
            )
        })
    }
}

fn one_of(path: &Path, what: &str) -> String {
    format!("{:?} must validate one and only one schema (oneOf). {what}", path.text())
}

/// Returns the first success, or the failure with the most matches.
fn choose(outcomes: Vec<Outcome>, success: bool) -> Option<Outcome> {
    outcomes
        .into_iter()
        .filter(|outcome| outcome.is_valid() == success)
        .reduce(|best, next| if !success && next.matches > best.matches { next } else { best })
}

fn describe(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

/// Returns whether a float is an integer of at most 2^53 - 1.
pub(crate) fn is_whole(float: f64) -> bool {
    float.is_finite() && float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_991.0
}

/// Returns the type that a number does not fit, e.g. `integer with format int32`.
fn out_of_range(number: &Number, of_type: &str, format: &str) -> Option<String> {
    let whole = || number.as_i64().or_else(|| number.as_f64().filter(|float| is_whole(*float)).map(|float| float as i64));
    let fits = match (of_type, format) {
        ("integer", "int32") => whole().is_some_and(|whole| i32::try_from(whole).is_ok()),
        ("integer", _) => whole().is_some(),
        (_, "float") => number.as_f64().is_some_and(|float| float.abs() <= f64::from(f32::MAX)),
        _ => true,
    };
    let what =
        if format.is_empty() { format!("{of_type} (default format)") } else { format!("{of_type} with format {format}") };
    (!fits).then_some(what)
}

fn multiple_of(number: &Number, factor: f64, native: bool) -> Option<String> {
    let fails = match number.as_i64() {
        Some(whole) if native => whole.checked_rem(factor as i64) != Some(0),
        _ => {
            let float = number.as_f64().unwrap_or(f64::NAN);
            !is_whole(if factor < 1.0 { 1.0 / factor * float } else { float / factor })
        }
    };
    fails.then(|| format!("should be a multiple of {}", shown(native_factor(number, factor, native))))
}

fn native_factor(number: &Number, factor: f64, native: bool) -> f64 {
    if native && number.is_i64() { factor.trunc() } else { factor }
}

/// Formats a float like Go: the shortest form, with an exponent from a million on or below 0.0001.
pub(crate) fn shown(float: f64) -> String {
    go::print_float(float, -4..6)
}

/// `Invalid value`, with floats formatted like Go.
pub(crate) fn invalid_fault(value: &Value) -> Fault {
    match value {
        Value::Number(number) if !number.is_i64() => Fault::InvalidShown(shown(number.as_f64().unwrap_or(f64::NAN))),
        _ => Fault::Invalid(value.clone()),
    }
}
