//! `gyre status` shows what a host does, as a table and as data.

use std::process::{Command, Output};
use std::time::Duration;

use gyre_artifacts::ECHO;
use gyre_artifacts::probes::FICKLE;
use gyre_controlplane::Guarded;
use serde_json::{Value, json};

use crate::harness::{Cluster, GYRE, PATIENCE, guest};

fn status(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = Command::new(GYRE).arg("status").args(arguments).output().expect("gyre runs");
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The cell of a row under a heading; empty if the row is shorter.
fn cell<'a>(header: &str, row: &'a str, heading: &str) -> &'a str {
    let column = words(header).iter().position(|word| *word == heading).expect("a column");
    words(row).get(column).copied().unwrap_or_default()
}

#[test]
fn the_status_of_a_host_has_a_row_for_each_mount_and_what_needs_attention() {
    let Some(cluster) = Cluster::for_test("host-status", &["host-status"]) else { return };
    let arguments = ["--ha", "--name", "host-status", "--max-retries", "1"];
    let host = cluster.host_with(&[ECHO, FICKLE], &["host-status"], &arguments);
    let echo = json!({"apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "metadata": {"name": "it", "namespace": "host-status"}, "spec": {"message": "hello"}});
    let failing = guest("Fickle", "host-status", "bad", json!({ "fail": "transient" }));
    cluster.apply_all(&[echo, failing, guest("Fickle", "host-status", "good", json!({ "fail": "" }))]);
    cluster.ready("host-status", "echo", "it");
    cluster.ready("host-status", "fickle", "good");
    cluster.eventually("one to be parked", || (host.metric("gyre_parked_objects", &["fickle"]) == 1.0).then_some(()));
    cluster.settled(&host);

    let (code, said) = status(&["--from", &host.url()]);
    assert_eq!(code, Some(0), "also if something fails: {said}");
    let lines: Vec<&str> = said.lines().collect();
    let state = |mount: &str| host.state_of(mount);
    let digest = |mount: &str| state(mount)["digest"].as_str().unwrap()[..12].to_owned();
    let leader = state("echo")["leader"].as_str().expect("a leader").to_owned();
    assert_eq!(
        words(lines[0]),
        ["NAME", "VERSION", "DIGEST", "ARTIFACT", "PHASE", "PARENT", "PARENTS", "QUEUED", "FAILING", "QUARANTINE", "LEADER"]
    );
    let version = state("echo")["version"].as_str().unwrap().to_owned();
    assert_eq!(
        words(lines[1]),
        ["echo", &version, &digest("echo"), "-", "Running", "Echo.v1alpha1.mmontes.io", "1", "0", "0", "none", &leader]
    );
    let fickle = words(lines[2]);
    let parent = state("fickle")["parent"].as_str().unwrap().to_owned();
    assert_eq!((fickle[0], &fickle[3..]), ("fickle", &["-", "Running", &parent, "2", "0", "1", "none", &leader][..]));
    assert_eq!(&lines[3..], ["", "fickle: host-status/bad has failed 2 times, and waits for a change"], "{said}");
    // Each column begins at one place, as kubectl's do.
    let starts = |heading: &str| lines[0].find(heading).unwrap();
    for (heading, cell) in [("PHASE", "Running"), ("LEADER", leader.as_str())] {
        assert!(lines[1..3].iter().all(|line| line[starts(heading)..].starts_with(cell)), "{heading}:\n{said}");
    }

    let (_, said) = status(&["--from", &host.url(), "-o", "json"]);
    let from_json: Value = serde_json::from_str(&said).expect("JSON");
    let (_, said) = status(&["--from", &host.url(), "-o", "yaml"]);
    let from_yaml: Value = serde_saphyr::from_str(&said).expect("YAML");
    for told in [from_json, from_yaml] {
        assert_eq!((&told["mounts"][1]["name"], &told["mounts"][1]["queue"]["failing"]), (&json!("fickle"), &json!(1)));
    }

    let mut watch = Command::new(GYRE);
    watch.args(["status", "--watch", "--from", &host.url()]);
    // Beside the logs of hosts, which are shown if something is waited for in vain.
    let log = cluster.plane.folder().join("host-host-status-watch.log");
    let mut process = Guarded::spawn("gyre status", &watch, &log, Duration::from_secs(5)).expect("gyre starts");
    let printed = |skipped: usize| -> Vec<String> {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        whole.skip(skipped).map(str::to_owned).collect()
    };
    cluster.eventually("the first state", || (printed(0).len() >= lines.len()).then_some(()));
    assert_eq!(printed(0)[..lines.len()], lines);
    cluster.apply(&guest("Fickle", "host-status", "bad", json!({ "fail": "" })).to_string());
    let change = cluster.eventually("a row of fickle without failures", || {
        let is_idle = |row: &str| ["QUEUED", "FAILING"].iter().all(|heading| cell(lines[0], row, heading) == "0");
        printed(lines.len()).into_iter().find(|row| row.starts_with("fickle ") && is_idle(row))
    });
    assert_eq!(cell(lines[0], &change, "PARENTS"), "2");
    // The connection to a host that stops is lost, which ends the command.
    drop(host);
    assert_eq!(process.wait(PATIENCE).expect("a process").expect("an end").code(), Some(1));
}

#[test]
fn the_status_needs_a_host_that_answers() {
    let (code, said) = status(&["--from", "http://127.0.0.1:1"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no host answers at http://127.0.0.1:1/"), "{said}");
}
