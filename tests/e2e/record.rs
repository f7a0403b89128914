use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE, Host, guest};

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
    // Nothing changes, so nothing would be recorded without `--all`.
    let recorded = gyre(&["record", "indiscreet", "--from", &from, "--to", &file, "--all", "--calls", "5"]);
    assert!(recorded.status.success(), "{}", text(&recorded.stderr));
    assert!(text(&recorded.stderr).starts_with("5 calls, "), "{}", text(&recorded.stderr));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let lines = fs::read_to_string(&file).unwrap();
    assert_eq!(lines.lines().count(), 8, "head, program, five calls, end");
    for form in ["correct horse", "Y29ycmVjdCBob3JzZ"] {
        assert!(!lines.contains(form), "{form} is in the recording");
    }
    assert!(host.metric("gyre_recorded_calls_total", &["indiscreet", "recorded"]) >= 5.0);

    let replayed = gyre(&["replay", gyre_artifacts::probes::INDISCREET, &file]);
    assert_eq!(replayed.status.code(), Some(0), "{}{}", text(&replayed.stdout), text(&replayed.stderr));
    assert!(text(&replayed.stdout).contains(": 5 identical, 0 differ"), "{}", text(&replayed.stdout));

    let line = [GYRE, "replay", gyre_artifacts::probes::INDISCREET, &file].join(" ");
    if let Ok(shown) = Command::new("script").args(["-qec", &line, "/dev/null"]).output() {
        assert!(text(&shown.stdout).contains("\r5 calls replayed"), "{}", text(&shown.stdout));
    }
    assert!(!text(&replayed.stderr).contains('\r'), "{}", text(&replayed.stderr));

    for (arguments, code, expected) in [
        (vec!["record", "indiscreet", "--from", &from, "--to", &file], 1, "name a file that does not exist yet"),
        (vec!["record", "--from", &from], 1, "name the mount to record; the mounts are: echo, indiscreet"),
        (vec!["record", "ecko", "--from", &from], 1, "there is no mount ecko; the mounts are: echo, indiscreet"),
        (vec!["record", "echo", "--from", &from, "--secrets"], 1, "start it with --record-secrets to allow that"),
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

/// The end of a host also ends its recordings, here over TLS.
#[test]
fn a_recording_ends_with_its_host() {
    let Some(cluster) = Cluster::for_test("record-end", &["record-end"]) else { return };
    let host = cluster.host_with(&[gyre_artifacts::ECHO], &["record-end"], &["--metrics-secure"]);
    cluster.kubectl(&["apply", "-n", "record-end", "-f", SAMPLE]);
    cluster.ready("record-end", "echo", "hello");
    let folder = Folder::new();
    let file = format!("{}/calls.jsonl", folder.path());
    let from = host.url().replace("http", "https");
    let recording = Command::new(GYRE).args(["record", "--from", &from, "--to", &file]).spawn().expect("gyre runs");
    cluster
        .eventually("the beginning of the recording", || fs::read_to_string(&file).ok().filter(|lines| lines.contains('\n')));
    drop(host);
    let output = recording.wait_with_output().expect("gyre ends");
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read_to_string(&file).unwrap().contains(r#""because":"stopped""#));
}

/// Returns the commands in the guide that find the Pod of the leader by its Lease.
fn guides_commands() -> Vec<String> {
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operating.md")).expect("a guide");
    let commands = guide.lines().filter(|line| line.starts_with("$ kubectl exec") && line.contains("holderIdentity"));
    let asks = |line: &str| Some(line.split_once("\"$(")?.1.split_once(")\"")?.0.to_owned());
    commands.map(|line| asks(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

#[test]
fn a_replica_that_does_not_lead_names_the_one_that_does() {
    let namespace = "ask-the-leader";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let echo = gyre_artifacts::ECHO;
    let configuration = json!({ "mounts": [{ "plugin": echo, "namespaces": [namespace], "shadow": { "plugin": echo } }] });
    let configuration = folder.put("gyre.yaml", configuration.to_string());
    for (scope, lease) in [("host", "gyre"), ("mount", "gyre.echo")] {
        let names = ["one", "two"].map(|name| format!("{scope}-{name}"));
        let start = |name: &String| {
            cluster.host_with(&[], &[], &["--config", &configuration, "--ha", "--ha-scope", scope, "--ha-node-id", name])
        };
        let hosts: Vec<_> = names.iter().map(|name| (start(name), name)).collect();
        let (leads, follows) = cluster.eventually("one to lead and one to follow", || {
            let leads = |host: &Host| host.find_state_of("echo").is_some_and(|state| state["leads"] == true);
            let (leads, follows): (Vec<_>, Vec<_>) = hosts.iter().partition(|(host, _)| leads(host));
            Some((*leads.first()?, *follows.first()?))
        });
        for command in ["record", "shadow"] {
            let ask = |host: &Host| text(&gyre(&[command, "echo", "--from", &host.url()]).stderr);
            let leader = leads.1;
            let expected = format!(
                "this replica does not lead echo; the leader is {leader}. In a cluster, run: kubectl exec -n {namespace} {leader} -- /gyre {command} echo\n"
            );
            cluster.eventually("the replica that follows to name the leader", || {
                let said = ask(&follows.0);
                eprintln!("{said}");
                said.ends_with(&expected).then_some(())
            });
        }
        let recorded = gyre(&["record", "echo", "--from", &leads.0.url(), "--for", "1s"]);
        assert!(recorded.status.success(), "{}", text(&recorded.stderr));

        let asks = guides_commands();
        assert_eq!(asks.len(), 2);
        for ask in asks {
            let (get, cut) = ask.split_once(" | ").expect("a pipe");
            let get =
                get.strip_prefix("kubectl get lease -n gyre-system gyre -o ").expect("the Lease of a release called gyre");
            let holder = cluster.kubectl(&["get", "lease", "-n", namespace, lease, "-o", get.replace('\'', "").as_str()]);
            let pod = Command::new("sh").args(["-c", &format!("printf %s '{holder}' | {cut}")]).output().expect("a shell");
            assert_eq!(text(&pod.stdout).trim(), leads.1, "{holder}");
        }
    }
}
