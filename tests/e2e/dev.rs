use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gyre_controlplane::{Guarded, Signal, tools_or_skip};

use crate::harness::{Cluster, GYRE, PATIENCE, UNHURRIED};

fn await_printed(log: &Path, text: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let said = fs::read_to_string(log).unwrap_or_default();
        if said.contains(text) {
            return said;
        }
        assert!(Instant::now() < deadline, "gave up waiting for {text:?}:\n{said}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn dev_prints_changes_and_no_objects_from_before_the_watch() {
    let Some(tools) = tools_or_skip().expect("the tools, or none") else { return };
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("it.wasm");
    fs::copy(gyre_artifacts::probes::NARROWED, &plugin).unwrap();
    let log = folder.path().join("log");
    let mut command = Command::new(GYRE);
    command.args(["dev", "it.wasm", "--write-kubeconfig", "here.kubeconfig"]).current_dir(folder.path());
    let _dev = Guarded::spawn("gyre dev", &command, &log, Duration::from_secs(5)).unwrap();
    let said = await_printed(&log, "export KUBECONFIG=");
    let kubeconfig = said.lines().find_map(|line| line.trim().strip_prefix("export KUBECONFIG=")).unwrap();
    assert!(Path::new(kubeconfig).is_absolute(), "{kubeconfig}");
    let kubectl = |line: &str| {
        let mut command = Command::new(&tools.kubectl);
        command.env("KUBECONFIG", kubeconfig).env("KUBECACHEDIR", folder.path().join("cache"));
        let status = command.args(line.split(' ')).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "kubectl {line}");
    };

    kubectl("create configmap it --from-literal=a=1");
    await_printed(&log, "  ConfigMap default/it created\n");
    kubectl("label configmap it a=b");
    await_printed(&log, "  ConfigMap default/it changed: labels\n");
    kubectl("create secret generic old --from-literal=a=1");
    // The new plugin also has Secrets as children.
    fs::copy(gyre_artifacts::probes::WIDENED, folder.path().join("new.wasm")).unwrap();
    fs::rename(folder.path().join("new.wasm"), &plugin).unwrap();
    await_printed(&log, "the plugins have changed");
    // Secrets are watched once the first new one is printed.
    let deadline = Instant::now() + PATIENCE;
    for number in 0.. {
        kubectl(&format!("create secret generic new-{number}"));
        if fs::read_to_string(&log).unwrap().contains("  Secret default/new-") {
            break;
        }
        assert!(Instant::now() < deadline, "Secrets are not followed");
    }
    kubectl("delete secret old");
    let said = await_printed(&log, "  Secret default/old deleted\n");
    assert!(!said.contains("Secret default/old created") && !said.contains("kube-root-ca.crt"), "{said}");
}

const SOME_REFUSED: &str = "\
apiVersion: v1
kind: Kettle
metadata: {name: unknown}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: Invalid}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: stored}
handler: it
---
apiVersion: v1
kind: Pod
metadata: {name: it}
spec:
  containers: [{name: it, image: it}]
  volumes: [{name: it, secret: {secretName: it, defaultMode: 0400}}]
";

/// With a plugin and without: every other object is applied, the cluster is served until a signal,
/// and the exit code says that objects were refused.
#[test]
fn refused_objects_do_not_keep_the_others_from_being_applied() {
    let Some(tools) = tools_or_skip().expect("the tools, or none") else { return };
    for arguments in [&["--cluster-only"][..], &[gyre_artifacts::probes::NARROWED][..]] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("objects.yaml"), SOME_REFUSED).unwrap();
        let log = folder.path().join("log");
        let mut command = Command::new(GYRE);
        command
            .args(["dev", "-f", "objects.yaml", "--write-kubeconfig", "here.kubeconfig"])
            .args(arguments)
            .current_dir(folder.path());
        let mut dev = Guarded::spawn("gyre dev", &command, &log, Duration::from_secs(5)).unwrap();
        await_printed(&log, "ConfigMap Invalid: ");
        let mut kubectl = Command::new(&tools.kubectl);
        kubectl.env("KUBECONFIG", folder.path().join("here.kubeconfig")).env("KUBECACHEDIR", folder.path().join("cache"));
        kubectl.args(["wait", "--for=create", "pod/it", "--timeout=30s"]);
        assert!(kubectl.stdout(Stdio::null()).status().unwrap().success(), "{}", fs::read_to_string(&log).unwrap());
        let mut kubectl = Command::new(&tools.kubectl);
        kubectl.env("KUBECONFIG", folder.path().join("here.kubeconfig")).env("KUBECACHEDIR", folder.path().join("cache"));
        kubectl.args(["get", "pod", "it", "-o", "jsonpath={.spec.volumes[0].secret.defaultMode}"]);
        assert_eq!(String::from_utf8(kubectl.output().unwrap().stdout).unwrap(), "256", "octal, as kubectl reads it");
        dev.signal(Signal::Interrupt).unwrap();
        let status = dev.wait(PATIENCE).unwrap().expect("it ends");
        let said = fs::read_to_string(&log).unwrap();
        assert_eq!(status.code(), Some(1), "{said}");
        for line in [
            "gyre: objects.yaml: the cluster does not serve Kettle of v1",
            "gyre: objects.yaml: ConfigMap Invalid: ConfigMap \"Invalid\" is invalid",
            "Warning: RuntimeClass stored: devcluster stores this RuntimeClass, but it has no effect",
            "gyre: 2 of 4 objects were not applied",
        ] {
            assert!(said.contains(line), "{line}:\n{said}");
        }
        assert!(!said.contains("WARN"), "{said}");
    }
}

/// Others work in the cluster, too: their Jobs are not shown, and what the command created stays.
#[test]
fn dev_runs_on_the_cluster_of_a_kubeconfig_and_leaves_what_it_created() {
    let Some(cluster) = Cluster::for_test("dev-existing", &["dev-existing"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let object = |kind: &str, name: &str, spec: &str| {
        let api_version = if kind == "Echo" { "mmontes.io/v1alpha1" } else { "batch/v1" };
        format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: dev-existing}}\nspec: {spec}\n")
    };
    fs::write(folder.path().join("echo.yaml"), object("Echo", "it", "{message: hi}")).unwrap();
    let dev = |log: &Path| {
        let mut command = Command::new(GYRE);
        command.args(["dev", gyre_artifacts::ECHO, "echo.yaml", "--namespace", "dev-existing"]).args(UNHURRIED);
        command.arg("--kubeconfig").arg(cluster.kubeconfig()).current_dir(folder.path());
        Guarded::spawn("gyre dev", &command, log, Duration::from_secs(5)).unwrap()
    };
    let log = folder.path().join("log");
    let mut first = dev(&log);
    await_printed(&log, "gyre dev: on the cluster ");
    await_printed(&log, "Job dev-existing/it created for Echo it\n");
    let holder = || {
        let lease = cluster.get("default", "lease", "gyre-dev").unwrap();
        lease.pointer("/spec/holderIdentity").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    assert!(holder().starts_with("gyre-dev_"), "{}", holder());

    let pods = "{template: {spec: {restartPolicy: Never, containers: [{name: it, image: it}]}}}";
    cluster.apply(&object("Job", "foreign", pods));
    cluster.delete("dev-existing", "job", "it");
    // The Echo's Job has not finished, so it is created again.
    let said = await_printed(&log, "Job dev-existing/it deleted\n");
    assert!(!said.contains("foreign"), "{said}");
    first.signal(Signal::Interrupt).unwrap();
    let status = first.wait(PATIENCE).unwrap().expect("it ends");
    assert!(status.success(), "{}", fs::read_to_string(&log).unwrap());
    cluster.eventually("the released Lease", || holder().is_empty().then_some(()));

    let log = folder.path().join("second.log");
    let mut second = dev(&log);
    cluster.eventually("the Lease of the second", || holder().starts_with("gyre-dev_").then_some(()));
    cluster.eventually("the Job", || cluster.get("dev-existing", "job", "it"));
    second.signal(Signal::Interrupt).unwrap();
    assert!(second.wait(PATIENCE).unwrap().expect("it ends").success(), "{}", fs::read_to_string(&log).unwrap());
    assert!(cluster.get("dev-existing", "echo", "it").is_some() && cluster.get("dev-existing", "job", "foreign").is_some());
}
