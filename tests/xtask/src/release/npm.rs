//! The SDK for TypeScript, as an archive that `npm publish` uploads.

use super::{Release, Skipped, machine};
use crate::steps;

/// The program that installs what the SDK is compiled with.
const NPM: &str = "npm";

/// Compiles and packs the SDK in a copy of its folder.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    if let Some(problem) = machine::problem_with(NPM, &["--version"]) {
        return Ok(vec![Skipped::new(format!("gyre-sdk-{}.tgz", release.version), problem)]);
    }
    let copy = release.copy_of("sdk/typescript")?;
    steps::run(machine::command(NPM, &copy).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
    steps::run(machine::command(NPM, &copy).args(["run", "package"]))?;
    steps::run(machine::command(NPM, &copy).args(["pack", "./dist/package", "--pack-destination"]).arg(&release.folder))?;
    Ok(Vec::new())
}
