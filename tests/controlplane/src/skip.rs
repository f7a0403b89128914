//! Skips tests that cannot run here.
//!
//! A skipped test must not look like one that passed: it says so on stderr, past the capture of the test runner, and adds a
//! line to the file named by [`SKIPS`], from which `cargo xtask test` counts. Where `CI=true`, skipping is an error.

use std::fs::File;
use std::io::Write as _;
use std::panic::Location;

use crate::control_plane::ControlPlane;
use crate::options::Options;
use crate::stderr::say;
use crate::tools::{self, Tools};

/// The environment variable that names the file to which every skipped test adds a line.
pub const SKIPS: &str = "GYRE_SKIPS";

/// Decides if a test may be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Everything must run (`CI=true`).
    Required,
    /// A test whose requirements this machine lacks is skipped, with a message.
    Optional,
}

/// Returns the requirement of this process.
pub fn required() -> Requirement {
    match std::env::var("CI").as_deref() {
        Ok("true" | "1") => Requirement::Required,
        _ => Requirement::Optional,
    }
}

/// Skips the test that calls it, which should return at once: `return skip("…")`.
///
/// Errors: nothing may be skipped here.
#[track_caller]
pub fn skip(reason: &str) -> anyhow::Result<()> {
    let location = Location::caller();
    let thread = std::thread::current();
    // The test runner names its threads after the tests, unless it has only one.
    let test = match thread.name() {
        Some(name) if name != "main" => name.to_string(),
        _ => format!("{}:{}", location.file(), location.line()),
    };
    anyhow::ensure!(required() == Requirement::Optional, "{test} may not be skipped where CI=true: {reason}");
    let line = format!("SKIPPED: {test} ({})\n", reason.replace('\n', " "));
    say(&line);
    if let Some(path) = std::env::var_os(SKIPS) {
        // One write of one line: tests that are skipped at the same time do not mix theirs.
        File::options().create(true).append(true).open(path)?.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// The tools, or `None` after having skipped the test that calls it.
///
/// Errors: they cannot be had for a reason that is not this machine's, such as a failed build; or nothing may be skipped here.
#[track_caller]
pub fn tools_or_skip() -> anyhow::Result<Option<Tools>> {
    unless_missing(Tools::find_or_build(&mut |line| say(&format!("{line}\n"))).map_err(Into::into))
}

/// A control plane of the test's own, or `None` after having skipped the test that calls it. Errors: as [`tools_or_skip`].
#[track_caller]
pub fn start_or_skip(options: Options) -> anyhow::Result<Option<ControlPlane>> {
    match tools_or_skip()? {
        Some(tools) => unless_missing(ControlPlane::start(&tools, options)),
        None => Ok(None),
    }
}

/// The control plane that all tests of this process share ([`ControlPlane::shared`]), or `None` after having skipped the
/// test that calls it. Errors: as [`tools_or_skip`].
#[track_caller]
pub fn shared_or_skip() -> anyhow::Result<Option<&'static ControlPlane>> {
    unless_missing(ControlPlane::shared())
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
