//! Cargo, called from Cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use gyre_plugin_build as plugin_build;
use serde_json::Value;

use crate::steps;

/// The profile of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Quick to build.
    Debug,
    /// Quick to run.
    Release,
}

/// The root of the checkout.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    // This package lies two folders below.
    package.ancestors().nth(2).unwrap_or(package)
}

/// A Cargo command at the root, with the Cargo that started us.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(args);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_this_package) {
            command.env_remove(name);
        }
    }
    command
}

/// Returns whether Cargo sets a variable for the program that it runs, to say what package that is
/// of. The build script of `ring` runs again when these change, and all that uses TLS is compiled
/// again: what `cargo test` has built would be built a second time here.
fn is_of_this_package(variable: &str) -> bool {
    const NAMES: [&str; 4] = ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"];
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| variable.starts_with(prefix)) || NAMES.contains(&variable)
}

/// Returns the output of `cargo metadata` about the workspace.
pub(crate) fn metadata() -> anyhow::Result<Value> {
    let text = steps::stdout_of(&mut cargo(&["metadata", "--format-version=1", "--no-deps", "--locked"]))?;
    serde_json::from_str(&text).context("`cargo metadata` printed no JSON")
}

/// Returns the target folder of Cargo.
pub(crate) fn target_folder() -> anyhow::Result<PathBuf> {
    let metadata = metadata()?;
    let folder = metadata.get("target_directory").and_then(Value::as_str);
    Ok(folder.context("`cargo metadata` names no target directory")?.into())
}

/// Compiles packages under `plugins/` to components, and says where these are.
pub(crate) fn plugins(packages: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    // A folder of its own, the one that the tests' build uses too: Cargo locks a folder while it
    // builds in it.
    let folder = target_folder()?.join("wasm");
    for package in packages {
        let mut command = cargo(&plugin_build::CDYLIB);
        command
            .args(plugin_build::Profile::Plugin.options())
            .args(["--locked", "--package", package, "--target-dir"])
            .arg(&folder);
        command.env(plugin_build::FLAGS_VARIABLE, plugin_build::flags()?);
        steps::run(&mut command)?;
    }
    let built = plugin_build::Profile::Plugin.components(&folder);
    Ok(packages.iter().map(|package| built.join(plugin_build::file_name(package))).collect())
}

/// Compiles the host, and says where its program is.
pub(crate) fn host(profile: Profile) -> anyhow::Result<PathBuf> {
    let mut command = cargo(&["build", "--locked", "--package", "gyre", "--bin", "gyre"]);
    if profile == Profile::Release {
        command.arg("--release");
    }
    steps::run(&mut command)?;
    host_program(profile)
}

/// Says where the program of the host is, once it is built.
pub(crate) fn host_program(profile: Profile) -> anyhow::Result<PathBuf> {
    let folder = match profile {
        Profile::Debug => "debug",
        Profile::Release => "release",
    };
    Ok(target_folder()?.join(folder).join("gyre"))
}
