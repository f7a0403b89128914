//! The SDK for Python, as a wheel.

use super::{Release, Skipped, machine};
use crate::steps;

const PYTHON: &str = "python3";

/// Builds the wheel in a copy of the SDK's folder.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    if let Some(problem) = machine::problem_with(PYTHON, &["-m", "pip", "--version"]) {
        return Ok(vec![Skipped::new(format!("gyre_sdk-{}-py3-none-any.whl", release.version), problem)]);
    }
    let copy = release.copy_of("sdk/python")?;
    let mut command = machine::command(PYTHON, &copy);
    command.env("SOURCE_DATE_EPOCH", release.commit.seconds.to_string());
    steps::run(command.args(["-m", "pip", "wheel", "--no-deps", "--wheel-dir"]).arg(&release.folder).arg("."))?;
    Ok(Vec::new())
}
