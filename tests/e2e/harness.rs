//! A cluster and hosts for the tests: starting, asking, waiting.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use gyre_controlplane::{AuditEvent, Guarded, Mark};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::client::{Client, Force};
use crate::counted::Counted;
use crate::network::Link;
use crate::plane::{Plane, Server};
use crate::preview_check::PreviewCheck;

/// The commands in the output of `gyre --help`, which are listed in groups.
pub(crate) fn listed_commands(help: &str) -> impl Iterator<Item = &str> {
    let groups = help.lines().take_while(|line| *line != "Options:");
    groups.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|name| !name.is_empty())
}

/// The program under test.
pub(crate) const GYRE: &str = env!("CARGO_BIN_EXE_gyre");
/// The timeout of everything on the busiest machine. It ends tests that would never end, and says
/// nothing of how fast anything is: nothing is ever waited for this long when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);
/// The time between two looks at the API server. A look takes a few milliseconds of a processor.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// The time for which the counters of an idle host stand still. An event of a watch that is under
/// way arrives earlier.
const IDLE_FOR: Duration = Duration::from_millis(100);
/// The arguments by which no call of a plugin runs into its deadline because the machine is busy.
pub(crate) const UNHURRIED: [&str; 2] = ["--call-deadline", "600s"];

/// Each plugin that ships, with its folder in `plugins/`.
pub(crate) const SHIPPED: [(&str, &str); 8] = [
    (gyre_artifacts::DATABASE, "database"),
    (gyre_artifacts::ECHO, "echo"),
    (gyre_artifacts::SCHEDULED_ECHO, "scheduled-echo"),
    (gyre_artifacts::GATEWAY, "gateway"),
    (gyre_artifacts::GREETER, "greeter"),
    (gyre_artifacts::POD_LOG, "pod-log"),
    (gyre_artifacts::WEBSITE, "website"),
    (gyre_artifacts::XCA, "xca"),
];

/// A namespace of the shared cluster, with one user in it.
pub(crate) struct Cluster {
    pub(crate) plane: Plane,
    pub(crate) test: String,
    kubeconfig: PathBuf,
    /// The namespace in which its hosts keep their inventory, so that they do not clean up the
    /// mounts of other tests.
    home: String,
    /// Counts its hosts that are alive, and this.
    hosts: Arc<()>,
    /// Of another user, so that tests that count requests count those of hosts alone.
    render_kubeconfig: PathBuf,
    /// Of the host that was started last.
    preview_check: Mutex<Weak<PreviewCheck>>,
}

impl Cluster {
    /// Returns the cluster for a test, or `None` if the test was skipped. Namespaces begin with the
    /// test's name.
    pub(crate) fn for_test(test: &str, namespaces: &[&str]) -> Option<Self> {
        let plane = Plane::shared(Server::of_this_run()).expect("a cluster")?;
        let home = namespaces.first().unwrap_or(&"default").to_string();
        let cluster = Self::on(plane, test, home);
        cluster.install_common_crds();
        for namespace in namespaces {
            cluster.kubectl(&["create", "namespace", namespace]);
            // The controller manager makes it, and Pods are not admitted without.
            cluster.eventually("the default service account", || cluster.get(namespace, "serviceaccount", "default"));
        }
        Some(cluster)
    }

    /// A cluster in which nobody else acts, without namespaces and CRDs; see [`Plane::quiet`].
    pub(crate) fn quiet(test: &str) -> Option<Self> {
        let plane = Plane::quiet(Server::of_this_run()).expect("a cluster")?;
        Some(Self::on(plane, test, "default".to_owned()))
    }

    fn on(plane: Plane, test: &str, home: String) -> Self {
        let kubeconfig = plane.kubeconfig_for_user(&user(test)).expect("a user");
        let render_kubeconfig = plane.kubeconfig_for_user(&format!("gyre-render-{test}")).expect("a user");
        Self {
            plane,
            test: test.to_owned(),
            kubeconfig,
            home,
            hosts: Arc::default(),
            render_kubeconfig,
            preview_check: Mutex::default(),
        }
    }

    /// Installs the CRDs of the shipped plugins and of the probes at once: the garbage collector of
    /// a control plane needs half a minute to discover new kinds.
    fn install_common_crds(&self) {
        static INSTALLED: OnceLock<()> = OnceLock::new();
        INSTALLED.get_or_init(|| {
            let shipped =
                [gyre_artifacts::ECHO, gyre_artifacts::GATEWAY, gyre_artifacts::SCHEDULED_ECHO, gyre_artifacts::WEBSITE];
            let probes = gyre_artifacts::probes::ALL.iter().map(|(_, path)| *path);
            let plugins: Vec<&str> = shipped.into_iter().chain([gyre_artifacts::XCA]).chain(probes).collect();
            self.install_crds(&plugins);
        });
    }

    /// Applies the CRDs that plugins bring, as `gyre crds` prints them.
    pub(crate) fn install_crds(&self, plugins: &[&str]) {
        let output = Command::new(GYRE).arg("crds").args(plugins).output().expect("gyre runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let file = tempfile::NamedTempFile::new_in(self.plane.folder()).expect("a file");
        std::fs::write(file.path(), &output.stdout).expect("written");
        let path = file.path().display().to_string();
        self.kubectl(&["apply", "--server-side", "-f", &path]);
        // Others may be on their way out.
        self.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "-f", &path]);
        // A definition is established before all parts of the API server serve its kind.
        self.client().forget_kinds();
    }

    /// Starts a host that mounts `plugins` and watches `namespaces` (all if there are none).
    pub(crate) fn host(&self, plugins: &[&str], namespaces: &[&str]) -> Host {
        self.host_with(plugins, namespaces, &[])
    }

    /// As [`Cluster::host`], with more arguments.
    pub(crate) fn host_with(&self, plugins: &[&str], namespaces: &[&str], arguments: &[&str]) -> Host {
        self.host_as(&self.kubeconfig, plugins, namespaces, arguments)
    }

    /// Of its user.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A way to the API server, and the kubeconfig for [`Cluster::host_as`] that leads over it.
    pub(crate) fn link(&self) -> (Link, PathBuf) {
        let (link, leading) = Link::over(&std::fs::read_to_string(&self.kubeconfig).expect("a kubeconfig"));
        let path = self.kubeconfig.with_extension("link.kubeconfig");
        std::fs::write(&path, leading).expect("written");
        (link, path)
    }

    /// As [`Cluster::host_with`], with a kubeconfig of its own.
    pub(crate) fn host_as(&self, kubeconfig: &Path, plugins: &[&str], namespaces: &[&str], arguments: &[&str]) -> Host {
        self.start(kubeconfig, plugins, namespaces, arguments, |command| command)
    }

    /// As [`Cluster::host_with`], of a host that counts what it allocates.
    pub(crate) fn counted_host(&self, counted: &Counted, plugins: &[&str], namespaces: &[&str], arguments: &[&str]) -> Host {
        self.start(&self.kubeconfig, plugins, namespaces, arguments, |command| counted.command(&command))
    }

    /// Starts a host by another command that does the same.
    fn start(
        &self,
        kubeconfig: &Path,
        plugins: &[&str],
        namespaces: &[&str],
        arguments: &[&str],
        by: impl FnOnce(Command) -> Command,
    ) -> Host {
        static HOSTS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = HOSTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut command = Command::new(GYRE);
        command.arg("run").arg("--kubeconfig").arg(kubeconfig).args(["--listen", "127.0.0.1:0"]);
        if !arguments.contains(&"--log-level") {
            command.args(["--log-level", "info,gyre=debug"]);
        }
        command.env("NO_COLOR", "1");
        for plugin in plugins {
            command.arg(plugin);
        }
        for namespace in namespaces {
            command.args(["--namespace", namespace]);
        }
        command.args(arguments);
        if !arguments.contains(&"--home-namespace") {
            command.args(["--home-namespace", &self.home]);
        }
        let preview_check = self.new_preview_check(plugins, namespaces, arguments);
        let log = self.plane.folder().join(format!("host-{}-{number}.log", self.test));
        let process = Guarded::spawn("gyre", &by(command), &log, Duration::from_secs(40)).expect("gyre starts");
        let alive = Arc::clone(&self.hosts);
        let mut host = Host { process, log, address: String::new(), preview_check, _alive: alive };
        host.address = self.eventually("the host's address", || {
            let log = std::fs::read_to_string(&host.log).unwrap_or_default();
            // In text or in JSON.
            let (_, rest) = log.split_once("serving /healthz")?.1.split_once("address")?;
            let is_of_address = |letter: &char| letter.is_ascii_digit() || ".:".contains(*letter);
            let address: String = rest.trim_start_matches(['=', '"', ':']).chars().take_while(is_of_address).collect();
            rest.contains(char::is_whitespace).then_some(address)
        });
        host
    }

    /// Previews the actions of a host that is about to start, unless another one does them.
    fn new_preview_check(&self, plugins: &[&str], namespaces: &[&str], arguments: &[&str]) -> Option<Arc<PreviewCheck>> {
        let plugins = plugins.iter().copied();
        let namespaces = namespaces.iter().flat_map(|namespace| ["--namespace", namespace]);
        let arguments: Vec<&str> = plugins.chain(namespaces).chain(arguments.iter().copied()).collect();
        let preview_check = Arc::new(PreviewCheck::new(self.plane, &self.test, &self.render_kubeconfig, &arguments)?);
        *self.preview_check.lock() = Arc::downgrade(&preview_check);
        if Arc::strong_count(&self.hosts) == 1 {
            preview_check.of_what_is_there();
        }
        Some(preview_check)
    }

    /// Previews the actions of the only host once these manifests are applied.
    fn preview(&self, manifests: &str) {
        let preview_check = self.preview_check.lock().upgrade();
        if let Some(preview_check) = preview_check
            && Arc::strong_count(&self.hosts) == 2
        {
            preview_check.of_applying(manifests);
        }
    }

    /// A client with the rights of the administrator.
    fn client(&self) -> &'static Client {
        self.plane.client().expect("a client")
    }

    /// Runs kubectl as the administrator; it must succeed. Only for what a test wants to see
    /// kubectl do.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.plane.kubectl_stdout(arguments).unwrap_or_else(|error| panic!("kubectl {}: {error:#}", arguments.join(" ")))
    }

    /// Applies manifests on the server's side.
    pub(crate) fn apply(&self, manifests: &str) {
        self.preview(manifests);
        self.client().apply(manifests).unwrap_or_else(|error| panic!("{error:#}\n{manifests}"));
    }

    /// Applies objects on the server's side, all at once.
    pub(crate) fn apply_all(&self, objects: &[Value]) {
        self.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string());
    }

    /// Applies an object on the server's side as another field manager, such as that of Argo CD.
    ///
    /// # Errors
    ///
    /// Also if other managers own a field with another value, and the apply is not forced.
    pub(crate) fn apply_as(&self, manager: &str, force: Force, object: &Value) -> anyhow::Result<()> {
        self.client().apply_as(manager, force, &object.to_string())
    }

    /// Applies an object on the client's side: kubectl patches the fields that differ, and keeps
    /// the object in the annotation `last-applied-configuration`.
    pub(crate) fn apply_on_client(&self, object: &Value) {
        let folder = Folder::new();
        self.kubectl(&["apply", "-f", &folder.put("object.json", object.to_string())]);
    }

    /// Sets the replicas of an object through its subresource, as an autoscaler does.
    pub(crate) fn scale(&self, namespace: &str, kind: &str, name: &str, replicas: u32) {
        let patch = json!({ "spec": { "replicas": replicas } });
        self.client().patch(namespace, kind, name, "/scale", &patch).expect("scaled");
    }

    /// Annotates an object: a change that most plugins make nothing of.
    pub(crate) fn touch(&self, namespace: &str, kind: &str, name: &str, value: &str) {
        let patch = json!({ "metadata": { "annotations": { "touched": value } } });
        self.client().patch(namespace, kind, name, "", &patch).expect("touched");
    }

    /// Deletes an object, and does not wait until it is gone.
    pub(crate) fn delete(&self, namespace: &str, kind: &str, name: &str) {
        self.client().delete(namespace, kind, name).expect("deleted");
    }

    /// Waits until none of these objects is there.
    pub(crate) fn gone(&self, namespace: &str, kind: &str, names: &[&str]) {
        self.eventually(&format!("{kind} {} to go", names.join(", ")), || {
            names.iter().all(|name| self.get(namespace, kind, name).is_none()).then_some(())
        });
    }

    /// Creates objects, many at once.
    pub(crate) fn create(&self, manifests: &str) {
        self.preview(manifests);
        self.client().create(manifests).unwrap_or_else(|error| panic!("{error:#}\n{manifests}"));
    }

    /// Returns an object, or `None` if it does not exist.
    pub(crate) fn get(&self, namespace: &str, kind: &str, name: &str) -> Option<Value> {
        self.client().get(namespace, kind, name).expect("an answer")
    }

    /// All objects of a kind in a namespace.
    pub(crate) fn list(&self, namespace: &str, kind: &str) -> Vec<Value> {
        self.client().list(namespace, kind).expect("a list")
    }

    /// Changes the status of an object, as its controller would.
    pub(crate) fn patch_status(&self, namespace: &str, kind: &str, name: &str, status: &Value) {
        self.client().patch(namespace, kind, name, "/status", &json!({ "status": status })).expect("patched");
    }

    /// The events about an object that have this reason.
    pub(crate) fn events(&self, namespace: &str, name: &str, reason: &str) -> Vec<Value> {
        let about = |event: &Value| event["involvedObject"]["name"] == name && event["reason"] == reason;
        self.list(namespace, "events").into_iter().filter(about).collect()
    }

    /// Waits until the condition of an object has this reason; returns the object.
    pub(crate) fn reason(&self, namespace: &str, kind: &str, name: &str, of: &str, reason: &str) -> Value {
        self.eventually(&format!("{kind} {name}: {of} because of {reason}"), || {
            let object = self.get(namespace, kind, name)?;
            (condition(&object, of)?["reason"] == reason).then_some(object)
        })
    }

    /// Waits until the host has brought an object to what its plugin wants, in its latest
    /// generation; returns the object.
    pub(crate) fn ready(&self, namespace: &str, kind: &str, name: &str) -> Value {
        self.eventually(&format!("{kind} {name} to be Ready"), || self.get(namespace, kind, name).filter(is_ready))
    }

    /// As [`Cluster::ready`], for all `count` objects of a kind in a namespace.
    pub(crate) fn all_ready(&self, namespace: &str, kind: &str, count: usize) -> Vec<Value> {
        self.eventually(&format!("{count} {kind} to be Ready"), || {
            Some(self.list(namespace, kind)).filter(|objects| objects.len() == count && objects.iter().all(is_ready))
        })
    }

    /// Waits until `probe` finds something.
    pub(crate) fn eventually<T>(&self, what: &str, probe: impl FnMut() -> Option<T>) -> T {
        self.eventually_after(what, || (), probe)
    }

    /// As [`Cluster::eventually`], where the wait restarts whenever `progress` has changed.
    pub(crate) fn eventually_after<P: PartialEq, T>(
        &self,
        what: &str,
        mut progress: impl FnMut() -> P,
        mut probe: impl FnMut() -> Option<T>,
    ) -> T {
        let (mut last, mut deadline) = (progress(), Instant::now() + PATIENCE);
        loop {
            let asked = Instant::now();
            if let Some(found) = probe() {
                return found;
            }
            let now = progress();
            if now != last {
                (last, deadline) = (now, Instant::now() + PATIENCE);
            }
            assert!(
                Instant::now() < deadline,
                "{}: gave up waiting for {what}; the log of its hosts:\n{}",
                self.test,
                self.host_logs()
            );
            // A slow probe must not take the processor from what it waits for.
            std::thread::sleep(LOOK_EVERY.max(asked.elapsed()));
        }
    }

    /// Waits until the host is idle: nothing is queued, no worker is busy, and its counters stand
    /// still.
    pub(crate) fn settled(&self, host: &Host) {
        let mut last = String::new();
        let mut unchanged_since = Instant::now();
        self.eventually("the host to be idle", || {
            // The metrics are of one moment: what leaves one of these gauges enters another.
            let metrics = host.metrics();
            let busy = metrics.sum("workqueue_depth", &[])
                + metrics.sum("controller_runtime_active_workers", &[])
                + metrics.sum("gyre_unpublished_events", &[]);
            let now = format!(
                "{} {}",
                metrics.sum("controller_runtime_reconcile_total", &[]),
                metrics.sum("workqueue_adds_total", &[])
            );
            if busy > 0.0 || now != last {
                last = now;
                unchanged_since = Instant::now();
            }
            (unchanged_since.elapsed() >= IDLE_FOR).then_some(())
        });
    }

    /// Returns the end of the audit log, or `None` if it cannot be read; the rest of the test has
    /// then been skipped.
    pub(crate) fn audit_mark(&self) -> Option<Mark> {
        match self.plane.audit_barrier() {
            Ok(mark) => Some(mark),
            Err(error) => {
                gyre_controlplane::skip(&format!("{error:#}")).expect("may be skipped");
                None
            }
        }
    }

    /// Returns the requests of this test's hosts to the API server since a mark, without watches.
    pub(crate) fn requests(&self, since: Mark) -> Vec<AuditEvent> {
        self.plane.audit_barrier().expect("an audit log");
        let user = user(&self.test);
        let audit = self.plane.audit().expect("an audit log");
        audit.matching(since, |event| event.user == user && event.verb != "watch").expect("the audit log parses")
    }

    /// Returns the verb and the name of each write of this test's hosts to an object of a resource
    /// since a mark, without writes to subresources and those that the API server refused.
    pub(crate) fn successful_writes(&self, since: Mark, resource: &str) -> Vec<String> {
        let requests = self.requests(since);
        let of_resource = requests.iter().filter(|event| event.resource == resource && event.subresource.is_empty());
        let writes = of_resource.filter(|event| event.is_write() && event.succeeded());
        writes.map(|event| format!("{} {}", event.verb, event.name)).collect()
    }

    /// The watches that this test's hosts opened since a mark, and their ends.
    pub(crate) fn watches(&self, since: Mark) -> Vec<AuditEvent> {
        self.plane.audit_barrier().expect("an audit log");
        let user = user(&self.test);
        let audit = self.plane.audit().expect("an audit log");
        audit.matching(since, |event| event.user == user && event.verb == "watch").expect("the audit log parses")
    }

    fn host_logs(&self) -> String {
        let mut logs = String::new();
        for entry in std::fs::read_dir(self.plane.folder()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&format!("host-{}-", self.test)) {
                let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                // Log floods have long lines.
                let lines: Vec<&str> = text.lines().map(|line| line.get(..300).unwrap_or(line)).collect();
                logs.push_str(&format!("--- {name}\n{}\n", lines[lines.len().saturating_sub(40)..].join("\n")));
            }
        }
        logs
    }
}

/// A folder for files that a host watches.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// The path of the folder itself.
    pub(crate) fn path(&self) -> String {
        self.0.path().display().to_string()
    }

    /// Puts a file there, in place of one that has this name, so that nobody sees half of it.
    /// Returns its path.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let (path, new) = (self.0.path().join(name), self.0.path().join(format!(".{name}.new")));
        std::fs::write(&new, content).expect("written");
        std::fs::rename(&new, &path).expect("put in its place");
        path.display().to_string()
    }

    /// Takes a file away.
    pub(crate) fn remove(&self, name: &str) {
        std::fs::remove_file(self.0.path().join(name)).expect("removed");
    }

    /// Puts a plugin there, under a name of its own.
    pub(crate) fn put_plugin(&self, name: &str, plugin: &str) -> String {
        self.put(name, std::fs::read(plugin).expect("a plugin"))
    }
}

/// A configuration that mounts these plugins for these namespaces (all if there are none), with
/// children in all of them.
pub(crate) fn writing_to_all(folder: &Folder, plugins: &[&str], namespaces: &[&str]) -> String {
    let mount = |plugin: &&str| {
        let mut mount = json!({ "plugin": plugin, "grants": { "writeNamespaces": "all" } });
        if !namespaces.is_empty() {
            mount["namespaces"] = json!(namespaces);
        }
        mount
    };
    let mounts: Vec<Value> = plugins.iter().map(mount).collect();
    folder.put("gyre.yaml", json!({ "mounts": mounts }).to_string())
}

/// Held by tests that depend on which of the guests' CRDs are installed.
pub(crate) fn guest_crds() -> MutexGuard<'static, ()> {
    static GUEST_CRDS: Mutex<()> = Mutex::new(());
    GUEST_CRDS.lock()
}

/// Held by tests whose hosts see the Websites of all namespaces. They leave none behind.
pub(crate) fn websites() -> MutexGuard<'static, ()> {
    static WEBSITES: Mutex<()> = Mutex::new(());
    WEBSITES.lock()
}

/// Held by tests whose hosts mount reconcilers of the plugin `tenants`: the groups of a reconciler
/// are cluster-scoped, so hosts that mount the same one would share them.
pub(crate) fn tenants() -> MutexGuard<'static, ()> {
    static TENANTS: Mutex<()> = Mutex::new(());
    TENANTS.lock()
}

fn user(test: &str) -> String {
    format!("gyre-host-{test}")
}

/// The answer of `/metrics` at one moment.
struct Metrics(String);

impl Metrics {
    /// The sum of a metric over the series whose labels contain all of `parts`.
    fn sum(&self, name: &str, parts: &[&str]) -> f64 {
        let is_of_it = |series: &str| series == name || series.strip_prefix(name).is_some_and(|labels| labels.starts_with('{'));
        let lines = self.0.lines().filter_map(|line| line.rsplit_once(' '));
        lines
            .filter(|(series, _)| is_of_it(series) && parts.iter().all(|part| series.contains(part)))
            .filter_map(|(_, value)| value.parse::<f64>().ok())
            .sum()
    }
}

/// A running `gyre run`. It is stopped when it is dropped.
pub(crate) struct Host {
    pub(crate) process: Guarded,
    log: PathBuf,
    /// The address on which it listens.
    pub(crate) address: String,
    /// Goes after the process, which has done by then what it ever does.
    pub(crate) preview_check: Option<Arc<PreviewCheck>>,
    _alive: Arc<()>,
}

impl Drop for Host {
    fn drop(&mut self) {
        let lives = self.process.wait(Duration::ZERO).is_ok_and(|ended| ended.is_none());
        if let Some(preview_check) = &self.preview_check
            && lives
            && !std::thread::panicking()
        {
            preview_check.rest();
        }
    }
}

impl Host {
    /// Returns its log.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Returns the URL of its admin server.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// GET of its admin server: status line and body.
    pub(crate) fn http(&self, path: &str) -> (String, String) {
        self.http_with(path, "")
    }

    /// As [`Host::http`], with header lines, each of which ends in CRLF.
    pub(crate) fn http_with(&self, path: &str, headers: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("the host listens");
        // Some paths are served only to clients that name an address.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n{headers}\r\n", self.address).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
        (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
    }

    /// Returns the part of `/debug/state` about a mount.
    pub(crate) fn state_of(&self, mount: &str) -> Value {
        self.find_state_of(mount).unwrap_or_else(|| panic!("{mount} is not in {}", self.http("/debug/state").1))
    }

    /// As [`Host::state_of`], or `None` if the mount is not listed: a host that starts lists its
    /// mounts only once it has reached the API server.
    pub(crate) fn find_state_of(&self, mount: &str) -> Option<Value> {
        let state: Value = serde_json::from_str(&self.http("/debug/state").1).expect("JSON");
        let mounts = state["mounts"].as_array().expect("mounts");
        mounts.iter().find(|state| state["name"] == mount).cloned()
    }

    /// Returns the number of calls of a plugin.
    pub(crate) fn calls(&self, plugin: &str) -> f64 {
        self.metric("gyre_plugin_calls_total", &[&format!("plugin=\"{plugin}\"")])
    }

    /// Returns the number of calls of a plugin that were saved, because all inputs were those of
    /// the last call.
    pub(crate) fn memo_hits(&self, plugin: &str) -> f64 {
        self.metric("gyre_plugin_memo_hits_total", &[&format!("plugin=\"{plugin}\"")])
    }

    /// Returns the number of plans that were made from answers about an object, `namespace/name`.
    pub(crate) fn plans_about(&self, object: &str) -> usize {
        let span = format!(" object={object} ");
        self.log().lines().filter(|line| line.contains(&span) && line.contains(" planned ")).count()
    }

    /// The sum of the metric over the series whose labels contain all of `parts`.
    pub(crate) fn metric(&self, name: &str, parts: &[&str]) -> f64 {
        self.metrics().sum(name, parts)
    }

    /// All metrics, as they are at one moment.
    fn metrics(&self) -> Metrics {
        Metrics(self.http("/metrics").1)
    }
}

/// An object of a guest's or a probe's kind.
pub(crate) fn guest(kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "guests.gyre.dev/v1", "kind": kind, "metadata": { "name": name, "namespace": namespace }, "spec": spec,
    })
}

/// A ConfigMap.
pub(crate) fn config_map(namespace: &str, name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": namespace }, "data": data })
}

/// A probe that reconciles another kind, whose name is as long, for a test that has to have it for
/// itself: hosts that are confined to no namespace, or CRDs that go, would meddle with the probe's
/// own kind in the other tests.
pub(crate) fn with_kind(probe: &str, kind: &str, another: &str) -> Vec<u8> {
    assert_eq!(kind.len(), another.len());
    let mut component = std::fs::read(probe).expect("a plugin");
    let is_kind = |window: &[u8]| window == kind.as_bytes();
    let places: Vec<usize> =
        component.windows(kind.len()).enumerate().filter(|(_, window)| is_kind(window)).map(|(at, _)| at).collect();
    let [at] = places[..] else { panic!("{kind} is there {} times", places.len()) };
    component[at..at + kind.len()].copy_from_slice(another.as_bytes());
    component
}

/// Says what a kubelet would say of a Job's Pod whose container has ended well; the Job controller
/// then finishes the Job.
pub(crate) fn finish_pod_of(cluster: &Cluster, namespace: &str, job: &Value) {
    let uid = &job["metadata"]["uid"];
    let pod = cluster.eventually("the Pod", || {
        let pods = cluster.list(namespace, "pods");
        pods.into_iter().find(|pod| pod["metadata"]["ownerReferences"][0]["uid"] == *uid)
    });
    cluster.patch_status(namespace, "pod", pod["metadata"]["name"].as_str().unwrap(), &json!({ "phase": "Succeeded" }));
}

/// The finalizers of an object.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns whether an object is Ready in its latest generation.
fn is_ready(object: &Value) -> bool {
    let is_latest = object["status"]["observedGeneration"] == object["metadata"]["generation"];
    is_latest && condition(object, "Ready").is_some_and(|ready| ready["status"] == "True")
}

/// A condition of an object.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// The definition of a kind of `guests.gyre.dev/v1`, whose objects may have any fields.
pub(crate) fn definition(kind: &str, plural: &str) -> String {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.guests.gyre.dev") },
        "spec": {
            "group": "guests.gyre.dev", "scope": "Namespaced",
            "names": { "kind": kind, "listKind": format!("{kind}List"), "singular": kind.to_lowercase(), "plural": plural },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    })
    .to_string()
}
