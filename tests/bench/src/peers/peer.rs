//! The operators.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::process::program;

pub(super) struct Peer {
    pub(super) name: &'static str,
    program: PathBuf,
    /// The arguments besides the kubeconfig and the number of workers.
    arguments: Vec<String>,
    /// If false, it does not reconcile objects again.
    pub(super) is_operator: bool,
}

impl Peer {
    pub(super) fn all(folder: &Path) -> anyhow::Result<Vec<Self>> {
        let peer = |name, program, is_operator| Self { name, program, arguments: Vec::new(), is_operator };
        let configuration = folder.join("gyre.yaml");
        let mount = serde_json::json!({ "mounts": [{ "plugin": gyre_artifacts::ECHO }] });
        std::fs::write(&configuration, mount.to_string())?;
        let arguments = ["run", "--listen", "127.0.0.1:0", "--config"].map(str::to_owned);
        let cache = ["--code-cache".to_owned(), folder.join("code").display().to_string()];
        let arguments = arguments.into_iter().chain([configuration.display().to_string()]).chain(cache).collect();
        Ok(vec![
            peer("bare", program("peer-bare")?, false),
            peer("controller-runtime", controller_runtime(folder)?, true),
            peer("kube-rs", program("peer-kube-rs")?, true),
            Self { arguments, ..peer("gyre", program("gyre")?, true) },
        ])
    }

    pub(super) fn command(&self, kubeconfig: &Path, workers: usize) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg("--kubeconfig").arg(kubeconfig).args(["--workers", &workers.to_string()]);
        command
    }
}

fn controller_runtime(folder: &Path) -> anyhow::Result<PathBuf> {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/controller-runtime");
    let program = folder.join("controller-runtime");
    println!("  building the operator in {} with Go", module.display());
    let mut build = gyre_controlplane::tools::go_in_module();
    build.current_dir(&module).args(["build", "-trimpath", "-o"]).arg(&program).arg(".");
    let status = build.status().context("cannot run go: install Go, or leave --peers out")?;
    ensure!(status.success(), "`go build` failed in {}: {status}", module.display());
    Ok(program)
}
