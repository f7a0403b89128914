//! `cargo xtask dev`: the echo plugins, live, on a cluster of their own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use gyre_controlplane::Guarded;

use crate::build::{self, Profile};
use crate::cluster::Cluster;
use crate::interrupt;
use crate::steps::{self, Steps};

/// The plugins, by package.
const PLUGINS: [&str; 2] = ["echo", "scheduled-echo"];
/// The folder of objects to try, relative to the checkout.
const SAMPLES: &str = "plugins/echo/samples";
/// How long the host may take to end; it finishes the calls that it has begun.
const GRACE: Duration = Duration::from_secs(15);
/// The time between two looks at what has become of the samples.
const POLL: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// End once the samples are reconciled, instead of staying until Ctrl-C.
    #[arg(long)]
    once: bool,
    /// Compile the host optimised.
    #[arg(long)]
    release: bool,
    /// How long the samples may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// Where the host serves health and metrics [default: 127.0.0.1:2112; any free port with --once].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// More arguments for `gyre run`.
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let patience = Duration::from_secs(arguments.timeout);
    let mut steps = Steps::new(7);
    let plugins = steps.step("build the plugins", || build::plugins(&PLUGINS))?;
    let profile = if arguments.release { Profile::Release } else { Profile::Debug };
    let gyre = steps.step("build the host", || build::host(profile))?;
    let tools = steps.step("control plane tools", Cluster::prepare)?;
    let cluster = steps.step("start the cluster", || Cluster::start(&tools))?;
    steps.step("install the CRDs", || install_crds(&cluster, &gyre, &plugins, patience))?;
    let mut host = steps.step("start the host", || start_host(&cluster, &gyre, &plugins, arguments))?;
    let result = steps.step("reconcile the samples", || reconcile_samples(&cluster, &mut host, patience));
    if let Err(error) = result {
        bail!("{error:#}\n\nThe last of the host's log:\n{}", host.log_tail());
    }
    show(&cluster)?;

    println!("\nexport KUBECONFIG={}", cluster.kubeconfig().display());
    if !arguments.once {
        eprintln!("The host's log is {}. Ctrl-C stops everything.", host.log().display());
        interrupt::wait(|| {
            let status = host.exited()?;
            Ok(status.map(|status| format!("the host ended ({status}); the last of its log:\n{}", host.log_tail())))
        })?;
    }
    let status = host.stop()?;
    anyhow::ensure!(status.success(), "the host did not end well ({status}); the last of its log:\n{}", host.log_tail());
    eprintln!("done in {}", steps.elapsed());
    Ok(())
}

fn install_crds(cluster: &Cluster, gyre: &Path, plugins: &[PathBuf], patience: Duration) -> anyhow::Result<()> {
    let crds = steps::stdout_of(Command::new(gyre).arg("crds").args(plugins))?;
    eprint!("{}", indent(&cluster.apply(&crds)?));
    let timeout = format!("--timeout={}s", patience.as_secs());
    steps::stdout_of(&mut cluster.kubectl(&["wait", "crd", "--all", "--for=condition=Established", &timeout]))?;
    Ok(())
}

fn start_host(cluster: &Cluster, gyre: &Path, plugins: &[PathBuf], arguments: &Arguments) -> anyhow::Result<Guarded> {
    let listen = match &arguments.listen {
        Some(address) => address,
        None if arguments.once => "127.0.0.1:0",
        None => "127.0.0.1:2112",
    };
    let mut command = Command::new(gyre);
    command.arg("run").arg("--kubeconfig").arg(cluster.kubeconfig()).args(["--listen", listen]);
    for plugin in plugins {
        command.arg("--plugin").arg(plugin);
    }
    // The log goes to a file, and its end to the terminal when something fails.
    command.args(&arguments.arguments).env("NO_COLOR", "1");
    eprintln!("  $ {}", steps::line(&command));
    Guarded::spawn("gyre", &command, &cluster.folder().join("gyre.log"), GRACE)
}

fn reconcile_samples(cluster: &Cluster, host: &mut Guarded, patience: Duration) -> anyhow::Result<()> {
    let mut manifests = String::new();
    for entry in std::fs::read_dir(build::root().join(SAMPLES)).with_context(|| format!("cannot list {SAMPLES}"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            manifests.push_str("---\n");
            manifests.push_str(&std::fs::read_to_string(&path)?);
        }
    }
    eprint!("{}", indent(&cluster.apply(&manifests)?));
    let deadline = Instant::now() + patience;
    // Not one `kubectl wait` with the whole time-out: a host that ends is to be noticed at once.
    let is_met = |args: &[&str]| steps::stdout_of(&mut cluster.kubectl(args));
    for condition in [
        ["wait", "echo", "--all", "--for=condition=Ready", "--timeout=1s"],
        ["wait", "job", "--all", "--for=create", "--timeout=1s"],
    ] {
        while let Err(error) = is_met(&condition) {
            if let Some(status) = host.exited()? {
                bail!("the host ended ({status})");
            }
            if Instant::now() >= deadline {
                let seen = steps::stdout_of(&mut cluster.kubectl(&["get", "echo", "--output=yaml"]));
                bail!("not within {patience:?}: {error:#}\n{}", seen.unwrap_or_default());
            }
            std::thread::sleep(POLL);
        }
    }
    Ok(())
}

fn show(cluster: &Cluster) -> anyhow::Result<()> {
    for (heading, args) in [
        ("The Echo, and the Job that it wanted", &["get", "echo,job", "--output=wide"][..]),
        ("The status of the Echo", &["get", "echo", "--output=yaml"]),
    ] {
        let text = steps::stdout_of(&mut cluster.kubectl(args))?;
        println!("\n{heading}\n{}\n{}", "-".repeat(heading.len()), status_only(&text).trim_end());
    }
    Ok(())
}

/// Of a YAML list of objects, their `status` blocks; any other text as it is.
fn status_only(text: &str) -> String {
    if !text.starts_with("apiVersion:") {
        return text.to_string();
    }
    let mut is_inside = false;
    let mut found = String::new();
    for line in text.lines() {
        match line.strip_prefix("  ") {
            // The keys of an item are indented by two; what belongs to one of them by more, or it begins with a dash.
            Some(rest) if !rest.starts_with([' ', '-']) => is_inside = rest.starts_with("status:"),
            None => is_inside = false,
            Some(_) => {}
        }
        if is_inside {
            found.push_str(line.get(2..).unwrap_or(line));
            found.push('\n');
        }
    }
    found
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_status_of_a_list_is_shown() {
        let list = "apiVersion: v1\nitems:\n- apiVersion: mmontes.io/v1alpha1\n  kind: Echo\n  spec:\n    message: a\n  \
                    status:\n    conditions:\n    - status: \"True\"\n      type: Ready\nkind: List\nmetadata:\n  name: x\n";
        assert_eq!(status_only(list), "status:\n  conditions:\n  - status: \"True\"\n    type: Ready\n");
        assert_eq!(status_only("NAME  AGE\nhello 1s\n"), "NAME  AGE\nhello 1s\n");
    }
}
