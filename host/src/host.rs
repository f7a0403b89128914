//! A running host: mounts, workers, and how they end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::outcome::{Outcome, Problem, ProblemKind};
use gyre_core::queue::{self, Next, Taken};
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{Instrument as _, debug, error, info, info_span, warn};

use crate::admin;
use crate::clock::Clock;
use crate::events::Recorder;
use crate::informer::{Informers, list_strategy};
use crate::kinds::error_chain;
use crate::metrics::{End, Metrics};
use crate::mount::Mount;
use crate::reconcile::{Context, reconcile};
use crate::work::{MountName, WorkQueue};

/// How long reconciles may go on after the host was told to stop, as controller-runtime's `GracefulShutdownTimeout`.
pub const GRACE_PERIOD: Duration = Duration::from_secs(30);
/// How soon an API server that does not answer at the start is asked again.
const CONNECT_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// How a host runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many objects of each mount are worked on at once.
    pub workers: usize,
    /// Where `/healthz`, `/readyz` and `/metrics` are served; none: nowhere.
    pub listen: Option<std::net::SocketAddr>,
    /// After this many retries that failed too an object is parked until it changes; none: it is retried for ever.
    pub max_retries: Option<u32>,
    /// Who reports events: the pod's name, where there is one.
    pub instance: String,
    /// The time of day.
    pub clock: Clock,
    /// Where plugins are called.
    pub calls: Calls,
}

impl Default for Options {
    /// Four workers, endless retries, no server, the system's clock.
    fn default() -> Self {
        Self {
            workers: 4,
            listen: None,
            max_retries: None,
            instance: "gyre".to_owned(),
            clock: Clock::default(),
            calls: Calls::default(),
        }
    }
}

/// Where plugins are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// On threads that may block, so that a slow plugin holds up no other work.
    #[default]
    OnThreads,
    /// Where the reconcile runs: simulations have but one thread, whose order of events a seed decides.
    Inline,
}

/// Why a host does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Two plugins of one name would own each other's children.
    #[error("two of the plugins are called {0}: a plugin can be mounted once")]
    MountedTwice(MountName),
    /// Two plugins that say different things of one object would undo each other's status without end.
    #[error("the plugins {first} and {second} both reconcile {kind}: a kind can have one plugin")]
    SameParent {
        /// The one.
        first: MountName,
        /// The other.
        second: MountName,
        /// The kind.
        kind: GroupVersionKind,
    },
    /// The contract has it, and this version of the host does not yet.
    #[error("the plugin {plugin} {what}, which this version of gyre does not support yet")]
    NotSupported {
        /// The plugin.
        plugin: MountName,
        /// What it does.
        what: &'static str,
    },
}

/// Whether these plugins can be mounted together in this version of the host.
///
/// # Errors
///
/// The first reason why not.
pub fn check(mounts: &[Mount]) -> Result<(), Error> {
    let mut seen: Vec<&Mount> = Vec::new();
    for mount in mounts {
        let plugin = Arc::clone(&mount.name);
        if seen.iter().any(|other| other.name == plugin) {
            return Err(Error::MountedTwice(plugin));
        }
        let kind = &mount.manifest().parent;
        let same_kind = |other: &&&Mount| {
            let other = &other.manifest().parent;
            (&other.group, &other.kind) == (&kind.group, &kind.kind)
        };
        if let Some(other) = seen.iter().find(same_kind) {
            return Err(Error::SameParent { first: Arc::clone(&other.name), second: plugin, kind: kind.clone() });
        }
        seen.push(mount);
        if mount.manifest().finalizes {
            return Err(Error::NotSupported { plugin, what: "finalizes its parents" });
        }
        if !mount.manifest().reads.is_empty() {
            return Err(Error::NotSupported { plugin, what: "reads other kinds than its children" });
        }
    }
    Ok(())
}

/// Runs the mounts until `shutdown` ends, then lets reconciles in flight end within [`GRACE_PERIOD`].
///
/// # Errors
///
/// When the mounts do not go together, or the address to listen on is taken. Once it runs, nothing ends it but `shutdown`.
pub async fn run(
    client: Client,
    mounts: Vec<Mount>,
    options: Options,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    check(&mounts)?;
    let (stop, stopped) = watch::channel(false);
    let metrics = Arc::new(Metrics::default());
    let mounts: Arc<[Arc<Mount>]> = mounts.into_iter().map(Arc::new).collect();
    let admin = match options.listen {
        Some(address) => {
            let shown = admin::Shown { metrics: Arc::clone(&metrics), mounts: Arc::clone(&mounts) };
            Some(admin::serve(address, shown, stops(stopped.clone())).await?)
        }
        None => None,
    };
    tokio::pin!(shutdown);
    let list_strategy = tokio::select! {
        biased;
        () = &mut shutdown => return Ok(()),
        strategy = connect(&client) => strategy,
    };
    let informers = Arc::new(Informers::new(client.clone(), Arc::clone(&metrics), list_strategy, seed_of(&options.instance)));
    let retries =
        queue::Options { seed: seed_of(&options.instance), max_retries: options.max_retries, ..queue::Options::default() };
    let queue = Arc::new(WorkQueue::new(retries.clone(), Arc::clone(&metrics)));
    let recorder = Recorder::new(client.clone(), options.instance.clone(), options.clock.clone());
    let context = Arc::new(Context {
        client: client.clone(),
        metrics,
        recorder,
        retries,
        queue: Arc::clone(&queue),
        clock: options.clock,
        calls: options.calls,
    });

    let mut starting = JoinSet::new();
    for mount in mounts.iter() {
        queue.add_mount(Arc::clone(&mount.name), options.workers);
        starting.spawn(Arc::clone(mount).start(client.clone(), Arc::clone(&informers), Arc::clone(&queue)));
    }
    let mut workers = JoinSet::new();
    for _ in 0..options.workers.saturating_mul(mounts.len()) {
        workers.spawn(work(Arc::clone(&context), Arc::clone(&mounts), Arc::clone(&queue), stopped.clone()));
    }

    shutdown.await;
    info!("stopping: reconciles in flight may end");
    stop.send_replace(true);
    starting.abort_all();
    if tokio::time::timeout(GRACE_PERIOD, async { while workers.join_next().await.is_some() {} }).await.is_err() {
        warn!(grace_period = ?GRACE_PERIOD, reconciles = workers.len(), "some reconciles did not end in time");
        workers.abort_all();
    }
    if let Some(admin) = admin {
        admin.abort();
    }
    info!("stopped");
    Ok(())
}

async fn connect(client: &Client) -> kube::runtime::watcher::InitialListStrategy {
    loop {
        match list_strategy(client).await {
            Ok(strategy) => return strategy,
            Err(error) => warn!(error = %error_chain(&error), "cannot reach the API server; trying again"),
        }
        tokio::time::sleep(CONNECT_AGAIN_AFTER).await;
    }
}

async fn stops(mut stopped: watch::Receiver<bool>) {
    // The sender only goes away with the host.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Hosts with different names do not retry in step.
fn seed_of(instance: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    instance.hash(&mut hasher);
    hasher.finish()
}

/// Takes keys and reconciles them, one at a time, until the host stops.
async fn work(context: Arc<Context>, mounts: Arc<[Arc<Mount>]>, queue: Arc<WorkQueue>, stopped: watch::Receiver<bool>) {
    static RECONCILES: AtomicU64 = AtomicU64::new(0);
    loop {
        let taken = tokio::select! {
            biased;
            () = stops(stopped.clone()) => return,
            taken = queue.take() => taken,
        };
        let Taken { mount: name, key, failures, .. } = taken;
        let Some(mount) = mounts.iter().find(|mount| mount.name == name) else { continue };
        let id = RECONCILES.fetch_add(1, Ordering::Relaxed);
        let span = info_span!("reconcile", plugin = %name, object = %key, id);
        let started = Instant::now();
        let outcome = reconcile_or_recover(&context, mount, &key, failures).instrument(span.clone()).await;
        let _entered = span.enter();
        report(&context.metrics, &name, &outcome, failures, started.elapsed());
        if let Next::Parked { failures } = queue.done(&name, &key, outcome.retry()) {
            warn!(failures, "failed too often: not tried again until the object changes");
        }
    }
}

/// A defect of the host that panics ends one reconcile, not the host.
async fn reconcile_or_recover(context: &Context, mount: &Arc<Mount>, key: &ObjectKey, failures: u32) -> Outcome {
    match AssertUnwindSafe(reconcile(context, mount, key, failures)).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(_) => {
            Outcome::Failed(Problem::new(ProblemKind::Other, "the host panicked: this is a defect of gyre; its log says where"))
        }
    }
}

fn report(metrics: &Metrics, mount: &str, outcome: &Outcome, failures: u32, took: Duration) {
    let end = match outcome {
        Outcome::Failed(problem) if problem.is_terminal() => End::TerminalError,
        Outcome::Failed(_) => End::Error,
        _ => End::Well,
    };
    metrics.reconciled(mount, outcome.result_label(), end, took);
    match outcome {
        Outcome::Failed(problem) if problem.kind == ProblemKind::Stale => debug!("the cache was behind: {problem}"),
        Outcome::Failed(problem) => {
            error!(reason = problem.reason(), failures, "the reconcile failed: {problem}");
        }
        Outcome::Refused { refusals, .. } => {
            for refusal in refusals {
                warn!(reason = refusal.reason.as_str(), "refused: {}", refusal.message);
            }
        }
        Outcome::Reconciled { changed, .. } => debug!(?changed, ?took, "reconciled"),
        Outcome::Gone => debug!("the object is gone"),
    }
}
