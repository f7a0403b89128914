//! Tests of a real control plane.

use std::path::Path;
use std::time::Duration;

use gyre_controlplane::{AuditLevel, ControlPlane, Controllers, Options, Signal, shared_or_skip, skip, start_or_skip};

const PATIENCE: Duration = Duration::from_secs(30);

const JOB: &str = r#"
apiVersion: batch/v1
kind: Job
metadata: { name: greeting, namespace: default }
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{ name: greeting, image: "example.invalid/greeting:1" }]
"#;

fn is_alive(process: u32) -> bool {
    // A process that has ended but was not waited for has no command line.
    std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn start_own_or_skip(options: Options) -> anyhow::Result<Option<ControlPlane>> {
    let plane = start_or_skip(options)?;
    if plane.as_ref().is_some_and(|plane| plane.audit().is_err()) {
        skip("it needs a control plane of its own, and USE_EXISTING_CLUSTER is set")?;
        return Ok(None);
    }
    Ok(plane)
}

#[test]
fn the_administrator_may_do_everything_and_the_audit_log_names_the_user() {
    let Some(plane) = shared_or_skip().unwrap() else { return };
    let Ok(audit) = plane.audit() else { return skip("an existing cluster has no audit log that we could read").unwrap() };
    let mark = plane.audit_barrier().unwrap();
    assert!(plane.kubectl_stdout(&["get", "namespaces"]).unwrap().contains("kube-system"));

    let stranger = plane.kubeconfig_for_user("stranger", &["strangers"]).unwrap();
    let refused = plane.kubectl_as(&stranger).args(["create", "namespace", "mine"]).output().unwrap();
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && message.contains(r#"User "stranger" cannot create resource "namespaces""#),
        "{message}"
    );

    plane.audit_barrier().unwrap();
    let lists = audit
        .matching(mark, |event| event.user == "gyre:admin" && event.verb == "list" && event.resource == "namespaces")
        .unwrap();
    assert_eq!(lists.len(), 1, "{lists:#?}");
    assert!(lists[0].succeeded() && lists[0].user_agent.starts_with("kubectl") && lists[0].decision == "allow", "{lists:#?}");
    let writes = audit.matching(mark, |event| event.user == "stranger" && event.is_write()).unwrap();
    assert_eq!(writes.len(), 1, "{writes:#?}");
    assert_eq!((writes[0].code, writes[0].decision.as_str()), (403, "forbid"));
    assert!(writes[0].groups.contains(&"strangers".to_string()), "{writes:#?}");
}

#[test]
fn a_kubeconfig_of_a_service_account_authenticates_it() {
    let Some(plane) = shared_or_skip().unwrap() else { return };
    if plane.audit().is_err() {
        return skip("tokens are made for clusters of our own only").unwrap();
    }
    plane.apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: robot, namespace: default }\n").unwrap();
    let kubeconfig = plane.kubeconfig_for_service_account("default", "robot").unwrap();
    let output = plane.kubectl_as(&kubeconfig).args(["auth", "whoami"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("system:serviceaccount:default:robot"), "{text}");
}

#[test]
fn a_job_gets_a_pod_which_is_deleted_with_it() {
    let Some(plane) = shared_or_skip().unwrap() else { return };
    plane.apply(JOB).unwrap();
    let pods = || plane.kubectl_stdout(&["get", "pods", "--selector=job-name=greeting", "--output=name"]).unwrap();
    eventually("the Job has a Pod", || pods().starts_with("pod/greeting-"));
    plane.kubectl_stdout(&["delete", "job", "greeting", "--cascade=background"]).unwrap();
    eventually("the Pod is gone", || pods().is_empty());
}

#[test]
fn the_server_reports_the_version_of_the_module() {
    let Some(plane) = shared_or_skip().unwrap() else { return };
    let version = plane.kubectl_stdout(&["version", "--output=json"]).unwrap();
    let version: serde_json::Value = serde_json::from_str(&version).unwrap();
    let server = version.pointer("/serverVersion/gitVersion").unwrap().as_str().unwrap();
    assert!(server.starts_with("v1.") && !server.contains("master"), "{version}");
    let Ok(mut helm) = plane.helm() else { return skip("there is no helm").unwrap() };
    let output = helm.args(["list", "--all-namespaces"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_api_server_comes_back_on_its_port_with_its_data() {
    let options = Options { controllers: Controllers::Absent, audit_level: AuditLevel::RequestResponse, ..Options::default() };
    let Some(mut plane) = start_own_or_skip(options).unwrap() else { return };
    plane.kubectl_stdout(&["create", "namespace", "kept"]).unwrap();
    let url = plane.url().to_string();
    let create = plane
        .audit()
        .unwrap()
        .wait_for(gyre_controlplane::Mark::START, PATIENCE, |event| {
            event.verb == "create" && event.code == 201 && event.resource == "namespaces" && event.user == "gyre:admin"
        })
        .unwrap();
    let name = |object: Option<&serde_json::Value>| object.unwrap().pointer("/metadata/name").unwrap().clone();
    assert_eq!(name(create.request_object.as_ref()), "kept");
    assert_eq!(name(create.response_object.as_ref()), "kept");

    plane.stop_apiserver().unwrap();
    assert!(plane.apiserver().is_none());
    assert!(plane.kubectl_stdout(&["get", "namespaces"]).is_err());
    plane.start_apiserver().unwrap();
    assert_eq!(plane.url(), url);
    assert!(plane.kubectl_stdout(&["get", "namespace", "kept"]).is_ok());

    plane.apiserver().unwrap().signal(Signal::Kill).unwrap();
    plane.stop_apiserver().unwrap();
    plane.start_apiserver().unwrap();
    assert!(plane.kubectl_stdout(&["get", "namespace", "kept"]).is_ok());
}

#[test]
fn a_control_plane_that_stops_leaves_nothing() {
    let Some(plane) = start_own_or_skip(Options::default()).unwrap() else { return };
    let (processes, folder) = (plane.process_ids(), plane.folder().to_path_buf());
    assert_eq!(processes.len(), 3);
    assert!(processes.iter().all(|process| is_alive(*process)) && folder.exists());
    drop(plane);
    assert_eq!(processes.iter().filter(|process| is_alive(**process)).count(), 0);
    assert!(!folder.exists());
}

#[test]
fn a_control_plane_whose_process_is_killed_leaves_nothing() {
    // This test runs itself again as the process to be killed.
    const REPORT: &str = "GYRE_TEST_CONTROL_PLANE_REPORT";
    if let Some(report) = std::env::var_os(REPORT) {
        let Some(plane) = start_own_or_skip(Options { controllers: Controllers::Absent, ..Options::default() }).unwrap() else {
            return;
        };
        let mut text = plane.folder().display().to_string();
        for process in plane.process_ids() {
            text.push_str(&format!("\n{process}"));
        }
        let part = Path::new(&report).with_extension("part");
        std::fs::write(&part, text).unwrap();
        std::fs::rename(part, report).unwrap();
        loop {
            std::thread::park();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let mut itself = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_control_plane_whose_process_is_killed_leaves_nothing", "--nocapture"])
        .env(REPORT, &report)
        .spawn()
        .unwrap();
    let text = loop {
        if let Ok(text) = std::fs::read_to_string(&report) {
            break text;
        }
        match itself.try_wait().unwrap() {
            Some(status) if status.success() => return, // It has said why it was skipped.
            Some(status) => panic!("the process that is to be killed ended by itself: {status}"),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let mut lines = text.lines();
    let left = lines.next().unwrap().to_string();
    let processes: Vec<u32> = lines.map(|line| line.parse().unwrap()).collect();
    assert_eq!(processes.len(), 2);
    assert!(processes.iter().all(|process| is_alive(*process)));
    itself.kill().unwrap();
    itself.wait().unwrap();
    eventually("the processes are gone", || !processes.iter().any(|process| is_alive(*process)));
    eventually("the folder is gone", || !Path::new(&left).exists());
}

#[test]
fn two_control_planes_are_independent() {
    let options = || Options { controllers: Controllers::Absent, ..Options::default() };
    let Some(first) = start_own_or_skip(options()).unwrap() else { return };
    let Some(second) = start_own_or_skip(options()).unwrap() else { return };
    assert_ne!(first.url(), second.url());
    first.kubectl_stdout(&["create", "namespace", "first"]).unwrap();
    assert!(second.kubectl_stdout(&["get", "namespace", "first"]).is_err());
}

#[test]
fn a_flag_that_the_server_does_not_know_is_shown() {
    let options = Options { apiserver_args: vec!["--no-such-flag".to_string()], ..Options::default() };
    match start_or_skip(options) {
        Ok(Some(plane)) if plane.audit().is_err() => skip("nothing is started with USE_EXISTING_CLUSTER").unwrap(),
        Ok(Some(_)) => panic!("started all the same"),
        Ok(None) => {}
        Err(error) => assert!(format!("{error:#}").contains("unknown flag: --no-such-flag"), "{error:#}"),
    }
}
