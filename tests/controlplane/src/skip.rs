//! Skips tests that cannot run here. With `CI=true`, skipping is an error.
//!
//! A skipped test writes a line to stderr, which the test runner does not capture, and to the file
//! named by [`SKIPS`], which `cargo xtask test` counts.

use std::fs::File;
use std::io::Write as _;
use std::panic::Location;

use crate::control_plane::ControlPlane;
use crate::options::Options;
use crate::registry::{self, Registry};
use crate::stderr::print_uncaptured;
use crate::tools::{self, Tools};

/// The environment variable with the file to which each skipped test adds a line.
pub const SKIPS: &str = "GYRE_SKIPS";

/// Selects whether a test may be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Every test must run (`CI=true`).
    Required,
    /// A test is skipped if this machine lacks what it needs.
    Optional,
}

/// Returns the requirement of this process, by `CI`.
pub fn required() -> Requirement {
    match std::env::var("CI").as_deref() {
        Ok("true" | "1") => Requirement::Required,
        _ => Requirement::Optional,
    }
}

/// Returns the name of the test on this thread, or the place of the caller.
#[track_caller]
fn calling_test() -> String {
    let location = Location::caller();
    // The test runner names its threads after the tests, unless there is only one thread.
    match std::thread::current().name() {
        Some(name) if name != "main" => name.to_string(),
        _ => format!("{}:{}", location.file(), location.line()),
    }
}

/// Skips the calling test, which should return at once. Errors: [`Requirement::Required`].
#[track_caller]
pub fn skip(reason: &str) -> anyhow::Result<()> {
    let test = calling_test();
    anyhow::ensure!(required() == Requirement::Optional, "{test} may not be skipped where CI=true: {reason}");
    let line = format!("SKIPPED: {test} ({})\n", reason.replace('\n', " "));
    print_uncaptured(&line);
    if let Some(path) = std::env::var_os(SKIPS) {
        // A single write, so that lines of concurrent tests do not mix.
        File::options().create(true).append(true).open(path)?.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Returns the tools, or `None` after skipping the calling test. Errors: a build failed, or
/// [`Requirement::Required`].
#[track_caller]
pub fn tools_or_skip() -> anyhow::Result<Option<Tools>> {
    unless_missing(Tools::find_or_build(&mut |line| print_uncaptured(&format!("{line}\n"))).map_err(Into::into))
}

/// Starts a control plane, or returns `None` after skipping the calling test.
#[track_caller]
pub fn start_or_skip(options: Options) -> anyhow::Result<Option<ControlPlane>> {
    match tools_or_skip()? {
        Some(tools) => unless_missing(ControlPlane::start(&tools, options)),
        None => Ok(None),
    }
}

/// Returns [`ControlPlane::shared`], or `None` after skipping the calling test.
#[track_caller]
pub fn shared_or_skip() -> anyhow::Result<Option<&'static ControlPlane>> {
    unless_missing(ControlPlane::shared())
}

/// Starts a registry, or returns `None` after skipping the calling test.
#[track_caller]
pub fn registry_or_skip(options: registry::Options) -> anyhow::Result<Option<Registry>> {
    let program = registry::program(&mut |line| print_uncaptured(&format!("{line}\n"))).map_err(Into::into);
    match unless_missing(program)? {
        Some(program) => Registry::start(&program, options).map(Some),
        None => Ok(None),
    }
}

#[track_caller]
fn unless_missing<T>(result: anyhow::Result<T>) -> anyhow::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.downcast_ref::<tools::Error>() {
            Some(cause) if cause.is_missing() => skip(&cause.to_string()).map(|()| None),
            _ => Err(error),
        },
    }
}
