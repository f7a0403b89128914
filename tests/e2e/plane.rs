//! The clusters of the tests, with one interface: a real control plane, and devcluster.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use gyre_controlplane::{
    AuditLevel, AuditReader, ControlPlane, Controllers, Guarded, Janitor, Mark, Options, Tools, shared_or_skip, start_or_skip,
    tools_or_skip,
};

use crate::client::{self, Client};
use crate::harness::{GYRE, PATIENCE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    ControlPlane,
    Devcluster,
}

/// The variable that names the server of a run.
const SERVER: &str = "GYRE_E2E_SERVER";

impl Server {
    /// Returns the server of this run. The default is the control plane.
    pub(crate) fn of_this_run() -> Self {
        match std::env::var(SERVER).as_deref() {
            Ok("devcluster") => Self::Devcluster,
            Ok("control-plane") | Err(_) => Self::ControlPlane,
            Ok(other) => panic!("{SERVER} is {other:?}: set it to devcluster or control-plane"),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Plane {
    Real(&'static ControlPlane),
    Dev(&'static Devcluster),
}

/// A devcluster in its own process, with an audit log. Its Pods never run.
pub(crate) struct Devcluster {
    _process: Guarded,
    // A static is never dropped: the janitor removes the folder when this process has ended.
    _janitor: Janitor,
    folder: PathBuf,
    pub(crate) tools: Tools,
    url: String,
}

impl Plane {
    /// Returns the cluster that all tests of this process share, or `None` after skipping the test.
    pub(crate) fn shared(server: Server) -> anyhow::Result<Option<Self>> {
        match server {
            Server::ControlPlane => Ok(shared_or_skip()?.map(Self::Real)),
            Server::Devcluster => Ok(Devcluster::shared()?.map(Self::Dev)),
        }
    }

    /// Returns a cluster without controllers and other tests, or `None` after skipping the test.
    /// Only a control plane has the bodies of requests in its audit log.
    pub(crate) fn quiet(server: Server) -> anyhow::Result<Option<Self>> {
        static REAL: OnceLock<anyhow::Result<Option<ControlPlane>>> = OnceLock::new();
        static DEV: OnceLock<anyhow::Result<Option<Devcluster>>> = OnceLock::new();
        match server {
            Server::ControlPlane => {
                let options =
                    Options { audit_level: AuditLevel::Request, controllers: Controllers::Absent, ..Options::default() };
                Ok(started(&REAL, || start_or_skip(options))?.map(Self::Real))
            }
            Server::Devcluster => {
                let start = |tools| Devcluster::start(tools, &["--no-controllers"]);
                Ok(started(&DEV, || tools_or_skip()?.map(start).transpose())?.map(Self::Dev))
            }
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        match self {
            Self::Real(plane) => plane.folder(),
            Self::Dev(cluster) => &cluster.folder,
        }
    }

    /// Writes a kubeconfig for a user with all permissions, whom the audit log names.
    pub(crate) fn kubeconfig_for_user(&self, user: &str) -> anyhow::Result<PathBuf> {
        match self {
            Self::Real(plane) => plane.kubeconfig_for_user(user, &["system:masters"]),
            Self::Dev(cluster) => cluster.kubeconfig(&format!("{user}.kubeconfig"), Some(user)),
        }
    }

    pub(crate) fn kubectl_stdout(&self, arguments: &[&str]) -> anyhow::Result<String> {
        match self {
            Self::Real(plane) => plane.kubectl_stdout(arguments),
            Self::Dev(cluster) => cluster.kubectl_stdout(arguments),
        }
    }

    /// A client of the administrator, which all tests share.
    pub(crate) fn client(&self) -> anyhow::Result<&'static Client> {
        match self {
            Self::Real(plane) => client::shared(plane.kubeconfig()),
            Self::Dev(cluster) => client::shared(&cluster.folder.join("admin.kubeconfig")),
        }
    }

    pub(crate) fn has_bodies(&self) -> bool {
        matches!(self, Self::Real(plane) if plane.audit_level() != AuditLevel::Metadata)
    }

    /// Waits until the audit log has all answered requests, and returns its end.
    pub(crate) fn audit_barrier(&self) -> anyhow::Result<Mark> {
        static BARRIERS: AtomicUsize = AtomicUsize::new(0);
        let audit = self.audit()?;
        let before = audit.mark()?;
        let tag = format!("gyre-barrier={}", BARRIERS.fetch_add(1, Ordering::Relaxed));
        self.client()?.get_raw(&format!("/version?{tag}"))?;
        audit.wait_for(before, PATIENCE, |event| event.uri.contains(&tag))?;
        audit.mark()
    }

    pub(crate) fn audit(&self) -> anyhow::Result<AuditReader> {
        match self {
            Self::Real(plane) => plane.audit(),
            Self::Dev(cluster) => Ok(cluster.audit()),
        }
    }
}

fn started<T>(
    once: &'static OnceLock<anyhow::Result<Option<T>>>,
    start: impl FnOnce() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<Option<&'static T>> {
    match once.get_or_init(start) {
        Ok(started) => Ok(started.as_ref()),
        Err(error) => bail!("{error:#}"),
    }
}

impl Devcluster {
    fn shared() -> anyhow::Result<Option<&'static Self>> {
        static SHARED: OnceLock<anyhow::Result<Option<Devcluster>>> = OnceLock::new();
        started(&SHARED, || tools_or_skip()?.map(|tools| Self::start(tools, &[])).transpose())
    }

    fn start(tools: Tools, arguments: &[&str]) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("gyre-devcluster-").tempdir().context("no temporary folder")?;
        let mut janitor = Janitor::of(folder.path(), PATIENCE)?;
        let folder = folder.keep();
        let kubeconfig = folder.join("admin.kubeconfig");
        let mut command = Command::new(GYRE);
        command.args(["dev", "--cluster-only", "--pods-run", "never", "--write-kubeconfig"]).arg(&kubeconfig);
        command.arg("--audit-log").arg(folder.join("audit.log")).args(arguments);
        let log = folder.join("devcluster.log");
        let mut process = Guarded::spawn("gyre dev", &command, &log, Duration::from_secs(5))?;
        janitor.wait_for(&process)?;
        let deadline = Instant::now() + PATIENCE;
        let url = loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            // The kubeconfig exists before its line is printed.
            if text.contains("export KUBECONFIG=")
                && let Some(url) = text.lines().find_map(|line| line.trim().strip_prefix("http://"))
            {
                break format!("http://{url}");
            }
            if let Some(status) = process.exited()? {
                bail!("gyre dev ended ({status}): {text}");
            }
            ensure!(Instant::now() < deadline, "gyre dev did not start within {PATIENCE:?}: {text}");
            std::thread::sleep(Duration::from_millis(10));
        };
        Ok(Self { _process: process, _janitor: janitor, folder, tools, url })
    }

    fn kubeconfig(&self, file: &str, user: Option<&str>) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(file);
        std::fs::write(&path, gyre_devcluster::kubeconfig::kubeconfig(&self.url, user))?;
        Ok(path)
    }

    fn kubectl_stdout(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(&self.tools.kubectl);
        command
            .env("KUBECONFIG", self.folder.join("admin.kubeconfig"))
            .env("KUBECACHEDIR", self.folder.join("kubectl-cache"))
            .env("KUBERC", "off")
            .stdin(Stdio::null())
            .args(arguments);
        let output = command.output().context("cannot run kubectl")?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl failed ({}): {stderr}", output.status);
        Ok(String::from_utf8(output.stdout)?)
    }

    fn audit(&self) -> AuditReader {
        AuditReader::new(&self.folder.join("audit.log"))
    }
}
