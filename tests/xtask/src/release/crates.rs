//! The packages for crates.io.

use anyhow::Context as _;
use serde_json::Value;

use super::{Release, Skipped, machine};
use crate::build;
use crate::steps;

/// Does what `cargo publish` does before it uploads, which compiles the packages from their
/// archives, and adds the archives.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    let names = published(&build::metadata()?);
    let mut options = vec!["--locked"];
    let mut git = machine::command("git", build::root());
    let is_changed = !steps::stdout_of(git.args(["status", "--porcelain"]))?.is_empty();
    if is_changed && release.tag.is_none() {
        // The archives of a release are those of a commit.
        options.push("--allow-dirty");
    }
    let selected = || names.iter().flat_map(|name| ["--package", name.as_str()]);
    steps::run(build::cargo(&["publish", "--dry-run"]).args(&options).args(selected()))?;
    // A dry run keeps no archives.
    steps::run(build::cargo(&["package", "--no-verify"]).args(&options).args(selected()))?;
    let folder = build::target_folder()?.join("package");
    for name in &names {
        let file = format!("{name}-{}.crate", release.version);
        release.add(&folder.join(&file), &file).with_context(|| format!("Cargo packed no {name}"))?;
    }
    Ok(Vec::new())
}

/// Returns the packages that may be published.
fn published(metadata: &Value) -> Vec<String> {
    let packages = metadata.get("packages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // Otherwise it is a list of registries, which is empty for `publish = false`.
    let is_published = |package: &&Value| package.get("publish").is_none_or(Value::is_null);
    let names = packages.iter().filter(is_published).filter_map(|package| package.get("name").and_then(Value::as_str));
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_workflow_publishes_every_package() {
        let workflow = std::fs::read_to_string(build::root().join(".github/workflows/release.yaml")).unwrap();
        let (_, rest) = workflow.split_once("for package in ").unwrap();
        let mut listed: Vec<&str> = rest.split(';').next().unwrap().split(' ').collect();
        listed.sort_unstable();
        let mut names = published(&build::metadata().unwrap());
        names.sort_unstable();
        assert_eq!(listed, names);
    }

    /// Cargo publishes a package only with all packages that it depends on.
    #[test]
    fn published_packages_depend_on_published_packages_and_say_what_they_are() {
        let metadata = build::metadata().unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let published: BTreeSet<String> = published(&metadata).into_iter().collect();
        let expected = ["gyre-core", "gyre-sdk", "gyre-sdk-derive", "gyre-test"].map(str::to_owned);
        assert_eq!(published, BTreeSet::from(expected));
        for package in packages.iter().filter(|package| published.contains(package["name"].as_str().unwrap())) {
            let name = &package["name"];
            for key in ["description", "license", "documentation"] {
                assert!(package[key].is_string(), "{name} has no {key}");
            }
            for dependency in package["dependencies"].as_array().unwrap() {
                let is_ours = dependency["path"].is_string() && dependency["kind"] != "dev";
                assert!(!is_ours || published.contains(dependency["name"].as_str().unwrap()), "{name}: {}", dependency["name"]);
                assert!(!is_ours || dependency["req"] != "*", "{name}: {} has no version", dependency["name"]);
            }
        }
    }
}
