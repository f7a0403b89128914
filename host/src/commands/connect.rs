//! Selects the cluster that a command connects to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use gyre_engine::client::connection::Connection;
use gyre_engine::client::proxy::{Environment, without_exempted_proxy};
use gyre_engine::client::renewal::renewed;
use gyre_engine::error::error_chain;
use gyre_input::document::yaml_problem;
use kube::Config;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};

/// The flags that select a cluster.
#[derive(Clone, Debug, Args)]
pub(crate) struct KubeconfigArguments {
    /// Path to the kubeconfig file [default: $KUBECONFIG, else ~/.kube/config, else the service
    /// account of the Pod].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig file [default: the context that is current at the start].
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// A connection to an API server, whose credentials are read again when they change.
pub(crate) struct Renewed {
    pub(crate) connection: Connection,
    /// Host and port of the API server.
    pub(crate) api_server: String,
}

impl KubeconfigArguments {
    #[cfg(feature = "tools")]
    pub(crate) const fn is_empty(&self) -> bool {
        self.kubeconfig.is_none() && self.context.is_none()
    }

    /// The configuration for the cluster, by default that of kubectl, or of the Pod.
    pub(crate) async fn configuration(&self) -> anyhow::Result<Config> {
        configuration(self.kubeconfig.as_deref(), self.context.as_deref()).await
    }

    /// Connects to the cluster for as long as a host runs. A request ends within `arrives_within`.
    pub(crate) async fn renewed(&self, arrives_within: Option<Duration>) -> anyhow::Result<Renewed> {
        // `kubectl config use-context` must not move a running host to another user or cluster.
        let context = match &self.context {
            Some(context) => Some(context.clone()),
            None => current_context(self.kubeconfig.as_deref()).await,
        };
        let fixed = Self { kubeconfig: self.kubeconfig.clone(), context };
        let configuration = fixed.configuration().await?;
        let api_server = configuration.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
        let read_again = move || {
            let fixed = fixed.clone();
            async move { fixed.configuration().await.map_err(Into::into) }
        };
        let connection = renewed(configuration, arrives_within, read_again).context("cannot set up the client")?;
        Ok(Renewed { connection, api_server })
    }
}

async fn configuration(kubeconfig: Option<&Path>, context: Option<&str>) -> anyhow::Result<Config> {
    let mut configuration = match kubeconfig {
        Some(path) => from(Kubeconfig::read_from(path), context).await.map_err(|error| {
            let path = path.display();
            anyhow!(
                "cannot use the kubeconfig {path}: {}; name another with --kubeconfig, or correct it",
                wrong(&error, &path.to_string())
            )
        })?,
        None if context.is_some() => {
            let mut configuration = from(Kubeconfig::read(), context).await.map_err(|error| {
                anyhow!("cannot use the kubeconfig: {}; name one with --kubeconfig", wrong(&error, "kubeconfig"))
            })?;
            // As `Config::infer` does.
            configuration.apply_debug_overrides();
            configuration
        }
        None => Config::infer().await.map_err(|error| {
            anyhow!("found no cluster to connect to: {}; give --kubeconfig, set KUBECONFIG, or run in a pod", nowhere(&error))
        })?,
    };
    // The queue retries, with a backoff per object and without blocking a worker.
    configuration.default_retry = false;
    Ok(without_exempted_proxy(configuration, &Environment::of_process()))
}

/// Returns the current context of the kubeconfig, or `None` if [`configuration`] does not use a
/// kubeconfig, as in a Pod.
async fn current_context(kubeconfig: Option<&Path>) -> Option<String> {
    let kubeconfig = kubeconfig.map_or_else(Kubeconfig::read, Kubeconfig::read_from).ok()?;
    let context = kubeconfig.current_context.clone()?;
    from(Ok(kubeconfig), None).await.ok()?;
    Some(context)
}

async fn from(read: Result<Kubeconfig, KubeconfigError>, context: Option<&str>) -> Result<Config, KubeconfigError> {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(read?, &options).await
}

fn wrong(error: &KubeconfigError, name: &str) -> String {
    match error {
        KubeconfigError::ReadConfig(error, _) => error_chain(error),
        KubeconfigError::Parse(error) => {
            let problem = yaml_problem(name, error);
            format!("{}: {}", problem.place, problem.what)
        }
        KubeconfigError::CurrentContextNotSet => "it has no current-context (`kubectl config use-context` sets one)".to_owned(),
        error => error_chain(error),
    }
}

fn nowhere(error: &InferConfigError) -> String {
    // In a Pod, only the part about the service account matters.
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        let text = error.to_string();
        let of_pod = text.split_once("in-cluster: (").and_then(|(_, rest)| rest.split_once("), kubeconfig:"));
        let of_pod = of_pod.map_or(text.as_str(), |(of_pod, _)| of_pod);
        let of_pod = of_pod.split_once(" (os error").map_or(of_pod, |(of_pod, _)| of_pod);
        return format!("the service account of this pod cannot be used: {of_pod}");
    }
    let source = std::error::Error::source(error);
    match source.and_then(|source| source.downcast_ref()) {
        Some(KubeconfigError::ReadConfig(error, path)) => format!("cannot read {}: {}", path.display(), error_chain(error)),
        Some(error) => format!("the kubeconfig cannot be used: {}", wrong(error, "kubeconfig")),
        None => error_chain(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_current_context_is_known_only_if_the_kubeconfig_can_be_used() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let current = async |context: &str| {
            let text = format!(
                "current-context: {context}\n\
                 contexts: [{{name: a, context: {{cluster: c}}}}]\n\
                 clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1'}}}}]\n"
            );
            std::fs::write(file.path(), text).unwrap();
            current_context(Some(file.path())).await
        };
        assert_eq!(current("a").await.as_deref(), Some("a"));
        assert_eq!(current("missing").await, None);
        assert_eq!(current_context(Some(Path::new("/nonexistent"))).await, None);
    }
}
