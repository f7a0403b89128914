//! `cargo xtask control-plane`.

use std::path::PathBuf;

use gyre_controlplane::{ControlPlane, Options, Tools, registry};

use crate::interrupt;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Start the control plane, print how to connect to it, and run until Ctrl-C.
    #[arg(long)]
    run: bool,
}

/// The programs, built if they are not there, which takes some minutes.
pub(crate) fn tools() -> anyhow::Result<Tools> {
    let tools = Tools::find_or_build(&mut |line| eprintln!("  {line}"))?;
    eprintln!("  {:?}: {}", tools.origin, tools.kube_apiserver.display());
    Ok(tools)
}

/// The program of the registry, built if it is not there, which takes seconds.
pub(crate) fn registry() -> anyhow::Result<PathBuf> {
    Ok(registry::program(&mut |line| eprintln!("  {line}"))?)
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let tools = tools()?;
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
        let cluster = ControlPlane::start(&tools, Options::default())?;
        eprintln!("{} (logs in {})", cluster.url(), cluster.logs_dir().display());
        println!("export KUBECONFIG={}", cluster.kubeconfig().display());
        eprintln!("Ctrl-C stops it.");
        interrupt::wait(|| Ok(None))?;
    }
    Ok(())
}
