//! The chart, as an archive that `helm push` uploads.

use std::path::{Path, PathBuf};
use std::process::Command;

use gyre_controlplane::{Tools, tools};

use super::{Release, Skipped, machine};
use crate::build;
use crate::control_plane;
use crate::steps;

/// Checks and packs the chart.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    let helm = match helm() {
        Ok(helm) => helm,
        Err(error) => match error.downcast_ref::<tools::Error>() {
            Some(cause) if cause.is_missing() => {
                return Ok(vec![Skipped::new(format!("gyre-{}.tgz", release.version), cause.to_string())]);
            }
            _ => return Err(error),
        },
    };
    steps::run(command(&helm).args(["lint", "--strict", "--quiet", "charts/gyre"]))?;
    steps::run(command(&helm).args(["package", "charts/gyre", "--destination"]).arg(&release.folder))?;
    Ok(Vec::new())
}

/// Returns the helm of the tests if it is built, or else the one on `PATH`; only then it is built.
fn helm() -> anyhow::Result<PathBuf> {
    if let Some(tools) = Tools::find()?
        && let Ok(helm) = tools.helm()
    {
        return Ok(helm.to_owned());
    }
    match machine::on_path("helm") {
        Some(helm) => Ok(helm),
        None => Ok(control_plane::tools()?.helm()?.to_owned()),
    }
}

/// Returns a helm that ignores the settings of the user.
fn command(helm: &Path) -> Command {
    let mut command = machine::command(helm, build::root());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HELM_") {
            command.env_remove(name);
        }
    }
    command
}
