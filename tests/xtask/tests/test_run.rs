//! `cargo xtask test` with scripts in the place of Cargo and of test programs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do the functions that it is made of")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

fn add(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A script that prints a file, by the shell alone.
fn print(file: &Path) -> String {
    format!("while IFS= read -r line; do printf '%s\\n' \"$line\"; done < {}", file.display())
}

/// Runs `cargo xtask test`, where the package `one` has unit tests and the package `two` has a test
/// program that ends as it is said.
fn run(two_ends_with: i32, arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let (folder, packages) = (folder.path(), ["one", "two"]);
    let manifest = |package: &str| folder.join(package).join("Cargo.toml");
    for package in packages {
        fs::create_dir(folder.join(package)).unwrap();
    }
    let artifact = |package: &str, kind: &str, program: &str| {
        json!({
            "reason": "compiler-artifact", "package_id": package, "target": {"kind": [kind], "name": program},
            "profile": {"test": true}, "executable": folder.join(program),
        })
    };
    let messages = [artifact("one", "lib", "unit"), artifact("two", "test", "slow"), json!({"reason": "build-finished"})];
    fs::write(folder.join("messages"), messages.map(|message| format!("{message}\n")).concat()).unwrap();
    let metadata = json!({"packages": packages.map(|name| {
        json!({"id": name, "name": name, "version": "0.1.0", "manifest_path": manifest(name)})
    })});
    fs::write(folder.join("metadata"), format!("{metadata}\n")).unwrap();
    let (built, known) = (print(&folder.join("messages")), print(&folder.join("metadata")));
    let examples = "echo 'test result: ok. 4 passed; 0 failed; 0 ignored'";
    add(folder, "cargo", &format!("case \"$*\" in *--no-run*) {built} ;; metadata*) {known} ;; test*) {examples} ;; esac"));
    add(folder, "rustc", &format!("echo {}", folder.display()));
    add(folder, "rustfmt", "");
    add(folder, "clippy-driver", "");
    let list = |tests: &str, run: &str| format!("case \"$*\" in *--list*) printf '{tests}' ;; *) {run} ;; esac");
    let unit = "echo \"in $PWD of $CARGO_PKG_NAME, seed $PROPTEST_RNG_SEED, $*\"; echo 'test a ... ok'; echo 'test b ... ok'; \
                echo 'test result: ok. 2 passed; 0 failed; 0 ignored'";
    add(folder, "unit", &list("a: test\\nb: test\\n", unit));
    let slow = format!("echo 'test c ... ok'; echo 'test result: ok. 1 passed; 0 failed; 3 ignored'; exit {two_ends_with}");
    add(folder, "slow", &list("c: test\\n", &slow));

    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("test").args(arguments).env_clear().env("PATH", folder).env("HOME", folder).env("CARGO", folder.join("cargo"));
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&folder.display().to_string(), "FOLDER");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_test_programs_are_run_and_at_the_end_stand_their_times_and_the_tally() {
    let (code, stdout, stderr) = run(0, &["--", "--test-threads=3", "queue"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    for line in [
        "one | in FOLDER/one of one, seed 1, queue --test-threads=3",
        "one | test a ... ok",
        "two slow | test c ... ok",
        "documentation | test result: ok. 4 passed; 0 failed; 0 ignored",
    ] {
        assert!(stdout.lines().any(|printed| printed == line), "{line:?} in:\n{stdout}");
    }
    let (_, summary) = stdout.split_once("time of each suite:\n").unwrap();
    for suite in ["one, 2 tests", "two slow, 4 tests", "documentation, 4 tests"] {
        assert!(summary.lines().any(|line| line.ends_with(&format!(" s  {suite}"))), "{suite} in:\n{summary}");
    }
    let (_, slowest) = summary.split_once("slowest tests:\n").unwrap();
    for test in ["one: a", "one: b", "two slow: c"] {
        assert!(slowest.lines().any(|line| line.ends_with(&format!(" s  {test}"))), "{test} in:\n{slowest}");
    }
    assert!(stdout.lines().last().unwrap().starts_with("tests: 7 passed, 0 failed, 3 skipped in "), "{stdout}");
}

#[test]
fn a_suite_that_fails_is_named() {
    // As after a crash, which no line of the program tells.
    let (code, stdout, stderr) = run(101, &[]);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(stderr.lines().last().unwrap().ends_with("these suites failed: two slow"), "{stderr}");
    assert!(stdout.lines().last().unwrap().starts_with("tests: 7 passed"), "the others were run: {stdout}");
}
