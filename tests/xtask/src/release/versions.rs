//! The version of all packages: a release has one.

use std::fs;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::build;

/// The files with a version besides the manifests of Cargo, and the beginning of its line.
const FILES: [(&str, &str); 4] = [
    ("charts/gyre/Chart.yaml", "version: "),
    ("charts/gyre/Chart.yaml", "appVersion: "),
    ("sdk/python/pyproject.toml", "version = "),
    ("sdk/typescript/package.json", "  \"version\": "),
];

/// Returns the version of the program and of all packages.
///
/// # Errors
///
/// If a package has another.
pub(super) fn common() -> anyhow::Result<String> {
    let metadata = build::metadata()?;
    let packages = metadata.get("packages").and_then(Value::as_array).context("`cargo metadata` names no packages")?;
    let text = |package: &Value, key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let gyre = packages.iter().find(|package| text(package, "name") == "gyre").context("there is no package gyre")?;
    let version = text(gyre, "version");
    let mut others: Vec<String> =
        packages.iter().filter(|package| text(package, "version") != version).map(|package| text(package, "name")).collect();
    for (file, beginning) in FILES {
        let content = fs::read_to_string(build::root().join(file)).with_context(|| format!("cannot read {file}"))?;
        if value(&content, beginning) != Some(version.as_str()) {
            others.push(format!("{file} ({})", beginning.trim()));
        }
    }
    ensure!(others.is_empty(), "gyre has the version {version}, and these have another: {}", others.join(", "));
    Ok(version)
}

/// Returns the value of the first line that begins so, without quotation marks.
fn value<'a>(content: &'a str, beginning: &str) -> Option<&'a str> {
    let value = content.lines().find_map(|line| line.strip_prefix(beginning))?;
    Some(value.trim_end_matches(',').trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_packages_have_one_version() {
        assert!(common().unwrap().split('.').count() == 3);
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(value("name: a\nversion: 0.1.0\n", "version: "), Some("0.1.0"));
        assert_eq!(value("appVersion: \"0.1.0\"\n", "appVersion: "), Some("0.1.0"));
        assert_eq!(value("{\n  \"version\": \"0.1.0\",\n", "  \"version\": "), Some("0.1.0"));
        assert_eq!(value("", "version: "), None);
    }
}
