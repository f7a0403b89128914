//! The cluster of a kubeconfig.

use anyhow::{Context as _, anyhow};
use gyre_core::election::Timing;
use gyre_engine::host::Options;
use gyre_engine::leadership::election::{self, ElectionScope, identity};

use super::{HostCluster, NAME};
use crate::commands::connect::{KubeconfigArguments, Renewed};
use crate::config::Source;

/// Connects to the cluster for as long as a host runs, with a Lease in the namespace of the
/// context.
pub(super) async fn connect(arguments: &KubeconfigArguments, source: &Source) -> anyhow::Result<HostCluster> {
    let timing = Timing::default();
    let Renewed { connection, api_server } = arguments
        .renewed(Some(timing.margin()))
        .await
        .map_err(|error| anyhow!("{error:#}; --write-kubeconfig names the file of the cluster in memory"))?;
    let client = connection.client();
    client.apiserver_version().await.with_context(|| format!("the API server {api_server} does not answer"))?;
    let namespace = client.default_namespace();
    let election = election::Options::new(namespace, NAME, identity(NAME), timing);
    let options = Options {
        instance: NAME.to_owned(),
        digest_key: Some(source.digest_key(namespace)),
        election: Some((ElectionScope::Host, election)),
        api_server,
        ..Options::default()
    };
    Ok(HostCluster { connection, options })
}
