//! A real host with the configuration, environment and permissions of the chart.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use gyre_chart_tests::chart;
use gyre_chart_tests::helm::{self, Helm};
use gyre_controlplane::{AuditEvent, ControlPlane, Guarded, Mark, Options, skip, start_or_skip};
use serde_json::{Value, json};

use crate::cluster::namespace;
use crate::programs::{gyre_or_skip, on_path, plugins_or_skip};
use crate::sources::fill;

const PATIENCE: Duration = Duration::from_secs(90);
const NAMESPACE: &str = "installed";

/// A release in its own cluster, because other tests replace the CustomResourceDefinitions.
pub(crate) struct Installed {
    pub(crate) cluster: ControlPlane,
    pub(crate) gyre: PathBuf,
    pub(crate) plugins: PathBuf,
    pub(crate) folder: tempfile::TempDir,
}

pub(crate) struct Host {
    process: Guarded,
}

impl Installed {
    /// Installs these values, or returns `None` to skip the test.
    #[track_caller]
    fn or_skip(values: &Value) -> anyhow::Result<Option<Self>> {
        let Some(installed) = Self::without_release_or_skip()? else { return Ok(None) };
        installed.helm("install", values)?;
        Ok(Some(installed))
    }

    /// A cluster in which nothing is installed yet, or `None` to skip the test.
    #[track_caller]
    pub(crate) fn without_release_or_skip() -> anyhow::Result<Option<Self>> {
        let Some(gyre) = gyre_or_skip()? else { return Ok(None) };
        let Some(_) = Helm::or_skip()? else { return Ok(None) };
        let Some(plugins) = plugins_or_skip()? else { return Ok(None) };
        let Some(cluster) = start_or_skip(Options::default())? else { return Ok(None) };
        namespace(&cluster, NAMESPACE)?;
        Ok(Some(Self { cluster, gyre, plugins, folder: tempfile::tempdir()? }))
    }

    pub(crate) fn helm(&self, command: &str, values: &Value) -> anyhow::Result<()> {
        self.helm_with(command, "gyre", values, &[])
    }

    fn helm_with(&self, command: &str, release: &str, values: &Value, arguments: &[&str]) -> anyhow::Result<()> {
        let file = self.folder.path().join("values.json");
        fs::write(&file, values.to_string())?;
        let mut helm = self.cluster.helm()?;
        helm.args([command, release, "--namespace", NAMESPACE, "--values"]).arg(file).arg(chart()).args(arguments);
        helm.stdin(Stdio::null());
        let output = helm.output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// Runs `gyre run` like the pods, with their account, but with other paths and ports.
    fn start(&self) -> anyhow::Result<Host> {
        self.start_as("gyre", "gyre-0", &self.account()?)
    }

    /// The kubeconfig of the account of the pods.
    pub(crate) fn account(&self) -> anyhow::Result<PathBuf> {
        self.cluster.kubeconfig_for_service_account(NAMESPACE, "gyre")
    }

    fn start_as(&self, release: &str, pod: &str, kubeconfig: &Path) -> anyhow::Result<Host> {
        let map = |name: &str| -> anyhow::Result<BTreeMap<String, String>> {
            Ok(serde_json::from_str(&self.get(&["get", "configmap", name, "--output", "jsonpath={.data}"])?)?)
        };
        let files = map(&format!("{release}-config"))?;
        let config = files.get("gyre.yaml").context("no gyre.yaml")?.replace("/plugins", &self.plugins.display().to_string());
        let folder = self.folder.path();
        let file = folder.join(format!("{release}.yaml"));
        fs::write(&file, config)?;
        let mut command = Command::new(&self.gyre);
        command.arg("run").arg("--config").arg(&file);
        command.envs(map(release)?).env("GYRE_CODE_CACHE", folder.join("code"));
        self.start_by(command, pod, kubeconfig)
    }

    /// Starts a host by this command, as the pod of this name.
    pub(crate) fn start_by(&self, mut command: Command, pod: &str, kubeconfig: &Path) -> anyhow::Result<Host> {
        command.args(["--listen", "127.0.0.1:0"]).arg("--kubeconfig").arg(kubeconfig);
        command.env("HOSTNAME", pod).env("GYRE_HA_NODE_ID", pod);
        let folder = self.folder.path();
        let log = tempfile::Builder::new().prefix("gyre-").suffix(".log").tempfile_in(folder)?.into_temp_path();
        Ok(Host { process: Guarded::spawn("gyre", &command, &log.keep()?, Duration::from_secs(10))? })
    }

    pub(crate) fn get(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.cluster.kubectl_stdout(&[&["--namespace", NAMESPACE], arguments].concat())
    }

    pub(crate) fn get_json(&self, resource: &str) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.get(&["get", resource, "--output", "json"])?)?)
    }

    pub(crate) fn create(&self, kind: &str, name: &str) -> anyhow::Result<()> {
        let spec =
            if kind == "Echo" { json!({"message": "Hello"}) } else { json!({"message": "Hello", "schedule": "0 0 1 1 *"}) };
        let metadata = json!({"name": name, "namespace": NAMESPACE});
        let object = json!({"apiVersion": "mmontes.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
        self.cluster.apply(&object.to_string()).map(drop)
    }

    pub(crate) fn is_ready(&self, resource: &str) -> anyhow::Result<()> {
        let timeout = format!("--timeout={}s", PATIENCE.as_secs());
        self.get(&["wait", "--for=condition=Ready", resource, &timeout]).map(drop)
    }

    fn may(&self, verb: &str, resource: &str) -> anyhow::Result<bool> {
        let (resource, subresource) = resource.split_once("//").unwrap_or((resource, ""));
        let (subresource, account) =
            (format!("--subresource={subresource}"), format!("--as=system:serviceaccount:{NAMESPACE}:gyre"));
        let arguments = ["auth", "can-i", verb, resource, &subresource, "--namespace", NAMESPACE, "--quiet", account.as_str()];
        Ok(self.cluster.kubectl().args(arguments).stdin(Stdio::null()).status()?.success())
    }
}

impl Host {
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.process.log()).unwrap_or_default().replace('\\', "")
    }

    fn address(&self) -> Option<String> {
        let log = self.log();
        let (_, rest) = log.split_once("serving /healthz")?.1.split_once("127.0.0.1:")?;
        let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(format!("127.0.0.1:{port}"))
    }

    fn readiness(&self) -> Option<String> {
        let mut stream = TcpStream::connect(self.address()?).ok()?;
        write!(stream, "GET /readyz HTTP/1.0\r\nHost: gyre\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let start = Instant::now();
    while !is_so()? {
        ensure!(start.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

#[test]
fn the_host_works_with_what_the_chart_grants_it() -> anyhow::Result<()> {
    let Some(installed) = Installed::or_skip(&json!({}))? else { return Ok(()) };
    let host = installed.start()?;
    installed.create("Echo", "hello")?;
    installed.create("ScheduledEcho", "hello")?;
    installed.is_ready("echo/hello").with_context(|| host.log())?;
    installed.is_ready("scheduledecho/hello").with_context(|| host.log())?;
    // Changes, deletions, events and the inventory need other verbs than creations.
    installed.get(&["patch", "scheduledecho/hello", "--type=merge", "--patch", r#"{"spec":{"message":"Bye"}}"#])?;
    until("the CronJob follows", || Ok(installed.get_json("cronjob/hello")?.to_string().contains("Bye")))?;
    let inventory = installed.get_json("configmap/gyre-inventory")?;
    assert!(inventory.to_string().contains("scheduled-echo"), "{inventory}");
    until("an event tells of the Job", || Ok(installed.get_json("events")?.to_string().contains("JobCreated")))?;
    assert!(host.readiness().is_some_and(|answer| answer.contains("200 OK")), "{:?}", host.readiness());
    assert!(!host.log().contains("forbidden"), "{}", host.log());
    is_tested_well(&installed, &host)
}

fn is_tested_well(installed: &Installed, host: &Host) -> anyhow::Result<()> {
    if ["wget", "grep"].iter().any(|program| on_path(program).is_none()) {
        return skip("there is no wget, or no grep");
    }
    let output = installed.cluster.helm()?.args(["get", "hooks", "gyre", "--namespace", NAMESPACE]).output()?;
    let pods = helm::documents(&String::from_utf8(output.stdout)?)?;
    let [pod] = &pods[..] else { panic!("{pods:?}") };
    let container = &pod["spec"]["containers"][0];
    let command: Vec<&str> = container["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let variables = container["env"].as_array().unwrap().iter().map(|variable| {
        let value = variable["value"].as_str().unwrap();
        let here = value.split_once("://").map(|(scheme, _)| format!("{scheme}://{}", host.address().unwrap()));
        (variable["name"].as_str().unwrap(), here.unwrap_or_else(|| value.to_owned()))
    });
    let variables: Vec<(&str, String)> = variables.collect();
    let run = |changed: Option<(&str, &str)>| {
        Command::new(command[0]).args(&command[1..]).envs(variables.clone()).envs(changed).stdin(Stdio::null()).output()
    };
    let output = run(None)?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!run(Some(("HOST", "http://127.0.0.1:1")))?.status.success(), "it would not see what is wrong");
    Ok(())
}

/// The host asks the API server who requests its metrics, and whether they may.
#[test]
fn secure_metrics_are_served_only_to_permitted_accounts() -> anyhow::Result<()> {
    let Some(wget) = on_path("wget") else { return skip("there is no wget") };
    let Some(installed) = Installed::or_skip(&json!({"monitoring": {"secure": {"enabled": true}}}))? else { return Ok(()) };
    let host = installed.start()?;
    until("it listens", || Ok(host.address().is_some()))?;
    let seen = |token: &str| {
        let mut command = Command::new(&wget);
        command.args(["-q", "-O", "-", "--no-check-certificate", "--header", &format!("Authorization: Bearer {token}")]);
        let output = command.arg(format!("https://{}/metrics", host.address()?)).stdin(Stdio::null()).output().ok()?;
        Some(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("controller_runtime_"))
    };
    installed.get(&["create", "serviceaccount", "viewer"])?;
    let token = installed.get(&["create", "token", "viewer"])?;
    until("it is tested well", || Ok(is_tested_well(&installed, &host).is_ok())).with_context(|| host.log())?;
    assert_eq!([seen(token.trim()), seen("nobody's")], [Some(false), Some(false)]);
    let viewer = format!("--serviceaccount={NAMESPACE}:viewer");
    installed.get(&["create", "clusterrolebinding", "viewer", "--clusterrole=gyre-metrics-reader", &viewer])?;
    until("whom the role is bound to sees them", || Ok(seen(token.trim()) == Some(true))).with_context(|| host.log())?;
    assert_eq!(seen("nobody's"), Some(false));
    assert!(!host.log().contains("forbidden"), "{}", host.log());
    Ok(())
}

/// Without a ClusterRole, replicas share the mounts, and one mount writes as another account.
#[test]
fn the_host_works_with_roles_alone() -> anyhow::Result<()> {
    let values = json!({
        "namespaces": [NAMESPACE],
        "rbac": {"namespaced": true},
        "ha": {"leaderElection": {"scope": "mount"}},
        "config": {"mounts": [
            {"plugin": "/plugins/echo.wasm", "impersonate": format!("{NAMESPACE}/echoer")},
            {"plugin": "/plugins/scheduled_echo.wasm"},
        ]},
    });
    let Some(installed) = Installed::or_skip(&values)? else { return Ok(()) };
    let roles = installed.cluster.kubectl_stdout(&["get", "clusterroles,clusterrolebindings", "--output", "name"])?;
    assert!(!roles.contains("gyre"), "{roles}");
    let mut host = installed.start()?;
    installed.create("Echo", "hello")?;
    installed.create("ScheduledEcho", "hello")?;
    installed.is_ready("echo/hello").with_context(|| host.log())?;
    installed.is_ready("scheduledecho/hello").with_context(|| host.log())?;
    assert!(host.readiness().is_some_and(|answer| answer.contains("200 OK")), "{:?}", host.readiness());
    host.process.stop()?;
    let log = host.log();
    assert!(!log.contains("forbidden"), "{log}");
    let held = installed.get(&["get", "leases", "--output", "jsonpath={.items[*].spec.holderIdentity}"])?;
    assert!(held.trim().is_empty(), "all are given back: {held}");

    installed.cluster.audit_barrier()?;
    let account = format!("system:serviceaccount:{NAMESPACE}:gyre");
    let writes = |event: &AuditEvent| event.user == account && event.is_write() && event.group != "coordination.k8s.io";
    let mut writers = BTreeMap::<String, BTreeSet<String>>::new();
    for event in installed.cluster.audit()?.matching(Mark::START, writes)? {
        writers.entry(event.resource).or_default().insert(event.impersonated.unwrap_or_else(|| "itself".to_owned()));
    }
    let echoer = format!("system:serviceaccount:{NAMESPACE}:echoer");
    for (resource, writer) in [("jobs", echoer.as_str()), ("echos", &echoer), ("cronjobs", "itself"), ("configmaps", "itself")]
    {
        assert_eq!(writers.get(resource), Some(&[writer.to_owned()].into()), "{resource}: {writers:?}");
    }
    Ok(())
}

/// As in README.md: without the plugin, its rules would be missing and its finalizers stay.
#[test]
fn finalizers_of_an_unmounted_plugin_are_removed_with_kept_rules() -> anyhow::Result<()> {
    let mounted = json!({"config": {"mounts": [{"plugin": "/plugins/pod_log.wasm"}]}, "namespaces": [NAMESPACE]});
    let Some(installed) = Installed::or_skip(&mounted)? else { return Ok(()) };
    let security = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let container = json!({"name": "it", "image": "busybox:1.37", "securityContext": security});
    let pod = json!({"securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}, "containers": [container]});
    let metadata = json!({"name": "it", "namespace": NAMESPACE});
    until("the account that pods run as is there", || Ok(installed.get_json("serviceaccount/default").is_ok()))?;
    installed.cluster.apply(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod}).to_string())?;
    let is_held = || Ok(installed.get_json("pod/it")?["metadata"]["finalizers"] == json!(["gyre.dev/pod-log"]));
    let host = installed.start()?;
    until("the Pod is held", is_held).with_context(|| host.log())?;
    drop(host);

    installed.helm("upgrade", &json!({"namespaces": [NAMESPACE]}))?;
    until("the rules are gone", || Ok(!installed.may("patch", "pods")?))?;
    let host = installed.start()?;
    until("the log says what to do", || {
        Ok(host.log().contains("permit this to the host, or to the service account that the mount used"))
    })
    .with_context(|| host.log())?;
    assert!(is_held()?);
    assert!(host.log().contains(r#"cannot list resource "pods" in API group """#), "{}", host.log());
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "patch"]});
    installed.helm("upgrade", &json!({"namespaces": [NAMESPACE], "rbac": {"extraRules": [rule]}}))?;
    until("the Pod is let go", || Ok(!is_held()?)).with_context(|| host.log())?;
    let done = "no object holds a finalizer of the plugin pod-log";
    until(done, || Ok(host.log().contains(done))).with_context(|| host.log())
}

/// From the file of a plugin to its objects, by the two commands of docs/getting-started.md.
#[test]
fn a_plugin_is_installed_by_the_values_that_gyre_writes_for_it() -> anyhow::Result<()> {
    let Some(mut installed) = Installed::without_release_or_skip()? else { return Ok(()) };
    let (values, mounted) = (installed.folder.path().join("values.yaml"), installed.folder.path().join("plugins"));
    let greeter = installed.plugins.join("greeter.wasm");
    let install = |installed: &Installed| -> anyhow::Result<()> {
        let output = Command::new(&installed.gyre).arg("values").arg(&greeter).arg("--to").arg(&values).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut helm = installed.cluster.helm()?;
        helm.args(["upgrade", "--install", "gyre"]).arg(chart()).args(["--namespace", NAMESPACE, "-f"]).arg(&values);
        let output = helm.stdin(Stdio::null()).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    };
    install(&installed)?;
    // As the kubelet does.
    fill(&mounted.join("greeter"), &installed.get_json("configmap/gyre-plugin-greeter")?)?;
    installed.plugins = mounted;
    let host = installed.start()?;
    let metadata = json!({"name": "hello", "namespace": NAMESPACE});
    let greeting =
        json!({"apiVersion": "example.com/v1alpha1", "kind": "Greeting", "metadata": metadata, "spec": {"message": "Hello"}});
    until("the API server serves the kind", || Ok(installed.cluster.apply(&greeting.to_string()).is_ok()))?;
    installed.is_ready("greeting/hello").with_context(|| host.log())?;
    assert_eq!(installed.get_json("configmap/hello")?["data"], json!({"message": "Hello"}));
    assert!(!host.log().contains("forbidden"), "{}", host.log());
    let roles = installed.cluster.kubectl_stdout(&["get", "clusterroles,clusterrolebindings", "--output", "name"])?;
    let own: Vec<&str> = roles.lines().filter(|name| name.contains("gyre")).collect();
    assert_eq!(own.len(), 2, "{own:?}");
    assert!(own.iter().all(|name| name.ends_with("/gyre-plugin-greeter")), "{own:?}");

    install(&installed)?;
    let mut helm = installed.cluster.helm()?;
    assert!(helm.args(["uninstall", "gyre", "--namespace", NAMESPACE]).stdin(Stdio::null()).output()?.status.success());
    assert!(installed.get_json("greeting/hello").is_ok(), "the definition stays, and with it the objects");
    Ok(())
}

/// A user for each host, with the roles of the release, so that the audit log tells them apart.
struct Replicas<'a> {
    installed: &'a Installed,
    started: usize,
    echos: Cell<usize>,
    running: Vec<Host>,
}

impl Replicas<'_> {
    const GROUP: &'static str = "gyre-hosts";

    fn start(&mut self, release: &str) -> anyhow::Result<Host> {
        let user = format!("pod-{}", self.started);
        self.started += 1;
        let kubeconfig = self.installed.cluster.kubeconfig_for_user(&user, &[Self::GROUP])?;
        let host = self.installed.start_as(release, &user, &kubeconfig)?;
        until("it is ready", || Ok(host.readiness().is_some_and(|answer| answer.contains("200 OK"))))
            .with_context(|| host.log())?;
        Ok(host)
    }

    /// Starts as many hosts as the Deployment has replicas, and then ends the ones before.
    fn roll(&mut self) -> anyhow::Result<()> {
        let wanted = self.installed.get_json("deployment/gyre")?["spec"]["replicas"].as_u64().context("replicas")?;
        let new = (0..wanted).map(|_| self.start("gyre")).collect::<anyhow::Result<_>>()?;
        for mut host in std::mem::replace(&mut self.running, new) {
            host.process.stop()?;
        }
        self.work()
    }

    fn work(&self) -> anyhow::Result<()> {
        self.echos.set(self.echos.get() + 1);
        let echo = format!("echo-{}", self.echos.get());
        self.installed.create("Echo", &echo)?;
        self.installed.is_ready(&format!("echo/{echo}"))
    }
}

/// The users of the writes, each of which must hold the Lease when its request is received.
fn writers(events: &mut [AuditEvent]) -> Vec<String> {
    let (mut holder, mut writers) = (String::new(), Vec::<String>::new());
    events.sort_by_key(|event| event.received);
    for event in events.iter().filter(|event| event.is_write()) {
        if event.resource == "leases" {
            if event.succeeded() {
                let spec = event.request_object.as_ref().map(|lease| lease["spec"]["holderIdentity"].clone());
                let identity = spec.as_ref().and_then(Value::as_str).unwrap_or_default();
                holder = identity.rsplit_once('_').map_or("", |(user, _)| user).to_owned();
            }
            continue;
        }
        assert_eq!(holder, event.user, "it writes without the Lease: {event:?}");
        if writers.last() != Some(&event.user) {
            writers.push(event.user.clone());
        }
    }
    writers
}

#[test]
fn a_release_has_one_writer_at_each_moment_whatever_its_replicas_and_ha_are() -> anyhow::Result<()> {
    let Some(installed) = Installed::or_skip(&json!({}))? else { return Ok(()) };
    let group = format!("--group={}", Replicas::GROUP);
    installed.get(&["create", "rolebinding", "hosts", "--role=gyre-host", &group])?;
    installed.get(&["create", "clusterrolebinding", "hosts", "--clusterrole=gyre", &group])?;
    let mut replicas = Replicas { installed: &installed, started: 0, echos: Cell::new(0), running: Vec::new() };
    let scale = |count: &str| installed.get(&["scale", "deployment/gyre", &format!("--replicas={count}")]);
    replicas.roll()?;
    // The person owns the field now, also with the number that the chart has.
    scale("2")?;
    scale("3")?;
    replicas.roll()?;
    let off = json!({"ha": {"enabled": false}});
    let refused = format!("{:#}", installed.helm("upgrade", &off).unwrap_err());
    assert!(refused.contains(".spec.replicas"), "as README.md says: {refused}");
    installed.helm_with("upgrade", "gyre", &off, &["--force-conflicts"])?;
    assert_eq!(installed.get_json("deployment/gyre")?["spec"]["replicas"], 1);
    replicas.roll()?;
    scale("3")?;
    replicas.roll()?;
    let same_name = json!({"fullnameOverride": "other", "config": {"name": "gyre"}, "crds": {"enabled": false}});
    installed.helm_with("install", "other", &same_name, &[])?;
    let _other = replicas.start("other")?;
    installed.helm_with("upgrade", "gyre", &json!({"ha": {"enabled": true}}), &["--force-conflicts"])?;
    replicas.roll()?;
    for mut host in std::mem::take(&mut replicas.running) {
        host.process.stop()?;
    }
    replicas.work()?;
    installed.cluster.audit_barrier()?;
    let mut events = installed.cluster.audit()?.matching(Mark::START, |event| event.user.starts_with("pod-"))?;
    let writers = writers(&mut events);
    assert!(writers.len() >= 5, "{writers:?}");
    Ok(())
}

/// A removed rule, and the places where a host reports it.
struct Taken {
    role: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    /// The first denied request, in the syntax of `kubectl auth can-i`.
    asked: (&'static str, &'static str),
    said: &'static str,
    /// The check of `/readyz` that fails.
    readiness: Option<&'static str>,
    /// If true, a condition of the Echo reports it.
    condition: bool,
}

const ALL: &str = "clusterrole/gyre";
const OWN: &str = "role/gyre-host";

const TAKEN: [Taken; 7] = [
    Taken {
        role: ALL,
        resource: "echos",
        verbs: &["list", "watch"],
        asked: ("watch", "echos.mmontes.io"),
        said: r#"cannot watch resource "echos" in API group "mmontes.io" at the cluster scope"#,
        readiness: Some("watches"),
        condition: false,
    },
    Taken {
        role: ALL,
        resource: "jobs",
        verbs: &["list", "watch"],
        asked: ("watch", "jobs.batch"),
        said: r#"cannot watch resource "jobs" in API group "batch" at the cluster scope"#,
        readiness: Some("watches"),
        condition: false,
    },
    Taken {
        role: ALL,
        resource: "jobs",
        verbs: &["create"],
        asked: ("create", "jobs.batch"),
        said: r#"cannot create resource "jobs" in API group "batch" in the namespace "installed""#,
        readiness: None,
        condition: true,
    },
    Taken {
        role: ALL,
        resource: "echos/status",
        verbs: &["patch"],
        asked: ("patch", "echos.mmontes.io//status"),
        said: r#"cannot patch resource "echos/status" in API group "mmontes.io" in the namespace "installed""#,
        readiness: None,
        condition: false,
    },
    Taken {
        role: ALL,
        resource: "events",
        verbs: &["create"],
        asked: ("create", "events.events.k8s.io"),
        said: r#"cannot create resource "events" in API group "events.k8s.io" in the namespace "installed""#,
        readiness: None,
        condition: false,
    },
    Taken {
        role: OWN,
        resource: "leases",
        verbs: &["create", "get", "update"],
        asked: ("get", "leases.coordination.k8s.io/gyre"),
        said: r#"cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "installed""#,
        readiness: Some("election"),
        condition: false,
    },
    Taken {
        role: OWN,
        resource: "configmaps",
        verbs: &["create", "get", "update"],
        asked: ("get", "configmaps/gyre-inventory"),
        said: r#"cannot get resource "configmaps" in API group "" in the namespace "installed""#,
        readiness: Some("inventory"),
        condition: false,
    },
];

fn without(rules: &Value, taken: &Taken) -> Value {
    let mut kept = Vec::new();
    for rule in rules.as_array().unwrap() {
        let (mut rule, mut same) = (rule.clone(), rule.clone());
        let is_it = |resource: &Value| resource == taken.resource;
        rule["resources"].as_array_mut().unwrap().retain(|resource| !is_it(resource));
        same["resources"].as_array_mut().unwrap().retain(is_it);
        same["verbs"].as_array_mut().unwrap().retain(|verb| !taken.verbs.iter().any(|taken| verb == taken));
        let is_any = |rule: &Value| ["resources", "verbs"].iter().all(|key| !rule[key].as_array().unwrap().is_empty());
        kept.extend([rule, same].into_iter().filter(is_any));
    }
    json!(kept)
}

/// The log, the probe or the object names the verb, the resource and the remedy. When the rule is
/// back, the work continues without a restart.
#[test]
fn a_missing_rule_is_reported_with_verb_and_resource() -> anyhow::Result<()> {
    let Some(installed) = Installed::or_skip(&json!({}))? else { return Ok(()) };
    for (number, taken) in TAKEN.iter().enumerate() {
        let what = format!("{} without {:?} {}", taken.role, taken.verbs, taken.resource);
        let rules = installed.get_json(taken.role)?["rules"].take();
        let set = |rules: &Value, permitted: bool| -> anyhow::Result<()> {
            let patch = json!({"rules": rules}).to_string();
            installed.get(&["patch", taken.role, "--type=merge", "--patch", &patch])?;
            until(&what, || Ok(installed.may(taken.asked.0, taken.asked.1)? == permitted))
        };
        set(&without(&rules, taken), false)?;
        let host = installed.start()?;
        let echo = format!("echo-{number}");
        installed.create("Echo", &echo)?;
        let remedy = "`gyre rbac` prints the rules that the mounts need";
        let told = |text: &str| text.lines().find(|line| line.contains(taken.said) && line.contains(remedy)).map(str::to_owned);
        until(&format!("{what}: the log says {}", taken.said), || Ok(told(&host.log()).is_some()))
            .with_context(|| host.log())?;
        match taken.readiness {
            Some(check) => {
                until(&format!("{what}: {check} fails"), || {
                    let line = host.readiness().and_then(|answer| told(&answer));
                    Ok(line.is_some_and(|line| line.starts_with(&format!("[-]{check} failed"))))
                })
                .with_context(|| format!("{:?}", host.readiness()))?;
            }
            None => until(&format!("{what}: ready even so"), || {
                Ok(host.readiness().is_some_and(|answer| answer.contains("200 OK")))
            })?,
        }
        if taken.condition {
            until(&format!("{what}: the condition says so"), || {
                let echo = installed.get_json(&format!("echo/{echo}"))?;
                let conditions = echo["status"]["conditions"].as_array().cloned().unwrap_or_default();
                let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
                let says = |ready: &Value| ready["reason"] == "Forbidden" && ready["message"].as_str().and_then(told).is_some();
                Ok(ready.is_some_and(says))
            })?;
        }
        set(&rules, true)?;
        installed.is_ready(&format!("echo/{echo}")).with_context(|| format!("{what}: given back\n{}", host.log()))?;
        until(&format!("{what}: ready again"), || Ok(host.readiness().is_some_and(|answer| answer.contains("200 OK"))))?;
    }
    Ok(())
}
