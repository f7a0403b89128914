//! The servers that are compared, each with and without controllers.

use std::sync::OnceLock;

use gyre_controlplane::{ControlPlane, Controllers, Options, skip, start_or_skip};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::runtime::Runtime;

use super::registry::World;

/// The environment variable with the servers to run, separated by commas; all if it is not set.
const SERVERS: &str = "GYRE_CONTRACT_SERVERS";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    KubeApiserver,
    Devcluster,
}

impl Server {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::Devcluster => "devcluster",
        }
    }

    /// Returns a client, or `None` after skipping the test because the server cannot run here.
    pub(crate) fn client(self, world: World) -> Option<kube::Client> {
        match self {
            Self::KubeApiserver => kube_apiserver(world),
            Self::Devcluster => devcluster(world),
        }
    }
}

pub(crate) fn servers() -> Vec<Server> {
    let all = [Server::KubeApiserver, Server::Devcluster];
    match std::env::var(SERVERS) {
        Ok(names) => all.into_iter().filter(|server| names.split(',').any(|name| name.trim() == server.name())).collect(),
        Err(_) => all.to_vec(),
    }
}

/// The runtime of all checks, because the connections of a client belong to one runtime.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime"))
}

fn kube_apiserver(world: World) -> Option<kube::Client> {
    static WITHOUT_CONTROLLERS: OnceLock<Option<(ControlPlane, kube::Client)>> = OnceLock::new();
    static WITH_CONTROLLERS: OnceLock<Option<(ControlPlane, kube::Client)>> = OnceLock::new();
    let (cell, options) = match world {
        // Without controllers there are no service accounts, and admission would refuse Pods.
        World::Api => (
            &WITHOUT_CONTROLLERS,
            Options {
                controllers: Controllers::Absent,
                apiserver_args: vec!["--disable-admission-plugins=ServiceAccount".to_owned()],
                ..Options::default()
            },
        ),
        World::Controllers => (&WITH_CONTROLLERS, Options { controllers: Controllers::Run, ..Options::default() }),
    };
    let started = cell.get_or_init(|| {
        let plane = start_or_skip(options).expect("a control plane")?;
        if plane.audit().is_err() {
            skip("it needs a control plane of its own, and USE_EXISTING_CLUSTER is set").expect("may be skipped");
            return None;
        }
        let kubeconfig = Kubeconfig::read_from(plane.kubeconfig()).expect("a kubeconfig");
        let client = runtime().block_on(async {
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
            let mut config = config.expect("a configuration");
            // Checks test the first 429 or 504, not the answer to a retry.
            config.default_retry = false;
            kube::Client::try_from(config).expect("a client")
        });
        Some((plane, client))
    });
    match started {
        Some((_, client)) => Some(client.clone()),
        None => {
            skip("there is no control plane").expect("may be skipped");
            None
        }
    }
}

fn devcluster(world: World) -> Option<kube::Client> {
    static WITHOUT_CONTROLLERS: OnceLock<kube::Client> = OnceLock::new();
    static WITH_CONTROLLERS: OnceLock<kube::Client> = OnceLock::new();
    let (cell, controllers) = match world {
        World::Api => (&WITHOUT_CONTROLLERS, gyre_devcluster::Controllers::Absent),
        World::Controllers => (&WITH_CONTROLLERS, gyre_devcluster::Controllers::Run),
    };
    let client = cell.get_or_init(|| {
        // The checks finish Pods themselves, because there are no nodes.
        let options = gyre_devcluster::Options { controllers, pod_run_time: None, ..gyre_devcluster::Options::default() };
        let _entered = runtime().enter();
        let cluster = gyre_devcluster::Cluster::start(&options, gyre_devcluster::Clock::System);
        kube::Client::new(gyre_devcluster::Service::new(cluster), "default")
    });
    Some(client.clone())
}
