//! Plugins in Go, TypeScript and Python: the tests of their SDKs and plugins, what the README of a
//! new project shows, and what plugins of all languages have in common.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::json;

use crate::build::{has_go, root, succeed};
use crate::harness::{Cluster, Folder, GYRE};

/// Runs a program in a folder, and returns its output; it must succeed.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("GYRE", GYRE).env("PYTHONDONTWRITEBYTECODE", "1");
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{}: {program} {arguments:?}: {said}", folder.display());
    said
}

fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Returns whether there is a Node.js that can compile plugins, with npm.
fn has_node() -> bool {
    let is_new_enough = "process.exit(process.getBuiltinModule ? 0 : 1)";
    let found = works("node", &["-e", is_new_enough]) && works("npm", &["--version"]);
    if !found {
        gyre_controlplane::skip("there is no Node.js 20.16 or later with npm on PATH").unwrap();
    }
    found
}

/// Returns whether there is a Python that can compile and test plugins.
fn has_python() -> bool {
    let is_new_enough = "import sys, pip, pytest; sys.exit(0 if sys.version_info >= (3, 10) else 1)";
    let found = works("python3", &["-c", is_new_enough]);
    if !found {
        gyre_controlplane::skip("there is no Python 3.10 or later with pip and pytest on PATH").unwrap();
    }
    found
}

#[test]
fn the_sdk_and_the_plugins_in_typescript_pass_their_tests() {
    if !has_node() {
        return;
    }
    for package in ["sdk/typescript", "plugins/greeter-ts", "plugins/database-ts"] {
        let folder = root().join(package);
        run(&folder, "npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        run(&folder, "npm", &["run", "check"]);
        run(&folder, "npm", &["test"]);
    }
}

#[test]
fn the_sdk_and_the_plugins_in_python_pass_their_tests() {
    if !has_python() {
        return;
    }
    for package in ["sdk/python", "plugins/greeter-py", "plugins/indexed-job-py", "plugins/tenants-py"] {
        run(&root().join(package), "python3", &["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    }
}

/// Runs the commands of the README of a new project, which has its SDK from the program.
fn follow_readme(language: &str) {
    let temporary = tempfile::tempdir().unwrap();
    succeed(temporary.path(), &["new", "tenant", "--lang", language, "--scope", "cluster", "--finalizer"]);
    let project = temporary.path().join("tenant");
    assert!(project.join("gyre-sdk").is_dir(), "the project has its SDK");
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    let commands = readme.lines().filter_map(|line| line.strip_prefix("$ "));
    let commands: Vec<&str> = commands.map(|line| line.split(" #").next().unwrap_or_default().trim()).collect();
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        match words[..] {
            ["gyre", "dev", ref arguments @ ..] => {
                let said = succeed(&project, &[&["dev", "--once"], arguments].concat());
                assert!(said.contains("ConfigMap hello/hello created"), "{said}");
            }
            ["gyre", ref arguments @ ..] => drop(succeed(&project, arguments)),
            [program, ref arguments @ ..] => drop(run(&project, program, arguments)),
            [] => panic!("a command without words"),
        }
    }
}

#[test]
fn a_new_project_in_typescript_passes_what_its_readme_shows() {
    if has_node() {
        follow_readme("typescript");
    }
}

#[test]
fn a_new_project_in_python_passes_what_its_readme_shows() {
    if has_python() {
        follow_readme("python");
    }
}

/// The greeters of the languages whose tools are here, each with its file.
static GREETERS: LazyLock<(Folder, Vec<(&str, String)>)> = LazyLock::new(|| {
    let folder = Folder::new();
    let mut greeters = vec![("rust", gyre_artifacts::GREETER.to_owned())];
    for (language, is_here) in [("go", has_go as fn() -> bool), ("ts", has_node), ("py", has_python)] {
        if is_here() {
            let project = root().join(format!("plugins/greeter-{language}")).display().to_string();
            let plugin = format!("{}/greeter-{language}.wasm", folder.path());
            succeed(Path::new(&folder.path()), &["build", &project, "--to", &plugin]);
            greeters.push((language, plugin));
        }
    }
    (folder, greeters)
});

/// The plugins of all languages have one definition, and answer alike.
#[test]
fn the_greeters_of_all_languages_have_the_definition_of_the_one_in_rust_and_pass_its_cases() {
    let (folder, greeters) = &*GREETERS;
    let folder = PathBuf::from(folder.path());
    let greeter = root().join("plugins/greeter");
    let [cases, samples] = ["cases", "samples"].map(|name| greeter.join(name).display().to_string());
    let definition = succeed(&folder, &["crds", gyre_artifacts::GREETER]);
    for (language, plugin) in greeters {
        assert_eq!(succeed(&folder, &["crds", plugin]), definition, "{language}");
        let said = succeed(&folder, &["test", plugin, &cases]);
        assert!(said.contains("1 of 1 cases passed"), "{language}: {said}");
        let said = succeed(&folder, &["fuzz", plugin, "-f", &samples]);
        assert!(said.contains("No findings."), "{language}: {said}");
    }
}

/// Each host takes over the objects of the last one, whose plugin was written in another language.
#[test]
fn a_greeter_in_another_language_takes_over_without_a_write_and_repairs_and_replays() {
    const NAMESPACE: &str = "greeters";
    let Some(cluster) = Cluster::for_test("greeters", &[NAMESPACE]) else { return };
    let greeting = |number: usize| {
        json!({
            "apiVersion": "example.com/v1alpha1",
            "kind": "Greeting",
            "metadata": { "name": format!("hello-{number}"), "namespace": NAMESPACE },
            "spec": { "message": "Hello, world!" },
        })
    };
    cluster.install_crds(&[gyre_artifacts::GREETER]);
    cluster.apply_all(&[greeting(0), greeting(1), greeting(2)]);
    let (folder, greeters) = &*GREETERS;
    let mut before = Vec::new();
    for (language, plugin) in greeters {
        // The tests of other languages compile at the same time.
        let host = cluster.host_with(&[plugin], &[NAMESPACE], &["--call-deadline", "30s"]);
        cluster.all_ready(NAMESPACE, "greetings", 3);
        cluster.settled(&host);
        let maps = cluster.list(NAMESPACE, "configmaps");
        assert!(before.is_empty() || maps == before, "{language}: {maps:#?} instead of {before:#?}");

        let recording = format!("{}/greeter-{language}.jsonl", folder.path());
        let arguments = ["record", "greeter", "--from", &host.url(), "--to", &recording, "--all", "--calls", "3"];
        succeed(Path::new(&folder.path()), &arguments);
        let replayed = succeed(Path::new(&folder.path()), &["replay", plugin, &recording]);
        assert!(replayed.contains(": 3 identical, 0 differ"), "{language}: {replayed}");

        cluster.delete(NAMESPACE, "configmap", "hello-0");
        cluster.eventually("the ConfigMap to come back", || cluster.get(NAMESPACE, "configmap", "hello-0"));
        cluster.settled(&host);
        before = cluster.list(NAMESPACE, "configmaps");
    }
}
