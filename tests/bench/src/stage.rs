//! A devcluster in this process, and hosts on it. Its audit log has both ends of a latency: the
//! change, and the write of the host. Host, API server and load share this machine.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use gyre_controlplane::{AuditReader, Guarded, allocated};
use gyre_core::manifest::Manifest;
use gyre_devcluster::audit::Log;
use gyre_devcluster::http::{Limits, serve};
use gyre_devcluster::{Clock, Cluster, Service, kubeconfig};
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::process;
use crate::processors::Processors;

pub(crate) const USER: &str = "gyre-bench-host";

pub(crate) struct Stage {
    folder: tempfile::TempDir,
    /// The client of an administrator.
    pub(crate) client: Client,
    pub(crate) audit: AuditReader,
    /// `None` if hosts share the processors with the API server and the load.
    processors: Option<Processors>,
}

impl Stage {
    pub(crate) async fn set() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        let service = Service::new(Cluster::start(&gyre_devcluster::Options::default(), Clock::System))
            .with_audit(Arc::new(Log::to_file(&path("audit.log"))?));
        let client = Client::new(service.clone(), "default");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(serve(listener, service, Limits::default(), std::future::pending()));
        std::fs::write(path("kubeconfig"), kubeconfig::kubeconfig(&url, Some(USER)))?;
        let audit = AuditReader::new(&path("audit.log"));
        Ok(Self { folder, client, audit, processors: None })
    }

    pub(crate) fn with_processors(self, processors: Option<Processors>) -> Self {
        Self { processors, ..self }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The directory of compiled plugins, because compilation is not measured.
    pub(crate) fn code(&self) -> PathBuf {
        self.path("code")
    }

    /// Creates the CRDs of a plugin.
    pub(crate) async fn install(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let definitions = self.api("apiextensions.k8s.io", "v1", "CustomResourceDefinition", None);
        for definition in &manifest.crds {
            let definition = serde_json::from_value(serde_json::to_value(definition)?)?;
            definitions.create(&PostParams::default(), &definition).await?;
        }
        Ok(())
    }

    pub(crate) fn api(&self, group: &str, version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        api(&self.client, group, version, kind, namespace)
    }

    /// Starts a host that counts its allocations. `mount` adds arguments to `run`.
    pub(crate) async fn host(&self, name: &str, mount: impl FnOnce(&mut Command)) -> anyhow::Result<Host> {
        let (log, count) = (self.path(&format!("{name}.log")), self.path(&format!("{name}.allocated")));
        let mut command = Command::new(process::program("counted-gyre")?);
        command.args(["run", "--listen", "127.0.0.1:0"]).env("GYRE_BENCH_COUNT", &count);
        command.arg("--code-cache").arg(self.code()).arg("--kubeconfig").arg(self.path("kubeconfig"));
        mount(&mut command);
        let spawn = || Guarded::spawn(name, &command, &log, Duration::from_secs(10));
        let process = match &self.processors {
            Some(processors) => processors.run_on_hosts(spawn)??,
            None => spawn()?,
        };
        let mut host = Host { process, count, address: String::new() };
        until("the host to listen", async || {
            let text = std::fs::read_to_string(&log)?;
            let address = text.split_once("serving /healthz").and_then(|(_, rest)| rest.split_once("address="));
            host.address =
                address.map(|(_, rest)| rest.chars().take_while(|next| !next.is_whitespace()).collect()).unwrap_or_default();
            Ok(!host.address.is_empty())
        })
        .await?;
        Ok(host)
    }
}

/// Runs a benchmark that needs an asynchronous runtime.
pub(crate) fn run<T>(benchmark: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(benchmark)
}

pub(crate) fn api(client: &Client, group: &str, version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

pub(crate) struct Host {
    process: Guarded,
    count: PathBuf,
    address: String,
}

impl Host {
    /// Waits until exactly `count` mounts run, and none is being unmounted.
    pub(crate) async fn until_mounted(&self, count: usize) -> anyhow::Result<()> {
        until("the mounts", async || {
            let state = self.state()?;
            let mounts = state.get("mounts").and_then(Value::as_array).context("no mounts")?;
            let is_running = |mount: &Value| mount.get("phase").is_some_and(|phase| phase == "Running");
            let leaving = state.get("leaving").and_then(Value::as_array).context("nothing is said of leaving")?;
            Ok(mounts.len() == count && mounts.iter().all(is_running) && leaving.is_empty())
        })
        .await
    }

    /// Waits until all queues are empty.
    pub(crate) async fn until_at_rest(&self) -> anyhow::Result<()> {
        until("the host to be at rest", async || {
            let state = self.state()?;
            let mounts = state.get("mounts").and_then(Value::as_array).context("no mounts")?;
            Ok(mounts.iter().all(|mount| mount.pointer("/queue/entries") == Some(&json!(0))))
        })
        .await
    }

    pub(crate) fn state(&self) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.get("/debug/state")?)?)
    }

    /// Returns the sum of a metric over the series that have all of these labels.
    pub(crate) fn metric(&self, name: &str, labels: &[&str]) -> anyhow::Result<f64> {
        let value = |line: &str| -> Option<f64> {
            let (its_labels, value) = line.strip_prefix(name)?.strip_prefix('{')?.split_once("} ")?;
            labels.iter().all(|label| its_labels.contains(label)).then(|| value.parse().ok())?
        };
        Ok(self.get("/metrics")?.lines().filter_map(value).sum())
    }

    fn get(&self, path: &str) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: gyre\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
        Ok(body.to_owned())
    }

    pub(crate) fn resident_bytes(&self) -> anyhow::Result<usize> {
        process::resident_bytes(self.process.id())
    }

    pub(crate) fn processor_seconds(&self) -> anyhow::Result<f64> {
        process::processor_seconds(self.process.id())
    }

    pub(crate) async fn bytes(&self) -> anyhow::Result<f64> {
        allocated::ask(&self.count);
        let mut bytes = 0;
        until("the host to count", async || {
            let answered = allocated::answered(&self.count);
            bytes = answered.unwrap_or_default();
            Ok(answered.is_some())
        })
        .await?;
        Ok(bytes as f64)
    }

    /// Returns the first count of at most `most`, or that after 200 s, when idle connections are
    /// closed.
    pub(crate) async fn bytes_at_most(&self, most: f64) -> anyhow::Result<f64> {
        let deadline = Instant::now() + Duration::from_secs(200);
        loop {
            let bytes = self.bytes().await?;
            if bytes <= most || Instant::now() > deadline {
                return Ok(bytes);
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

/// Returns the quantile of the latencies.
pub(crate) fn quantile(latencies: &mut [Duration], share: f64) -> Duration {
    latencies.sort_unstable();
    let index = ((latencies.len() as f64 * share) as usize).min(latencies.len().saturating_sub(1));
    latencies.get(index).copied().unwrap_or_default()
}

pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !holds().await? {
        ensure!(Instant::now() < deadline, "gave up waiting for {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
