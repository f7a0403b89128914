//! The image, where a container engine answers.

use std::env::consts::ARCH;

use anyhow::Context as _;

use super::{Release, Skipped, machine};
use crate::build;
use crate::steps;

/// The architectures of an image, as Rust and as engines name them.
const ARCHITECTURES: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];

/// Builds the image for this machine's architecture. The program of the image compiles its plugins
/// for the processor on which it runs, so each architecture is built on a machine of its own.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    let file = |architecture: &str| format!("gyre-image-{}-{architecture}.tar", release.version);
    let problem =
        machine::problem_with("docker", &["buildx", "version"]).or_else(|| machine::problem_with("docker", &["info"]));
    let mut skipped = Vec::new();
    for (cpu, architecture) in ARCHITECTURES {
        let file = file(architecture);
        match &problem {
            Some(problem) => skipped.push(Skipped::new(file, problem)),
            None if cpu != ARCH => skipped.push(Skipped::new(file, format!("it is built on a machine with {architecture}"))),
            None => build_here(release, &file)?,
        }
    }
    Ok(skipped)
}

fn build_here(release: &Release, file: &str) -> anyhow::Result<()> {
    let tag = format!("gyre:{}", release.version);
    let mut command = machine::command("docker", build::root());
    steps::run(command.args(["buildx", "build", "--load", "--tag", &tag, "."]))?;
    let mut command = machine::command("docker", build::root());
    steps::run(command.args(["image", "save", "--output"]).arg(release.file(file)).arg(&tag)).context("cannot save the image")
}
