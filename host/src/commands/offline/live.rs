//! The arguments that select a live cluster.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use gyre_engine::client::transport;
use gyre_offline::live::LiveCluster;

use crate::commands::connect::configuration;

/// The live cluster.
#[derive(Debug, Args)]
pub(super) struct LiveArguments {
    /// Path to the kubeconfig file [default: $KUBECONFIG, else ~/.kube/config, else the service
    /// account of the Pod].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig file [default: the current context].
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl LiveArguments {
    pub(super) const fn is_empty(&self) -> bool {
        self.kubeconfig.is_none() && self.context.is_none()
    }

    /// Connects to the cluster, within a runtime.
    pub(super) async fn connect(&self) -> anyhow::Result<LiveCluster> {
        let configuration = configuration(self.kubeconfig.as_deref(), self.context.as_deref()).await?;
        let (namespace, url) = (configuration.default_namespace.clone(), configuration.cluster_url.to_string());
        let connection = transport::connection(configuration, None).context("cannot set up the client")?;
        Ok(LiveCluster::new(connection.client(), namespace, url))
    }
}
