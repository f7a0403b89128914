//! The packages of npm with which a plugin in TypeScript is built.

use std::fs;

use anyhow::Context as _;
use serde_json::Value;

use super::{Bill, Component, Scope};
use crate::build;

const LOCK: &str = "sdk/typescript/package-lock.json";

/// The name of the package.
const NAME: &str = "gyre-sdk-npm";

/// The folder in which npm installs packages, as `package-lock.json` names them.
const FOLDER: &str = "node_modules/";

/// Lists the packages that an installation of the SDK brings, on all platforms.
pub(super) fn read() -> anyhow::Result<Bill> {
    let text = fs::read_to_string(build::root().join(LOCK)).with_context(|| format!("cannot read {LOCK}"))?;
    let lock: Value = serde_json::from_str(&text).with_context(|| format!("{LOCK} is no JSON"))?;
    Ok(bill(&lock))
}

fn bill(lock: &Value) -> Bill {
    let empty = serde_json::Map::new();
    let packages = lock.get("packages").and_then(Value::as_object).unwrap_or(&empty);
    let is_for_development = |package: &Value| package.get("dev").and_then(Value::as_bool).unwrap_or_default();
    // The first is the SDK itself.
    let installed = packages.iter().filter(|(path, package)| path.contains(FOLDER) && !is_for_development(package));
    let components: Vec<Component> = installed.filter_map(|(path, package)| component(path, package)).collect();
    // What needs what is in the lock file, too, but follows from rules of npm.
    let all = components.iter().map(|component| component.reference.clone()).collect();
    Bill { name: NAME.to_owned(), components, dependencies: vec![(NAME.to_owned(), all)] }
}

/// Returns a package, or `None` if it has no version.
fn component(path: &str, package: &Value) -> Option<Component> {
    let text = |key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
    let (_, name) = path.rsplit_once(FOLDER)?;
    let version = text("version")?;
    // A package URL escapes the @ of a scope.
    let url = format!("pkg:npm/{}@{version}", name.replace('@', "%40"));
    Some(Component {
        reference: format!("{name} {version}"),
        name: name.to_owned(),
        version,
        url: Some(url),
        license: text("license"),
        sha256: None,
        scope: Scope::Required,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn packages_are_those_that_an_installation_brings() {
        let lock = json!({"packages": {
            "": {"name": "@gyre/sdk", "version": "0.1.0"},
            "node_modules/esbuild": {"version": "0.28.2", "license": "MIT"},
            "node_modules/@esbuild/linux-x64": {"version": "0.28.2", "optional": true},
            "node_modules/typescript": {"version": "7.0.2", "dev": true},
            "node_modules/a/node_modules/b": {"version": "1.0.0"},
        }});
        let bill = bill(&lock);
        let mut found: Vec<(&str, Option<&str>)> = bill
            .components
            .iter()
            .filter_map(|component| Some((component.url.as_deref()?, component.license.as_deref())))
            .collect();
        found.sort_unstable();
        let expected =
            [("pkg:npm/%40esbuild/linux-x64@0.28.2", None), ("pkg:npm/b@1.0.0", None), ("pkg:npm/esbuild@0.28.2", Some("MIT"))];
        assert_eq!(found, expected);
        assert_eq!(bill.dependencies[0].1.len(), 3);
    }

    #[test]
    fn the_lock_file_of_the_sdk_is_read() {
        let bill = read().unwrap();
        assert!(bill.components.iter().any(|component| component.name == "esbuild"), "{bill:?}");
        assert!(!bill.components.iter().any(|component| component.name == "typescript"), "it is for development");
    }
}
