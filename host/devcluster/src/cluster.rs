//! A running server with a clock, watches and controllers. All tasks wait on one [`Notify`], which
//! wakes them in order, so that simulations on one thread are deterministic.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};

use crate::answer;
use crate::lag::Lag;
use crate::server::{Options, Server};
use crate::watch::{Next, Watch};

/// The clock of a cluster.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The system's time.
    System,
    /// A time that passes like tokio's, and pauses with it.
    Tokio {
        /// The time at `origin`.
        start: Timestamp,
        /// The instant at which the clock was created.
        origin: Instant,
    },
}

impl Clock {
    /// A clock that shows `start` now and follows tokio's time.
    pub fn tokio(start: Timestamp) -> Self {
        Self::Tokio { start, origin: Instant::now() }
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Tokio { start, origin } => {
                let passed = SignedDuration::try_from(origin.elapsed()).unwrap_or(SignedDuration::MAX);
                start.saturating_add(passed).unwrap_or(Timestamp::MAX)
            }
        }
    }

    fn until(&self, time: Timestamp) -> Duration {
        Duration::try_from(time.duration_since(self.now())).unwrap_or_default()
    }
}

/// A running server. Clones share it.
#[derive(Clone, Debug)]
pub struct Cluster {
    shared: Arc<Shared>,
    /// The lag of the watch cache; `None` if it is always current.
    lag: Option<Arc<Lag>>,
}

#[derive(Debug)]
struct Shared {
    server: Mutex<Server>,
    clock: Clock,
    changed: Arc<Notify>,
    /// The lags of lagging API servers.
    lags: Mutex<Vec<Weak<Lag>>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.changed.notify_waiters();
    }
}

impl Cluster {
    /// A cluster whose controllers run only while somebody polls [`Self::controllers`].
    pub fn new(options: &Options, clock: Clock) -> Self {
        let server = Mutex::new(Server::new(options, clock.now()));
        let shared = Shared { server, clock, changed: Arc::new(Notify::new()), lags: Mutex::default() };
        Self { shared: Arc::new(shared), lag: None }
    }

    /// Another API server of this cluster, whose watch cache gets changes after `delay`: its
    /// watches are late, and requests for any state (`resourceVersion=0`) get an old one.
    #[must_use]
    pub fn lagging(&self, delay: Duration) -> Self {
        let lag = Arc::new(Lag::new(delay, self.revision()));
        self.shared.lags.lock().push(Arc::downgrade(&lag));
        Self { shared: Arc::clone(&self.shared), lag: Some(lag) }
    }

    /// Ends the lag of this API server.
    pub fn catch_up(&self) {
        self.lag.iter().for_each(|lag| lag.end());
        self.shared.changed.notify_waiters();
    }

    /// Calls `act` with this API server's watch cache. Also returns when that gets the next change.
    fn with_cache<T>(&self, now: Timestamp, act: impl FnOnce(&mut Server) -> T) -> (T, Option<Timestamp>) {
        match &self.lag {
            None => (self.with_server(act), None),
            Some(lag) => {
                let (cached, next) = lag.cached(now);
                (self.with_server(|server| server.behind(cached, act)), next)
            }
        }
    }

    /// A cluster whose controllers run on this tokio runtime while a handle exists. If they panic,
    /// the process ends, because nothing would be reconciled any more.
    pub fn start(options: &Options, clock: Clock) -> Self {
        let cluster = Self::new(options, clock);
        drop(tokio::spawn(end_process_on_panic(tokio::spawn(cluster.controllers()))));
        cluster
    }

    /// Returns the time in the cluster.
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Returns the number of the last change.
    pub fn revision(&self) -> u64 {
        self.shared.lock().revision()
    }

    /// Answers a request. The body of a watch ends with the watch; unread, it holds no events.
    pub fn handle(&self, request: &Request<Bytes>) -> Response<Body> {
        let now = self.now();
        let (answer, _) = self.with_cache(now, |server| server.handle(now, request));
        let mut response = Response::new(match answer.body {
            answer::Body::Full(bytes) => Body::full(bytes),
            answer::Body::Watch(watch) => Body(Content::Watch(WatchBody { cluster: self.clone(), watch, waiting: None })),
        });
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        response
    }

    /// Calls `act` with the server, and wakes all waiting tasks if that changed something.
    pub fn with_server<T>(&self, act: impl FnOnce(&mut Server) -> T) -> T {
        self.shared.with_server(act)
    }

    /// Runs the controllers after each change and when something is due, while a handle exists.
    pub fn controllers(&self) -> impl Future<Output = ()> + Send + 'static {
        let (shared, notify) = (Arc::downgrade(&self.shared), Arc::clone(&self.shared.changed));
        async move {
            loop {
                // Taken before the controllers run, so that later changes wake them again.
                let changed = Arc::clone(&notify).notified_owned();
                let Some(shared) = shared.upgrade() else { return };
                let now = shared.clock.now();
                let due = match shared.clock {
                    Clock::System => shared.with_server(|server| server.run_syncs(now, SYNCS_AT_ONCE)),
                    Clock::Tokio { .. } => shared.with_server(|server| server.run_controllers(now)),
                };
                if matches!(shared.clock, Clock::System) && due.is_some_and(|due| due <= now) {
                    // More syncs are due, but waiting requests are handled first.
                    drop(shared);
                    tokio::task::yield_now().await;
                    continue;
                }
                // A clock that stands still must not starve the other tasks.
                let due = due.map(|due| shared.clock.until(due).max(Duration::from_millis(1)));
                drop(shared);
                tokio::select! {
                    biased;
                    () = changed => {}
                    () = sleep_if(due) => {}
                }
            }
        }
    }
}

/// The controller syncs, about 0.2 ms each, between which waiting requests are handled.
const SYNCS_AT_ONCE: usize = 4;

/// The exit code of a Rust program whose main thread panicked.
const PANIC_EXIT_CODE: i32 = 101;

async fn end_process_on_panic(task: JoinHandle<()>) {
    let Err(error) = task.await else { return };
    let Ok(panic) = error.try_into_panic() else { return };
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    tracing::error!(panic = text, "a controller of devcluster panicked, which ends the process");
    eprintln!("error: a controller of devcluster panicked, which ends the process: {text}");
    std::process::exit(PANIC_EXIT_CODE);
}

async fn sleep_if(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Server> {
        self.server.lock()
    }

    fn with_server<T>(&self, act: impl FnOnce(&mut Server) -> T) -> T {
        let mut server = self.lock();
        let before = server.revision();
        let result = act(&mut server);
        let revision = server.revision();
        let is_changed = revision != before;
        if is_changed {
            let mut lags = self.lags.lock();
            lags.retain(|lag| lag.strong_count() > 0);
            lags.iter().filter_map(Weak::upgrade).for_each(|lag| lag.record_revision(self.clock.now(), revision));
        }
        drop(server);
        if is_changed {
            self.changed.notify_waiters();
        }
        result
    }
}

/// The body of an answer.
#[derive(Debug)]
pub struct Body(Content);

#[derive(Debug)]
enum Content {
    Full(Bytes),
    Watch(WatchBody),
}

impl Body {
    /// A body with these bytes.
    pub fn full(bytes: Bytes) -> Self {
        Self(Content::Full(bytes))
    }

    /// Returns the bytes of a complete body; `None` for a watch.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.0 {
            Content::Full(bytes) => Some(bytes),
            Content::Watch(_) => None,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut self.0 {
            Content::Full(bytes) => Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty()),
            Content::Watch(watch) => ready!(watch.poll_next(context)),
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes().is_some_and(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes().map_or_else(SizeHint::default, |bytes| SizeHint::with_exact(bytes.len() as u64))
    }
}

struct WatchBody {
    cluster: Cluster,
    watch: Box<Watch>,
    waiting: Option<Waiting>,
}

struct Waiting {
    changed: Pin<Box<OwnedNotified>>,
    due: Option<Pin<Box<Sleep>>>,
}

impl fmt::Debug for WatchBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchBody").field("watch", &self.watch).finish_non_exhaustive()
    }
}

impl WatchBody {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                let is_due = waiting.due.as_mut().is_some_and(|due| due.as_mut().poll(context).is_ready());
                if waiting.changed.as_mut().poll(context).is_pending() && !is_due {
                    return Poll::Pending;
                }
                self.waiting = None;
            }
            // Taken before the server is asked, so that a change after its answer ends the waiting.
            let changed = Arc::clone(&self.cluster.shared.changed).notified_owned();
            let now = self.cluster.now();
            let (next, cached) = self.cluster.with_cache(now, |server| server.watch(now, &mut self.watch));
            match next {
                Next::Send(bytes) => return Poll::Ready(Some(bytes)),
                Next::End => return Poll::Ready(None),
                Next::Wait(until) => {
                    let until = until.into_iter().chain(cached).min();
                    let pause = |until| self.cluster.shared.clock.until(until).max(Duration::from_millis(1));
                    let due = until.map(|until| Box::pin(tokio::time::sleep(pause(until))));
                    self.waiting = Some(Waiting { changed: Box::pin(changed), due });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const CHILD: &str = "GYRE_TEST_CONTROLLERS_PANIC";

    #[test]
    fn a_panic_in_a_controller_is_reported_and_ends_the_process() {
        if std::env::var_os(CHILD).is_some() {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let controllers = tokio::spawn(async { panic!("a defect") });
                tokio::spawn(end_process_on_panic(controllers)).await.unwrap();
            });
            return;
        }
        let name = "cluster::tests::a_panic_in_a_controller_is_reported_and_ends_the_process";
        let mut child = Command::new(std::env::current_exe().unwrap());
        let output = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(PANIC_EXIT_CODE), "{printed}");
        assert!(printed.contains("error: a controller of devcluster panicked, which ends the process: a defect"), "{printed}");
    }

    const PODS: u64 = 100;

    #[tokio::test]
    async fn a_request_waits_for_a_few_syncs_of_controllers_at_most() {
        let cluster = Cluster::start(&Options::default(), Clock::System);
        let pods = "/api/v1/namespaces/default/pods";
        for number in 0..PODS {
            let spec = r#"{"containers":[{"name":"it","image":"it"}]}"#;
            let pod = format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{number}"}},"spec":{spec}}}"#);
            let request = Request::post(pods).header("content-type", "application/json").body(Bytes::from(pod)).unwrap();
            assert_eq!(cluster.handle(&request).status(), 201);
        }
        let mut changes = Vec::new();
        while changes.iter().sum::<u64>() < 2 * PODS {
            assert!(changes.len() < 100_000, "{changes:?}");
            let before = cluster.revision();
            tokio::task::yield_now().await;
            changes.push(cluster.revision() - before);
        }
        // A sync of a Pod makes one change, and sometimes an event.
        let most = 2 * u64::try_from(SYNCS_AT_ONCE).unwrap();
        assert!(changes.iter().all(|changes| *changes <= most), "{changes:?}");
    }
}
