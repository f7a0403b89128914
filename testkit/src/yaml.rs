//! Compares values as YAML, and prints differences by line.

use std::path::Path;

use gyre_engine::difference::to_yaml;
use gyre_engine::difference::unified::unified;
use serde::Serialize;
use serde_json::{Map, Value};

/// Golden files are written if this variable is set to another value than `0`.
const BLESS: &str = "GYRE_BLESS";

/// An expected value: JSON, or YAML as text.
pub trait Expected {
    /// Returns the value.
    ///
    /// # Panics
    ///
    /// If it is not YAML.
    fn value(&self) -> Value;
}

#[expect(clippy::panic, reason = "an assertion that cannot be read fails the test")]
impl Expected for str {
    fn value(&self) -> Value {
        match serde_saphyr::from_str(self) {
            Ok(value) => value,
            Err(error) => panic!("the expected value is not YAML: {error}"),
        }
    }
}

impl Expected for String {
    fn value(&self) -> Value {
        self.as_str().value()
    }
}

impl Expected for Value {
    fn value(&self) -> Value {
        self.clone()
    }
}

impl<T: Expected + ?Sized> Expected for &T {
    fn value(&self) -> Value {
        (**self).value()
    }
}

/// Asserts that a value equals an expected value or YAML text.
///
/// ```
/// use gyre_test::assert_yaml_eq;
/// use serde_json::json;
///
/// let status = json!({"job": "hello", "conditions": [{"type": "Ready", "status": "True"}]});
/// assert_yaml_eq!(status, "
///   job: hello
///   conditions:
///   - {type: Ready, status: 'True'}
/// ");
/// ```
#[macro_export]
macro_rules! assert_yaml_eq {
    ($actual:expr, $expected:expr $(,)?) => {
        $crate::yaml::assert_same(&$actual, &$expected)
    };
}

/// Asserts that a value includes another: maps may have more fields, lists the same number of
/// items.
///
/// ```
/// use gyre_test::assert_yaml_includes;
/// use serde_json::json;
///
/// let ready = json!({"type": "Ready", "status": "True", "reason": "JobCreated"});
/// let status = json!({"job": "hello", "conditions": [ready]});
/// assert_yaml_includes!(status, "
///   conditions:
///   - {type: Ready, status: 'True'}
/// ");
/// ```
#[macro_export]
macro_rules! assert_yaml_includes {
    ($actual:expr, $expected:expr $(,)?) => {
        $crate::yaml::assert_includes(&$actual, &$expected)
    };
}

/// The function of [`assert_yaml_eq!`].
///
/// # Panics
///
/// If they differ.
#[track_caller]
pub fn assert_same(actual: &(impl Serialize + ?Sized), expected: &(impl Expected + ?Sized)) {
    compare(&yaml(&of(actual)), &yaml(&expected.value()), "the value is not as expected");
}

/// The function of [`assert_yaml_includes!`].
///
/// # Panics
///
/// If the value does not include what is expected.
#[track_caller]
pub fn assert_includes(actual: &(impl Serialize + ?Sized), expected: &(impl Expected + ?Sized)) {
    let expected = expected.value();
    compare(&yaml(&shaped(of(actual), &expected)), &yaml(&expected), "the value does not include what is expected");
}

/// Compares with a file, relative to the package, or writes it if `GYRE_BLESS` is set.
///
/// # Panics
///
/// If they differ, or the file cannot be read or written.
#[track_caller]
#[expect(clippy::panic, reason = "an assertion fails the test")]
pub fn assert_golden(actual: &(impl Serialize + ?Sized), path: impl AsRef<Path>) {
    if let Err(difference) = differs_from_golden(&of(actual), path.as_ref()) {
        panic!("{difference}");
    }
}

/// Returns whether golden files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bless {
    Yes,
    No,
}

pub(crate) fn bless() -> Bless {
    if std::env::var_os(BLESS).is_some_and(|value| value != "0") { Bless::Yes } else { Bless::No }
}

/// # Errors
///
/// The difference, or the reason why the values cannot be compared.
pub(crate) fn differs_from_golden(actual: &Value, path: &Path) -> Result<(), String> {
    let (actual, shown) = (yaml(actual), path.display());
    if bless() == Bless::Yes {
        return std::fs::write(path, actual).map_err(|error| format!("cannot write {shown}: {error}"));
    }
    let expected = std::fs::read_to_string(path);
    let expected = expected.map_err(|error| format!("cannot read {shown}: {error}; {BLESS}=1 writes it"))?;
    difference(&actual, &expected, &format!("the value differs from {shown}; if it is right, {BLESS}=1 writes it"))
}

#[track_caller]
#[expect(clippy::panic, reason = "an assertion fails the test")]
pub(crate) fn compare(actual: &str, expected: &str, what: &str) {
    if let Err(difference) = difference(actual, expected, what) {
        panic!("{difference}");
    }
}

fn difference(actual: &str, expected: &str, what: &str) -> Result<(), String> {
    if actual == expected {
        return Ok(());
    }
    Err(format!("{what}:\n--- expected\n+++ actual\n{}", unified(expected, actual)))
}

#[expect(clippy::panic, reason = "an assertion that cannot be made fails the test")]
fn of(actual: &(impl Serialize + ?Sized)) -> Value {
    match serde_json::to_value(actual) {
        Ok(value) => value,
        Err(error) => panic!("the value cannot be written as YAML: {error}"),
    }
}

#[expect(clippy::panic, reason = "an assertion that cannot be made fails the test")]
fn yaml(value: &Value) -> String {
    match to_yaml(value) {
        Ok(text) => text,
        Err(error) => panic!("the value cannot be written as YAML: {error:#}"),
    }
}

/// Returns a value without the map fields that the expected value lacks.
fn shaped(actual: Value, expected: &Value) -> Value {
    match (actual, expected) {
        (Value::Object(fields), Value::Object(expected)) => {
            let kept =
                |(name, field): (String, Value)| expected.get(&name).map(|expected| (name.clone(), shaped(field, expected)));
            Value::Object(fields.into_iter().filter_map(kept).collect::<Map<_, _>>())
        }
        (Value::Array(items), Value::Array(expected)) if items.len() == expected.len() => {
            Value::Array(items.into_iter().zip(expected).map(|(item, expected)| shaped(item, expected)).collect())
        }
        (actual, _) => actual,
    }
}
