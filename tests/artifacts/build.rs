//! Compiles the plugins and guests with a second Cargo, and writes down where they are.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-wasip2";
const PROFILE: &str = "plugin";
const PLUGINS: [&str; 2] = ["echo", "scheduled-echo"];
const GUESTS: &str = "gyre-guests";

/// What decides the outcome, relative to the workspace.
const SOURCES: [&str; 6] = ["Cargo.toml", "rust-toolchain.toml", "sdk", "plugins", "tests/guests", "wit"];

/// What the outer Cargo, clippy or a coverage tool sets for their own compilations, not for these.
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

fn main() {
    let workspace = workspace();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let guests = guests(&workspace.join("tests/guests"));
    check_target_is_installed();
    let out_dir = PathBuf::from(variable("OUT_DIR"));
    let target_dir = target_dir(&out_dir).join("wasm");
    build(&workspace, &target_dir);

    let built = target_dir.join(TARGET).join(PROFILE);
    let code = generate(&built, &guests);
    fs::write(out_dir.join("artifacts.rs"), code).expect("OUT_DIR is Cargo's, to write to");
}

/// A misbehaving guest: its name and what its file says of it.
struct Guest {
    name: String,
    documentation: String,
}

fn guests(folder: &Path) -> Vec<Guest> {
    let manifest = folder.join("Cargo.toml");
    let entries = read(&manifest);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("tests/guests is part of the workspace")
        .map(|entry| entry.expect("tests/guests can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    let guest = |file: &PathBuf| {
        let name = file.file_stem().and_then(|stem| stem.to_str()).expect("guests have names in UTF-8").to_owned();
        let entry = format!("[[example]]\nname = \"{name}\"\npath = \"{name}.rs\"\ncrate-type = [\"cdylib\"]\n");
        assert!(
            entries.contains(&entry),
            "{} is not compiled: add to {}\n\n{entry}",
            file.display(),
            manifest.display()
        );
        let documentation = read(file).lines().map_while(|line| line.strip_prefix("//!").map(|line| format!("///{line}\n"))).collect();
        Guest { name, documentation }
    };
    files.iter().map(guest).collect()
}

fn check_target_is_installed() {
    let rustc = Command::new(variable("RUSTC")).args(["--print", "target-libdir", "--target", TARGET]).output();
    let folder = rustc.expect("Cargo says where rustc is").stdout;
    let folder = PathBuf::from(String::from_utf8_lossy(&folder).trim());
    assert!(folder.is_dir(), "the standard library for {TARGET} is not installed: run `rustup target add {TARGET}`");
}

/// The root of the outer Cargo's target folder: shared by its profiles, so that all of them use one set of artifacts, and
/// different from the folder that the outer Cargo holds locked.
fn target_dir(out_dir: &Path) -> &Path {
    let is_root = |folder: &&Path| folder.join("CACHEDIR.TAG").exists() || folder.join(".rustc_info.json").exists();
    out_dir.ancestors().find(is_root).unwrap_or(out_dir)
}

fn build(workspace: &Path, target_dir: &Path) {
    for plugin in PLUGINS {
        // A plugin is also a library for native tests, and Cargo does not optimise across crates for both at once.
        compile(workspace, target_dir, &["rustc", "--lib", "--crate-type", "cdylib", "--package", plugin]);
    }
    compile(workspace, target_dir, &["build", "--examples", "--package", GUESTS]);
}

fn compile(workspace: &Path, target_dir: &Path, arguments: &[&str]) {
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(workspace).args(arguments).args(["--profile", PROFILE, "--target", TARGET]);
    cargo.arg("--target-dir").arg(target_dir);
    for (name, _) in env::vars_os() {
        let is_foreign = |name: &str| FOREIGN_VARIABLES.contains(&name) || name.starts_with("CARGO_PROFILE_");
        if name.to_str().is_some_and(is_foreign) {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status().expect("Cargo says where it is");
    assert!(status.success(), "`cargo {}` failed for {TARGET}: see above", arguments.join(" "));
}

fn generate(built: &Path, guests: &[Guest]) -> String {
    let mut code = String::new();
    for plugin in PLUGINS {
        let path = artifact(built.join(format!("{}.wasm", plugin.replace('-', "_"))));
        let name = plugin.replace('-', "_").to_uppercase();
        writeln!(code, "/// The plugin `{plugin}`.\npub const {name}: &str = {path:?};").expect("a String takes any text");
    }
    code.push_str("/// Plugins that misbehave.\npub mod guests {\n");
    for Guest { name, documentation } in guests {
        let path = artifact(built.join("examples").join(format!("{name}.wasm")));
        let name = name.to_uppercase();
        writeln!(code, "{documentation}pub const {name}: &str = {path:?};").expect("a String takes any text");
    }
    code.push_str("}\n/// Calls a macro with the name of every guest, in snake case.\n#[macro_export]\n");
    code.push_str("macro_rules! for_each_guest {\n    ($macro:ident) => {\n");
    for Guest { name, .. } in guests {
        writeln!(code, "        $macro! {{ {name} }}").expect("a String takes any text");
    }
    code.push_str("    };\n}\n");
    code
}

fn artifact(path: PathBuf) -> String {
    assert!(path.is_file(), "Cargo did not write {}", path.display());
    path.into_os_string().into_string().expect("the path of the workspace is UTF-8")
}

fn workspace() -> PathBuf {
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("this package is two folders below the workspace").to_owned()
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("Cargo sets {name} for build scripts"))
}
