//! `gyre build`: compiles the source of a plugin to a component.
//!
//! ```text
//! folder ─ LANGUAGES ─┬▶ build/rust.rs ───────────────────▶ component ─ checked ─▶ NAME.wasm
//!                     ├▶ build/go.rs ─▶ build/component.rs ─▶ ┤
//!                     ├▶ build/typescript.rs ─▶ the SDK ────▶ ┤
//!                     └▶ build/python.rs ─────▶ the SDK ────▶ ┘
//! ```
//!
//! A language is a file in `build` and a row of [`LANGUAGES`]. `gyre dev` builds in the same way.
//!
//! What is absent: an installation of compilers, except for the target that rustup adds.

mod component;
mod go;
mod python;
mod rust;
mod typescript;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, bail};
use clap::Args;
use gyre_core::text::list;
use gyre_sandbox::Plugin;

use crate::commands::output::print;
use crate::config::arguments::mounts::{CodeCacheArguments, MountArguments};
use crate::plugins::files::replace;
use crate::plugins::{open_component, read_file};

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre build                          # the plugin of the project in this folder
  gyre build plugins/echo --to echo.wasm
  gyre build -- --locked --features metrics
  gyre build plugins/greeter-go       # Go, because the folder contains go.mod

TypeScript is recognised by package.json, Python by pyproject.toml. Scripts of packages are not run, and lock files are required.

For Rust, it runs cargo for the target wasm32-wasip2, which it adds with rustup if it is missing. It compiles with a profile that keeps the plugin
small, whatever profiles Cargo.toml has: opt-level = \"s\", lto, codegen-units = 1, panic = \"abort\", strip. If Cargo.toml of the workspace has the
table [profile.plugin], it uses this profile instead. Variables such as RUSTFLAGS have no effect, and the file contains no paths of this machine, so that the same
source and Cargo.lock result in the same bytes.";

/// A built component.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) component: PathBuf,
    /// The folders and files from which it was built.
    pub(crate) sources: Vec<PathBuf>,
}

/// A language of plugins.
struct Language {
    name: &'static str,
    /// The file by which a project is recognised.
    file: &'static str,
    build: fn(&Path, &[String]) -> anyhow::Result<Built>,
    /// Builds a component that has to give the same answers: a build draws something that no call
    /// can change.
    build_variant: Option<fn(&Path) -> anyhow::Result<Built>>,
}

const LANGUAGES: [Language; 4] = [
    Language { name: "Rust", file: "Cargo.toml", build: rust::build, build_variant: None },
    Language { name: "Go", file: "go.mod", build: go::build, build_variant: None },
    Language { name: "TypeScript", file: typescript::PROJECT, build: typescript::build, build_variant: None },
    Language { name: "Python", file: python::PROJECT, build: python::build, build_variant: Some(python::build_variant) },
];

#[derive(Debug, Args)]
pub(crate) struct BuildArguments {
    /// Folder of the plugin's project.
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// File to write the plugin to [default: the plugin's name with .wasm, in the working
    /// directory].
    #[arg(long, short_alias = 'o', alias = "output", value_name = "FILE")]
    to: Option<PathBuf>,
    /// Further arguments of cargo, of go build, or of the build of the SDK.
    #[arg(last = true, value_name = "ARGUMENT")]
    options: Vec<String>,
    #[command(flatten)]
    code: CodeCacheArguments,
}

pub(crate) fn run(arguments: &BuildArguments) -> anyhow::Result<()> {
    let sandbox = arguments.code.sandbox()?;
    let Built { component, .. } = build(&arguments.directory, &arguments.options)?;
    let component = read_file(&component)?;
    let plugins: Vec<Plugin> = open_component(&sandbox, &component)?.iter().collect();
    let manifests = || plugins.iter().map(Plugin::manifest);
    let first = manifests().next().map_or("plugin", |manifest| manifest.name.as_str());
    let to = arguments.to.clone().unwrap_or_else(|| PathBuf::from(format!("{first}.wasm")));
    replace(&to, &component.bytes()?).with_context(|| format!("cannot write {}; name another file with --to", to.display()))?;
    let size = size(component.size);
    let names = list(manifests().map(|manifest| format!("{} {}", manifest.name, manifest.version)));
    print(format_args!("{}: the plugin {names}, {size}\n", to.display()))
}

pub(crate) fn is_project(directory: &Path) -> bool {
    language(directory).is_some()
}

fn language(directory: &Path) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| directory.join(language.file).is_file())
}

/// Compiles the plugin in a folder. Compilers write their messages to standard error.
///
/// # Errors
/// If the folder contains no plugin, or the compiler fails.
pub(crate) fn build(directory: &Path, options: &[String]) -> anyhow::Result<Built> {
    let shown = directory.display();
    let directory = absolute(directory)?;
    if !directory.is_dir() {
        bail!("{shown} is not a folder; name the folder of a plugin's project");
    }
    let Some(language) = language(&directory) else {
        let files: Vec<String> = LANGUAGES.iter().map(|Language { name, file, .. }| format!("{file} for {name}")).collect();
        bail!("{shown} contains no project of a plugin: expected {}; `gyre new` creates one", files.join(", or "));
    };
    (language.build)(&directory, options)
}

/// Builds projects a second time, if a build draws something on which answers must not depend.
///
/// # Errors
/// If a compiler fails.
pub(crate) fn build_variants(projects: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut components = Vec::new();
    for directory in projects {
        if let Some(build_variant) = language(directory).and_then(|language| language.build_variant) {
            components.push(build_variant(&absolute(directory)?)?.component);
        }
    }
    Ok(components)
}

fn absolute(directory: &Path) -> anyhow::Result<PathBuf> {
    std::fs::canonicalize(directory)
        .with_context(|| format!("cannot find {}; name the folder of a plugin's project", directory.display()))
}

/// The folder of sample objects in a project.
const SAMPLES: &str = "samples";

/// Builds the folders of projects among the plugins, and puts the components in their place. If
/// there is no plugin, builds the project in the working directory. Returns the folders of the
/// projects.
pub(crate) fn build_projects(mount: &mut MountArguments) -> anyhow::Result<Vec<PathBuf>> {
    if mount.is_empty() && is_project(Path::new(".")) {
        mount.named.plugins.push(PathBuf::from(".").into());
    }
    let mut projects = Vec::new();
    for plugin in &mut mount.named.plugins {
        if let Some(directory) = plugin.path().filter(|path| path.is_dir()).map(Path::to_owned) {
            *plugin = build(&directory, &[])?.component.into();
            projects.push(directory);
        }
    }
    Ok(projects)
}

/// Returns the files of `--filename`, or the samples of the first project if there are none.
pub(crate) fn or_samples(files: Vec<PathBuf>, projects: &[PathBuf]) -> Vec<PathBuf> {
    if !files.is_empty() {
        return files;
    }
    let samples = projects.first().map(|folder| folder.join(SAMPLES)).filter(|samples| samples.is_dir());
    samples.into_iter().collect()
}

/// The results of a build, within the project. `gyre dev` does not look for sources there.
const RESULTS: &str = "target/gyre";

/// Creates the folder of the results of a project.
fn folder_of_results(project: &Path) -> anyhow::Result<PathBuf> {
    let results = project.join(RESULTS);
    std::fs::create_dir_all(&results).with_context(|| format!("cannot create the folder {}", results.display()))?;
    Ok(results)
}

/// Runs a compiler, after printing its command line. Returns its standard output.
fn run_shown(command: &mut Command) -> std::io::Result<Output> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<_> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    // A closed output is not a reason to stop.
    let _ = writeln!(std::io::stderr(), "$ {}", line.join(" "));
    command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,+@".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn size(bytes: u64) -> String {
    let kilobytes = bytes as f64 / 1e3;
    if kilobytes < 1e3 { format!("{kilobytes:.1} KB") } else { format!("{:.1} MB", kilobytes / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_command_lines_are_for_people() {
        assert_eq!([size(200), size(185_712), size(12_345_678)], ["0.2 KB", "185.7 KB", "12.3 MB"]);
        assert_eq!(
            [quoted("--lib"), quoted("a=\"b\""), quoted("it's"), quoted("")],
            ["--lib", "'a=\"b\"'", "'it'\\''s'", "''"]
        );
    }
}
