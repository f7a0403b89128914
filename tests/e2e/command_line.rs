//! Invalid input gives one clear sentence and exit code 1 or 2, without a panic or a backtrace.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::harness::GYRE;

fn gyre(arguments: &[&str]) -> Output {
    Command::new(GYRE).args(arguments).output().expect("gyre runs")
}

fn check(plugin: &Path, expected: &str) {
    let output = gyre(&["run", &plugin.display().to_string(), "--kubeconfig", "/nonexistent"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let shown = plugin.display();
    assert!(matches!(output.status.code(), Some(1 | 2)), "{shown}: {:?}\n{stderr}", output.status);
    assert!(stderr.contains(expected), "{shown}: expected {expected:?} in:\n{stderr}");
    assert!(stderr.contains(&shown.to_string()), "{shown} is not named:\n{stderr}");
    let lines: Vec<&str> = stderr.trim_end().lines().collect();
    assert_eq!(lines[0], "gyre: the configuration is refused");
    assert_eq!(lines.len(), 2, "{shown}: more than a line for the one thing that is wrong:\n{stderr}");
    for word in ["panicked", "RUST_BACKTRACE", "stack backtrace"] {
        assert!(!stderr.contains(word), "{shown}: {stderr}");
    }
}

#[test]
fn files_that_are_no_plugins_have_distinct_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let component = fs::read(gyre_artifacts::ECHO).unwrap();
    check(&file("text.wasm", b"kind: Echo\n"), "not WebAssembly");
    check(&file("empty.wasm", b""), "empty");
    check(&file("truncated.wasm", &component[..component.len() / 2]), "truncated or corrupt");
    // The preambles of an empty core module and an empty component, which differ in their layer
    // field.
    check(&file("module.wasm", b"\0asm\x01\0\0\0"), "core WebAssembly module");
    check(&file("world.wasm", b"\0asm\x0d\0\x01\0"), "gyre:plugin/reconciler@0.1.0");
    check(&folder.path().join("missing.wasm"), "No such file");
    check(folder.path(), "it is not a file");
    check(Path::new(gyre_artifacts::guests::LIES), "manifest");
    for cut in (0..component.len()).step_by(component.len() / 16 + 1) {
        check(&file("cut.wasm", &component[..cut]), "cannot load the plugin");
    }
}

#[test]
fn wrong_arguments_are_named() {
    assert!(Path::new(gyre_artifacts::ECHO).exists());
    fn run<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
        [&["run", gyre_artifacts::ECHO], arguments].concat()
    }
    for (arguments, code, expected) in [
        (vec!["run"], 2, "<PLUGIN>"),
        (vec!["crds"], 2, "<PLUGIN>"),
        (run(&["--workers", "0"]), 2, "expected a whole number from 1 to 256"),
        (run(&["--listen", "here"]), 2, "expected an address and port"),
        (run(&["--settings", "echo"]), 2, "expected a JSON object, such as"),
        (run(&["--settings", "echo=[]"]), 2, "the settings of a plugin must be a JSON object, such as"),
        (run(&["--settings", "ecko={}"]), 1, "--settings ecko: the plugin ecko is not mounted; mounted are echo"),
        (run(&["--settings", r#"echo={"restrikted":true}"#]), 1, "restrikted"),
        (run(&[gyre_artifacts::ECHO]), 1, "a mount is called echo already"),
        (run(&["--kubeconfig", "/nonexistent"]), 1, "/nonexistent"),
        (run(&["--log-level", "gyre=loud"]), 2, "--log-level"),
    ] {
        let output = gyre(&arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: expected {expected:?} in:\n{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn flags_override_variables_which_override_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gyre.yaml");
    let mount = format!("mounts: [{{plugin: {}}}]", gyre_artifacts::ECHO);
    fs::write(&file, format!("host: {{ha: true, homeNamespace: of-file}}\n{mount}\n")).unwrap();
    // A host needs a permission for Leases in its home namespace, also without `--ha`.
    let leases = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(GYRE);
        command.env_remove("GYRE_HA").env_remove("GYRE_HOME_NAMESPACE").envs(variables.iter().copied());
        let output = command.args(["rbac", "--config", &file.display().to_string()]).args(flags).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let documents = String::from_utf8(output.stdout).unwrap();
        let roles = documents.split("---\n").filter(|document| document.contains("- leases"));
        let namespace = |role: &str| role.lines().find_map(|line| line.trim().strip_prefix("namespace: ").map(str::to_owned));
        roles.filter_map(namespace).collect::<Vec<_>>()
    };
    assert_eq!(leases(&[], &[]), ["of-file"]);
    assert_eq!(leases(&[], &[("GYRE_HOME_NAMESPACE", "of-variable")]), ["of-variable"]);
    assert_eq!(leases(&["--home-namespace", "of-flag"], &[("GYRE_HOME_NAMESPACE", "of-variable")]), ["of-flag"]);
    assert_eq!(leases(&[], &[("GYRE_HA", "false")]), ["of-file"]);
}

/// Outside of a Pod, they may belong to other programs. Kubernetes sets `METRICS_PORT` for a
/// Service.
#[test]
fn former_variables_are_warned_of_in_a_pod_only() {
    for in_pod in [true, false] {
        let mut command = Command::new(GYRE);
        command.args(["run", gyre_artifacts::ECHO, "--kubeconfig", "/nonexistent"]).env("NO_COLOR", "1");
        command.env("HA_ENABLED", "true").env("METRICS_PORT", "tcp://10.0.0.1:80");
        if in_pod {
            command.env("KUBERNETES_SERVICE_HOST", "10.0.0.1");
        }
        let log = String::from_utf8(command.output().expect("gyre runs").stderr).unwrap();
        assert_eq!(log.contains("HA_ENABLED has no effect: it is called GYRE_HA now"), in_pod, "{log}");
        assert!(!log.contains("METRICS_PORT"), "{log}");
    }
}

#[test]
fn precompiled_plugins_are_not_compiled_again() {
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path().display().to_string();
    assert!(gyre(&["compile", "--code-cache", &cache, gyre_artifacts::ECHO]).status.success());
    let output = gyre(&["run", gyre_artifacts::ECHO, "--code-cache", &cache, "--kubeconfig", "/nonexistent"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("compiled=Cache"), "{stderr}");
}

#[test]
fn crds_are_printed_as_yaml_that_names_them() {
    let output = gyre(&["crds", gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert_eq!(stdout.matches("---\n").count(), 2);
    for name in ["echos.mmontes.io", "scheduledechos.mmontes.io"] {
        assert!(stdout.contains(&format!("name: {name}")), "{stdout}");
    }
}

#[test]
fn a_closed_output_causes_no_error_message() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/echo/samples/echo.yaml");
    let check = |arguments: &[&str], is_success: bool| {
        let (reads, writes) = std::io::pipe().expect("a pipe");
        drop(reads);
        let output = Command::new(GYRE).args(arguments).stdout(writes).output().expect("gyre runs");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.success(), stderr.as_str()), (is_success, ""), "{arguments:?}: {:?}", output.status);
    };
    check(&["man"], false);
    check(&["crds", gyre_artifacts::ECHO], false);
    check(&["inspect", gyre_artifacts::ECHO], false);
    check(&["render", gyre_artifacts::ECHO, "-f", sample], false);
    check(&["dev", gyre_artifacts::ECHO, "-f", sample, "--once"], true);
}
