//! One running control plane.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::audit::{AuditReader, Mark};
use crate::certificates::Authority;
use crate::components::{self, Folder, Secrets};
use crate::guard::{Guarded, Janitor};
use crate::kubeconfig::{self, Credentials};
use crate::options::{AuditLevel, Controllers, Options};
use crate::tools::{self, Tools};
use crate::{ports, stderr};

/// The grace period of a component after SIGTERM. It is short because the data is discarded.
const GRACE: Duration = Duration::from_secs(5);
/// The maximum number of ports to try, because other processes may take a port first.
const PORT_ATTEMPTS: usize = 5;
const POLL: Duration = Duration::from_millis(100);
const AUDIT_PATIENCE: Duration = Duration::from_secs(10);

/// A running control plane, or an existing cluster. When it is dropped or this process ends, even
/// by `SIGKILL`, it stops and leaves nothing behind.
pub struct ControlPlane {
    // The order in which fields are dropped: clients before servers, and the folder last.
    servers: Option<Servers>,
    janitor: Janitor,
    folder: PathBuf,
    kubeconfig: PathBuf,
    url: String,
    tools: Tools,
    options: Options,
    counter: AtomicUsize,
}

struct Servers {
    controllers: Option<Guarded>,
    apiserver: Option<Guarded>,
    etcd: Guarded,
    authority: Authority,
    secrets: Secrets,
    port: u16,
}

impl ControlPlane {
    /// Starts a control plane, and waits until it is ready.
    ///
    /// With `USE_EXISTING_CLUSTER=true` it uses the cluster of the current kubeconfig.
    ///
    /// Errors: [`tools::Error`] if controllers are missing; otherwise with the end of a log.
    pub fn start(tools: &Tools, options: Options) -> anyhow::Result<Self> {
        if options.controllers == Controllers::Run && !tools::uses_existing_cluster() {
            tools.kube_controller_manager()?;
        }
        let folder = tempfile::Builder::new().prefix("gyre-controlplane-").tempdir().context("no temporary folder")?;
        let janitor = Janitor::of(folder.path(), GRACE * 2)?;
        let folder = folder.keep();
        let mut plane = Self {
            servers: None,
            janitor,
            kubeconfig: Folder(&folder).kubeconfig("admin"),
            folder,
            url: String::new(),
            tools: tools.clone(),
            options,
            counter: AtomicUsize::new(0),
        };
        std::fs::create_dir(plane.logs_dir()).context("cannot create the folder for logs")?;
        if tools::uses_existing_cluster() {
            plane.use_existing()?;
        } else {
            plane.start_servers()?;
        }
        Ok(plane)
    }

    /// Returns the control plane that all tests of this process share, and starts it if needed.
    /// Tests use their own namespaces, and read only about their own objects in the audit log.
    pub fn shared() -> anyhow::Result<&'static Self> {
        static SHARED: OnceLock<anyhow::Result<ControlPlane>> = OnceLock::new();
        let start = || {
            let tools = Tools::find_or_build(&mut |line| stderr::print_uncaptured(&format!("{line}\n")))?;
            Self::start(&tools, Options::default())
        };
        match SHARED.get_or_init(start) {
            Ok(plane) => Ok(plane),
            Err(error) => match error.downcast_ref::<tools::Error>() {
                Some(cause) => Err(cause.clone().into()),
                None => bail!("{error:#}"),
            },
        }
    }

    /// The URL, e.g. `https://127.0.0.1:23456`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The programs of this control plane.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The kubeconfig of an administrator (`gyre:admin` in `system:masters`).
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Writes a kubeconfig for a user without permissions. A certificate has at most one group. On
    /// an existing cluster the administrator impersonates the user.
    pub fn kubeconfig_for_user(&self, user: &str, groups: &[&str]) -> anyhow::Result<PathBuf> {
        let file = format!("user-{}", self.counter.fetch_add(1, Ordering::Relaxed));
        let path = self.layout().kubeconfig(&file);
        match &self.servers {
            Some(servers) => {
                let pair = servers.authority.client(&file, user, groups)?;
                let authority = servers.authority.certificate();
                kubeconfig::write(&path, &self.url, &authority, &Credentials::Certificate(&pair))?;
            }
            None => kubeconfig::impersonate(self.current_config()?, user, groups, &path)?,
        }
        Ok(path)
    }

    /// Writes a kubeconfig with a token of an existing service account, valid for a day.
    pub fn kubeconfig_for_service_account(&self, namespace: &str, name: &str) -> anyhow::Result<PathBuf> {
        let servers = self.servers.as_ref().context("tokens are made for clusters of our own only")?;
        let token = stdout(self.kubectl().args(["create", "token", name, "--namespace", namespace, "--duration=24h"]))?;
        let path = self.layout().kubeconfig(&format!("account-{namespace}-{name}"));
        kubeconfig::write(&path, &self.url, &servers.authority.certificate(), &Credentials::Token(token.trim()))?;
        Ok(path)
    }

    /// Returns `kubectl` as the administrator, without the developer's own configuration.
    pub fn kubectl(&self) -> Command {
        self.kubectl_as(&self.kubeconfig)
    }

    /// Returns `kubectl` with another kubeconfig.
    pub fn kubectl_as(&self, kubeconfig: &Path) -> Command {
        let mut command = Command::new(&self.tools.kubectl);
        command
            .env("KUBECONFIG", kubeconfig)
            .env("KUBECACHEDIR", self.folder.join("kubectl-cache"))
            .env("KUBERC", "off")
            .stdin(Stdio::null());
        command
    }

    /// Runs `kubectl` as the administrator and returns its stdout. Errors contain its stderr.
    pub fn kubectl_stdout(&self, args: &[&str]) -> anyhow::Result<String> {
        stdout(self.kubectl().args(args))
    }

    /// Runs server-side apply with manifests (YAML or JSON) as the administrator.
    pub fn apply(&self, manifests: &str) -> anyhow::Result<String> {
        let file = tempfile::NamedTempFile::new_in(&self.folder)?;
        std::fs::write(file.path(), manifests)?;
        stdout(self.kubectl().args(["apply", "--server-side", "-f"]).arg(file.path()))
    }

    /// Returns `helm` as the administrator. Errors: [`tools::Error::Missing`].
    pub fn helm(&self) -> Result<Command, tools::Error> {
        let mut command = Command::new(self.tools.helm()?);
        command.env("KUBECONFIG", &self.kubeconfig).stdin(Stdio::null());
        for (variable, folder) in [("HELM_CACHE_HOME", "cache"), ("HELM_CONFIG_HOME", "config"), ("HELM_DATA_HOME", "data")] {
            command.env(variable, self.folder.join("helm").join(folder));
        }
        Ok(command)
    }

    /// The level of its audit log.
    pub fn audit_level(&self) -> AuditLevel {
        self.options.audit_level
    }

    /// The path of the audit log. Errors: the log of an existing cluster is not readable.
    pub fn audit_log(&self) -> anyhow::Result<PathBuf> {
        ensure!(self.servers.is_some(), "the audit log of an existing cluster cannot be read");
        Ok(self.layout().audit_log())
    }

    /// Returns a reader of the audit log. Errors: as [`ControlPlane::audit_log`].
    pub fn audit(&self) -> anyhow::Result<AuditReader> {
        Ok(AuditReader::new(&self.audit_log()?))
    }

    /// Waits until the audit log has all requests that were answered before, and returns its end.
    pub fn audit_barrier(&self) -> anyhow::Result<Mark> {
        let audit = self.audit()?;
        let before = audit.mark()?;
        let tag = format!("gyre-barrier={}-{}", std::process::id(), self.counter.fetch_add(1, Ordering::Relaxed));
        self.kubectl_stdout(&["get", "--raw", &format!("/version?{tag}")])?;
        audit.wait_for(before, AUDIT_PATIENCE, |event| event.uri.contains(&tag))?;
        audit.mark()
    }

    /// The folder with the logs of the components.
    pub fn logs_dir(&self) -> PathBuf {
        self.layout().logs()
    }

    /// A folder for files of a test, removed with the control plane.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The running process of the API server, e.g. to stop and continue it.
    pub fn apiserver(&self) -> Option<&Guarded> {
        self.servers.as_ref()?.apiserver.as_ref()
    }

    /// The processes of all components that run.
    pub fn process_ids(&self) -> Vec<u32> {
        let Some(servers) = &self.servers else { return Vec::new() };
        [servers.controllers.as_ref(), servers.apiserver.as_ref(), Some(&servers.etcd)]
            .into_iter()
            .flatten()
            .map(Guarded::id)
            .collect()
    }

    /// Stops the API server; etcd keeps the data. `&mut` excludes shared control planes.
    pub fn stop_apiserver(&mut self) -> anyhow::Result<()> {
        if let Some(mut apiserver) = self.servers_mut()?.apiserver.take() {
            apiserver.stop()?;
        }
        Ok(())
    }

    /// Restarts the API server on the same port with the same data, and waits until it is ready.
    pub fn start_apiserver(&mut self) -> anyhow::Result<()> {
        if self.servers_mut()?.apiserver.is_some() {
            return Ok(());
        }
        match self.try_apiserver()? {
            Attempt::Ready => Ok(()),
            Attempt::PortTaken => bail!("somebody else took the port of {} meanwhile", self.url),
        }
    }

    fn start_servers(&mut self) -> anyhow::Result<()> {
        let folder = self.folder.clone();
        let layout = Folder(&folder);
        let authority = Authority::new(&folder.join("certificates"))?;
        let secrets = Secrets::new(&layout, &authority, self.options.audit_level)?;
        let etcd = Guarded::spawn("etcd", &components::etcd(&self.tools, &layout), &layout.log("etcd"), GRACE)?;
        self.janitor.wait_for(&etcd)?;
        self.servers = Some(Servers { controllers: None, apiserver: None, etcd, authority, secrets, port: 0 });
        for _ in 0..PORT_ATTEMPTS {
            self.take_port(ports::free_port()?)?;
            if let Attempt::Ready = self.try_apiserver()? {
                return self.start_controllers();
            }
        }
        bail!("each of {PORT_ATTEMPTS} ports was taken by somebody else before kube-apiserver could bind it")
    }

    fn take_port(&mut self, port: u16) -> anyhow::Result<()> {
        self.url = format!("https://127.0.0.1:{port}");
        let url = self.url.clone();
        let clients = [("admin", "gyre:admin", "system:masters"), ("controllers", "system:kube-controller-manager", "")];
        let kubeconfigs = clients.map(|(file, ..)| self.layout().kubeconfig(file));
        let servers = self.servers_mut()?;
        servers.port = port;
        for ((file, user, group), path) in clients.into_iter().zip(kubeconfigs) {
            let groups = [group];
            let groups = if group.is_empty() { &[][..] } else { &groups };
            let pair = servers.authority.client(file, user, groups)?;
            kubeconfig::write(&path, &url, &servers.authority.certificate(), &Credentials::Certificate(&pair))?;
        }
        Ok(())
    }

    fn try_apiserver(&mut self) -> anyhow::Result<Attempt> {
        let servers = self.servers.as_ref().context("an existing cluster")?;
        let layout = self.layout();
        let log = layout.log("kube-apiserver");
        // A restart needs a new log, because the old one may report that the port was taken.
        if log.exists() {
            std::fs::rename(&log, layout.log("kube-apiserver.previous"))?;
        }
        let command = components::kube_apiserver(&self.tools, &layout, &servers.secrets, servers.port, &self.options);
        let mut apiserver = Guarded::spawn("kube-apiserver", &command, &log, GRACE)?;
        self.janitor.wait_for(&apiserver)?;
        let ready = self.wait_until("kube-apiserver is ready", &mut apiserver, &["get", "--raw", "/readyz"]);
        if let Err(error) = ready {
            if apiserver.exited()?.is_some() && ports::reports_port_taken(&apiserver.log_tail()) {
                return Ok(Attempt::PortTaken);
            }
            return Err(error);
        }
        self.servers_mut()?.apiserver = Some(apiserver);
        Ok(Attempt::Ready)
    }

    fn start_controllers(&mut self) -> anyhow::Result<()> {
        if self.options.controllers == Controllers::Absent {
            return Ok(());
        }
        let servers = self.servers.as_ref().context("an existing cluster")?;
        let layout = self.layout();
        let command = components::kube_controller_manager(&self.tools, &layout, &servers.secrets)?;
        let log = layout.log("kube-controller-manager");
        let mut controllers = Guarded::spawn("kube-controller-manager", &command, &log, GRACE)?;
        self.janitor.wait_for(&controllers)?;
        // Pods need this account, and controllers that try too early back off.
        let account = ["get", "serviceaccount", "default", "--namespace=default"];
        self.wait_until("the default service account exists", &mut controllers, &account)?;
        self.servers_mut()?.controllers = Some(controllers);
        Ok(())
    }

    /// Runs `kubectl` until it succeeds. Errors: a component ended, or the timeout has passed.
    fn wait_until(&mut self, what: &str, component: &mut Guarded, args: &[&str]) -> anyhow::Result<()> {
        let patience = self.options.start_timeout;
        let deadline = Instant::now() + patience;
        loop {
            let answer = self.kubectl().args(args).arg("--request-timeout=5s").output().context("cannot run kubectl")?;
            if answer.status.success() {
                return Ok(());
            }
            if let Some(status) = component.exited()? {
                bail!("{} ended ({status}) before {what}; its last words:\n{}", component.name(), component.log_tail());
            }
            if let Some(status) = self.servers_mut()?.etcd.exited()? {
                bail!("etcd ended ({status}) before {what}; its last words:\n{}", self.servers_mut()?.etcd.log_tail());
            }
            ensure!(
                Instant::now() < deadline,
                "{what}: not within {patience:?}; kubectl says: {}\nthe last of {}'s log:\n{}",
                String::from_utf8_lossy(&answer.stderr).trim(),
                component.name(),
                component.log_tail()
            );
            std::thread::sleep(POLL);
        }
    }

    fn use_existing(&mut self) -> anyhow::Result<()> {
        let config = self.current_config()?;
        let server = config.pointer("/clusters/0/cluster/server").and_then(serde_json::Value::as_str);
        self.url = server.context("the current kubeconfig names no server")?.to_string();
        std::fs::write(&self.kubeconfig, config.to_string())?;
        let answer = self.kubectl_stdout(&["get", "--raw", "/readyz", "--request-timeout=10s"]);
        answer.with_context(|| format!("{}=true, but {} does not answer", tools::USE_EXISTING_CLUSTER, self.url))?;
        Ok(())
    }

    fn current_config(&self) -> anyhow::Result<serde_json::Value> {
        let mut command = Command::new(&self.tools.kubectl);
        let text = stdout(command.args(["config", "view", "--raw", "--flatten", "--minify", "--output=json"]))?;
        serde_json::from_str(&text).context("kubectl printed no JSON")
    }

    fn layout(&self) -> Folder<'_> {
        Folder(&self.folder)
    }

    fn servers_mut(&mut self) -> anyhow::Result<&mut Servers> {
        self.servers.as_mut().context("an existing cluster cannot be started or stopped")
    }
}

enum Attempt {
    Ready,
    PortTaken,
}

/// Returns the stdout of a command. Errors contain its arguments and stderr.
fn stdout(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed ({}): {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    String::from_utf8(output.stdout).context("the output is not UTF-8")
}
