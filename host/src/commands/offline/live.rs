//! The live cluster of a preview.

use anyhow::Context as _;
use gyre_engine::client::transport;
use gyre_offline::live::LiveCluster;

use crate::commands::connect::KubeconfigArguments;

/// Connects to the cluster, within a runtime.
pub(super) async fn connect(cluster: &KubeconfigArguments) -> anyhow::Result<LiveCluster> {
    let configuration = cluster.configuration().await?;
    let (namespace, url) = (configuration.default_namespace.clone(), configuration.cluster_url.to_string());
    let connection = transport::connection(configuration, None).context("cannot set up the client")?;
    Ok(LiveCluster::new(connection.client(), namespace, url))
}
