//! `gyre dev`: runs plugins on a cluster in memory, or on that of a kubeconfig, and shows the
//! changes.
//!
//! A plugin is a file, or the folder of its project, which is built again after each change.
//! `gyre_devcluster` serves HTTP on loopback, for kubectl. The host is that of `gyre run`.

mod apply;
mod cluster;
mod existing;
mod projects;
mod show;

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args;
use gyre_core::groups::Group;
use gyre_core::object::ObjectKey;
use gyre_core::text::list;
use gyre_engine::admin;
use gyre_engine::client::connection::Connection;
use gyre_engine::host::{self, Options};
use gyre_engine::program::Program;
use gyre_engine::telemetry::time::Took;
use gyre_input::manifests;
use kube::Client;
use serde_json::Value;
use tokio::sync::watch;

use crate::commands::build::is_project;
use crate::commands::connect::KubeconfigArguments;
use crate::commands::signals::stop_signal;
use crate::commands::threads::threads;
use crate::config::arguments::admin::Listen;
use crate::config::arguments::mounts::MountArguments;
use crate::config::arguments::mounts::tools::DevMounts;
use crate::config::arguments::telemetry::LogArguments;
use crate::config::values::{MissingArgument, WrongArguments, duration};
use crate::config::{Reload, Source};
use apply::Applied;
use cluster::{Cluster, ClusterArguments};
use projects::Projects;
use show::{Show, Shown};

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre dev . -f samples/              # builds the project in this folder, again after each change of its source
  gyre dev echo.wasm -f samples/
  gyre dev echo.wasm -f samples/ --once --timeout 2m
  gyre dev . --context kind-dev       # on a cluster of your kubeconfig
  gyre dev --cluster-only --address 127.0.0.1:8001

The cluster in memory imitates kube-apiserver 1.36 with its default feature gates.
  It runs these controllers: namespaces with their default service account, garbage collection, Jobs, CronJobs, the status of ResourceQuotas, and the
  expiry of finished Jobs and of events. Pods succeed after --pods-run without running anything.
  It does not have: webhooks (admission, conversion), admission policies, aggregated API servers, authentication, authorization, nodes, logs, and other
  controllers, such as those of Deployments. It stores the objects that configure these, and warns that they have no effect.
  It has these admission plugins: NamespaceLifecycle, ServiceAccount, Priority, DefaultTolerationSeconds, and ResourceQuota for new objects.

  It is for development and tests only: everyone on this machine has full access to it, and its objects are lost when the command ends.

With --kubeconfig or --context, the plugins run on that cluster, with your permissions: their CustomResourceDefinitions are applied, and what
they create stays when the command ends. The host holds the Lease gyre-dev in the namespace of the context, so that of several such commands
one writes. It does not know other hosts: do not run it while another host there mounts the same plugin. `gyre run` runs a host without changing
CustomResourceDefinitions.";

/// The default log filter: plugins, warnings, and compilations, which may take minutes.
const LOG: &str = "warn,plugin=trace,gyre::plugins::compiling=info,gyre::plugins::source::oci::progress=info";

/// The name of the host in events, and of its Lease.
/// Advice about states that nothing on a cluster in memory changes.
const NO_WORKLOADS: &str = "controllers run here for namespaces, garbage collection, Jobs and CronJobs: set other statuses, e.g. those of Deployments, with `kubectl patch --subresource=status`";
const NAME: &str = "gyre-dev";

/// The time that a stopped host gets to end its calls.
const HOST_STOP: Duration = Duration::from_secs(5);

/// The interval at which plugin files are polled: short, for a person who has just compiled one.
const RELOAD_EVERY: Duration = Duration::from_millis(300);

const LEAST_TIMEOUT: Duration = Duration::from_secs(1);
const MOST_TIMEOUT: Duration = Duration::from_secs(86_400);

/// The flags of the cluster in memory.
const IN_MEMORY: [&str; 5] = ["address", "write_kubeconfig", "pods_run", "no_controllers", "audit_log"];

/// The arguments of `gyre dev`.
#[derive(Debug, Args)]
#[command(mut_arg("kubeconfig", |file| file.conflicts_with_all(IN_MEMORY).help(
    "Run on the cluster of this kubeconfig file, instead of one in memory"
)))]
#[command(mut_arg("context", |name| name.conflicts_with_all(IN_MEMORY).help(
    "Run on the cluster of this context in the kubeconfig file [default: the current context, if --kubeconfig is given]"
)))]
pub(crate) struct DevArguments {
    #[command(flatten)]
    mount: DevMounts,
    /// Objects to apply: files, directories (their .yaml, .yml and .json files), or "-" for
    /// standard input. Can be repeated.
    #[arg(short = 'f', long = "filename", alias = "file", value_name = "FILE")]
    manifests: Vec<PathBuf>,
    /// Run only the API server and its controllers, without plugins.
    #[arg(long, conflicts_with_all = ["plugins", "once", "kubeconfig", "context"])]
    cluster_only: bool,
    /// Exit once every object in these files that a plugin reconciles is Ready; fail if that takes
    /// longer than --timeout.
    #[arg(long)]
    once: bool,
    /// Timeout of --once, e.g. 90s or 10m.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration(LEAST_TIMEOUT..=MOST_TIMEOUT))]
    timeout: Duration,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    existing: KubeconfigArguments,
    /// Address on which the host serves /healthz, /readyz and /metrics.
    #[arg(long, value_name = "ADDRESS", default_value = "off")]
    listen: Listen,
    #[command(flatten)]
    log: LogArguments,
}

pub(crate) fn run(arguments: &DevArguments) -> anyhow::Result<()> {
    let mut mount = MountArguments::from(arguments.mount.clone());
    if mount.is_empty() && !arguments.cluster_only && is_project(Path::new(".")) {
        mount.named.plugins.push(PathBuf::from(".").into());
    }
    if mount.is_empty() && !arguments.cluster_only {
        bail!(MissingArgument {
            command: "dev",
            argument: "<PLUGIN>... (or --plugin-dir <DIRECTORY>, --config <FILE>, --cluster-only)"
        });
    }
    if !arguments.cluster.address.ip().is_loopback() {
        let address = arguments.cluster.address;
        bail!(WrongArguments(format!(
            "--address is {address}: the cluster has no authentication, so it listens on loopback addresses only, such as 127.0.0.1:8001"
        )));
    }
    arguments.log.start(LOG, None)?;
    let mut files = arguments.manifests.clone();
    files.extend(mount.named.take_objects());
    let objects = manifests::read(&files)?;
    let projects = Projects::build(&mut mount.named.plugins)?;
    let source = if arguments.cluster_only { None } else { Some(Source::open(&mount)?.in_use()) };
    if let Some(source) = source.as_ref().filter(|_| arguments.once) {
        let mounted = source.programs();
        let is_parent = |object: &Value| mounted.iter().any(|program| program.reconciles(object));
        if !objects.iter().any(|(_, object)| is_parent(object)) {
            let kinds = list(mounted.iter().map(|program| program.manifest().users_kind()));
            bail!("nothing to wait for: --once waits for objects of {kinds}; give some with --filename");
        }
    }
    let runtime = threads()?;
    let result = runtime.block_on(serve(arguments, source, projects, &objects));
    // Do not wait for plugin calls and connected clients.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn serve(
    arguments: &DevArguments,
    source: Option<Source>,
    projects: Projects,
    objects: &[(String, Value)],
) -> anyhow::Result<()> {
    let started = Instant::now();
    let stop = stop_signal()?;
    match source {
        Some(source) if !arguments.existing.is_empty() => {
            let cluster = existing::connect(&arguments.existing, &source).await?;
            say(format_args!("gyre dev: on the cluster {}, in which other clients may work", cluster.options.api_server));
            let session = Session { arguments, objects, cluster, shown: Shown::OfPlugins, started };
            session.run(source, projects, stop).await
        }
        source => in_memory(arguments, source, projects, objects, started, stop).await,
    }
}

async fn in_memory(
    arguments: &DevArguments,
    source: Option<Source>,
    projects: Projects,
    objects: &[(String, Value)],
    started: Instant,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let cluster = Cluster::start(&arguments.cluster).await?;
    let (url, kubeconfig, took) = (cluster.url(), cluster.kubeconfig().display(), Took(started.elapsed()));
    say(format_args!(
        "gyre dev: an in-memory cluster for development and tests, ready after {took}\n  {url}\n  export KUBECONFIG={kubeconfig}"
    ));
    let result = match source {
        None => {
            let outcome = apply::apply(&cluster.client(), objects).await;
            stop.await;
            outcome.complete()
        }
        Some(source) => {
            let options = Options { instance: NAME.to_owned(), ..Options::default() };
            let host = HostCluster { connection: cluster.client().into(), options };
            let session = Session { arguments, objects, cluster: host, shown: Shown::Everything, started };
            session.run(source, projects, stop).await
        }
    };
    cluster.stop().await;
    result
}

/// Prints a line. A closed output is not a reason to stop.
fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A cluster, and the options of a host for it.
struct HostCluster {
    connection: Connection,
    options: Options,
}

struct Session<'a> {
    arguments: &'a DevArguments,
    objects: &'a [(String, Value)],
    cluster: HostCluster,
    shown: Shown,
    started: Instant,
}

impl Session<'_> {
    /// Guarantees: the host has stopped before the cluster does, unless it needs long for it.
    async fn run(self, source: Source, projects: Projects, until_stopped: impl Future<Output = ()>) -> anyhow::Result<()> {
        let HostCluster { connection, options } = self.cluster;
        let client = connection.client();
        let first = source.programs();
        apply::install_crds(&client, &first).await?;
        let show = Show::start(&client, self.started, self.shown, &first).await?;
        let (wanted, programs) = watch::channel(Arc::clone(&first));
        let options = Options {
            admin: self.arguments.listen.0.map(admin::Options::open),
            most_calls: source.concurrent_calls() as usize,
            ..options
        };
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let mut host = tokio::spawn(host::run(connection, programs, options, async {
            let _ = stopped.await;
        }));
        let work = Work { arguments: self.arguments, objects: self.objects, client, show: Arc::clone(&show) };
        let result = tokio::select! {
            biased;
            ended = &mut host => return ended.context("the host ended abnormally")?,
            result = work.run(source, wanted, &first, until_stopped) => result,
            () = projects.build_on_changes(|line| show.say(line)), if !self.arguments.once => Ok(()),
        };
        drop(stop);
        // The runtime ends the calls that are still in progress.
        if let Ok(ended) = tokio::time::timeout(HOST_STOP, host).await {
            ended.context("the host ended abnormally")??;
        }
        result
    }
}

/// The work beside the host.
struct Work<'a> {
    arguments: &'a DevArguments,
    objects: &'a [(String, Value)],
    client: Client,
    show: Arc<Show>,
}

impl Work<'_> {
    /// Applies the objects, and then waits until the parents are Ready or until the command is
    /// stopped.
    async fn run(
        &self,
        source: Source,
        wanted: watch::Sender<Arc<[Program]>>,
        programs: &[Program],
        until_stopped: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let mut until_stopped = std::pin::pin!(until_stopped);
        let outcome = apply::apply(&self.client, self.objects).await;
        if self.arguments.once {
            outcome.complete()?;
            let awaited = self.awaited(&outcome.applied, programs);
            return tokio::select! {
                () = &mut until_stopped => Ok(()),
                result = self.until_ready(&awaited) => result,
            };
        }
        tokio::select! {
            () = &mut until_stopped => outcome.complete(),
            result = self.reload_plugins(source, wanted) => result,
        }
    }

    /// Reloads changed plugins, and installs their CRDs. Ends only with an error.
    async fn reload_plugins(&self, source: Source, wanted: watch::Sender<Arc<[Program]>>) -> anyhow::Result<()> {
        let (changed, mut programs) = watch::channel(source.programs());
        let show = Arc::clone(&self.show);
        let _reloading = tokio::spawn(source.reload_on_changes(RELOAD_EVERY, changed, move |reload| match reload {
            Reload::Taken => show.say("the plugins have changed: reloading them"),
            Reload::Refused(problems) => show.say(&format!("not reloaded, the previous plugins stay mounted: {problems}")),
            Reload::NotPulled(why) => show.say(why),
        }));
        loop {
            if programs.changed().await.is_err() {
                return std::future::pending().await;
            }
            let programs = Arc::clone(&programs.borrow_and_update());
            apply::install_crds(&self.client, &programs).await?;
            self.show.watch_kinds_of(&self.client, &programs).await?;
            wanted.send_replace(programs);
        }
    }

    /// Returns the objects that become Ready: applied parents, or the groups of applied members.
    fn awaited(&self, applied: &[Applied], programs: &[Program]) -> BTreeSet<Applied> {
        let mut awaited = BTreeSet::new();
        for program in programs {
            let manifest = program.manifest();
            let Some(members) = &manifest.members else {
                awaited.extend(applied.iter().filter(|object| object.kind == manifest.parent).cloned());
                continue;
            };
            let objects = self.objects.iter().map(|(_, object)| object).filter(|object| program.reconciles(object));
            let groups = objects.filter_map(|object| Group::of_member(&manifest.name, &members.grouping, object));
            let key = |group: Group| ObjectKey { namespace: None, name: group.name };
            awaited.extend(groups.map(|group| Applied { kind: manifest.parent.clone(), key: key(group) }));
        }
        awaited
    }

    async fn until_ready(&self, parents: &BTreeSet<Applied>) -> anyhow::Result<()> {
        let patience = self.arguments.timeout;
        let result = tokio::time::timeout(patience, self.show.all_ready(parents)).await;
        if result.is_err() {
            let waiting = parents.iter().filter(|parent| !self.show.is_ready(parent));
            let waiting: Vec<String> = waiting.map(|parent| self.show.readiness(parent)).collect();
            self.show.tables(&self.client).await?;
            bail!("not Ready within {patience:?}: {}; {NO_WORKLOADS}", waiting.join(", "));
        }
        self.show.say("all are Ready");
        self.show.tables(&self.client).await
    }
}
