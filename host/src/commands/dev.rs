//! `gyre dev`: runs an in-memory cluster with plugins, and shows the changes.
//!
//! A plugin is a file, or the folder of its project, which is built again after each change.
//! `gyre_devcluster` serves HTTP on loopback, for kubectl. The host is that of `gyre run`.

mod apply;
mod cluster;
mod projects;
mod show;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args;
use gyre_core::object::GroupVersionKind;
use gyre_core::text::list;
use gyre_engine::admin;
use gyre_engine::host::{self, Options};
use gyre_engine::program::Program;
use gyre_engine::telemetry::time::Took;
use gyre_input::manifests;
use kube::Client;
use serde_json::Value;
use tokio::sync::watch;

use crate::commands::build::is_project;
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
use show::Show;

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre dev . -f samples/              # builds the project in this folder, again after each change of its source
  gyre dev echo.wasm -f samples/
  gyre dev echo.wasm -f samples/ --once --timeout 2m
  gyre dev --cluster-only --address 127.0.0.1:8001

The cluster imitates kube-apiserver 1.36 with its default feature gates, in memory.
  It runs these controllers: namespaces with their default service account, garbage collection, Jobs, CronJobs, the status of ResourceQuotas, and the
  expiry of finished Jobs and of events. Pods succeed after --pods-run without running anything.
  It does not have: webhooks (admission, conversion), admission policies, aggregated API servers, authentication, authorization, nodes, logs, and other
  controllers, such as those of Deployments. It stores the objects that configure these, and warns that they have no effect.
  It has these admission plugins: NamespaceLifecycle, ServiceAccount, Priority, DefaultTolerationSeconds, and ResourceQuota for new objects.

For development and tests only: everyone on this machine has full access to the cluster, and its objects are lost when the command ends.";

/// The default log filter: plugins, warnings, and compilations, which may take minutes.
const LOG: &str = "warn,plugin=trace,gyre::plugins::compiling=info";

/// The time that a stopped host gets to end its calls.
const HOST_STOP: Duration = Duration::from_secs(5);

/// The interval at which plugin files are polled: short, for a person who has just compiled one.
const RELOAD_EVERY: Duration = Duration::from_millis(300);

const LEAST_TIMEOUT: Duration = Duration::from_secs(1);
const MOST_TIMEOUT: Duration = Duration::from_secs(86_400);

/// The arguments of `gyre dev`.
#[derive(Debug, Args)]
pub(crate) struct DevArguments {
    #[command(flatten)]
    mount: DevMounts,
    /// Objects to apply: files, directories (their .yaml, .yml and .json files), or "-" for
    /// standard input. Can be repeated.
    #[arg(short = 'f', long = "filename", alias = "file", value_name = "FILE")]
    manifests: Vec<PathBuf>,
    /// Run only the API server and its controllers, without plugins.
    #[arg(long, conflicts_with_all = ["plugins", "once"])]
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
    /// Address on which the host serves /healthz, /readyz and /metrics.
    #[arg(long, value_name = "ADDRESS", default_value = "off")]
    listen: Listen,
    #[command(flatten)]
    log: LogArguments,
}

pub(crate) fn run(arguments: &DevArguments) -> anyhow::Result<()> {
    let mut mount = MountArguments::from(arguments.mount.clone());
    if mount.is_empty() && !arguments.cluster_only && is_project(Path::new(".")) {
        mount.named.plugins.push(".".into());
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
    let objects = manifests::read(&arguments.manifests)?;
    let projects = Projects::build(&mut mount.named.plugins)?;
    let source = if arguments.cluster_only { None } else { Some(Source::open(&mount)?) };
    if let Some(source) = source.as_ref().filter(|_| arguments.once) {
        let mounted = source.programs();
        let is_parent = |object: &Value| mounted.iter().any(|program| program.reconciles(object));
        if !objects.iter().any(|(_, object)| is_parent(object)) {
            let kinds = list(mounted.iter().map(|program| &program.manifest().parent));
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
    let cluster = Cluster::start(&arguments.cluster).await?;
    let (url, kubeconfig, took) = (cluster.url(), cluster.kubeconfig().display(), Took(started.elapsed()));
    // A closed output is not a reason to stop.
    let _ = writeln!(
        std::io::stdout(),
        "gyre dev: an in-memory cluster for development and tests, ready after {took}\n  {url}\n  export KUBECONFIG={kubeconfig}"
    );
    let result = match source {
        None => {
            let outcome = apply::apply(&cluster.client(), objects).await;
            stop.await;
            outcome.complete()
        }
        Some(source) => {
            let session = Session { arguments, objects, client: cluster.client(), started };
            session.run(source, projects, stop).await
        }
    };
    cluster.stop().await;
    result
}

struct Session<'a> {
    arguments: &'a DevArguments,
    objects: &'a [(String, Value)],
    client: Client,
    started: Instant,
}

impl Session<'_> {
    /// Guarantees: the host has stopped before the cluster does, unless it needs long for it.
    async fn run(&self, source: Source, projects: Projects, until_stopped: impl Future<Output = ()>) -> anyhow::Result<()> {
        let first = source.programs();
        apply::install_crds(&self.client, &first).await?;
        let show = Show::start(&self.client, self.started, &kinds(&first)).await?;
        let (wanted, programs) = watch::channel(Arc::clone(&first));
        let options = Options {
            admin: self.arguments.listen.0.map(admin::Options::open),
            instance: "gyre-dev".to_owned(),
            most_calls: source.concurrent_calls() as usize,
            ..Options::default()
        };
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let mut host = tokio::spawn(host::run(self.client.clone(), programs, options, async {
            let _ = stopped.await;
        }));
        let result = tokio::select! {
            biased;
            ended = &mut host => return ended.context("the host ended abnormally")?,
            result = self.work(source, wanted, &show, &first, until_stopped) => result,
            () = projects.build_on_changes(|line| show.say(line)), if !self.arguments.once => Ok(()),
        };
        drop(stop);
        // The runtime ends the calls that are still in progress.
        if let Ok(ended) = tokio::time::timeout(HOST_STOP, host).await {
            ended.context("the host ended abnormally")??;
        }
        result
    }

    /// Applies the objects, and then waits until the parents are Ready or until the command is
    /// stopped.
    async fn work(
        &self,
        source: Source,
        wanted: watch::Sender<Arc<[Program]>>,
        show: &Arc<Show>,
        programs: &[Program],
        until_stopped: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let mut until_stopped = std::pin::pin!(until_stopped);
        let outcome = apply::apply(&self.client, self.objects).await;
        if self.arguments.once {
            outcome.complete()?;
            let parents: Vec<GroupVersionKind> = programs.iter().map(|program| program.manifest().parent.clone()).collect();
            return tokio::select! {
                () = &mut until_stopped => Ok(()),
                result = self.until_ready(show, &outcome.applied, &parents) => result,
            };
        }
        tokio::select! {
            () = &mut until_stopped => outcome.complete(),
            result = self.reload_plugins(source, wanted, show) => result,
        }
    }

    /// Reloads changed plugins, and installs their CRDs. Ends only with an error.
    async fn reload_plugins(
        &self,
        source: Source,
        wanted: watch::Sender<Arc<[Program]>>,
        show: &Arc<Show>,
    ) -> anyhow::Result<()> {
        let (changed, mut programs) = watch::channel(source.programs());
        let say = Arc::clone(show);
        let _reloading = tokio::spawn(source.reload_on_changes(RELOAD_EVERY, changed, move |reload| match reload {
            Reload::Taken => say.say("the plugins have changed: reloading them"),
            Reload::Refused(problems) => say.say(&format!("not reloaded, the previous plugins stay mounted: {problems}")),
        }));
        loop {
            if programs.changed().await.is_err() {
                return std::future::pending().await;
            }
            let programs = Arc::clone(&programs.borrow_and_update());
            apply::install_crds(&self.client, &programs).await?;
            show.watch_kinds(&self.client, &kinds(&programs)).await?;
            wanted.send_replace(programs);
        }
    }

    async fn until_ready(&self, show: &Arc<Show>, applied: &[Applied], parents: &[GroupVersionKind]) -> anyhow::Result<()> {
        let parents: Vec<&Applied> = applied.iter().filter(|object| parents.contains(&object.kind)).collect();
        let patience = self.arguments.timeout;
        let result = tokio::time::timeout(patience, show.all_ready(&parents)).await;
        if result.is_err() {
            let waiting: Vec<String> =
                parents.iter().filter(|parent| !show.is_ready(parent)).map(|parent| parent.to_string()).collect();
            show.tables(&self.client).await?;
            bail!("not Ready within {patience:?}: {}", waiting.join(", "));
        }
        show.say("all are Ready");
        show.tables(&self.client).await
    }
}

fn kinds(programs: &[Program]) -> Vec<GroupVersionKind> {
    let mut kinds: Vec<GroupVersionKind> = Vec::new();
    for program in programs {
        let manifest = program.manifest();
        let children = manifest.children.iter().map(|child| child.kind.clone());
        for kind in std::iter::once(manifest.parent.clone()).chain(children) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    kinds
}
