//! The SDK for Go. A release of it is a tag of this repository; nothing is uploaded.

use std::fs;

use anyhow::{Context as _, ensure};

use super::{Release, Skipped, machine};
use crate::build;
use crate::steps;

/// The folder of the module.
const FOLDER: &str = "sdk/go";

/// Checks the module, and writes the name of its tag.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    let folder = build::root().join(FOLDER);
    let go_mod = fs::read_to_string(folder.join("go.mod")).with_context(|| format!("cannot read {FOLDER}/go.mod"))?;
    let module = go_mod.lines().find_map(|line| line.strip_prefix("module ")).context("go.mod names no module")?;
    ensure!(has_suffix(module, &release.version), "Go wants the major version of {} at the end of {module}", release.version);
    let tag = format!("{FOLDER}/v{}", release.version);
    println!("the tag of {module} is {tag}");
    release.write("go-module-tag.txt", &format!("{tag}\n"))?;
    if let Some(problem) = machine::problem_with("go", &["version"]) {
        return Ok(vec![Skipped::new("the check of the Go module", problem)]);
    }
    let mut command = machine::command("go", &folder);
    command.env("GOFLAGS", "-mod=readonly").env("GOWORK", "off");
    steps::run(command.args(["vet", "./..."]))?;
    Ok(Vec::new())
}

/// Returns whether the path of a module ends as Go wants it: from version 2 on, with the major
/// version.
fn has_suffix(module: &str, version: &str) -> bool {
    let major = version.split('.').next().unwrap_or(version);
    let suffix = module.rsplit_once("/v").map(|(_, suffix)| suffix).filter(|suffix| suffix.parse::<u64>().is_ok());
    match major {
        "0" | "1" => suffix.is_none(),
        major => suffix == Some(major),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_has_its_major_version_from_2_on() {
        for (module, version, expected) in [
            ("gyre.dev/gyre", "0.1.0", true),
            ("gyre.dev/gyre", "1.2.0", true),
            ("gyre.dev/gyre", "2.0.0", false),
            ("gyre.dev/gyre/v2", "2.0.0", true),
            ("gyre.dev/gyre/v2", "1.0.0", false),
            ("gyre.dev/values", "1.0.0", true),
        ] {
            assert_eq!(has_suffix(module, version), expected, "{module} {version}");
        }
    }
}
