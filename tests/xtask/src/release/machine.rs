//! The programs and targets of this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::build;
use crate::steps;

/// Returns the path of a program, or `None` if it is not on `PATH`.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Returns a command that runs in a folder and reads no input.
pub(super) fn command(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Returns why a program cannot be used, or `None` if this command of it succeeds.
pub(super) fn problem_with(program: &str, arguments: &[&str]) -> Option<String> {
    if on_path(program).is_none() {
        return Some(format!("there is no {program} on PATH"));
    }
    let line = std::iter::once(&program).chain(arguments).copied().collect::<Vec<_>>().join(" ");
    match command(program, build::root()).args(arguments).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
            Some(format!("`{line}` fails: {first}"))
        }
        Err(error) => Some(format!("`{line}` cannot be run: {error}")),
    }
}

/// Returns the target of this machine, as rustc names it.
pub(super) fn host() -> anyhow::Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = steps::stdout_of(command(rustc, build::root()).arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}
