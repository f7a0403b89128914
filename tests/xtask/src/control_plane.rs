//! `cargo xtask control-plane`.

use crate::cluster::Cluster;
use crate::interrupt;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Start it, print how to reach it, and stay until Ctrl-C.
    #[arg(long)]
    run: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let tools = Cluster::prepare()?;
    for (program, path) in [
        ("etcd", Some(&tools.etcd)),
        ("kube-apiserver", Some(&tools.kube_apiserver)),
        ("kube-controller-manager", tools.kube_controller_manager.as_ref()),
        ("kubectl", Some(&tools.kubectl)),
        ("helm", tools.helm.as_ref()),
    ] {
        println!("{program:<24} {}", path.map_or_else(|| "not found".into(), |path| path.display().to_string()));
    }
    if arguments.run {
        let cluster = Cluster::start(&tools)?;
        println!("export KUBECONFIG={}", cluster.kubeconfig().display());
        eprintln!("Ctrl-C stops it.");
        interrupt::wait(|| Ok(None))?;
    }
    Ok(())
}
