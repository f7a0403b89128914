//! The steps of a new author in `docs/getting-started.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::{GYRE, listed_commands};

/// Runs a command of the guide in a folder, with the tested `gyre` in PATH. Returns its output.
fn run(folder: &Path, line: &str) -> String {
    let programs = Path::new(GYRE).parent().expect("a folder").to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&others))).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-euc", line])
        .current_dir(folder)
        .env("PATH", path)
        .env_remove("CARGO_TARGET_DIR")
        .env("CARGO_TERM_COLOR", "never");
    let Output { status, stdout, stderr } = command.output().expect("a shell");
    let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    assert!(status.success(), "$ {line}\n{said}");
    said
}

fn commands(document: &str) -> Vec<&str> {
    let lines = document.lines().filter_map(|line| line.strip_prefix("$ "));
    lines.map(|line| line.split("  #").next().unwrap_or(line).trim()).collect()
}

/// The project of the guide in a folder, which has the checkout as `gyre`.
pub(crate) fn create_project(folder: &Path) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    if !folder.join("gyre").exists() {
        std::os::unix::fs::symlink(workspace, folder.join("gyre")).unwrap();
    }
    create(folder, "gyre new greeter --kind Greeting", "greeter")
}

fn create(folder: &Path, command: &str, project: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    run(folder, command);
    let project = folder.join(project);
    // The versions of the workspace, which are cached.
    fs::copy(workspace.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    fs::create_dir_all(target()).unwrap();
    std::os::unix::fs::symlink(target(), project.join("target")).unwrap();
    project
}

/// A target folder for all projects of tests, so that dependencies are compiled once.
fn target() -> PathBuf {
    let programs = Path::new(GYRE).parent().expect("a folder");
    programs.parent().expect("the target folder").join("author")
}

/// Builds a copy of the project.
fn build_elsewhere(project: &Path) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let other = create_project(folder.path());
    for file in ["src/lib.rs", "Cargo.lock"] {
        fs::copy(project.join(file), other.join(file)).unwrap();
    }
    run(folder.path(), "gyre build greeter --to built.wasm");
    fs::read(folder.path().join("built.wasm")).unwrap()
}

fn is_free_of_paths(built: &[u8], folders: &[&Path]) {
    for folder in folders.iter().map(|folder| folder.canonicalize().unwrap().display().to_string()) {
        assert!(!built.windows(folder.len()).any(|window| window == folder.as_bytes()), "the plugin contains {folder}");
    }
}

fn rename_the_field(project: &Path) {
    for file in ["src/lib.rs", "src/tests.rs", "samples/sample.yaml", "cases/new/sample.yaml"] {
        let text = fs::read_to_string(project.join(file)).unwrap();
        fs::write(project.join(file), text.replace("message", "text")).unwrap();
    }
}

#[test]
fn a_new_author_gets_a_running_plugin_by_the_guide() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let guide = fs::read_to_string(workspace.join("docs/getting-started.md")).unwrap();
    // tests/e2e/documents.rs covers the part about a real cluster.
    let (guide, _) = guide.split_once("For a real cluster").unwrap();
    let shown = commands(guide);
    assert_eq!(shown.len(), 10, "{shown:?}");
    let project = folder.path().join("greeter");
    for command in &shown {
        match *command {
            "gyre new greeter --kind Greeting" => {
                create_project(folder.path());
            }
            "cd greeter" => {}
            "cargo test" => {
                run(&project, command);
                rename_the_field(&project);
                run(&project, command);
            }
            "gyre build" => {
                run(&project, command);
                let built = fs::read(project.join("greeter.wasm")).unwrap();
                is_free_of_paths(&built, &[folder.path(), workspace]);
                assert!(built == build_elsewhere(&project), "the same source has other bytes in another folder");
            }
            dev if dev.starts_with("gyre dev") => {
                let said = run(&project, &format!("{dev} --once"));
                assert!(said.contains("ConfigMap default/hello created"), "{said}");
            }
            render if render.starts_with("gyre render") => {
                let said = run(&project, render);
                assert!(said.contains("text: Hello, world!"), "{said}");
            }
            command => drop(run(&project, command)),
        }
    }
    assert!(project.join("cases/new/expected.yaml").exists());
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    let others: Vec<&str> = commands(&readme).into_iter().filter(|command| !shown.contains(command)).collect();
    assert!(
        others.is_empty() && !commands(&readme).is_empty(),
        "the project's README shows what the guide does not: {others:?}"
    );
}

#[test]
fn a_project_for_a_cluster_scoped_kind_with_a_finalizer_passes_its_tests() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sdk = workspace.join("sdk");
    let command = format!("gyre new operators/tenant --scope cluster --finalizer --version v1 --sdk {}", sdk.display());
    let project = create(folder.path(), &command, "operators/tenant");
    run(&project, "cargo test");
    let rendered = run(&project, "gyre render");
    for expected in ["kind: Namespace", "namespace: hello", "finalizers Tenant hello"] {
        assert!(rendered.contains(expected), "{expected}: {rendered}");
    }
    let described = run(&project, "gyre build && gyre inspect tenant.wasm -o json");
    assert!(described.contains("\"finalizes\": true"), "{described}");
}

#[test]
fn completions_and_manual_pages_cover_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let help = run(folder.path(), "gyre --help");
    let commands: Vec<&str> = listed_commands(&help).filter(|name| *name != "help").collect();
    assert!(commands.len() > 10, "{help}");
    let bash = run(folder.path(), "gyre completions bash");
    run(folder.path(), "gyre man --to pages");
    for command in commands {
        assert!(bash.contains(command), "{command} cannot be completed");
        let page = fs::read_to_string(folder.path().join(format!("pages/gyre-{command}.1"))).unwrap();
        assert!(page.contains(".TH"), "{command}");
        let help = run(folder.path(), &format!("gyre {command} --help"));
        assert!(help.contains("Examples:"), "{command} has no examples:\n{help}");
    }
}
