//! The cluster in memory, served on loopback.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use gyre_devcluster::{Clock, Controllers, Options, Service, audit, http, kubeconfig};
use kube::Client;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::config::values::duration;

/// The properties of the cluster.
#[derive(Debug, Args)]
pub(super) struct ClusterArguments {
    /// Address on which the API server listens; port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = address)]
    pub(super) address: SocketAddr,
    /// File to write the kubeconfig of the cluster in memory to [default: a temporary file].
    #[arg(long, value_name = "FILE")]
    pub(super) write_kubeconfig: Option<PathBuf>,
    /// How long the containers of Pods run before they succeed, e.g. 500ms or 2m; "never" leaves
    /// Pods pending.
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub(super) pods_run: PodsRun,
    /// Run no controllers (namespaces, garbage collection, Jobs, CronJobs): only clients change
    /// objects.
    #[arg(long)]
    pub(super) no_controllers: bool,
    /// File to write the audit log of the API server to, in the format of kube-apiserver.
    #[arg(long, value_name = "FILE")]
    pub(super) audit_log: Option<PathBuf>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an address and port such as 127.0.0.1:8001".to_owned())
}

const LONGEST_RUN: Duration = Duration::from_secs(1_000_000);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PodsRun(Option<Duration>);

impl FromStr for PodsRun {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" {
            return Ok(Self(None));
        }
        let time = duration(Duration::ZERO..=LONGEST_RUN)(text);
        time.map(|time| Self(Some(time))).map_err(|error| format!("{error}, or never"))
    }
}

pub(super) struct Cluster {
    client: Client,
    url: String,
    kubeconfig: PathBuf,
    is_temporary: bool,
    stop: tokio::sync::oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl Cluster {
    pub(super) async fn start(arguments: &ClusterArguments) -> anyhow::Result<Self> {
        let address = arguments.address;
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address}; choose another --address"))?;
        let address = listener.local_addr().context("cannot determine the local address")?;
        let controllers = if arguments.no_controllers { Controllers::Absent } else { Controllers::Run };
        let options = Options { seed: seed(), pod_run_time: arguments.pods_run.0, controllers, ..Options::default() };
        let mut service = Service::new(gyre_devcluster::Cluster::start(&options, Clock::System));
        if let Some(path) = &arguments.audit_log {
            let log = audit::Log::to_file(path).with_context(|| {
                format!("cannot write the audit log {}; name a file in a directory that exists", path.display())
            })?;
            service = service.with_audit(Arc::new(log));
        }
        // The host calls the server directly; other clients use HTTP.
        let client = Client::new(service.clone(), "default");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let server = tokio::spawn(http::serve(listener, service, http::Limits::default(), async {
            let _ = stopped.await;
        }));
        let url = format!("http://{address}");
        let kubeconfig = match &arguments.write_kubeconfig {
            Some(path) => path.clone(),
            None => std::env::temp_dir().join(format!("gyre-dev-{}.kubeconfig", std::process::id())),
        };
        std::fs::write(&kubeconfig, kubeconfig::kubeconfig(&url, None)).with_context(|| {
            format!("cannot write the kubeconfig {}; name a file in a directory that exists", kubeconfig.display())
        })?;
        // Absolute, because the shell that exports it may change its directory.
        let kubeconfig = std::path::absolute(&kubeconfig).context("cannot determine the working directory")?;
        Ok(Self { client, url, kubeconfig, is_temporary: arguments.write_kubeconfig.is_none(), stop, server })
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub(super) async fn stop(self) {
        drop(self.stop);
        let _ = self.server.await;
        if self.is_temporary {
            let _ = std::fs::remove_file(&self.kubeconfig);
        }
    }
}

/// A random seed, so that clusters on one machine generate different UIDs.
fn seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id())
}
