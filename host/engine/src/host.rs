//! A running host: its mounts, the reconciles of their objects, and its shutdown.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt as _;
use gyre_core::object::ObjectKey;
use gyre_core::outcome::{Outcome, Problem, ProblemKind};
use gyre_core::queue::{self, Next, Retry, Taken};
use gyre_core::text::without_control;
use kube::Client;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tracing::{Instrument as _, debug, error, error_span, info, warn};

use crate::admin::recording::Recorded;
use crate::call::threads::Threads;
use crate::call::{Caller, Calls};
use crate::client::Connection;
use crate::clock::Clock;
use crate::cluster::informer::{Informers, list_strategy};
use crate::error::error_chain;
use crate::health::{ApiServerHealth, CriticalTasks};
use crate::leadership::claim::Claim;
use crate::leadership::election::{self, Drains, ElectionScope};
use crate::leadership::{DrainHandle, LeadableMounts, Leadership};
use crate::mounts::Mounts;
use crate::mounts::inventory::{Going, Inventory, Place};
use crate::mounts::mount::Mount;
use crate::mounts::services::HostServices;
use crate::program::Programs;
use crate::reconcile::context::Context;
use crate::reconcile::reconcile;
use crate::record::Recordings;
use crate::record::format::Secrets;
use crate::telemetry::metrics::{Metrics, ReconcileError};
use crate::values::digests::Digests;
use crate::values::{KeySecret, Randomness};
use crate::work::WorkQueue;
use crate::writes::events::Events;
use crate::{admin, client, shadow};

/// How long reconciles may continue during shutdown, as controller-runtime's
/// `GracefulShutdownTimeout`.
pub const GRACE_PERIOD: Duration = Duration::from_secs(30);
/// How long publications may still begin during shutdown, while another replica waits.
const LAST_EVENTS: Duration = Duration::from_secs(3);
const LAST_LINES: Duration = Duration::from_secs(1);
const CONNECT_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// The options of a host.
#[derive(Clone)]
pub struct Options {
    /// The metrics; the loader of programs counts in them, too.
    pub metrics: Arc<Metrics>,
    /// The server of `/healthz`, `/readyz`, `/metrics` and `/debug/state`, if there is one.
    pub admin: Option<admin::Options>,
    /// Host and port of the API server, as a label of metrics.
    pub api_server: String,
    /// The reporting instance of events: the name of the pod, if there is one.
    pub instance: String,
    /// The location of the inventory; without one, removed mounts cannot be cleaned up later.
    pub inventory: Option<Place>,
    /// How long after the start a mount that is only in the inventory is left unchanged.
    pub patience: Duration,
    /// The Secret of the key of digests of generated values; without one, the key lasts as long as
    /// the process.
    pub digest_key: Option<KeySecret>,
    /// The source of generated values.
    pub randomness: Randomness,
    /// The permission to write, if there is no election.
    pub claim: Claim,
    /// The election, if there is one.
    pub election: Option<(ElectionScope, election::Options)>,
    /// The time of day.
    pub clock: Clock,
    /// The threads on which plugins are called.
    pub calls: Calls,
    /// The maximum number of threads for calls.
    pub most_calls: usize,
    /// The retries of failing objects.
    pub retries: queue::Options,
    /// The recordings that listen to plugin calls.
    pub recordings: Recordings,
    /// Whether recordings that are requested over HTTP may contain values of Secrets.
    pub recorded_secrets: Secrets,
    /// Other tasks that the process needs, with their names: without one, `/healthz` fails.
    pub tasks: Vec<(&'static str, AbortHandle)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            metrics: Arc::default(),
            admin: None,
            api_server: String::new(),
            instance: "gyre".to_owned(),
            inventory: None,
            patience: Duration::ZERO,
            digest_key: None,
            randomness: Randomness::System,
            claim: Claim::always(),
            election: None,
            clock: Clock::default(),
            calls: Calls::default(),
            most_calls: std::thread::available_parallelism().map_or(2, std::num::NonZero::get),
            retries: queue::Options::default(),
            recordings: Recordings::default(),
            recorded_secrets: Secrets::Redacted,
            tasks: Vec::new(),
        }
    }
}

/// Runs the programs, as they change, until `shutdown` completes. Then reconciles in flight get
/// [`GRACE_PERIOD`] to end.
///
/// # Errors
///
/// If the address to listen on is taken. After the start, only `shutdown` ends it.
pub async fn run(
    connection: impl Into<Connection>,
    programs: Programs,
    options: Options,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let (stop, stopped) = watch::channel(false);
    let metrics = options.metrics;
    let (api_server, critical_tasks) = (Arc::<ApiServerHealth>::default(), Arc::<CriticalTasks>::default());
    let connection = client::counted(connection.into(), &metrics, &api_server, options.api_server);
    let restores = options.election.as_ref().map(|(_, election)| election.restores.clone()).unwrap_or_default();
    let connection = connection.with_restores(restores);
    let client = connection.client();
    let retries = queue::Options { seed: seed_of(&options.instance), ..options.retries };
    let queue = Arc::new(WorkQueue::new(retries.clone(), Arc::clone(&metrics)));
    let leaders = options.election.as_ref().map(|(_, election)| Arc::clone(&election.leaders));
    let (leadable, drained) = (LeadableMounts::new(), Arc::new(DrainHandle::default()));
    let denials = options.election.as_ref().map(|(_, election)| Arc::clone(&election.denials));
    let wanted = programs.borrow().iter().map(|program| program.name.to_string()).collect();
    let leadership = Leadership::start(&client, options.claim, options.election, &leadable, wanted, &drained, &metrics)?;
    leadership.watch_over(&critical_tasks);
    options.tasks.into_iter().for_each(|(name, task)| critical_tasks.add(name, task));
    let claims = leadership.claims.clone();
    let inventory = Arc::new(Inventory::new(client::fenced(&connection, &claims.of_inventory()), options.inventory));
    let mounts = Arc::new(Mounts::new(shadow::run_shadow));
    drained.set(drain_callback(&mounts, &queue));
    let shown_services = Arc::new(OnceLock::new());
    let admin = match options.admin {
        Some(admin_options) => {
            let (metrics, mounts, queue) = (Arc::clone(&metrics), Arc::clone(&mounts), Arc::clone(&queue));
            let (api_server, critical_tasks, services) =
                (Arc::clone(&api_server), Arc::clone(&critical_tasks), Arc::clone(&shown_services));
            let recorded = Recorded { recordings: options.recordings.clone(), most: options.recorded_secrets };
            let shown =
                admin::Shown { metrics, mounts, queue, recorded, denials, leaders, services, api_server, critical_tasks };
            Some(admin::serve(admin_options, shown, until_stopped(stopped.clone())).await?)
        }
        None => None,
    };
    tokio::pin!(shutdown);
    let list_strategy = tokio::select! {
        biased;
        () = &mut shutdown => {
            leadership.give_back().await;
            return Ok(());
        }
        strategy = connect(&client, &inventory) => strategy,
    };
    let informers = Informers::new(connection.clone(), Arc::clone(&metrics), list_strategy, seed_of(&options.instance));
    let caller = Caller { clock: options.clock.clone(), calls: options.calls, threads: Threads::new(options.most_calls) };
    let events = Events::new(options.instance, options.clock, &queue, &claims, &metrics);
    let services = Arc::new(HostServices {
        digests: Arc::new(Digests::new(options.digest_key, options.randomness.clone(), connection.restores().clone())),
        connection,
        client,
        caller,
        claims,
        leadable,
        informers,
        queue,
        events: Arc::clone(&events),
        inventory: Arc::clone(&inventory),
        metrics,
        randomness: options.randomness,
    });
    let _ = shown_services.set(Arc::clone(&services));
    let context = Arc::new(Context { services: Arc::clone(&services), retries, recordings: options.recordings });

    let following = tokio::spawn(Arc::clone(&mounts).follow_programs(programs, Arc::clone(&services), options.patience));
    critical_tasks.add("mounts", following.abort_handle());
    let keeping = tokio::spawn({
        let (inventory, claim) = (Arc::clone(&inventory), services.claims.of_inventory());
        async move { inventory.write_changes(&claim).await }
    });
    critical_tasks.add("inventory", keeping.abort_handle());
    let publishing = tokio::spawn({
        let events = Arc::clone(&events);
        async move { events.run().await }
    });
    critical_tasks.add("events", publishing.abort_handle());
    let mut reconciles = JoinSet::new();
    tokio::select! {
        biased;
        () = &mut shutdown => {}
        () = work(&context, &mounts, &mut reconciles) => {}
    }
    info!("stopping: waiting for reconciles in flight");
    critical_tasks.clear();
    stop.send_replace(true);
    following.abort();
    keeping.abort();
    inventory.stop();
    mounts.stop();
    match tokio::time::timeout(GRACE_PERIOD, async { while reconciles.join_next().await.is_some() {} }).await {
        Ok(()) => {
            events.stop(LAST_EVENTS);
            let published = publishing.await;
            let dropped = events.drop_waiting();
            if dropped > 0 {
                warn!(events = dropped, within = ?LAST_EVENTS, "some events were not published in time");
            }
            match published {
                Ok(()) => leadership.give_back().await,
                Err(_) => leadership.leave_to_expire().await,
            }
        }
        Err(_) => {
            warn!(grace_period = ?GRACE_PERIOD, reconciles = reconciles.len(), "some reconciles did not end in time");
            reconciles.abort_all();
            publishing.abort();
            let _ = publishing.await;
            events.drop_waiting();
            // Requests may still be in flight: another replica waits until the lease expires.
            leadership.leave_to_expire().await;
        }
    }
    let is_recorded = context.recordings.end();
    if let Some(mut admin) = admin {
        if is_recorded {
            let _ = tokio::time::timeout(LAST_LINES, &mut admin).await;
        }
        admin.abort();
    }
    info!("stopped");
    Ok(())
}

async fn connect(client: &Client, inventory: &Inventory) -> kube::runtime::watcher::InitialListStrategy {
    loop {
        match list_strategy(client).await {
            Ok(strategy) => {
                inventory.load().await;
                return strategy;
            }
            Err(error) => warn!(error = %error_chain(&error), "cannot reach the API server; retrying"),
        }
        tokio::time::sleep(CONNECT_AGAIN_AFTER).await;
    }
}

async fn until_stopped(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

fn drain_callback(mounts: &Arc<Mounts>, queue: &Arc<WorkQueue>) -> Drains {
    let (mounts, queue) = (Arc::clone(mounts), Arc::clone(queue));
    Box::new(move |name| {
        let (mount, queue) = (mounts.get(&name.into()), Arc::clone(&queue));
        Box::pin(async move {
            if let Some(mount) = mount {
                mount.drain(&queue).await;
            }
        })
    })
}

/// The seed of the retries' jitter, so that hosts with different names do not retry in step.
fn seed_of(instance: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    instance.hash(&mut hasher);
    hasher.finish()
}

/// Reconciles each key in its own task; the queue limits concurrency. Never returns.
async fn work(context: &Arc<Context>, mounts: &Arc<Mounts>, reconciles: &mut JoinSet<()>) {
    loop {
        let taken = context.services.queue.take().await;
        while reconciles.try_join_next().is_some() {}
        let Some(mount) = mounts.get(&taken.mount) else {
            context.services.queue.done(&taken.mount, &taken.key, queue::Retry::Forget);
            continue;
        };
        reconciles.spawn(work_on(Arc::clone(context), mount, taken));
    }
}

async fn work_on(context: Arc<Context>, mount: Arc<Mount>, taken: Taken<Arc<str>, ObjectKey>) {
    static RECONCILES: AtomicU64 = AtomicU64::new(0);
    let Taken { mount: name, key, failures, .. } = taken;
    // A later start must know of the mount before anything is written on its behalf.
    let services = &context.services;
    if services.inventory.tried(&name, &services.claims.of_inventory()).await == Going::Stopping {
        services.queue.done(&name, &key, queue::Retry::Forget);
        return;
    }
    let id = RECONCILES.fetch_add(1, Ordering::Relaxed);
    // The level is error, because lines about errors need the span most.
    let span = error_span!("reconcile", mount = %name, object = %key, id);
    let started = Instant::now();
    let outcome = reconcile_or_recover(&context, &mount, &key, failures).instrument(span.clone()).await;
    let _entered = span.enter();
    let retries = mount.retries(&context.retries);
    report(&services.metrics, &name, &outcome, &retries, failures, started.elapsed());
    let retry = match outcome.retry() {
        // A plugin that says to wait for a change does not keep certificates from being renewed.
        Retry::Never => mount.parent_state(&key).next_renewal().map_or(Retry::Never, Retry::After),
        retry => retry,
    };
    if let Next::Parked { failures } = services.queue.done(&name, &key, retry) {
        warn!(failures, "failed too often: not retried until the object changes");
    }
}

/// Limits a panic of the host to one reconcile.
async fn reconcile_or_recover(context: &Context, mount: &Arc<Mount>, key: &ObjectKey, failures: u32) -> Outcome {
    match AssertUnwindSafe(reconcile(context, mount, key, failures)).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(_) => {
            context.services.metrics.panicked(&mount.name);
            Outcome::Failed(Problem::new(ProblemKind::Other, "the host panicked: this is a defect of gyre; its log says where"))
        }
    }
}

fn report(metrics: &Metrics, mount: &str, outcome: &Outcome, retries: &queue::Options, failures: u32, took: Duration) {
    let end = match outcome {
        Outcome::Failed(problem) if problem.is_terminal() => ReconcileError::Terminal,
        Outcome::Failed(problem) if problem.is_failure() => ReconcileError::Retried,
        _ => ReconcileError::None,
    };
    metrics.reconciled(mount, outcome.result_label(), end, took);
    match outcome {
        Outcome::Failed(problem)
            if problem.is_unreported(retries, failures)
                || matches!(problem.kind, ProblemKind::Quarantined | ProblemKind::InventoryNotWritten) =>
        {
            debug!(reason = problem.reason(), "not reconciled now: {problem}");
        }
        Outcome::Failed(problem) => {
            let said = problem.to_string();
            error!(reason = problem.reason(), failures, "the reconcile failed: {}", without_control(&said));
        }
        Outcome::Refused { refusals, .. } => {
            for refusal in refusals {
                warn!(reason = refusal.reason.as_str(), "refused: {}", without_control(&refusal.message));
            }
        }
        Outcome::Reconciled { changed, .. } => debug!(?changed, ?took, "reconciled"),
        Outcome::Postponed { after } => debug!(?after, "postponed"),
        Outcome::Gone => debug!("the object is gone"),
    }
}

#[cfg(test)]
mod tests;
