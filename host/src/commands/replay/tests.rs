//! The output of `gyre replay`, as golden files. `GYRE_BLESS=1` rewrites them.

use std::path::Path;
use std::sync::LazyLock;
use std::time::SystemTime;

use clap::Parser;
use gyre_core::grants::Namespaces;
use gyre_engine::program::Program;
use gyre_engine::record::{Ask, Bounds, CallInputs, CallRecord, Writer};

use super::*;

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| Sandbox::new(gyre_sandbox::Options::default()).unwrap());

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: ReplayArguments,
}

static VERSIONS: LazyLock<[Plugin; 2]> =
    LazyLock::new(|| [1, 2].map(|version| SANDBOX.load(&gyre_artifacts::versioned(version).unwrap()).unwrap()));

fn reader() -> Plugin {
    SANDBOX.load(&std::fs::read(gyre_artifacts::probes::READER).unwrap()).unwrap()
}

fn recording(plugin: &Plugin, parents: &[&str]) -> Vec<u8> {
    let program = Arc::new(Program::new(plugin.clone(), Namespaces::All));
    let mut writer = Writer::new(Bounds { calls: u64::MAX, bytes: u64::MAX }, Secrets::Redacted);
    let mut file = writer.head("2026-01-01T00:00:00Z".parse().unwrap());
    for parent in parents {
        let given = CallInputs {
            ask: Ask::Reconcile,
            parent: Arc::from(parent.as_bytes()),
            members: Vec::new(),
            settings: Arc::clone(&program.settings),
            limits: program.policy.limits.clone(),
            seed: "uid".into(),
            now: SystemTime::UNIX_EPOCH,
            children: program.manifest().children.iter().map(|child| (child.kind.clone(), Vec::new())).collect(),
            reads: std::collections::BTreeMap::new(),
        };
        let made = given.make(plugin);
        let CallInputs { ask, parent, members, seed, now, children, reads, .. } = given;
        let program = Arc::clone(&program);
        let (answer, usage) = (made.answer, made.usage);
        let record = CallRecord { program, ask, parent, members, seed, now, children, reads, answer, usage };
        file.extend(writer.call(&record).unwrap());
    }
    file.extend(writer.end(gyre_engine::record::format::Because::Time));
    file
}

const PARENTS: [&str; 3] = [
    r#"{"apiVersion":"guests.gyre.dev/v1","kind":"Versioned","metadata":{"name":"a","namespace":"default"},"spec":{"text":"one"}}"#,
    r#"{"apiVersion":"guests.gyre.dev/v1","kind":"Versioned","metadata":{"name":"b","namespace":"default"},"spec":{"text":"two"}}"#,
    r#"{"apiVersion":"guests.gyre.dev/v1","kind":"Versioned","metadata":{"name":"c","namespace":"default"},"spec":{"text":7}}"#,
];

/// The output, without the parts that vary between builds.
fn said(file: &[u8], plugin: &Plugin, arguments: &[&str]) -> String {
    let arguments = Command::parse_from([&["replay", "plugin.wasm", "calls.jsonl"], arguments].concat()).arguments;
    let mut output = Vec::new();
    let end = match replay_all(&arguments, file, &plugin.siblings(), &mut output) {
        Ok(code) if code == ExitCode::SUCCESS => "exit code 0\n".to_owned(),
        Ok(_) => "exit code 1\n".to_owned(),
        Err(error) => format!("gyre: {error:#}\nexit code 2\n"),
    };
    let mut output = String::from_utf8(output).unwrap() + &end;
    for (plugin, name) in VERSIONS.iter().zip(["DIGEST-1", "DIGEST-2"]) {
        let digest = plugin.digest().to_string();
        output = output.replace(&digest, name).replace(short(&digest), name);
    }
    output.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

fn check(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands/replay/golden").join(name);
    if std::env::var_os("GYRE_BLESS").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{}; GYRE_BLESS=1 rewrites it", path.display());
}

#[test]
fn the_same_plugin_answers_the_same() {
    check("identical.txt", &said(&recording(&VERSIONS[0], &PARENTS), &VERSIONS[0], &[]));
}

#[test]
fn another_version_shows_what_differs() {
    let file = recording(&VERSIONS[0], &PARENTS);
    check("another-version.txt", &said(&file, &VERSIONS[1], &["--max-shown", "1"]));
    check("another-version.json", &said(&file, &VERSIONS[1], &["-o", "json"]));
}

#[test]
fn one_call_is_shown_whole() {
    let file = recording(&VERSIONS[0], &PARENTS);
    check("one-call.txt", &said(&file, &VERSIONS[0], &["--call", "2"]));
    check("no-such-call.txt", &said(&file, &VERSIONS[0], &["--call", "4"]));
}

/// The plugin reads another ConfigMap than when it was recorded.
#[test]
fn a_read_that_was_not_recorded_is_named() {
    let parent = |spec: &str| {
        format!(
            r#"{{"apiVersion":"guests.gyre.dev/v1","kind":"Reader","metadata":{{"name":"a","namespace":"default"}},"spec":{spec}}}"#
        )
    };
    let file = String::from_utf8(recording(&reader(), &[&parent("{}")])).unwrap();
    let changed = file.replacen(r#""spec":{}"#, r#""spec":{"get":"settings","list":"app=web"}"#, 1);
    check("unanswered.txt", &said(changed.as_bytes(), &reader(), &[]));
}

#[test]
fn a_recording_that_was_cut_off_is_replayed_up_to_there() {
    let file = recording(&VERSIONS[0], &PARENTS);
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let within = lines[..4].concat();
    check("cut-off-within.txt", &said(&within[..within.len() - 10], &VERSIONS[0], &[]));
    check("cut-off.txt", &said(&within, &VERSIONS[0], &[]));
}

#[test]
fn a_recording_can_be_cut_off_anywhere() {
    let file = recording(&VERSIONS[0], &PARENTS[..1]);
    for length in (0..file.len()).step_by(37) {
        let said = said(&file[..length], &VERSIONS[0], &[]);
        assert!(said.ends_with("exit code 0\n") || said.ends_with("exit code 2\n"), "at {length}: {said}");
    }
}

#[test]
fn a_file_that_is_not_a_recording_is_refused_with_a_reason() {
    let file = String::from_utf8(recording(&VERSIONS[0], &PARENTS)).unwrap();
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    let swapped = |line: usize, other: &str| {
        let mut lines = lines.clone();
        lines[line] = other;
        lines.concat()
    };
    let cases = [
        ("an empty file", String::new()),
        ("a file that is something else", "apiVersion: v1\nkind: Secret\n".to_owned()),
        ("an object", PARENTS[0].to_owned()),
        ("another format", file.replacen(r#""format":1"#, r#""format":2"#, 1)),
        ("a line that is no JSON", swapped(2, "{\"call\":\n")),
        ("a line that is something else", swapped(3, "{\"note\":1}\n")),
        ("a call whose program is gone", swapped(1, lines[2])),
        ("a call without a parent", swapped(3, "{\"call\":{\"number\":2,\"program\":0}}\n")),
        ("another recording after it", [lines[0], lines[0]].concat()),
        ("no calls", [lines[0], lines[1], "{\"end\":{\"calls\":0,\"dropped\":0,\"because\":\"time\"}}\n"].concat()),
        ("another plugin's calls", file.replacen(r#""plugin":"versioned""#, r#""plugin":"echo""#, 1)),
    ];
    let all: Vec<String> =
        cases.iter().map(|(case, file)| format!("# {case}\n{}", said(file.as_bytes(), &VERSIONS[0], &[]))).collect();
    check("errors.txt", &all.join("\n"));
}
