//! The cluster that `dev` runs against. Nothing else in `dev` knows what it is: an embedded one can take its place here.

use std::path::Path;
use std::process::Command;

use gyre_controlplane::{ControlPlane, Options, Tools};

/// A running cluster; dropping it stops it.
pub(crate) struct Cluster(ControlPlane);

impl Cluster {
    /// What is needed before [`Cluster::start`], if that takes long.
    pub(crate) fn prepare() -> anyhow::Result<Tools> {
        let tools = Tools::find_or_build(&mut |line| eprintln!("  {line}"))?;
        eprintln!("  {:?}: {}", tools.origin, tools.kube_apiserver.display());
        Ok(tools)
    }

    pub(crate) fn start(tools: &Tools) -> anyhow::Result<Self> {
        let plane = ControlPlane::start(tools, Options::default())?;
        eprintln!("  {} (logs in {})", plane.url(), plane.logs_dir().display());
        Ok(Self(plane))
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> &Path {
        self.0.kubeconfig()
    }

    /// `kubectl` as the administrator.
    pub(crate) fn kubectl(&self, args: &[&str]) -> Command {
        let mut command = self.0.kubectl();
        command.args(args);
        command
    }

    /// Applies manifests. Returns what `kubectl` says of each.
    pub(crate) fn apply(&self, manifests: &str) -> anyhow::Result<String> {
        self.0.apply(manifests)
    }

    /// A folder that is removed with the cluster.
    pub(crate) fn folder(&self) -> &Path {
        self.0.folder()
    }
}
