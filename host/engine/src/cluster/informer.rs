//! Informers: one watch per kind, namespace and selector, shared by all mounts.
//!
//! An informer mirrors the API server in its [`Store`] and notifies its subscribers of each change.
//! Late subscribers first get all existing objects. Deletions are always reported, even those
//! during an interruption of the watch.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::{StreamExt as _, pin_mut};
use gyre_core::queue;
use kube::runtime::utils::{Backoff, ResetTimerBackoff};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_resource};
use kube::{Api, Client};
use parking_lot::Mutex;
use tokio::sync::SetOnce;
use tokio::task::JoinHandle;
use tracing::{debug, info, warn};

use crate::client::connection::Transport;
use crate::client::lists::Lists;
use crate::client::{self, Connection};
use crate::cluster::kinds::{self, Resource, StatusSubresource};
use crate::cluster::object::{Error, Received, SharedObject};
use crate::cluster::store::{Change, Store, WriteEpoch};
use crate::error::error_chain;
use crate::health::Health;
use crate::target::{Projection, Target};
use crate::telemetry::metrics::Metrics;

/// The objects of a kind that are watched.
#[derive(Clone, Copy, Debug, Default)]
pub struct WatchScope<'a> {
    /// One namespace; all of them, or a cluster-scoped kind, if `None`.
    pub namespace: Option<&'a str>,
    /// Only objects that match; all if `None`.
    pub label_selector: Option<&'a str>,
    /// The part of each object.
    pub projection: Projection,
}

/// The origin of an event. A list brings many at once, most of them not new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The watch: it happened just now.
    Watch,
    /// A list, or the replay for a late subscriber.
    List,
}

/// An event for subscribers.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// The object is new or has changed, or a list shows it.
    Stored {
        /// The current object.
        object: SharedObject,
        /// The object before; the same one if a list shows it unchanged.
        previous: Option<SharedObject>,
        /// The origin.
        origin: Origin,
    },
    /// The object is gone; this is its last known state.
    Deleted(SharedObject),
}

impl WatchEvent {
    /// Returns the object, in its last known state.
    pub fn object(&self) -> &SharedObject {
        match self {
            Self::Stored { object, .. } | Self::Deleted(object) => object,
        }
    }

    /// Returns the object before the event.
    pub fn previous(&self) -> Option<&SharedObject> {
        match self {
            Self::Stored { previous, .. } => previous.as_ref(),
            Self::Deleted(_) => None,
        }
    }
}

/// Called for each event in order, by the task of the watch: it must be quick.
type Subscriber = dyn Fn(&WatchEvent) + Send + Sync;

/// The subscriber is notified until this is dropped.
#[must_use = "a subscription ends when it is dropped"]
pub struct Subscription {
    _subscriber: Arc<Subscriber>,
}

/// A watch with its cache. It ends when the last handle is dropped.
pub struct Informer {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    target: Target,
    resource: Resource,
    store: Store,
    /// Set once the API server no longer serves the kind, or serves it in another way.
    outdated: SetOnce<()>,
    /// Wakes its waiters in order, unlike a `watch` channel.
    synced: SetOnce<()>,
    subscribers: Mutex<Vec<Weak<Subscriber>>>,
    health: Arc<Health>,
    lists: Arc<Lists>,
}

impl Informer {
    /// Returns the cache.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Stores the answer to our own write before the watch brings it, if [`Store::insert_written`]
    /// accepts it. Subscribers are notified as by the watch.
    pub fn insert_written(&self, object: &SharedObject, epoch: WriteEpoch) {
        // A requested list may be of a state before the write, and replaces what is stored.
        if self.shared.lists.are_under_way() {
            return;
        }
        if let Change::Stored { previous } = self.shared.store.insert_written(Arc::clone(object), epoch) {
            self.shared.notify_subscribers(&WatchEvent::Stored { object: Arc::clone(object), previous, origin: Origin::Watch });
        }
    }

    /// Returns the health of the watch.
    pub fn health(&self) -> &Health {
        &self.shared.health
    }

    pub(crate) fn lists(&self) -> &Arc<Lists> {
        &self.shared.lists
    }

    /// Returns whether the first list is complete.
    pub fn is_synced(&self) -> bool {
        self.shared.synced.initialized()
    }

    /// Returns the target of the watch.
    pub fn target(&self) -> &Target {
        &self.shared.target
    }

    /// Returns whether objects of that namespace are watched.
    pub(crate) fn covers(&self, namespace: Option<&str>) -> bool {
        let watched = self.target().namespace.as_deref();
        watched.is_none() || watched == namespace
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.task.is_finished()
    }

    /// Returns whether the API server no longer serves the kind as it did when the watch began. The
    /// watch has ended then, and another [`Informers::get`] starts a new one.
    pub fn is_outdated(&self) -> bool {
        self.shared.outdated.initialized()
    }

    /// Waits until it is outdated.
    pub async fn outdated(&self) {
        self.shared.outdated.wait().await;
    }

    /// Waits until the first list is complete, or the informer is outdated.
    pub async fn synced(&self) {
        tokio::select! {
            biased;
            _ = self.shared.synced.wait() => {}
            _ = self.shared.outdated.wait() => {}
        }
    }

    /// Notifies `subscriber` of all existing objects, and then of each change.
    pub fn subscribe(&self, subscriber: impl Fn(&WatchEvent) + Send + Sync + 'static) -> Subscription {
        let subscriber: Arc<Subscriber> = Arc::new(subscriber);
        // Under the lock, so that no change is lost between the replay and the first event.
        let mut subscribers = self.shared.subscribers.lock();
        for object in self.shared.store.list() {
            subscriber(&WatchEvent::Stored { object, previous: None, origin: Origin::List });
        }
        subscribers.retain(|subscriber| subscriber.strong_count() > 0);
        subscribers.push(Arc::downgrade(&subscriber));
        Subscription { _subscriber: subscriber }
    }
}

impl Drop for Informer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The informers of a host.
pub struct Informers {
    connection: Connection,
    metrics: Arc<Metrics>,
    list_strategy: watcher::InitialListStrategy,
    seed: u64,
    running: Mutex<HashMap<Target, Weak<Informer>>>,
}

impl Informers {
    /// `seed` determines the jitter of back-offs.
    pub fn new(
        connection: impl Into<Connection>,
        metrics: Arc<Metrics>,
        list_strategy: watcher::InitialListStrategy,
        seed: u64,
    ) -> Self {
        Self { connection: connection.into(), metrics, list_strategy, seed, running: Mutex::default() }
    }

    /// Returns the informer of this scope, and starts it if needed.
    pub fn get(&self, resource: &Resource, scope: WatchScope<'_>) -> Arc<Informer> {
        let target = Target {
            kind: resource.kind(),
            namespace: scope.namespace.map(str::to_owned),
            label_selector: scope.label_selector.map(str::to_owned),
            projection: scope.projection,
        };
        let mut running = self.running.lock();
        let known = running.get(&target).and_then(Weak::upgrade);
        if let Some(informer) = known.filter(|informer| !informer.is_outdated()) {
            return informer;
        }
        let shared = Arc::new(Shared {
            target: target.clone(),
            resource: resource.clone(),
            outdated: SetOnce::new(),
            store: Store::default(),
            synced: SetOnce::new(),
            subscribers: Mutex::default(),
            health: Arc::default(),
            lists: Arc::default(),
        });
        self.metrics.watches(&target);
        let client = client::for_watch(&self.connection, scope.projection, &shared.health, &shared.lists);
        let api: Api<Received> = resource.api(&client, scope.namespace);
        let config = watcher::Config {
            initial_list_strategy: self.list_strategy.clone(),
            label_selector: target.label_selector.clone(),
            timeout: time_limit(self.connection.transport()),
            ..watcher::Config::default()
        };
        let watch = run(Arc::clone(&shared), api, config, Arc::clone(&self.metrics), self.seed);
        let task = tokio::spawn(run_until_outdated(Arc::clone(&shared), self.connection.client(), watch));
        let informer = Arc::new(Informer { shared, task });
        running.retain(|_, informer| informer.strong_count() > 0);
        running.insert(target, Arc::downgrade(&informer));
        informer
    }

    /// Returns the running informers.
    pub fn running(&self) -> Vec<Arc<Informer>> {
        let running = self.running.lock();
        running.values().filter_map(Weak::upgrade).filter(|informer| !informer.is_outdated()).collect()
    }
}

/// Returns the time limit of watches in seconds; `None` is the default of kube, 0 none.
fn time_limit(transport: Transport) -> Option<u32> {
    match transport {
        Transport::Network => None,
        Transport::InProcess => Some(0),
    }
}

/// Returns the strategy of first lists. Streaming lists are on by default since Kubernetes 1.34
/// (KEP-3157), and avoid a whole list in memory.
pub async fn list_strategy(client: &Client) -> Result<watcher::InitialListStrategy, kube::Error> {
    let version = client.apiserver_version().await?;
    let digits = |text: &str| text.trim_end_matches(|character: char| !character.is_ascii_digit()).parse::<u32>().unwrap_or(0);
    let release = (digits(&version.major), digits(&version.minor));
    info!(version = version.git_version, "connected to the API server");
    Ok(if release >= (1, 34) { watcher::InitialListStrategy::StreamingList } else { watcher::InitialListStrategy::ListWatch })
}

/// Runs a watch until its kind is no longer served as when it began.
async fn run_until_outdated(shared: Arc<Shared>, client: Client, watch: impl Future<Output = ()>) {
    let now = tokio::select! {
        biased;
        now = kind_changes(&shared, &client) => now,
        () = watch => return,
    };
    let kind = &shared.target.kind;
    let is_gone = now.as_ref().is_none_or(|now| !now.has_same_paths(&shared.resource));
    let what = match now.as_ref().map(|now| now.status) {
        _ if is_gone => "the API server no longer serves the kind",
        Some(StatusSubresource::Served) => "the kind has a status subresource now: statuses are written to it",
        _ => "the kind has no status subresource any more: statuses are written with the objects",
    };
    warn!(%kind, "{what}");
    // First, so that nobody takes the emptied cache for a kind without objects.
    let _ = shared.outdated.set(());
    if is_gone {
        shared.store.begin_list();
        shared.end_list();
    }
}

/// When a kind in doubt is looked up. The API server publishes changes of kinds with a delay.
const LOOK_UP_AFTER: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// Waits until the API server serves the kind in another way than when the watch began. Returns how
/// it serves it now; `None` if not at all.
async fn kind_changes(shared: &Shared, client: &Client) -> Option<Resource> {
    loop {
        shared.health.kind_doubted().await;
        if !shared.resource.can_go() {
            continue;
        }
        for delay in LOOK_UP_AFTER {
            tokio::time::sleep(delay).await;
            match kinds::find(client, &shared.target.kind).await {
                Ok(Some(now)) if now == shared.resource => {}
                Ok(now) => return now,
                Err(error) => debug!(kind = %shared.target.kind, error = %error_chain(&error), "cannot look up the kind"),
            }
        }
    }
}

async fn run(shared: Arc<Shared>, api: Api<Received>, mut config: watcher::Config, metrics: Arc<Metrics>, seed: u64) {
    let _counted = Counted { target: &shared.target, metrics: &metrics };
    while run_watch(&shared, api.clone(), &config, &metrics, seed).await == Listing::NotStreamed {
        info!(kind = %shared.target.kind, "the API server does not stream lists of this kind; listing it in pages");
        config.initial_list_strategy = watcher::InitialListStrategy::ListWatch;
    }
}

struct Counted<'a> {
    target: &'a Target,
    metrics: &'a Metrics,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.metrics.unwatched(self.target);
    }
}

/// The time without a failure that resets the back-off, as in client-go's reflector.
const BACKOFF_FORGOTTEN_AFTER: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    /// The server rejects streams, as with its feature gate `WatchList` off.
    NotStreamed,
    Ended,
}

async fn run_watch(shared: &Shared, api: Api<Received>, config: &watcher::Config, metrics: &Metrics, seed: u64) -> Listing {
    let backoff = ResetTimerBackoff::new(WatchBackoff::new(shared.target.clone(), seed), BACKOFF_FORGOTTEN_AFTER);
    let events = watch_resource(api, config.clone()).backoff(backoff);
    pin_mut!(events);
    let target = &shared.target;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => shared.take(event, metrics),
            Err(error) if rejects_streaming(&error, config) => return Listing::NotStreamed,
            Err(error) => {
                if is_not_served(&error) {
                    shared.health.doubt_kind();
                }
                metrics.watch_failed(target);
                shared.health.failed(error_chain(&error));
                warn!(kind = %target.kind, namespace = target.namespace, error = %error_chain(&error), "the watch failed; restarting it");
            }
        }
    }
    Listing::Ended
}

/// The back-off of a watch, as in client-go's reflector: 0.4 to 0.8 s at first, doubled up to 30 s.
/// Unlike in kube's, the jitter follows from a seed.
struct WatchBackoff {
    options: queue::Options,
    target: Target,
    failures: u32,
}

impl WatchBackoff {
    fn new(target: Target, seed: u64) -> Self {
        let (base_delay, max_delay) = (Duration::from_millis(800), Duration::from_secs(30));
        Self { options: queue::Options { seed, base_delay, max_delay, ..queue::Options::default() }, target, failures: 0 }
    }
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        Some(self.options.delay(&self.target, self.failures))
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {
        self.failures = 0;
    }
}

fn rejects_streaming(error: &watcher::Error, config: &watcher::Config) -> bool {
    config.initial_list_strategy == watcher::InitialListStrategy::StreamingList
        && matches!(error, watcher::Error::WatchStartFailed(kube::Error::Api(status)) if matches!(status.code, 400 | 422))
}

fn is_not_served(error: &watcher::Error) -> bool {
    matches!(
        error,
        watcher::Error::InitialListFailed(kube::Error::Api(status)) | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            if status.code == 404
    )
}

impl Shared {
    fn take(&self, event: Event<Received>, metrics: &Metrics) {
        self.health.heard();
        match event {
            Event::Init => self.store.begin_list(),
            Event::InitApply(item) => self.stored(item, Origin::List, metrics),
            Event::Apply(item) => self.stored(item, Origin::Watch, metrics),
            Event::Delete(item) => {
                if let Some(last) = self.parsed(item, metrics)
                    && let Some(known) = self.store.delete(&last)
                {
                    self.notify_subscribers(&WatchEvent::Deleted(known));
                }
            }
            Event::InitDone => {
                self.end_list();
                self.lists.end();
                debug!(kind = %self.target.kind, namespace = self.target.namespace, objects = self.store.len(), "listed");
                let _ = self.synced.set(());
            }
        }
        metrics.cached(&self.target, self.store.len());
    }

    fn end_list(&self) {
        for gone in self.store.end_list() {
            self.notify_subscribers(&WatchEvent::Deleted(gone));
        }
    }

    fn stored(&self, item: Received, origin: Origin, metrics: &Metrics) {
        let Some(object) = self.parsed(item, metrics) else { return };
        let change = match origin {
            Origin::Watch => self.store.apply(Arc::clone(&object)),
            Origin::List => self.store.list_item(Arc::clone(&object)),
        };
        let previous = match (change, origin) {
            (Change::Stored { previous }, _) => previous,
            // A restore from a backup may have undone a write whose event had not come yet.
            (Change::Nothing, Origin::List) => Some(Arc::clone(&object)),
            (Change::Nothing, Origin::Watch) => return,
        };
        self.notify_subscribers(&WatchEvent::Stored { object, previous, origin });
    }

    /// Returns the parsed object. An unreadable one is ignored, and does not stop the watch.
    fn parsed(&self, item: Received, metrics: &Metrics) -> Option<SharedObject> {
        let kind = &self.target.kind;
        let object = item.object.and_then(|object| {
            let object = match self.target.projection {
                Projection::Metadata => object.metadata_alone(kind),
                Projection::Whole => Arc::unwrap_or_clone(object).with_kind(kind),
            };
            object.map(Arc::new).map_err(Arc::new)
        });
        let left_out = |error: &Arc<Error>| {
            metrics.left_out(&self.target);
            warn!(%kind, namespace = self.target.namespace, error = %error_chain(error.as_ref()), "an object that a watch received cannot be parsed, and is ignored");
        };
        object.inspect_err(left_out).ok()
    }

    fn notify_subscribers(&self, event: &WatchEvent) {
        let subscribers = self.subscribers.lock();
        for subscriber in subscribers.iter().filter_map(Weak::upgrade) {
            subscriber(event);
        }
    }
}

#[cfg(test)]
mod tests;
