//! The plugins of this repository as components.

use std::fs;

use anyhow::Context as _;
use gyre_plugin_build as plugin_build;
use serde_json::Value;

use super::{Release, Skipped, machine};
use crate::build::{self, Profile};
use crate::steps;

/// The folder of the plugins.
const FOLDER: &str = "plugins";

/// The languages besides Rust: the file by which a project is recognised, and the program without
/// which `gyre build` cannot build it.
const OTHERS: [(&str, &str); 3] = [("go.mod", "go"), ("package.json", "npm"), ("pyproject.toml", "python3")];

/// Compiles the plugins: those in Rust as the tests do, the others by `gyre build`.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    let packages = in_rust(&build::metadata()?);
    let names: Vec<&str> = packages.iter().map(String::as_str).collect();
    for (name, component) in names.iter().zip(build::plugins(&names)?) {
        release.add(&component, &plugin_build::file_name(name))?;
    }
    let gyre = build::host(Profile::Release)?;
    let mut skipped = Vec::new();
    for (folder, needed) in in_other_languages()? {
        let file = plugin_build::file_name(&folder);
        if machine::on_path(needed).is_none() {
            skipped.push(Skipped::new(file, format!("there is no {needed} on PATH")));
            continue;
        }
        let mut command = machine::command(&gyre, build::root());
        steps::run(command.arg("build").arg(format!("{FOLDER}/{folder}")).arg("--to").arg(release.file(&file)))?;
    }
    Ok(skipped)
}

/// Returns the packages that are plugins in Rust: those that make a component, in the folder of
/// plugins.
pub(super) fn in_rust(metadata: &Value) -> Vec<String> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let folder = build::root().join(FOLDER);
    let is_plugin = |package: &Value| {
        let manifest = package.get("manifest_path").and_then(Value::as_str).unwrap_or_default();
        let is_component = |target: &Value| list(target, "crate_types").iter().any(|kind| kind == "cdylib");
        std::path::Path::new(manifest).starts_with(&folder) && list(package, "targets").iter().any(is_component)
    };
    let mut names: Vec<String> = list(metadata, "packages")
        .iter()
        .filter(|package| is_plugin(package))
        .filter_map(|package| package.get("name").and_then(Value::as_str).map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Returns the folders of the plugins in other languages, each with the program that it needs.
fn in_other_languages() -> anyhow::Result<Vec<(String, &'static str)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(build::root().join(FOLDER)).with_context(|| format!("cannot read {FOLDER}"))? {
        let entry = entry?;
        let language = OTHERS.iter().find(|(file, _)| entry.path().join(file).is_file());
        found.extend(language.map(|(_, needed)| (entry.file_name().to_string_lossy().into_owned(), *needed)));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plugin_of_the_repository_is_released() {
        let rust = in_rust(&build::metadata().unwrap());
        for name in ["echo", "scheduled-echo", "greeter", "website"] {
            assert!(rust.iter().any(|found| found == name), "{rust:?}");
        }
        assert!(!rust.iter().any(|name| name == "echo-pod"), "it is no plugin");
        let others = in_other_languages().unwrap();
        for (folder, needed) in [("greeter-go", "go"), ("greeter-ts", "npm"), ("greeter-py", "python3")] {
            assert!(others.contains(&(folder.to_owned(), needed)), "{others:?}");
        }
        // Files of plugins do not have the names of others.
        let mut files: Vec<String> =
            rust.iter().chain(others.iter().map(|(folder, _)| folder)).map(|name| plugin_build::file_name(name)).collect();
        files.sort();
        let count = files.len();
        files.dedup();
        assert_eq!(files.len(), count);
    }
}
