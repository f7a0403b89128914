use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gyre_controlplane::{Guarded, Signal, tools_or_skip};

use crate::harness::{GYRE, PATIENCE};

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
    command.args(["dev", "it.wasm", "--kubeconfig", "here.kubeconfig"]).current_dir(folder.path());
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
            .args(["dev", "-f", "objects.yaml", "--kubeconfig", "here.kubeconfig"])
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
