//! Metrics, with controller-runtime's names and labels where it has them, and otherwise `gyre_*`.
//! No label grows with the number of objects.

mod exposition;
mod gauges;
mod labels;
mod process;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use gyre_core::queue::Priority;
use parking_lot::Mutex;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::target::{Projection, Target};
use labels::{
    Build, ClientRequest, Controller, ControllerResult, LeaseName, Mount, MountInfo, MountKind, MountOutcome, MountReason,
    MountState, MountWrite, QueueName, QueuePriority, ReloadResult, Watch,
};

pub use exposition::Form;
pub use gauges::{Gauges, MountGauges, Shadowed, WatchGauges};

/// The buckets of controller-runtime's `reconcile_time_seconds`, in seconds.
const RECONCILE_SECONDS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0,
    2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
];
/// The buckets of client-go's `workqueue_*_duration_seconds`: powers of ten from 10 ns to 1000 s.
const QUEUE_SECONDS: [f64; 12] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0];
/// Calls take tens of microseconds; their deadline is seconds.
const CALL_SECONDS: [f64; 14] = [1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 0.1, 1.0, 5.0, 30.0];

#[derive(Clone)]
struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

type Histograms<Labels> = Family<Labels, Histogram, Buckets>;
type Seconds = Gauge<f64, AtomicU64>;

/// All metrics of a host.
pub struct Metrics {
    registry: Registry,
    /// Held while gauges are replaced and encoded: otherwise, another scrape could see them
    /// cleared.
    scrape: Mutex<()>,
    reconciles: Family<ControllerResult, Counter>,
    reconcile_errors: Family<Controller, Counter>,
    terminal_errors: Family<Controller, Counter>,
    panics: Family<Controller, Counter>,
    reconcile_seconds: Histograms<Controller>,
    workers: Family<Controller, Gauge>,
    active_workers: Family<Controller, Gauge>,
    queue_depth: Family<QueuePriority, Gauge>,
    queue_adds: Family<QueueName, Counter>,
    queue_retries: Family<QueueName, Counter>,
    queue_seconds: Histograms<QueueName>,
    work_seconds: Histograms<QueueName>,
    unfinished_seconds: Family<QueueName, Seconds>,
    longest_seconds: Family<QueueName, Seconds>,
    requests: Family<ClientRequest, Counter>,
    plugin_info: Family<MountInfo, Gauge>,
    calls: Family<MountOutcome, Counter>,
    call_seconds: Histograms<Mount>,
    memory_peak: Family<Mount, Gauge>,
    compile_seconds: Family<Mount, Seconds>,
    instances: Family<MountState, Gauge>,
    memo_hits: Family<Mount, Counter>,
    recorded: Family<MountOutcome, Counter>,
    shadowed: Family<MountOutcome, Counter>,
    shadowed_parents: Family<MountState, Gauge>,
    shadowed_changes: Family<MountWrite, Gauge>,
    problems: Family<MountReason, Counter>,
    quarantined: Family<Mount, Gauge>,
    quarantined_namespaces: Family<Mount, Gauge>,
    unpruned_kinds: Family<Mount, Gauge>,
    parked: Family<Mount, Gauge>,
    awaited_kinds: Family<MountKind, Gauge>,
    held_deletions: Family<Mount, Gauge>,
    writes: Family<MountWrite, Counter>,
    events: Family<MountOutcome, Counter>,
    unpublished_events: Family<Mount, Gauge>,
    watch_failures: Family<Watch, Counter>,
    left_out: Family<Watch, Counter>,
    cached: Family<Watch, Gauge>,
    watch_silence: Family<Watch, Gauge>,
    watch_up: Family<Watch, Gauge>,
    config_reloads: Family<ReloadResult, Counter>,
    config_refused: Gauge,
    failed_pulls: Counter,
    leads: Family<LeaseName, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::default(),
            scrape: Mutex::default(),
            reconciles: Family::default(),
            reconcile_errors: Family::default(),
            terminal_errors: Family::default(),
            panics: Family::default(),
            reconcile_seconds: Family::new_with_constructor(Buckets(&RECONCILE_SECONDS)),
            workers: Family::default(),
            active_workers: Family::default(),
            queue_depth: Family::default(),
            queue_adds: Family::default(),
            queue_retries: Family::default(),
            queue_seconds: Family::new_with_constructor(Buckets(&QUEUE_SECONDS)),
            work_seconds: Family::new_with_constructor(Buckets(&QUEUE_SECONDS)),
            unfinished_seconds: Family::default(),
            longest_seconds: Family::default(),
            requests: Family::default(),
            plugin_info: Family::default(),
            calls: Family::default(),
            call_seconds: Family::new_with_constructor(Buckets(&CALL_SECONDS)),
            memory_peak: Family::default(),
            compile_seconds: Family::default(),
            instances: Family::default(),
            memo_hits: Family::default(),
            recorded: Family::default(),
            shadowed: Family::default(),
            shadowed_parents: Family::default(),
            shadowed_changes: Family::default(),
            problems: Family::default(),
            quarantined: Family::default(),
            quarantined_namespaces: Family::default(),
            unpruned_kinds: Family::default(),
            parked: Family::default(),
            awaited_kinds: Family::default(),
            held_deletions: Family::default(),
            writes: Family::default(),
            events: Family::default(),
            unpublished_events: Family::default(),
            watch_failures: Family::default(),
            left_out: Family::default(),
            cached: Family::default(),
            watch_silence: Family::default(),
            watch_up: Family::default(),
            config_reloads: Family::default(),
            config_refused: Gauge::default(),
            failed_pulls: Counter::default(),
            leads: Family::default(),
        };
        metrics.register();
        for result in [TAKEN, REFUSED] {
            drop(metrics.config_reloads.get_or_create(&ReloadResult { result }));
        }
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = self.registry.sub_registry_with_prefix("controller_runtime");
        registry.register("reconcile", "Reconciles, by result", self.reconciles.clone());
        registry.register("reconcile_errors", "Reconciles that ended in an error", self.reconcile_errors.clone());
        registry.register(
            "terminal_reconcile_errors",
            "Reconciles that ended in an error that is not retried",
            self.terminal_errors.clone(),
        );
        registry.register("reconcile_panics", "Reconciles in which the host panicked", self.panics.clone());
        registry.register_with_unit("reconcile_time", "Duration of reconciles", Unit::Seconds, self.reconcile_seconds.clone());
        registry.register("max_concurrent_reconciles", "Maximum number of concurrent reconciles", self.workers.clone());
        registry.register("active_workers", "Reconciles in progress", self.active_workers.clone());
        let registry = self.registry.sub_registry_with_prefix("workqueue");
        registry.register("depth", "Keys waiting in the queue, by priority", self.queue_depth.clone());
        registry.register("adds", "Keys added to the queue", self.queue_adds.clone());
        registry.register("retries", "Keys queued again after an error", self.queue_retries.clone());
        registry.register_with_unit(
            "queue_duration",
            "Time that keys waited in the queue",
            Unit::Seconds,
            self.queue_seconds.clone(),
        );
        registry.register_with_unit(
            "work_duration",
            "Time from when a key left the queue until its reconcile ended",
            Unit::Seconds,
            self.work_seconds.clone(),
        );
        registry.register_with_unit(
            "unfinished_work",
            "Time that the reconciles in progress have taken so far, in total",
            Unit::Seconds,
            self.unfinished_seconds.clone(),
        );
        registry.register_with_unit(
            "longest_running_processor",
            "Time that the longest of the reconciles in progress has taken so far",
            Unit::Seconds,
            self.longest_seconds.clone(),
        );
        self.registry.register(
            "rest_client_requests",
            "Requests to the API server, by status code, method and host",
            self.requests.clone(),
        );
        self.registry.register_collector(Box::new(process::Process));
        self.registry.register(
            "leader_election_master_status",
            "Whether this host holds the lease (1) or not (0)",
            self.leads.clone(),
        );
        let registry = self.registry.sub_registry_with_prefix("gyre");
        let build = Family::<Build, Gauge>::default();
        build.get_or_create(&Build { version: env!("CARGO_PKG_VERSION") }).set(1);
        registry.register("build_info", "Version of the host, as a label; always 1", build);
        registry.register(
            "plugin_info",
            "Version and digests of a mount's plugin, as labels; always 1",
            self.plugin_info.clone(),
        );
        registry.register("plugin_calls", "Plugin calls, by result", self.calls.clone());
        registry.register_with_unit("plugin_call", "Duration of plugin calls", Unit::Seconds, self.call_seconds.clone());
        registry.register_with_unit("plugin_memory_peak", "Peak memory of plugin calls", Unit::Bytes, self.memory_peak.clone());
        registry.register_with_unit(
            "plugin_compile",
            "Time to compile a plugin, or to load its compiled code",
            Unit::Seconds,
            self.compile_seconds.clone(),
        );
        registry.register("plugin_instances", "Plugin instances, running or idle", self.instances.clone());
        registry.register(
            "plugin_memo_hits",
            "Reconciles without a call, because their inputs had not changed",
            self.memo_hits.clone(),
        );
        registry.register("recorded_calls", "Calls to record, by result", self.recorded.clone());
        registry.register("shadow_calls", "Comparisons with a shadow, by result", self.shadowed.clone());
        registry.register(
            "shadow_parents",
            "Parents that were compared with a shadow, that differ, and that wait to be compared",
            self.shadowed_parents.clone(),
        );
        registry.register(
            "shadow_changes",
            "Changes that a shadow would make and the plugin of its mount does not, by verb",
            self.shadowed_changes.clone(),
        );
        registry.register("plugin_problems", "Refusals and failures, by reason", self.problems.clone());
        registry.register("plugin_quarantined", "Whether a plugin is quarantined (1) or not (0)", self.quarantined.clone());
        registry.register(
            "plugin_quarantined_namespaces",
            "Namespaces and cluster-scoped objects for which a plugin is quarantined",
            self.quarantined_namespaces.clone(),
        );
        registry.register(
            "plugin_unpruned_kinds",
            "Kinds that a plugin no longer declares, and whose objects stay because the host may not list them",
            self.unpruned_kinds.clone(),
        );
        registry.register(
            "parked_objects",
            "Objects that failed too often, and are not retried until they change",
            self.parked.clone(),
        );
        registry.register(
            "awaited_kinds",
            "Kinds that a mount waits for, because the API server does not serve them; always 1",
            self.awaited_kinds.clone(),
        );
        registry.register(
            "held_deletions",
            "Children that are no longer desired, and not deleted because they are too many",
            self.held_deletions.clone(),
        );
        registry.register("writes", "Write requests, by verb", self.writes.clone());
        registry.register(
            "events",
            "Events by outcome: created, counted in an existing Event, merged without a request, or dropped",
            self.events.clone(),
        );
        registry.register("unpublished_events", "Events that wait or are being published", self.unpublished_events.clone());
        registry.register("watch_failures", "Watches that failed and were restarted", self.watch_failures.clone());
        registry.register("watch_objects_left_out", "Objects from a watch that could not be parsed", self.left_out.clone());
        registry.register("cached_objects", "Objects in the cache of a watch", self.cached.clone());
        registry.register_with_unit(
            "watch_silence",
            "Time since a watch last received anything",
            Unit::Seconds,
            self.watch_silence.clone(),
        );
        registry.register("watch_connected", "Whether a watch is connected (1) or not (0)", self.watch_up.clone());
        registry.register(
            "config_reloads",
            "Reloads of the configuration and the plugins, by result",
            self.config_reloads.clone(),
        );
        registry.register(
            "config_refused",
            "Whether the last change of the configuration was refused (1) or not (0)",
            self.config_refused.clone(),
        );
        registry.register(
            "failed_pulls",
            "Plugins that a registry did not give, or that are not signed as the configuration demands",
            self.failed_pulls.clone(),
        );
    }

    /// Returns the text of `/metrics`. It never fails, because it writes to memory.
    pub fn encode(&self, form: Form) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(form.of(text))
    }

    /// Adds a mount. Its counters start at 0, because `rate` would not see a counter that begins
    /// with its first increment.
    pub fn mounted(&self, mount: &str) {
        let (controller, queue) = (Controller { controller: mount.to_owned() }, queue(mount));
        for result in ["success", "error", "requeue", "requeue_after"] {
            drop(self.reconciles.get_or_create(&ControllerResult { controller: mount.to_owned(), result }));
        }
        for counter in [&self.reconcile_errors, &self.terminal_errors, &self.panics] {
            drop(counter.get_or_create(&controller));
        }
        drop(self.reconcile_seconds.get_or_create(&controller));
        for counter in [&self.queue_adds, &self.queue_retries] {
            drop(counter.get_or_create(&queue));
        }
        for histogram in [&self.queue_seconds, &self.work_seconds] {
            drop(histogram.get_or_create(&queue));
        }
        let labels = Mount::new(mount);
        drop(self.memo_hits.get_or_create(&labels));
        drop(self.call_seconds.get_or_create(&labels));
        drop(self.calls.get_or_create(&MountOutcome { mount: Mount::new(mount), outcome: ANSWERED }));
    }

    /// Sets the number of workers of a mount.
    pub fn workers(&self, mount: &str, workers: usize) {
        self.workers.get_or_create(&Controller { controller: mount.to_owned() }).set(workers as i64);
    }

    /// Removes the gauges of a mount.
    pub fn unmounted(&self, mount: &str) {
        let controller = Controller { controller: mount.to_owned() };
        self.workers.remove(&controller);
        self.active_workers.remove(&controller);
        for priority in [Priority::Normal, Priority::Low] {
            self.queue_depth.remove(&queue_priority(mount, priority));
        }
        let labels = Mount::new(mount);
        self.memory_peak.remove(&labels);
        self.parked.remove(&labels);
    }

    /// Sets the number of parked keys of a mount.
    pub fn parked(&self, mount: &str, parked: usize) {
        self.parked.get_or_create(&Mount::new(mount)).set(parked as i64);
    }

    /// Counts a key that was added to the queue.
    pub fn added(&self, mount: &str) {
        self.queue_adds.get_or_create(&queue(mount)).inc();
    }

    /// Sets the number of queued keys at a priority.
    pub fn depth(&self, mount: &str, priority: Priority, depth: usize) {
        self.queue_depth.get_or_create(&queue_priority(mount, priority)).set(depth as i64);
    }

    /// Sets the number of keys in progress.
    pub fn active(&self, mount: &str, active: usize) {
        self.active_workers.get_or_create(&Controller { controller: mount.to_owned() }).set(active as i64);
    }

    /// Records how long a key waited.
    pub fn taken(&self, mount: &str, waited: Duration) {
        self.queue_seconds.get_or_create(&queue(mount)).observe(waited.as_secs_f64());
    }

    /// Records the end of a reconcile.
    pub fn reconciled(&self, mount: &str, result: &'static str, error: ReconcileError, took: Duration) {
        let controller = Controller { controller: mount.to_owned() };
        self.reconciles.get_or_create(&ControllerResult { controller: mount.to_owned(), result }).inc();
        self.reconcile_seconds.get_or_create(&controller).observe(took.as_secs_f64());
        self.work_seconds.get_or_create(&queue(mount)).observe(took.as_secs_f64());
        match error {
            ReconcileError::None => {}
            ReconcileError::Retried => {
                self.reconcile_errors.get_or_create(&controller).inc();
                self.queue_retries.get_or_create(&queue(mount)).inc();
            }
            ReconcileError::Terminal => {
                self.reconcile_errors.get_or_create(&controller).inc();
                self.terminal_errors.get_or_create(&controller).inc();
            }
        }
    }

    /// Counts a panic of the host in a reconcile.
    pub fn panicked(&self, mount: &str) {
        self.panics.get_or_create(&Controller { controller: mount.to_owned() }).inc();
    }

    /// Counts a request to the API server at `host`, with its status if it was answered.
    pub fn requested(&self, code: Option<u16>, method: &str, host: &str) {
        // As in client-go.
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        self.requests.get_or_create(&ClientRequest { code, method: method.to_owned(), host: host.to_owned() }).inc();
    }

    /// Records the end of a call. `outcome` is [`ANSWERED`] or the reason of the error.
    pub fn called(&self, mount: &str, outcome: &'static str, took: Duration, memory_peak: usize) {
        self.calls.get_or_create(&MountOutcome { mount: Mount::new(mount), outcome }).inc();
        let labels = Mount::new(mount);
        self.call_seconds.get_or_create(&labels).observe(took.as_secs_f64());
        let peak = self.memory_peak.get_or_create(&labels);
        let memory_peak = i64::try_from(memory_peak).unwrap_or(i64::MAX);
        if memory_peak > peak.get() {
            peak.set(memory_peak);
        }
    }

    /// Counts a reconcile without a call.
    pub fn memo_hit(&self, mount: &str) {
        self.memo_hits.get_or_create(&Mount::new(mount)).inc();
    }

    /// Counts a call that was `recorded`, or `dropped` because calls came too fast.
    pub fn recorded(&self, mount: &str, outcome: &'static str) {
        self.recorded.get_or_create(&MountOutcome { mount: Mount::new(mount), outcome }).inc();
    }

    /// Adds the counters of a mount's shadow.
    pub fn has_shadow(&self, mount: &str) {
        for outcome in [SAME, DIFFERENT, FAILED] {
            drop(self.shadowed.get_or_create(&MountOutcome { mount: Mount::new(mount), outcome }));
        }
    }

    /// Counts a comparison: [`SAME`], [`DIFFERENT`] or [`FAILED`].
    pub fn shadowed(&self, mount: &str, outcome: &'static str) {
        self.shadowed.get_or_create(&MountOutcome { mount: Mount::new(mount), outcome }).inc();
    }

    /// Counts a refusal or a failure.
    pub fn problem(&self, mount: &str, reason: &'static str) {
        self.problems_of(mount, reason, 1);
    }

    /// As [`Self::problem`], `count` times.
    pub fn problems_of(&self, mount: &str, reason: &'static str, count: usize) {
        self.problems.get_or_create(&MountReason { mount: Mount::new(mount), reason }).inc_by(count as u64);
    }

    /// Counts a write request.
    pub fn wrote(&self, mount: &str, verb: &'static str) {
        self.writes.get_or_create(&MountWrite { mount: Mount::new(mount), verb }).inc();
    }

    /// Counts `count` Events with this outcome.
    pub fn events(&self, mount: &str, outcome: EventOutcome, count: usize) {
        if count > 0 {
            self.events
                .get_or_create(&MountOutcome { mount: Mount::new(mount), outcome: outcome.as_str() })
                .inc_by(count as u64);
        }
    }

    /// Sets the number of Events of a mount that wait or are being published.
    pub fn unpublished_events(&self, mount: &str, count: usize) {
        self.unpublished_events.get_or_create(&Mount::new(mount)).set(count as i64);
    }

    /// Removes the gauge of a removed mount.
    pub fn without_events(&self, mount: &str) {
        self.unpublished_events.remove(&Mount::new(mount));
    }

    /// Adds a watch.
    pub fn watches(&self, target: &Target) {
        drop(self.watch_failures.get_or_create(&watch(target)));
        drop(self.left_out.get_or_create(&watch(target)));
    }

    /// Counts a failed watch.
    pub fn watch_failed(&self, target: &Target) {
        self.watch_failures.get_or_create(&watch(target)).inc();
    }

    /// Counts a change of the configuration or a plugin that is in force.
    pub fn configuration_taken(&self) {
        self.config_reloads.get_or_create(&ReloadResult { result: TAKEN }).inc();
        self.config_refused.set(0);
    }

    /// Counts a refused change of the configuration or a plugin.
    pub fn configuration_refused(&self) {
        self.config_reloads.get_or_create(&ReloadResult { result: REFUSED }).inc();
        self.config_refused.set(1);
    }

    /// Counts a plugin that a registry did not give, or whose signatures do not suffice.
    pub fn pull_failed(&self) {
        self.failed_pulls.inc();
    }

    /// Counts an object of a watch that could not be read.
    pub fn left_out(&self, target: &Target) {
        self.left_out.get_or_create(&watch(target)).inc();
    }

    /// Removes the gauge of a watch that has ended.
    pub fn unwatched(&self, target: &Target) {
        self.cached.remove(&watch(target));
    }

    /// Sets whether this host has that lease.
    pub fn leads(&self, lease: &str, leads: bool) {
        self.leads.get_or_create(&LeaseName { name: lease.to_owned() }).set(i64::from(leads));
    }

    /// Removes the gauge of a lease that this host no longer competes for.
    pub fn stands_no_more(&self, lease: &str) {
        self.leads.remove(&LeaseName { name: lease.to_owned() });
    }

    /// Sets the number of cached objects.
    pub fn cached(&self, target: &Target, objects: usize) {
        self.cached.get_or_create(&watch(target)).set(objects as i64);
    }
}

/// The error of a reconcile, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileError {
    /// No error.
    None,
    /// An error that is retried.
    Retried,
    /// An error that is not retried.
    Terminal,
}

/// The outcome of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOutcome {
    /// It was created.
    Created,
    /// The count of its series was written.
    Counted,
    /// It was counted in its series without a request; the next publication writes the count.
    Merged,
    /// It was dropped: too many about its object.
    ObjectLimit,
    /// It was dropped: too many wait for publication.
    QueueFull,
    /// It was dropped: this host lost the mount, or stopped, before the publication.
    Abandoned,
    /// It was dropped: the API server refused it, or did not answer.
    Failed,
}

impl EventOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Created => "Created",
            Self::Counted => "Counted",
            Self::Merged => "Merged",
            Self::ObjectLimit => "ObjectLimit",
            Self::QueueFull => "QueueFull",
            Self::Abandoned => "Abandoned",
            Self::Failed => "Failed",
        }
    }
}

/// The `outcome` of an answered call.
pub const ANSWERED: &str = "Success";

/// The `outcome` of a comparison without a difference.
pub const SAME: &str = "same";
/// The `outcome` of a comparison with differences.
pub const DIFFERENT: &str = "different";
/// The `outcome` of a comparison without an answer of the shadow.
pub const FAILED: &str = "failed";

const TAKEN: &str = "taken";
const REFUSED: &str = "refused";

fn queue_priority(mount: &str, priority: Priority) -> QueuePriority {
    // The numbers of controller-runtime (`handler.LowPriority`).
    let priority = match priority {
        Priority::Normal => "0",
        Priority::Low => "-100",
    };
    QueuePriority { name: mount.to_owned(), controller: mount.to_owned(), priority }
}

fn queue(mount: &str) -> QueueName {
    QueueName { name: mount.to_owned(), controller: mount.to_owned() }
}

fn watch(target: &Target) -> Watch {
    // All fields, because two targets must not share a gauge.
    let Target { kind, namespace, label_selector, projection } = target;
    Watch {
        kind: kind.to_string(),
        namespace: namespace.clone().unwrap_or_default(),
        selector: label_selector.clone().unwrap_or_default(),
        extent: match projection {
            Projection::Whole => "whole",
            Projection::Metadata => "metadata",
        },
    }
}
