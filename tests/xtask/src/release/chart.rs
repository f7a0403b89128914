//! The chart, as an archive that `helm push` uploads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use gyre_controlplane::{Tools, tools};

use super::{Release, Skipped, machine};
use crate::build;
use crate::control_plane;
use crate::steps;

const FOLDER: &str = "charts/gyre";

/// The variable with the repository of the released image, e.g. `ghcr.io/team/gyre`. The workflow
/// sets it; without it, the chart is packed as it is.
const IMAGE: &str = "RELEASE_IMAGE";

/// The line of `values.yaml` with the repository of an image that was built and not pushed.
const LOCAL: &str = "  repository: gyre";

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
    let chart = chart(release)?;
    steps::run(command(&helm).args(["lint", "--strict", "--quiet"]).arg(&chart))?;
    steps::run(command(&helm).arg("package").arg(&chart).arg("--destination").arg(&release.folder))?;
    Ok(Vec::new())
}

/// Returns the chart to pack: the one of the checkout, or a copy that installs the released image.
fn chart(release: &Release) -> anyhow::Result<PathBuf> {
    let Some(image) = std::env::var_os(IMAGE).filter(|image| !image.is_empty()) else {
        return Ok(build::root().join(FOLDER));
    };
    let image = image.to_str().with_context(|| format!("{IMAGE} is no text: {}", image.display()))?;
    let copy = release.copy_of(FOLDER)?;
    let file = copy.join("values.yaml");
    let values = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    fs::write(&file, with_image(&values, image)?).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(copy)
}

/// Returns the values with another repository of the image.
///
/// # Errors
///
/// If this is no repository in a registry, or not exactly one line of the values is [`LOCAL`].
fn with_image(values: &str, image: &str) -> anyhow::Result<String> {
    let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._-/:".contains(letter);
    let is_repository = image.contains('/') && image.chars().all(is_of_name);
    ensure!(is_repository, "{IMAGE} is {image:?}: expected a repository in lower case, such as ghcr.io/team/gyre");
    let count = values.lines().filter(|line| *line == LOCAL).count();
    ensure!(count == 1, "values.yaml has {count} lines {LOCAL:?} instead of 1, so the chart cannot name the image {image}");
    let released = format!("  repository: {image}");
    let lines: Vec<&str> = values.lines().map(|line| if line == LOCAL { released.as_str() } else { line }).collect();
    Ok(lines.join("\n") + "\n")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_chart_names_the_released_image() {
        let values = fs::read_to_string(build::root().join(FOLDER).join("values.yaml")).unwrap();
        let released = with_image(&values, "ghcr.io/team/gyre").unwrap();
        let changed: Vec<(&str, &str)> = values.lines().zip(released.lines()).filter(|(old, new)| old != new).collect();
        assert_eq!(changed, [(LOCAL, "  repository: ghcr.io/team/gyre")]);
        assert_eq!(released.lines().count(), values.lines().count());
    }

    #[test]
    fn an_image_that_cannot_be_named_is_an_error() {
        let values = "image:\n  repository: gyre\n";
        let released = with_image(values, "localhost:5000/gyre").unwrap();
        assert_eq!(released, "image:\n  repository: localhost:5000/gyre\n");
        for (values, image, expected) in [
            ("image:\n  repository: other\n", "ghcr.io/a/gyre", "has 0 lines"),
            ("a:\n  repository: gyre\nb:\n  repository: gyre\n", "ghcr.io/a/gyre", "has 2 lines"),
            ("image:\n  repository: gyre-test\n", "ghcr.io/a/gyre", "has 0 lines"),
            (values, "gyre", "expected a repository"),
            (values, "ghcr.io/Team/gyre", "expected a repository"),
            (values, "ghcr.io/a/gyre\n  tag: other", "expected a repository"),
        ] {
            let error = with_image(values, image).unwrap_err().to_string();
            assert!(error.contains(expected), "{image}: {error}");
        }
    }

    #[test]
    fn the_workflow_names_the_image_of_the_chart() {
        let workflow = fs::read_to_string(build::root().join(".github/workflows/release.yaml")).unwrap();
        assert!(workflow.contains(&format!("{IMAGE}: ${{{{ env.IMAGE }}}}")), "the released chart would install a local image");
    }
}
