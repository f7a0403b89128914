//! `cargo xtask` on a machine that lacks something, with scripts in the place of `rustc`, `rustup`
//! and `cargo`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do the functions that it is made of")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use tempfile::TempDir;

/// The output of Cargo before it fails.
const CARGO: &str = "error: this is what Cargo says";

/// The commands that compile plugins.
const COMMANDS: [&[&str]; 3] = [&["dev", "--once"], &["test"], &["bench"]];

/// Such a machine, which keeps what its programs are called with.
struct Machine {
    programs: TempDir,
    /// The server of rustup, or `None` if nobody listens there.
    server: Option<TcpListener>,
}

impl Machine {
    /// With a `rustc` that has no target until there is a file `installed`, and a `cargo` that
    /// always fails.
    fn new() -> Self {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let machine = Self { programs: tempfile::tempdir().unwrap(), server: Some(server) };
        let folder = machine.programs.path().display();
        machine.add("rustc", &format!("if [ -e {folder}/installed ]; then echo {folder}; else echo {folder}/missing; fi"));
        machine.add("cargo", &format!("echo '{CARGO}' >&2; exit 101"));
        machine
    }

    /// Returns a machine that has the target.
    fn with_target() -> Self {
        let machine = Self::new();
        fs::write(machine.programs.path().join("installed"), "").unwrap();
        machine
    }

    /// Adds a program. The scripts use nothing but the shell itself: there is nothing else on the
    /// PATH.
    fn add(&self, name: &str, script: &str) {
        let (path, calls) = (self.programs.path().join(name), self.programs.path().join("calls"));
        fs::write(&path, format!("#!/bin/sh\necho \"{name} $*\" >> {}\n{script}\n", calls.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns the commands that were called, but for questions.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.programs.path().join("calls")).unwrap_or_default();
        calls.lines().filter(|line| !line.contains("--version") && !line.contains("--print")).map(str::to_owned).collect()
    }

    /// `cargo xtask` with these arguments, where backtraces are wanted.
    fn command(&self, arguments: &[&str]) -> Command {
        let server = self.server.as_ref().map(|server| server.local_addr().unwrap());
        let closed = || TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.args(arguments).env_clear().env("PATH", self.programs.path()).env("HOME", self.programs.path());
        command.env("CARGO", self.programs.path().join("cargo"));
        command.env("RUST_BACKTRACE", "full").env("RUST_LIB_BACKTRACE", "1");
        command.env("RUSTUP_DIST_SERVER", format!("http://{}", server.unwrap_or_else(closed)));
        command
    }

    /// Runs it. Returns the exit code and standard error.
    fn xtask(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.command(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn a_missing_target_is_installed_before_anything_is_built() {
    for arguments in COMMANDS {
        let machine = Machine::new();
        machine.add("rustfmt", "");
        machine.add("clippy-driver", "");
        machine.add("rustup", "case $1 in target) : > ${0%/*}/installed ;; esac");
        let (_, said) = machine.xtask(arguments);
        let calls = machine.calls();
        assert_eq!(calls[0], "rustup target add wasm32-wasip2", "{arguments:?}: {calls:?}");
        assert!(calls.len() > 1 && calls[1].starts_with("cargo "), "{arguments:?}: {calls:?}");
        assert!(said.starts_with("installing the target wasm32-wasip2\n"), "{arguments:?}: {said}");
    }
}

#[test]
fn missing_components_are_installed_for_the_command_that_uses_them() {
    let machine = Machine::with_target();
    machine.add("rustfmt", "exit 1");
    machine.add("clippy-driver", "");
    machine.add("rustup", "case $1 in component) echo '#!/bin/sh' > ${0%/*}/rustfmt ;; esac");
    machine.command(&["test"]).env("CI", "true").output().unwrap();
    assert_eq!(machine.calls()[..2], ["rustup component add rustfmt", "cargo fmt --all --check"]);

    let machine = Machine::with_target();
    machine.add("rustup", "");
    machine.xtask(&["dev", "--once"]);
    assert!(machine.calls()[0].starts_with("cargo "), "{:?}", machine.calls());
}

#[test]
fn where_the_target_cannot_be_installed_one_sentence_says_what_to_do() {
    // Neither a download nor a build is begun: nothing that takes long.
    let check = |machine: &Machine, arguments: &[&str], expected: &str| {
        let (code, said) = machine.xtask(arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        assert!(said.contains("lacks the target wasm32-wasip2") && said.contains(expected), "{arguments:?}: {said}");
        assert_eq!(machine.calls(), [""; 0], "{arguments:?}");
    };
    for arguments in COMMANDS {
        let machine = Machine::new();
        machine.add("rustfmt", "");
        machine.add("clippy-driver", "");
        check(&machine, arguments, "install Rust with rustup (https://rustup.rs)");
        machine.add("rustup", "");
        check(&Machine { server: None, ..machine }, arguments, "run `rustup target add wasm32-wasip2` when");
    }
}

#[test]
fn an_installation_that_fails_says_so_in_one_line_after_what_rustup_says() {
    let machine = Machine::new();
    machine.add("rustup", "case $1 in target) echo 'error: the disk is full' >&2; exit 1 ;; esac");
    let (code, said) = machine.xtask(&["dev"]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(lines[lines.len() - 2], "error: the disk is full", "{said}");
    assert!(lines[lines.len() - 1].starts_with("error: cannot install the target wasm32-wasip2"), "{said}");

    // A `rustup` that is not in charge of the `rustc` that is used.
    let machine = Machine::new();
    machine.add("rustup", "");
    let (code, said) = machine.xtask(&["dev"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.lines().last().unwrap().contains("still lacks it"), "{said}");
}

#[test]
fn cargo_does_not_get_the_variables_of_xtasks_package() {
    let machine = Machine::with_target();
    machine.add("cargo", "echo \"package: [$CARGO_PKG_NAME$CARGO_MANIFEST_DIR]\" >&2; exit 101");
    let mut command = machine.command(&["dev"]);
    let output = command.env("CARGO_PKG_NAME", "xtask").env("CARGO_MANIFEST_DIR", "tests/xtask").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("package: []\n"), "{said}");
}

#[test]
fn a_step_that_fails_prints_its_output_and_one_line() {
    for arguments in COMMANDS {
        let machine = Machine::with_target();
        machine.add("rustfmt", "");
        machine.add("clippy-driver", "");
        let (code, said) = machine.xtask(arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        let (before, after) = said.split_once(&format!("{CARGO}\n")).unwrap();
        assert!(!before.contains("error: "), "{arguments:?}: {said}");
        assert_eq!(after.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{arguments:?}: {said}");
        assert!(after.trim_end().ends_with("failed (exit status: 101)"), "{arguments:?}: {said}");
        assert!(!said.to_lowercase().contains("backtrace"), "{arguments:?}: {said}");
    }
}
