//! The API server as a function of requests and time.

use bytes::Bytes;
use http::Request;
use jiff::Timestamp;

use crate::answer::Answer;
use crate::store::Store;
use crate::watch::{Next, Watch};

/// How a server behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// UIDs, generated names and the like follow from it.
    pub seed: u64,
    /// How many changes of each kind watches can go back.
    pub history_limit: usize,
    /// Whether the controllers run.
    pub controllers: Controllers,
}

/// Whether namespaces, garbage, Jobs and CronJobs are looked after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controllers {
    /// They are.
    #[default]
    Run,
    /// Nobody but clients changes anything.
    Absent,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 0, history_limit: 10_000, controllers: Controllers::default() }
    }
}

/// A whole API server, without sockets, clock or randomness: the same requests at the same times get the same answers.
#[derive(Debug)]
pub struct Server {
    store: Store,
}

impl Server {
    /// A server with the namespaces that every cluster has.
    pub fn new(options: &Options, _now: Timestamp) -> Self {
        Self { store: Store::new(options.history_limit) }
    }

    /// Answers a request that arrives at `now`.
    pub fn handle(&mut self, _now: Timestamp, _request: &Request<Bytes>) -> Answer {
        let _ = &self.store;
        let status = crate::status::Status::no_such_path();
        Answer {
            status: status.code,
            headers: http::HeaderMap::new(),
            body: crate::answer::Body::Full(Bytes::from(status.to_json().to_string())),
        }
    }

    /// Lets the controllers do what is due. Returns when to ask again at the latest; ask earlier when [`Self::revision`] has changed.
    pub fn run_controllers(&mut self, _now: Timestamp) -> Option<Timestamp> {
        None
    }

    /// The number of the last change: what watches wait for.
    pub fn revision(&self) -> u64 {
        self.store.revision()
    }

    /// What to do for a watch next.
    pub fn watch(&self, _now: Timestamp, _watch: &mut Watch) -> Next {
        Next::End
    }
}
