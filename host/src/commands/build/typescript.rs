//! Plugins in TypeScript and JavaScript: installs what the lock file names by npm, without running
//! scripts of packages, and runs the build of the SDK by Node.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{anyhow, bail};
use gyre_engine::error::error_chain;

use super::{Built, folder_of_results, run_shown};

/// The file of a project.
pub(super) const PROJECT: &str = "package.json";

const LOCK: &str = "package-lock.json";

/// The file that npm writes at the end of an installation.
const INSTALLED: &str = "node_modules/.package-lock.json";

/// The program of the SDK that builds a plugin.
const BUILD: &str = "node_modules/@gyre/sdk/bin/build.mjs";

const INSTALL: &str = "install Node.js 20.16 or later with npm (https://nodejs.org)";

/// Builds the project in a folder, an absolute path.
pub(super) fn build(directory: &Path, options: &[String]) -> anyhow::Result<Built> {
    if !is_installed(directory) {
        install(directory)?;
    }
    let program = directory.join(BUILD);
    if !program.is_file() {
        bail!(
            "{} does not depend on the SDK: add \"@gyre/sdk\" to its dependencies; `gyre new` creates a project that has it",
            directory.join(PROJECT).display()
        );
    }
    let component = folder_of_results(directory)?.join("plugin.wasm");
    let mut node = node(directory);
    node.arg(&program).arg(directory).arg("--to").arg(&component).arg("--sources").args(options);
    let output = run_shown(&mut node).map_err(|error| cannot_run("node", &error))?;
    if !output.status.success() {
        bail!("the SDK for TypeScript cannot build {}: see its messages above", directory.display());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let of_project = [PROJECT, LOCK].map(|file| directory.join(file));
    Ok(Built { component, sources: said.lines().map(PathBuf::from).chain(of_project).collect() })
}

/// Node without the options of this machine's user.
fn node(directory: &Path) -> Command {
    let mut node = Command::new("node");
    node.current_dir(directory).env_remove("NODE_OPTIONS");
    node
}

fn cannot_run(program: &str, error: &std::io::Error) -> anyhow::Error {
    anyhow!("cannot run {program}: {}; {INSTALL}", error_chain(error))
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// Returns whether the packages are those of the lock file.
fn is_installed(directory: &Path) -> bool {
    let (installed, lock) = (modified(&directory.join(INSTALLED)), modified(&directory.join(LOCK)));
    installed.zip(lock).is_some_and(|(installed, lock)| installed >= lock)
}

fn install(directory: &Path) -> anyhow::Result<()> {
    if !directory.join(LOCK).is_file() {
        bail!(
            "{} is missing: run `npm install --ignore-scripts` in the folder of the project, and commit the file",
            directory.join(LOCK).display()
        );
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(directory).stdin(Stdio::null());
    let output = run_shown(&mut npm).map_err(|error| cannot_run("npm", &error))?;
    if !output.status.success() {
        bail!("npm cannot install the packages of {}: see its messages above", directory.display());
    }
    Ok(())
}
