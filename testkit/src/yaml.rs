//! Compares values as YAML, and prints differences by line. The program does both.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::session::Session;

/// Golden files are written if this variable is set to another value than `0`.
const BLESS: &str = "GYRE_BLESS";

/// An expected value: JSON, or YAML as text.
pub trait Expected {
    /// Returns `{"value": …}` or `{"yaml": "…"}`.
    #[doc(hidden)]
    fn source(&self) -> Value;
}

impl Expected for str {
    fn source(&self) -> Value {
        json!({"yaml": self})
    }
}

impl Expected for String {
    fn source(&self) -> Value {
        self.as_str().source()
    }
}

impl Expected for Value {
    fn source(&self) -> Value {
        json!({"value": self})
    }
}

impl<T: Expected + ?Sized> Expected for &T {
    fn source(&self) -> Value {
        (**self).source()
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
    compare(&of(actual), &expected.source(), "equal", "the value is not as expected");
}

/// The function of [`assert_yaml_includes!`].
///
/// # Panics
///
/// If the value does not include what is expected.
#[track_caller]
pub fn assert_includes(actual: &(impl Serialize + ?Sized), expected: &(impl Expected + ?Sized)) {
    compare(&of(actual), &expected.source(), "includes", "the value does not include what is expected");
}

/// Compares with a file, relative to the package, or writes it if `GYRE_BLESS` is set.
///
/// # Panics
///
/// If they differ, or the file cannot be read or written.
#[track_caller]
pub fn assert_golden(actual: &(impl Serialize + ?Sized), path: impl AsRef<Path>) {
    let golden = json!({"actual": of(actual), "path": path.as_ref(), "write": bless()});
    assert_same_by(|| Session::open()?.ask(&json!({"golden": golden})));
}

/// Returns whether golden files are written.
pub(crate) fn bless() -> bool {
    std::env::var_os(BLESS).is_some_and(|value| value != "0")
}

/// Compares with `{"value": …}` or `{"yaml": "…"}`.
#[track_caller]
pub(crate) fn compare(actual: &Value, expected: &Value, how: &str, what: &str) {
    let comparison = json!({"actual": actual, "expected": expected, "how": how, "what": what});
    assert_same_by(|| Session::open()?.ask(&json!({"compare": comparison})));
}

/// Asserts that the program finds no difference.
#[track_caller]
#[expect(clippy::panic, reason = "an assertion fails the test")]
pub(crate) fn assert_same_by(compare: impl FnOnce() -> Result<Value>) {
    let found = compare().and_then(|answer| match answer.get("difference") {
        Some(Value::String(difference)) => Err(Error::new(difference)),
        _ => Ok(()),
    });
    if let Err(difference) = found {
        panic!("{difference}");
    }
}

#[expect(clippy::panic, reason = "an assertion that cannot be made fails the test")]
fn of(actual: &(impl Serialize + ?Sized)) -> Value {
    match serde_json::to_value(actual) {
        Ok(value) => value,
        Err(error) => panic!("the value cannot be written as YAML: {error}"),
    }
}
