//! Plugins in Rust: finds the crate, adds the target, and runs Cargo.
//!
//! The arguments and flags are those of `tests/plugin-build`, which compiles the plugins of this
//! repository: a test compares the bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use gyre_engine::error::error_chain;
use serde::Deserialize;

use super::{Built, run_shown};

const TARGET: &str = "wasm32-wasip2";
const PROFILE: &str = "plugin";

/// The settings of the profile. Small, and without unwinding, since a trap ends the call.
const SMALL: [&str; 6] =
    [r#"inherits="release""#, r#"opt-level="s""#, "lto=true", "codegen-units=1", r#"panic="abort""#, "strip=true"];

/// Variables that would change the component; so would those that begin with [`PROFILES`].
const FOREIGN_VARIABLES: [&str; 4] = ["CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_INCREMENTAL", "RUSTFLAGS"];
const PROFILES: &str = "CARGO_PROFILE_";
/// The variable that passes flags of rustc to Cargo, which then ignores those in its configuration.
const FLAGS_VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";

const INSTALL: &str = "install Rust with rustup (https://rustup.rs)";

fn cannot_run(program: &str, error: &std::io::Error) -> anyhow::Error {
    anyhow!("cannot run {program}: {}; {INSTALL}", error_chain(error))
}

/// Compiles the crate in a folder, an absolute path.
pub(super) fn build(directory: &Path, options: &[String]) -> anyhow::Result<Built> {
    let metadata = Metadata::read(directory)?;
    let package = metadata.plugin(directory)?;
    add_target(package.folder())?;
    let packages = metadata.dependencies_of(package);
    let outside: Vec<&Package> = packages
        .iter()
        .copied()
        .filter(|package| package.is_local() && !package.folder().starts_with(&metadata.workspace_root))
        .collect();
    let mut cargo = Command::new("cargo");
    cargo.current_dir(package.folder());
    cargo.args(["rustc", "--lib", "--crate-type", "cdylib", "--profile", PROFILE, "--target", TARGET]);
    if !has_profile(&metadata.workspace_root) {
        cargo.args(SMALL.iter().flat_map(|setting| ["--config".to_owned(), format!("profile.{PROFILE}.{setting}")]));
    }
    cargo.args(["--message-format", "json-render-diagnostics"]).args(options);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| FOREIGN_VARIABLES.contains(&name) || name.starts_with(PROFILES)) {
            cargo.env_remove(&name);
        }
    }
    cargo.env(FLAGS_VARIABLE, flags(&packages, &outside)?.join("\u{1f}"));
    let output = run_shown(&mut cargo).map_err(|error| cannot_run("cargo", &error))?;
    if !output.status.success() {
        bail!("cargo cannot compile the crate {}: see its messages above", package.name);
    }
    let artifacts = output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Artifact>(line).ok());
    let mut files = artifacts.filter(|artifact| artifact.package_id == package.id).flat_map(|artifact| artifact.filenames);
    let component = files.rfind(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    let component =
        component.with_context(|| format!("cargo has compiled the crate {}, and named no .wasm file", package.name))?;
    let locals = packages.iter().filter(|package| package.is_local()).map(|package| package.folder().to_owned());
    let of_workspace = ["Cargo.toml", "Cargo.lock"].map(|file| metadata.workspace_root.join(file));
    Ok(Built { component, sources: locals.chain(of_workspace).collect() })
}

/// The output of `cargo metadata`.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    workspace_root: PathBuf,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    /// `None` for a path.
    source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    crate_types: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
}

/// A message of Cargo about a compiled crate.
#[derive(Debug, Deserialize)]
struct Artifact {
    package_id: String,
    filenames: Vec<PathBuf>,
}

impl Package {
    fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new("/"))
    }

    fn is_local(&self) -> bool {
        self.source.is_none()
    }

    fn is_plugin(&self) -> bool {
        self.targets.iter().any(|target| target.crate_types.iter().any(|kind| kind == "cdylib"))
    }
}

impl Metadata {
    fn read(directory: &Path) -> anyhow::Result<Self> {
        let mut cargo = Command::new("cargo");
        cargo.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(directory.join("Cargo.toml"));
        let output = cargo.current_dir(directory).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| cannot_run("cargo", &error))?;
        if !output.status.success() {
            bail!("cargo cannot read the crate in {}: see its message above", directory.display());
        }
        serde_json::from_slice(&output.stdout).context("cannot read the output of cargo metadata")
    }

    /// The crate in the folder; in the folder of a workspace, its only plugin.
    fn plugin(&self, directory: &Path) -> anyhow::Result<&Package> {
        let own = self.packages.iter().find(|package| package.folder() == directory);
        if let Some(own) = own.filter(|package| package.is_plugin()) {
            return Ok(own);
        }
        let shown = directory.display();
        let is_of_workspace =
            |package: &&Package| directory == self.workspace_root && self.workspace_members.contains(&package.id);
        let plugins: Vec<&Package> =
            self.packages.iter().filter(is_of_workspace).filter(|package| package.is_plugin()).collect();
        match (&plugins[..], own) {
            ([only], _) => Ok(only),
            ([], Some(own)) => bail!(
                "the crate {} in {shown} is no plugin, because it has no library of the type cdylib; add these lines to its Cargo.toml:\n\
                 [lib]\n\
                 crate-type = [\"cdylib\", \"rlib\"]",
                own.name
            ),
            ([], None) => bail!(
                "none of the crates of the workspace {shown} is a plugin, i.e. has a library of the type cdylib; name the folder of one"
            ),
            (several, _) => {
                let folders: Vec<String> = several.iter().map(|package| relative(package.folder(), directory)).collect();
                bail!("the workspace {shown} has several plugins; name the folder of one: {}", folders.join(", "))
            }
        }
    }

    /// The packages that are compiled for this one, with itself.
    fn dependencies_of(&self, package: &Package) -> Vec<&Package> {
        let nodes: BTreeMap<&str, &[String]> =
            self.resolve.nodes.iter().map(|node| (node.id.as_str(), node.dependencies.as_slice())).collect();
        let (mut found, mut open) = (BTreeSet::new(), vec![package.id.as_str()]);
        while let Some(id) = open.pop() {
            if found.insert(id) {
                open.extend(nodes.get(id).copied().unwrap_or_default().iter().map(String::as_str));
            }
        }
        self.packages.iter().filter(|package| found.contains(package.id.as_str())).collect()
    }
}

fn relative(folder: &Path, to: &Path) -> String {
    folder.strip_prefix(to).unwrap_or(folder).display().to_string()
}

fn has_profile(workspace_root: &Path) -> bool {
    let manifest = std::fs::read_to_string(workspace_root.join("Cargo.toml")).unwrap_or_default();
    manifest.lines().any(|line| line.trim() == format!("[profile.{PROFILE}]"))
}

/// The flags that take the folders of this machine out of the component: messages of panics name
/// source files.
fn flags(packages: &[&Package], outside: &[&Package]) -> anyhow::Result<Vec<String>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let home = home.context("there is neither CARGO_HOME nor a home folder; set HOME")?;
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![remap(&home.join("registry").join("src"), "")];
    let is_of_git = |package: &&Package| package.source.as_ref().is_some_and(|source| source.starts_with("git+"));
    if packages.iter().any(is_of_git) {
        flags.push(remap(&home.join("git").join("checkouts"), ""));
    }
    flags.extend(outside.iter().map(|package| remap(package.folder(), &package.name)));
    Ok(flags)
}

/// Adds the target to the toolchain of a folder, if it is missing.
fn add_target(directory: &Path) -> anyhow::Result<()> {
    if is_target_installed(directory)? {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]).current_dir(directory);
    match run_shown(&mut rustup) {
        Ok(output) if output.status.success() && is_target_installed(directory)? => Ok(()),
        Ok(_) => bail!(
            "rustup cannot add the target {TARGET}: see its messages above; it has to be downloaded once, by `rustup target add {TARGET}`"
        ),
        Err(error) => bail!(
            "the standard library of Rust for the target {TARGET} is not installed, and rustup cannot be run to add it: {}; \
             {INSTALL}, or the package of your distribution that contains it",
            error_chain(&error)
        ),
    }
}

fn is_target_installed(directory: &Path) -> anyhow::Result<bool> {
    let mut rustc = Command::new("rustc");
    let output =
        rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(directory).stdin(Stdio::null()).output();
    let output = output.map_err(|error| cannot_run("rustc", &error))?;
    if !output.status.success() {
        let version = env!("CARGO_PKG_RUST_VERSION");
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("rustc does not know the target {TARGET}: {}; it needs Rust {version} or later: `rustup update`", said.trim());
    }
    Ok(Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}
