//! Plugins in Go: runs the standard compiler for `wasip1`, then the init functions of its module,
//! and makes a component of it.

mod preinitialize;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use gyre_engine::error::error_chain;

use self::preinitialize::preinitialize;
use super::component::componentize;
use super::{Built, folder_of_results, run_shown};
use crate::plugins::files::replace;

/// The first version that exports functions from wasip1, by `go:wasmexport` and
/// `-buildmode=c-shared`.
const OLDEST: (u32, u32) = (1, 24);

const INSTALL: &str = "install Go 1.24 or later (https://go.dev/dl)";

/// Variables that would change the module.
const FOREIGN_VARIABLES: [&str; 5] = ["GOFLAGS", "GOWASM", "GOEXPERIMENT", "GODEBUG", "GOFIPS140"];

/// Compiles the package in a folder, an absolute path.
pub(super) fn build(directory: &Path, options: &[String]) -> anyhow::Result<Built> {
    require_version(directory)?;
    let results = folder_of_results(directory)?;
    // Builds at the same time do not share the file.
    let module = results.join(format!("core.wasm.{}", std::process::id()));
    let compiled = compile(directory, options, &module);
    let bytes = compiled.and_then(|()| std::fs::read(&module).context("cannot read what go has compiled"));
    let _ = std::fs::remove_file(&module);
    let is_no_plugin = |error| anyhow!("go has compiled {}, and it is no plugin: {error:#}; {REGISTER}", directory.display());
    let module = preinitialize(&bytes?).with_context(|| format!("cannot initialise {}", directory.display()))?;
    let component = componentize(module).map_err(is_no_plugin)?;
    let path = results.join("plugin.wasm");
    replace(&path, &component).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Built { component: path, sources: sources(directory) })
}

const REGISTER: &str = "import gyre.dev/gyre, and call gyre.Register in an init function of the package main";

fn compile(directory: &Path, options: &[String], module: &Path) -> anyhow::Result<()> {
    let mut go = go(directory);
    // Neither folders of this machine nor the state of its repository are in the module.
    go.args(["build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o"]);
    go.arg(module).args(options).arg(".");
    let output = run_shown(&mut go).map_err(|error| cannot_run(&error))?;
    if !output.status.success() {
        bail!("go cannot compile {}: see its messages above", directory.display());
    }
    Ok(())
}

/// The compiler for the target.
fn go(directory: &Path) -> Command {
    let mut go = Command::new("go");
    go.current_dir(directory).env("GOOS", "wasip1").env("GOARCH", "wasm").env("CGO_ENABLED", "0");
    for variable in FOREIGN_VARIABLES {
        go.env_remove(variable);
    }
    go
}

fn cannot_run(error: &std::io::Error) -> anyhow::Error {
    anyhow!("cannot run go: {}; {INSTALL}", error_chain(error))
}

fn require_version(directory: &Path) -> anyhow::Result<()> {
    let output = go(directory).args(["env", "GOVERSION"]).stdin(Stdio::null()).output().map_err(|error| cannot_run(&error))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        bail!("go does not say its version: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    match parsed(&version) {
        Some(version) if version < OLDEST => bail!("{} is too old to compile plugins; {INSTALL}", shown(version)),
        _ => Ok(()),
    }
}

fn shown((major, minor): (u32, u32)) -> String {
    format!("Go {major}.{minor}")
}

/// Returns the version in `go1.26.8`, or `None` if it is another, e.g. of a development build.
fn parsed(version: &str) -> Option<(u32, u32)> {
    let (major, rest) = version.strip_prefix("go")?.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The folder of the project, and those of modules that its go.mod replaces by folders.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut list = go(directory);
    list.args(["list", "-deps", "-f", "{{with .Module}}{{if .Replace}}{{.Dir}}{{end}}{{end}}", "."]);
    let output = list.stdin(Stdio::null()).output().ok();
    let replaced = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let mut sources: Vec<PathBuf> = replaced.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect();
    sources.push(directory.to_owned());
    sources.sort();
    sources.dedup();
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_of_go_are_compared_as_numbers() {
        assert_eq!([parsed("go1.26.8"), parsed("go1.9"), parsed("go1.25rc1")], [Some((1, 26)), Some((1, 9)), Some((1, 25))]);
        assert_eq!([parsed("devel go1.27-abc"), parsed("")], [None, None]);
        assert!(parsed("go1.9").unwrap() < OLDEST);
    }
}
