//! `cargo xtask release`: builds everything that a release has, and uploads nothing.
//!
//! ```text
//! a checkout ─▶ PARTS ─┬▶ notes                 ┐
//!                      ├▶ programs ─▶ plugins   ├▶ target/release-artifacts ─▶ SHA256SUMS
//!                      ├▶ chart, image          │
//!                      └▶ crates, npm, …, SBOM  ┘
//! ```
//!
//! A part is a file in `release` and a row of [`PARTS`]. It writes files, and names what this
//! machine cannot build. The workflow `release.yaml` calls the parts, each on machines that can
//! build it.
//!
//! What is absent: uploads and signatures. They need the identity of the workflow.

mod archive;
mod chart;
mod checksums;
mod crates;
mod go;
mod image;
mod machine;
mod notes;
mod npm;
mod plugins;
mod programs;
mod sbom;
mod versions;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::build;
use crate::steps::{self, Steps};

/// The folder of the results, in Cargo's target folder.
const RESULTS: &str = "release-artifacts";

/// The folder of what is only needed on the way, beside it.
const WORK: &str = "release-work";

/// Files and folders that a copy of a source folder does not have, because tools write them.
const LEFT_BEHIND: [&str; 7] = [".git", ".pytest_cache", ".venv", "__pycache__", "dist", "node_modules", "target"];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Upload nothing. It is required: .github/workflows/release.yaml uploads a release.
    #[arg(long)]
    dry_run: bool,
    /// Part to build, which may be repeated; results of earlier runs stay [default: all parts, in
    /// an empty folder].
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    /// Target to build programs for, which may be repeated [default: all targets of a release].
    #[arg(long, value_name = "TRIPLE", value_parser = programs::TARGETS)]
    target: Vec<String>,
    /// Tag of the release, such as v0.1.0: every package must have its version, and CHANGELOG.md
    /// must have its section.
    #[arg(long)]
    tag: Option<String>,
}

/// A part of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Notes, from CHANGELOG.md.
    Notes,
    /// Programs of each target: gyre, and the one that runs in a cluster.
    Programs,
    /// Plugins of this repository as components.
    Plugins,
    /// Container image for this machine's architecture.
    Image,
    /// Helm chart.
    Chart,
    /// Packages for crates.io.
    Crates,
    /// SDK for TypeScript.
    Npm,
    /// SDK for Python.
    Wheel,
    /// SDK for Go: the name of its tag.
    Go,
    /// Bills of materials.
    Sbom,
    /// Digests of all files.
    Checksums,
}

struct Row {
    part: Part,
    name: &'static str,
    make: fn(&Release) -> anyhow::Result<Vec<Skipped>>,
}

/// The parts in the order in which they are built: plugins in other languages than Rust are built
/// by one of the programs, and the digests are those of all other files.
const PARTS: [Row; 11] = [
    Row { part: Part::Notes, name: "notes", make: notes::make },
    Row { part: Part::Programs, name: "programs", make: programs::make },
    Row { part: Part::Plugins, name: "plugins", make: plugins::make },
    Row { part: Part::Image, name: "image", make: image::make },
    Row { part: Part::Chart, name: "chart", make: chart::make },
    Row { part: Part::Crates, name: "crates", make: crates::make },
    Row { part: Part::Npm, name: "npm package", make: npm::make },
    Row { part: Part::Wheel, name: "Python wheel", make: wheel::make },
    Row { part: Part::Go, name: "Go module", make: go::make },
    Row { part: Part::Sbom, name: "bills of materials", make: sbom::make },
    Row { part: Part::Checksums, name: "checksums", make: checksums::make },
];

/// A result that this machine cannot build.
#[derive(Debug, PartialEq, Eq)]
struct Skipped {
    what: String,
    reason: String,
}

impl Skipped {
    fn new(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what: what.into(), reason: reason.into() }
    }
}

/// A release that is built.
#[derive(Debug)]
struct Release {
    /// The version of every package.
    version: String,
    /// The tag, or `None` before there is one.
    tag: Option<String>,
    /// The targets of the programs.
    targets: Vec<String>,
    /// The folder of the results.
    folder: PathBuf,
    /// The folder of what is only needed on the way.
    work: PathBuf,
    commit: Commit,
}

/// The time of the commit that is built. Files have it, so that another build makes the same.
#[derive(Debug)]
struct Commit {
    /// In seconds since 1970.
    seconds: u64,
    /// As in RFC 3339.
    date: String,
}

/// Builds the parts, and prints the results and what was skipped.
///
/// # Errors
///
/// The parts that failed. A part that fails does not keep the others from being built.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(
        arguments.dry_run,
        "nothing is uploaded from here: add --dry-run. The workflow .github/workflows/release.yaml uploads a release when its \
         tag is pushed"
    );
    let release = Release::new(arguments)?;
    let is_wanted = |row: &&Row| arguments.only.is_empty() || arguments.only.contains(&row.part);
    let rows: Vec<&Row> = PARTS.iter().filter(is_wanted).collect();
    let mut steps = Steps::new(rows.len());
    let (mut skipped, mut failed) = (Vec::new(), Vec::new());
    for row in rows {
        match steps.step(row.name, || (row.make)(&release)) {
            Ok(more) => skipped.extend(more),
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
    println!("{}:", release.folder.display());
    for (name, size) in release.files()? {
        println!("{size:>12} bytes  {name}");
    }
    for Skipped { what, reason } in skipped {
        println!("skipped: {what} ({reason})");
    }
    println!("built in {}", steps.elapsed());
    ensure!(failed.is_empty(), "{}", failed.join("\nerror: "));
    Ok(())
}

impl Release {
    /// Reads the versions, and makes the folders. Without `--only`, the folder of the results is
    /// empty.
    fn new(arguments: &Arguments) -> anyhow::Result<Self> {
        let version = versions::common()?;
        if let Some(tag) = &arguments.tag {
            let expected = format!("v{version}");
            ensure!(*tag == expected, "the packages have the version {version}, and the tag is {tag} instead of {expected}");
        }
        let target = build::target_folder()?;
        let (folder, work) = (target.join(RESULTS), target.join(WORK));
        if arguments.only.is_empty() {
            remove(&folder)?;
        }
        for made in [&folder, &work] {
            fs::create_dir_all(made).with_context(|| format!("cannot create {}", made.display()))?;
        }
        let mut targets = arguments.target.clone();
        if targets.is_empty() {
            targets.extend(programs::TARGETS.map(str::to_owned));
        }
        Ok(Self { version, tag: arguments.tag.clone(), targets, folder, work, commit: Commit::read()? })
    }

    /// Returns the path of a result.
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the names and sizes of the results, by name.
    fn files(&self) -> anyhow::Result<Vec<(String, u64)>> {
        let shown = self.folder.display();
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).with_context(|| format!("cannot read {shown}"))? {
            let entry = entry?;
            files.push((entry.file_name().to_string_lossy().into_owned(), entry.metadata()?.len()));
        }
        files.sort();
        Ok(files)
    }

    /// Copies a file to the results, under its own name or another.
    fn add(&self, from: &Path, name: &str) -> anyhow::Result<()> {
        let to = self.file(name);
        fs::copy(from, &to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
        Ok(())
    }

    /// Writes a result.
    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let to = self.file(name);
        fs::write(&to, text).with_context(|| format!("cannot write {}", to.display()))
    }

    /// Copies a folder of the checkout for tools that write beside their sources, and returns the
    /// copy.
    fn copy_of(&self, folder: &str) -> anyhow::Result<PathBuf> {
        let copy = self.work.join(folder.replace('/', "-"));
        remove(&copy)?;
        copy_folder(&build::root().join(folder), &copy)?;
        Ok(copy)
    }
}

impl Commit {
    fn read() -> anyhow::Result<Self> {
        let mut git = machine::command("git", build::root());
        let said = steps::stdout_of(git.env("TZ", "UTC").args(["log", "-1", "--date=iso-strict-local", "--format=%ct %cd"]))?;
        let (seconds, date) = said.trim().split_once(' ').context("git printed no date")?;
        Ok(Self { seconds: seconds.parse().context("git printed no time")?, date: date.to_owned() })
    }
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if LEFT_BEHIND.iter().any(|left| name == *left) {
            continue;
        }
        let (source, copy) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy_folder(&source, &copy)?;
        } else {
            fs::copy(&source, &copy).with_context(|| format!("cannot copy {}", source.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_part_is_built_and_the_checksums_are_last() {
        let built: Vec<Part> = PARTS.iter().map(|row| row.part).collect();
        assert_eq!(built, Part::value_variants());
        assert_eq!(built.last(), Some(&Part::Checksums));
    }

    #[test]
    fn the_workflow_calls_every_part() {
        let workflow = fs::read_to_string(build::root().join(".github/workflows/release.yaml")).unwrap();
        for part in Part::value_variants() {
            let name = part.to_possible_value().unwrap().get_name().to_owned();
            // An action builds and pushes the image.
            let call = if *part == Part::Image { "docker/build-push-action".to_owned() } else { format!("--only {name}") };
            assert!(workflow.contains(&call), "release.yaml has no {call}");
        }
    }

    #[test]
    fn a_copy_has_no_results_of_tools() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in ["src/inner", "node_modules/a", "src/__pycache__"] {
            fs::create_dir_all(from.path().join(folder)).unwrap();
            fs::write(from.path().join(folder).join("file"), "").unwrap();
        }
        copy_folder(from.path(), &to.path().join("copy")).unwrap();
        let has = |path: &str| to.path().join("copy").join(path).exists();
        assert!(has("src/inner/file") && !has("node_modules") && !has("src/__pycache__"));
    }

    #[test]
    fn a_release_without_a_dry_run_says_who_uploads() {
        let arguments = Arguments { dry_run: false, only: Vec::new(), target: Vec::new(), tag: None };
        assert!(run(&arguments).unwrap_err().to_string().contains("release.yaml"));
    }
}
