use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gyre_controlplane::{Guarded, tools_or_skip};

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
    command.args(["dev", "--plugin", "it.wasm", "--kubeconfig", "here.kubeconfig"]).current_dir(folder.path());
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
