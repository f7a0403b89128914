//! The errors of `gyre` for wrong input: golden files in `errors/`, one for each command.
//!
//! ```text
//! $ gyre inspect absent.wasm        a shell runs it, in a folder with some plugins and an object
//! gyre: cannot read the plugin …    the output: stdout, then stderr
//! exit code 1
//! ```
//!
//! `GYRE_BLESS=1` writes the output below each command line. Check in the difference that each
//! message says what is wrong, where, and what to do.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use crate::harness::{GYRE, listed_commands};

const PROMPT: &str = "$ ";

const NO_COMMAND: &str = "gyre";

fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/e2e/errors")
}

fn commands() -> BTreeSet<String> {
    let output = Command::new(GYRE).arg("--help").output().expect("gyre runs");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    listed_commands(&help).map(str::to_owned).collect()
}

fn stage() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, plugin) in [
        ("echo.wasm", gyre_artifacts::ECHO),
        ("website.wasm", gyre_artifacts::WEBSITE),
        ("choosy.wasm", gyre_artifacts::probes::CHOOSY),
        ("lies.wasm", gyre_artifacts::guests::LIES),
        ("trap.wasm", gyre_artifacts::guests::TRAP),
    ] {
        symlink(plugin, folder.path().join(name)).expect("linked");
    }
    let file = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).expect("written");
    let component = fs::read(gyre_artifacts::ECHO).expect("a plugin");
    file("half.wasm", &component[..component.len() / 2]);
    // The preambles of an empty core module and an empty component, which differ in their layer
    // field.
    file("module.wasm", b"\0asm\x01\0\0\0");
    file("other-world.wasm", b"\0asm\x0d\0\x01\0");
    file("text.wasm", b"kind: Echo\n");
    file("empty.wasm", b"");
    fs::create_dir(folder.path().join("sdk")).expect("made");
    file("sdk/Cargo.toml", b"[package]\nname = \"gyre-sdk\"\n");
    file("echo.yaml", ECHO);
    file("nobody.kubeconfig", NOBODY.as_bytes());
    fs::create_dir(folder.path().join("empty")).expect("made");
    folder
}

const ECHO: &[u8] = b"apiVersion: mmontes.io/v1alpha1\nkind: Echo\nmetadata: {name: hello}\nspec: {message: hello}\n";

const NOBODY: &str = "\
apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: it, user: {}}]
";

fn run_line(line: &str) -> (String, Option<i32>) {
    let folder = stage();
    let programs = Path::new(GYRE).parent().expect("a folder");
    let path = std::env::join_paths([programs, Path::new("/usr/bin"), Path::new("/bin")]).expect("a path");
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder.path()).stdin(std::process::Stdio::null());
    // The environment of the developer has no effect.
    command.env_clear().env("PATH", path).env("HOME", folder.path()).env("HOSTNAME", "here").env("NO_COLOR", "1");
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let output = command.output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (masked(&text.replace(&folder.path().display().to_string(), "FOLDER")), output.status.code())
}

fn took(line: &str) -> Option<&str> {
    let (before, time) = line.strip_suffix(')')?.rsplit_once(" (")?;
    let (number, unit) = time.split_once(' ')?;
    (number.parse::<f64>().is_ok() && ["ms", "s"].contains(&unit)).then_some(before)
}

/// Masks durations and offsets within a plugin, which change with the paths of the build.
fn masked(text: &str) -> String {
    let places = Regex::new(r"section range \d+\.\.\d+ is out of bounds \(bound = \d+\)").unwrap();
    let text = &places.replace_all(text, "section range FROM..TO is out of bounds (bound = SIZE)");
    let line = |line: &str| match (took(line), line.split_once(" cases passed in ")) {
        (Some(before), _) => format!("{before} (TIME)"),
        (_, Some((before, _))) => format!("{before} cases passed in TIME"),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns a golden file with the present output, and collects violations of the rules for all
/// errors.
fn answered(golden: &str, wrong: &mut Vec<String>) -> String {
    let lines: Vec<&str> = golden.lines().filter_map(|line| line.strip_prefix(PROMPT)).collect();
    let answers = lines.iter().map(|line| {
        let (text, code) = run_line(line);
        if !matches!(code, Some(1 | 2)) {
            wrong.push(format!("$ {line}\n{text}exit code {code:?}: it is 1 or 2 where something is wrong"));
        }
        for word in ["panicked", "RUST_BACKTRACE", "backtrace", "os error", "Error {", "Some(", "/tmp/"] {
            if text.contains(word) {
                wrong.push(format!("$ {line}\n{text}has {word:?}, which is not for people"));
            }
        }
        format!("{PROMPT}{line}\n{}\nexit code {}\n", text.trim_end(), code.unwrap_or(-1))
    });
    answers.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_command_says_what_is_wrong_with_its_input() {
    let mut expected: BTreeSet<String> = commands();
    assert!(expected.len() > 10, "{expected:?}");
    expected.insert(NO_COMMAND.to_owned());
    let names = fs::read_dir(goldens()).expect("golden files").map(|entry| entry.expect("an entry").path());
    let found: BTreeSet<String> =
        names.filter_map(|path| Some(path.file_name()?.to_str()?.strip_suffix(".txt")?.to_owned())).collect();
    assert_eq!(
        found, expected,
        "each command has a golden file in tests/e2e/errors, with its wrong inputs, and no others are there"
    );

    let mut wrong = Vec::new();
    for command in found {
        let path = goldens().join(format!("{command}.txt"));
        let golden = fs::read_to_string(&path).expect("a golden file");
        let answer = answered(&golden, &mut wrong);
        let own = if command == NO_COMMAND { "gyre".to_owned() } else { format!("gyre {command}") };
        assert!(
            golden.contains(&format!("{own} ")) || golden.contains(&format!("{own}\n")),
            "no line of {command}.txt runs {own}"
        );
        if std::env::var_os("GYRE_BLESS").is_some() {
            fs::write(&path, answer).expect("written");
        } else if golden != answer {
            wrong.push(format!("{command}.txt is not as expected (GYRE_BLESS=1 takes it):\n{answer}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
