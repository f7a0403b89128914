//! Compiles the plugins and guests with a second Cargo, and writes down where they are.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use gyre_plugin_build as plugin_build;
use plugin_build::{CDYLIB, FLAGS_VARIABLE, Profile, TARGET};

const PLUGINS: [&str; 12] = [
    "cleaner",
    "database",
    "echo",
    "gateway",
    "greeter",
    "pod-log",
    "reloader",
    "replicator",
    "scheduled-echo",
    "tenants",
    "website",
    "xca",
];
const GUESTS: &str = "gyre-guests";

/// The sources of the artifacts, relative to the workspace.
const SOURCES: [&str; 6] = ["Cargo.toml", "rust-toolchain.toml", "sdk", "plugins", "tests/guests", "wit"];

/// Variables that the outer Cargo, clippy or a coverage tool sets for their own compilations, not
/// for these.
const FOREIGN_VARIABLES: [&str; 12] = [
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "CARGO_TARGET_DIR",
    "CLIPPY_ARGS",
    "CLIPPY_CONF_DIR",
    "LLVM_PROFILE_FILE",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            for line in message.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

/// # Errors
///
/// A text for the person who runs the outer Cargo.
fn run() -> Result<(), String> {
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let workspace = package.join("../..").canonicalize().map_err(|error| format!("{}: {error}", package.display()))?;
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let manifest = workspace.join("tests/guests/Cargo.toml");
    let guests = self::guests(&manifest, "")?;
    let probes = self::guests(&manifest, "probes/")?;
    check_target_is_installed()?;
    let out_dir = PathBuf::from(variable("OUT_DIR")?);
    let target_dir = target_dir(&out_dir).join("wasm");
    compile(&workspace, &target_dir)?;

    let code = generate(&target_dir, &guests, &probes)?;
    let file = out_dir.join("artifacts.rs");
    fs::write(&file, code).map_err(|error| format!("{}: {error}", file.display()))
}

/// A plugin for the tests: its name and what its file says of it.
struct Guest {
    name: String,
    documentation: String,
}

/// Those whose files are in a folder beside the manifest.
fn guests(manifest: &Path, folder: &str) -> Result<Vec<Guest>, String> {
    let entries = read(manifest)?;
    let path = manifest.with_file_name(folder);
    let listing = fs::read_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut files: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();

    let mut guests = Vec::new();
    for file in files {
        let Some(name) = file.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let entry = format!("[[example]]\nname = \"{name}\"\npath = \"{folder}{name}.rs\"\ncrate-type = [\"cdylib\"]\n");
        if !entries.contains(&entry) {
            return Err(format!("{} is not compiled; add to {}:\n{entry}", file.display(), manifest.display()));
        }
        let source = read(&file)?;
        let documentation = source.lines().map_while(|line| line.strip_prefix("//!"));
        guests.push(Guest {
            name: name.to_owned(),
            documentation: documentation.map(|line| format!("    ///{line}\n")).collect(),
        });
    }
    Ok(guests)
}

fn check_target_is_installed() -> Result<(), String> {
    let mut rustc = Command::new(variable("RUSTC")?);
    let output =
        rustc.args(["--print", "target-libdir", "--target", TARGET]).output().map_err(|error| format!("rustc: {error}"))?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if folder.is_dir() {
        Ok(())
    } else {
        Err(format!("the standard library for {TARGET} is not installed: run `rustup target add {TARGET}`"))
    }
}

/// The root of the outer Cargo's target folder: shared by its profiles, so that all of them use one
/// set of artifacts, and different from the folders in it that the outer Cargo holds locked.
fn target_dir(out_dir: &Path) -> &Path {
    let is_root = |folder: &&Path| folder.join("CACHEDIR.TAG").exists() || folder.join(".rustc_info.json").exists();
    out_dir.ancestors().find(is_root).unwrap_or(out_dir)
}

fn compile(workspace: &Path, target_dir: &Path) -> Result<(), String> {
    for plugin in PLUGINS {
        cargo(workspace, target_dir, Profile::Plugin, &[&CDYLIB[..], &["--package", plugin]].concat())?;
    }
    cargo(workspace, target_dir, Profile::Guest, &["build", "--examples", "--package", GUESTS])
}

fn cargo(workspace: &Path, target_dir: &Path, profile: Profile, arguments: &[&str]) -> Result<(), String> {
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.current_dir(workspace).args(arguments).args(profile.options());
    cargo.arg("--target-dir").arg(target_dir);
    let is_foreign = |name: &str| FOREIGN_VARIABLES.contains(&name) || name.starts_with("CARGO_PROFILE_");
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_foreign) {
            cargo.env_remove(&name);
        }
    }
    cargo.env(FLAGS_VARIABLE, plugin_build::flags().map_err(|error| error.to_string())?);
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`cargo {}` failed for {TARGET}: see below", arguments.join(" "))),
        Err(error) => Err(format!("cargo: {error}")),
    }
}

fn generate(target_dir: &Path, guests: &[Guest], probes: &[Guest]) -> Result<String, String> {
    let cache = target_dir.join("code");
    let cache = cache.to_str().ok_or_else(|| format!("{} is not UTF-8", cache.display()))?;
    let mut code =
        format!("/// A directory for the compiled code of all sandboxes of tests.\npub const CODE_CACHE: &str = {cache:?};\n");
    for plugin in PLUGINS {
        let file = Profile::Plugin.components(target_dir).join(plugin_build::file_name(plugin));
        code += &format!("/// The plugin `{plugin}`.\n{}", constant(&plugin.replace('-', "_"), &file)?);
    }
    let built = Profile::Guest.components(target_dir);
    code += &module("guests", "Plugins that misbehave.", &built, guests)?;
    code += &module("probes", "Plugins that do one thing, for tests to see what becomes of it.", &built, probes)?;
    let calls: String = guests.iter().map(|guest| format!("        $macro! {{ {} }}\n", guest.name)).collect();
    code += "\n/// Calls a macro with the name of every misbehaving guest, in snake case.\n";
    code += &format!("#[macro_export]\nmacro_rules! for_each_guest {{\n    ($macro:ident) => {{\n{calls}    }};\n}}\n");
    Ok(code)
}

/// A constant for each guest, and all of them.
fn module(name: &str, documentation: &str, built: &Path, guests: &[Guest]) -> Result<String, String> {
    let mut code = format!("\n/// {documentation}\npub mod {name} {{\n");
    for Guest { name, documentation } in guests {
        let constant = constant(name, &built.join("examples").join(format!("{name}.wasm")))?;
        code += &format!("{documentation}    {constant}");
    }
    let all: String =
        guests.iter().map(|guest| format!("        ({:?}, {}),\n", guest.name, guest.name.to_uppercase())).collect();
    code += &format!("    /// All of them: name and path.\n    pub const ALL: &[(&str, &str)] = &[\n{all}    ];\n}}\n");
    Ok(code)
}

fn constant(name: &str, path: &Path) -> Result<String, String> {
    match path.to_str() {
        Some(text) if path.is_file() => Ok(format!("pub const {}: &str = {text:?};\n", name.to_uppercase())),
        _ => Err(format!("Cargo did not write {}", path.display())),
    }
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}, which Cargo sets for build scripts: {error}"))
}
