//! `gyre record` of a running host, and `gyre replay` of what it recorded.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE, guest};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/echo/samples/echo.yaml");

fn gyre(arguments: &[&str]) -> Output {
    Command::new(GYRE).args(arguments).output().expect("gyre runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_running_host_records_its_calls_and_they_replay() {
    let Some(cluster) = Cluster::for_test("record", &["record"]) else { return };
    cluster.install_crds(&[gyre_artifacts::probes::INDISCREET]);
    let plugins = [gyre_artifacts::probes::INDISCREET, gyre_artifacts::ECHO];
    let host = cluster.host(&plugins, &["record"]);
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "credentials", "namespace": "record" },
        "stringData": { "password": "correct horse battery staple" },
    });
    let parents =
        (0..5).map(|number| guest("Indiscreet", "record", &format!("p-{number}"), json!({ "secret": "credentials" })));
    let all: Vec<Value> = std::iter::once(secret).chain(parents).collect();
    cluster.apply_all(&all);
    cluster.all_ready("record", "indiscreets", 5);
    cluster.settled(&host);

    let folder = Folder::new();
    let file = format!("{}/calls.jsonl", folder.path());
    let from = host.url();
    // Nothing changes, so nothing would be recorded without `--again`.
    let recorded = gyre(&["record", "indiscreet", "--from", &from, "-o", &file, "--again", "--calls", "5"]);
    assert!(recorded.status.success(), "{}", text(&recorded.stderr));
    assert!(text(&recorded.stderr).starts_with("5 calls, "), "{}", text(&recorded.stderr));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let lines = fs::read_to_string(&file).unwrap();
    assert_eq!(lines.lines().count(), 8, "head, program, five calls, end");
    for form in ["correct horse", "Y29ycmVjdCBob3JzZ"] {
        assert!(!lines.contains(form), "{form} is in the recording");
    }
    assert!(host.metric("gyre_recorded_calls_total", &["indiscreet", "recorded"]) >= 5.0);

    let replayed = gyre(&["replay", &file, gyre_artifacts::probes::INDISCREET]);
    assert_eq!(replayed.status.code(), Some(0), "{}{}", text(&replayed.stdout), text(&replayed.stderr));
    assert!(text(&replayed.stdout).contains(": 5 identical, 0 differ"), "{}", text(&replayed.stdout));

    let line = [GYRE, "replay", &file, gyre_artifacts::probes::INDISCREET].join(" ");
    if let Ok(shown) = Command::new("script").args(["-qec", &line, "/dev/null"]).output() {
        assert!(text(&shown.stdout).contains("\r5 calls replayed"), "{}", text(&shown.stdout));
    }
    assert!(!text(&replayed.stderr).contains('\r'), "{}", text(&replayed.stderr));

    for (arguments, code, expected) in [
        (vec!["record", "indiscreet", "--from", &from, "-o", &file], 1, "name a file that does not exist yet"),
        (vec!["record", "--from", &from], 1, "say which mount to record: echo, indiscreet"),
        (vec!["record", "ecko", "--from", &from], 1, "there is no mount ecko; there are: echo, indiscreet"),
        (vec!["record", "echo", "--from", &from, "--secrets"], 1, "it does when it is started with --record-secrets"),
        (vec!["record", "echo", "--from", "http://127.0.0.1:1"], 1, "no host answers at http://127.0.0.1:1"),
        (
            vec!["record", "echo", "--from", "ftp://127.0.0.1:1"],
            2,
            "expected the address of a host such as http://127.0.0.1:2112",
        ),
    ] {
        let output = gyre(&arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{arguments:?}: {}", text(&output.stderr));
    }
}

/// A host that ends brings its recordings to an end; also one that is spoken to over TLS.
#[test]
fn a_recording_ends_with_its_host() {
    let Some(cluster) = Cluster::for_test("record-end", &["record-end"]) else { return };
    let host = cluster.host_with(&[gyre_artifacts::ECHO], &["record-end"], &["--metrics-secure"]);
    cluster.kubectl(&["apply", "-n", "record-end", "-f", SAMPLE]);
    cluster.ready("record-end", "echo", "hello");
    let folder = Folder::new();
    let file = format!("{}/calls.jsonl", folder.path());
    let from = host.url().replace("http", "https");
    let recording = Command::new(GYRE).args(["record", "--from", &from, "-o", &file]).spawn().expect("gyre runs");
    cluster
        .eventually("the beginning of the recording", || fs::read_to_string(&file).ok().filter(|lines| lines.contains('\n')));
    drop(host);
    let output = recording.wait_with_output().expect("gyre ends");
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read_to_string(&file).unwrap().contains(r#""because":"stopped""#));
}
