//! Evaluates the rules of a schema, and reports those that fail.

use std::cell::OnceCell;
use std::rc::Rc;

use kube_cel::cel::{Value, objects::OptionalValue};
use serde_json::Value as Json;

use super::super::correlate::{Correlated, OldItems};
use super::super::field_path;
use super::super::path::Path;
use super::super::program::{Failure, Library};
use super::super::structural::{MAX_VALUE_DEPTH, Node, Rule};
use super::super::validate::invalid_fault;
use super::value::{Root, typed};
use crate::status::{Fault, FieldError, MAX_ERROR_BYTES};

/// The API server's cost limit for all rules of an object.
const BUDGET: i64 = 10_000_000;

/// The API server's limit for the result of a `messageExpression`, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

/// Returns the errors of the rules of `schema` for `value`, which replaces `old`.
pub(crate) fn validate(
    value: &Json,
    schema: &Node,
    path: &Path,
    old: Option<&Json>,
    ratchet: Ratchet,
    root: Root,
) -> Vec<FieldError> {
    if !schema.has_rules {
        return Vec::new();
    }
    let size = size(value, 0) + old.map_or(0, |old| self::size(old, 0));
    let mut checking = Checking { library: Library::new(size), left: BUDGET, bytes: 0, errors: Vec::new() };
    let current =
        old.filter(|_| ratchet == Ratchet::Unchanged).map(|old| CachedComparison::new(Correlated { new: value, old, schema }));
    let correlation = Correlation { current, nearest: None };
    checking.node(&Subject { value, schema, path: path.clone(), old, correlation, root }, 0);
    checking.errors
}

/// Decides if the failures of rules without `oldSelf` are ignored for unchanged values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ratchet {
    /// They are ignored for unchanged values.
    Unchanged,
    /// They are never ignored.
    Never,
}

fn size(value: &Json, depth: usize) -> usize {
    match value {
        _ if depth > MAX_VALUE_DEPTH => 0,
        Json::String(text) => 16 + text.len(),
        Json::Array(items) => 16 + items.iter().map(|item| size(item, depth + 1)).sum::<usize>(),
        Json::Object(fields) => 16 + fields.iter().map(|(name, field)| name.len() + size(field, depth + 1)).sum::<usize>(),
        Json::Null | Json::Bool(_) | Json::Number(_) => 16,
    }
}

/// A value and its predecessor. Caches the comparison, because each item of a list needs the
/// result.
struct CachedComparison<'a> {
    values: Correlated<'a>,
    is_unchanged: OnceCell<bool>,
}

impl<'a> CachedComparison<'a> {
    fn new(values: Correlated<'a>) -> Rc<Self> {
        Rc::new(Self { values, is_unchanged: OnceCell::new() })
    }

    fn is_unchanged(&self) -> bool {
        *self.is_unchanged.get_or_init(|| self.values.is_unchanged())
    }
}

#[derive(Clone)]
struct Correlation<'a> {
    current: Option<Rc<CachedComparison<'a>>>,
    /// The nearest value above that has a predecessor.
    nearest: Option<Rc<CachedComparison<'a>>>,
}

impl<'a> Correlation<'a> {
    fn is_unchanged(&self) -> bool {
        self.current.as_ref().or(self.nearest.as_ref()).is_some_and(|values| values.is_unchanged())
    }

    fn step(&self, down: impl FnOnce(Correlated<'a>) -> Option<Correlated<'a>>) -> Self {
        match &self.current {
            None => self.clone(),
            Some(current) => {
                Self { current: down(current.values).map(CachedComparison::new), nearest: Some(Rc::clone(current)) }
            }
        }
    }

    fn key(&self, name: &str) -> Self {
        if self.nearest.is_none() && matches!(name, "apiVersion" | "kind") {
            return Self { current: None, nearest: None };
        }
        self.step(|current| current.key(name))
    }
}

struct Subject<'a> {
    value: &'a Json,
    schema: &'a Node,
    path: Path,
    old: Option<&'a Json>,
    correlation: Correlation<'a>,
    root: Root,
}

struct Checking {
    library: Library,
    /// The remaining cost budget; nothing more is checked below 0.
    left: i64,
    bytes: usize,
    errors: Vec<FieldError>,
}

impl Checking {
    fn node(&mut self, subject: &Subject<'_>, depth: usize) {
        let Subject { value, schema, path, old, correlation, .. } = subject;
        if value.is_null() || self.left < 0 || self.bytes >= MAX_ERROR_BYTES || depth > MAX_VALUE_DEPTH {
            return;
        }
        self.rules(subject);
        match value {
            Json::Object(fields) => {
                for (name, value) in fields {
                    let below = |schema, path| {
                        let old = old.and_then(|old| old.get(name));
                        Subject { value, schema, path, old, correlation: correlation.key(name), root: Root::below(schema) }
                    };
                    if let Some(each) = schema.each().filter(|each| each.has_rules) {
                        self.node(&below(each, path.key(name)), depth + 1);
                    }
                    if let Some(property) = schema.properties.get(name).filter(|property| property.has_rules) {
                        self.node(&below(property, path.child(name)), depth + 1);
                    }
                }
            }
            Json::Array(items) => {
                let Some(each) = schema.items.as_deref().filter(|each| each.has_rules) else { return };
                let old = old.map(|old| OldItems::of(schema, old));
                let before =
                    correlation.current.as_ref().map(|current| OldItems::of(current.values.schema, current.values.old));
                for (index, value) in items.iter().enumerate() {
                    let old = old.as_ref().and_then(|old| old.matching(value));
                    let correlation =
                        correlation.step(|current| before.as_ref()?.correlated(current.new.as_array()?.get(index)?));
                    let root = Root::below(each);
                    self.node(&Subject { value, schema: each, path: path.key(index), old, correlation, root }, depth + 1);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }

    fn rules(&mut self, subject: &Subject<'_>) {
        let Subject { value, schema, path, old, correlation, root } = subject;
        if schema.rules.is_empty() {
            return;
        }
        let this = typed(value, schema, *root);
        let before = old.filter(|old| !old.is_null()).map(|old| typed(old, schema, *root));
        let known = self.errors.len();
        for rule in &schema.rules {
            if self.left <= 0 {
                let why = "validation failed due to running out of cost budget, no further validation rules will be run";
                self.errors.push(typed_error(path, schema, why));
                self.left = -1;
                return;
            }
            let program = match &rule.compiled().rule {
                Ok(program) => program,
                Err(error) => {
                    let why = format!("rule compile error: compilation failed: {error}");
                    self.errors.push(typed_error(path, schema, why));
                    continue;
                }
            };
            let optional = rule.optional_old_self.unwrap_or_default();
            if program.uses_old_self && before.is_none() && !optional {
                continue;
            }
            let variables = variables(&this, before.as_ref(), optional);
            let (result, cost) = self.library.evaluate(program, &variables);
            self.left -= cost;
            match result {
                Ok(Value::Bool(true)) => {}
                Ok(_) if !program.uses_old_self && correlation.is_unchanged() => {}
                Ok(_) => {
                    let error = self.rule_error(rule, value, schema, path, &variables);
                    self.errors.push(error);
                }
                Err(failure) => self.report_evaluation_failure(rule, schema, path, failure),
            }
            if self.left < 0 {
                return;
            }
        }
        let new = self.errors.iter().skip(known).map(FieldError::footprint).sum::<usize>();
        self.bytes = self.bytes.saturating_add(new);
    }

    fn report_evaluation_failure(&mut self, rule: &Rule, schema: &Node, path: &Path, failure: Failure) {
        let label = rule.label();
        let why = match failure {
            Failure::Exhausted(error) => {
                self.left = -1;
                format!("'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {label}")
            }
            Failure::Error(error) if error.starts_with("no such overload") => {
                format!(
                    "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {label}"
                )
            }
            Failure::Error(error) => format!("{error} evaluating rule: {label}"),
        };
        self.errors.push(typed_error(path, schema, why));
    }

    fn rule_error(&mut self, rule: &Rule, value: &Json, schema: &Node, path: &Path, variables: &[(&str, Value)]) -> FieldError {
        let at = match field_path::resolve(&rule.field_path, schema, field_path::Indexing::Allowed) {
            Ok((below, _)) if !rule.field_path.is_empty() => path.child(&below),
            _ => path.clone(),
        };
        let given = self.message(rule, variables);
        let detail = given.unwrap_or_else(|| match rule.message.is_empty() {
            true => format!("failed rule: {}", rule.rule.trim()),
            false => rule.message.trim().to_owned(),
        });
        let shown = !matches!(schema.kind.as_str(), "object" | "array");
        let fault = match rule.reason.as_deref() {
            Some("FieldValueForbidden") => Fault::Forbidden,
            Some("FieldValueRequired") => Fault::Required,
            Some("FieldValueDuplicate") if shown => return FieldError::new(Fault::Duplicate(value.clone()), at, ""),
            Some("FieldValueDuplicate") => return FieldError::new(Fault::DuplicateUnshown, at, ""),
            _ if shown => invalid_fault(value),
            _ => Fault::InvalidUnshown,
        };
        FieldError::new(fault, at, detail)
    }

    fn message(&mut self, rule: &Rule, variables: &[(&str, Value)]) -> Option<String> {
        let program = rule.compiled().message.as_ref()?.as_ref().ok()?;
        let (result, cost) = self.library.evaluate(program, variables);
        self.left -= cost;
        match result {
            Ok(Value::String(text)) => {
                let text = text.trim();
                Some(text.to_owned()).filter(|text| !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n'))
            }
            _ => None,
        }
    }
}

fn typed_error(path: &Path, schema: &Node, detail: impl Into<String>) -> FieldError {
    FieldError::invalid(path, schema.kind.as_str(), detail)
}

fn variables(this: &Value, before: Option<&Value>, optional: bool) -> Vec<(&'static str, Value)> {
    let mut variables = vec![("self", this.clone())];
    match (before, optional) {
        (before, true) => {
            let optional = before.map_or_else(OptionalValue::none, |before| OptionalValue::of(before.clone()));
            variables.push(("oldSelf", Value::Opaque(std::sync::Arc::new(optional))));
        }
        (Some(before), false) => variables.push(("oldSelf", before.clone())),
        (None, false) => {}
    }
    variables
}
