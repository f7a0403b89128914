//! Compares values as YAML, and shows differences by line: kits need no YAML.

use std::path::Path;

use anyhow::anyhow;
use gyre_engine::difference::to_yaml;
use gyre_engine::difference::unified::unified;
use serde_json::{Map, Value};

use super::protocol::{Comparison, Expected, How};

/// How people have kits write golden files.
pub(super) const BLESS: &str = "GYRE_BLESS=1";

/// Returns the difference, or `None` if the value is as expected.
pub(super) fn compare(comparison: Comparison) -> anyhow::Result<Option<String>> {
    let Comparison { actual, expected, how, what } = comparison;
    let expected = match expected {
        Expected::Value(value) => value,
        Expected::Yaml(text) => {
            serde_saphyr::from_str(&text).map_err(|error| anyhow!("the expected value is not YAML: {error}"))?
        }
    };
    let lines = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| anyhow!("lines are compared as texts"));
    let (actual, expected) = match how {
        How::Equal => (to_yaml(&actual)?, to_yaml(&expected)?),
        How::Includes => (to_yaml(&shaped(actual, &expected))?, to_yaml(&expected)?),
        How::Lines => (lines(&actual)?, lines(&expected)?),
    };
    Ok(difference(&actual, &expected, &what))
}

/// Compares with a file, or writes it.
pub(super) fn golden(actual: &Value, path: &Path, write: bool) -> anyhow::Result<Option<String>> {
    let (actual, shown) = (to_yaml(actual)?, path.display());
    if write {
        std::fs::write(path, actual).map_err(|error| anyhow!("cannot write {shown}: {error}"))?;
        return Ok(None);
    }
    let expected = std::fs::read_to_string(path);
    let expected = expected.map_err(|error| anyhow!("cannot read {shown}: {error}; {BLESS} writes it"))?;
    Ok(difference(&actual, &expected, &format!("the value differs from {shown}; if it is right, {BLESS} writes it")))
}

fn difference(actual: &str, expected: &str, what: &str) -> Option<String> {
    (actual != expected).then(|| format!("{what}:\n--- expected\n+++ actual\n{}", unified(expected, actual)))
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
