//! A service that fails as clusters do. The seed decides how: the same requests in the same order
//! meet the same faults.
//!
//! ```text
//!  request ─▶ number ─▶ draw (seed, number, plan) ─▶ wait ─▶ refuse | hand on, altered or not
//!          ─▶ wait ─▶ answer, loss of the answer, or watch that is cut
//! ```
//!
//! Each request has its own generator, from the seed and its number, so draws do not influence
//! other requests. Delays use tokio's time, which may be paused.

mod body;
mod plan;
mod service;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

pub use body::Body;
pub use plan::{Plan, Requests, Rule};
pub use service::Service;

use crate::attributes::Attributes;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// The request is handled late.
    LatencyBefore,
    /// The answer arrives late.
    LatencyAfter,
    /// The connection fails before the request is handled.
    ConnectionRefused,
    /// The connection fails after the request was handled.
    ConnectionLost,
    /// 409, as if another client was faster. Only for updates, patches and deletions.
    Conflict,
    /// 403, as if no rule permitted the request.
    Forbidden,
    /// 429, with the time of a retry.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 503.
    Unavailable,
    /// 504; the request was not handled.
    Timeout,
    /// 504, although the request was handled.
    AnswerLost,
    /// The answer breaks off, although the request was handled. Not for watches.
    AnswerCut,
    /// 502 with a page, as from a gateway before the API server.
    BadGateway,
    /// A webhook denies a write, with any of the codes that webhooks use.
    Denied,
    /// A webhook removes owner references, labels, or both, from an object that is created or
    /// applied.
    MarksRemoved,
    /// A list that accepts any state (`resourceVersion=0`) shows an old one.
    StaleList,
    /// A watch ends, maybe in the middle of an event.
    WatchCut,
    /// A watch sends nothing for a while and then ends.
    WatchHung,
    /// A watch gets an `ERROR` event with 410.
    WatchExpired,
    /// An event is sent twice.
    EventDuplicated,
    /// An event and all after it are sent late.
    EventDelayed,
}

impl Fault {
    /// The faults of an API server and of its connections that pass by themselves.
    pub const ALL: [Self; 16] = [
        Self::LatencyBefore,
        Self::LatencyAfter,
        Self::ConnectionRefused,
        Self::ConnectionLost,
        Self::Conflict,
        Self::TooManyRequests,
        Self::InternalError,
        Self::Unavailable,
        Self::Timeout,
        Self::AnswerLost,
        Self::StaleList,
        Self::WatchCut,
        Self::WatchHung,
        Self::WatchExpired,
        Self::EventDuplicated,
        Self::EventDelayed,
    ];
}

/// An injected fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injected {
    /// The time of the fault.
    pub time: Timestamp,
    /// The number of the request, from 0.
    pub request: u64,
    /// The verb of the request.
    pub verb: String,
    /// The path and query.
    pub uri: String,
    /// The fault.
    pub fault: Fault,
    /// The duration of a delay.
    pub duration: Option<Duration>,
}

impl fmt::Display for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, request, verb, uri, fault, duration } = self;
        write!(f, "{time:.3} #{request} {verb} {uri}: {fault:?}")?;
        match duration {
            Some(duration) => write!(f, " {duration:?}"),
            None => Ok(()),
        }
    }
}

/// The maximum number of injected faults that are kept. The last ones explain a failure.
const TRACE_LIMIT: usize = 100_000;

/// The faults of a simulation. Clones share them.
#[derive(Clone, Debug)]
pub struct Faults {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    plan: Plan,
    seed: u64,
    requests: AtomicU64,
    is_stopped: AtomicBool,
    stopped: Arc<Notify>,
    trace: Mutex<VecDeque<Injected>>,
}

impl Faults {
    /// The faults that the seed draws from a plan.
    pub fn new(plan: Plan, seed: u64) -> Self {
        let shared = Shared {
            plan,
            seed,
            requests: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            stopped: Arc::new(Notify::new()),
            trace: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// No faults.
    pub fn none() -> Self {
        Self::new(Plan::default(), 0)
    }

    /// Ends all faults: delayed requests continue, and hung watches end.
    pub fn stop(&self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        self.shared.stopped.notify_waiters();
    }

    /// Returns the last injected faults, oldest first.
    pub fn trace(&self) -> Vec<Injected> {
        self.shared.trace.lock().iter().cloned().collect()
    }

    /// Returns the service with these faults.
    pub fn over(&self, inner: crate::service::Service) -> Service {
        Service::new(self.clone(), inner)
    }

    fn is_stopped(&self) -> bool {
        self.shared.is_stopped.load(Ordering::SeqCst)
    }

    fn stopped(&self) -> impl Future<Output = ()> + Send + 'static {
        let stopped = Arc::clone(&self.shared.stopped).notified_owned();
        let is_stopped = self.is_stopped();
        async move {
            if !is_stopped {
                stopped.await;
            }
        }
    }

    async fn wait(&self, duration: Duration) {
        tokio::select! {
            biased;
            () = self.stopped() => {}
            () = tokio::time::sleep(duration) => {}
        }
    }
}

#[derive(Clone, Debug)]
struct Traced {
    faults: Faults,
    clock: crate::Cluster,
    number: u64,
    attributes: Attributes,
    uri: String,
}

impl Traced {
    fn record(&self, fault: Fault, duration: Option<Duration>) {
        let injected = Injected {
            time: self.clock.now(),
            request: self.number,
            verb: self.attributes.verb.clone(),
            uri: self.uri.clone(),
            fault,
            duration,
        };
        let mut trace = self.faults.shared.trace.lock();
        if trace.len() >= TRACE_LIMIT {
            trace.pop_front();
        }
        trace.push_back(injected);
    }
}
