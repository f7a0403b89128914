//! Records the requests and answers of hosts, and can kill a host after a given write.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use gyre_devcluster::faults;
use gyre_devcluster::service::BoxError;
use gyre_engine::leadership::claim::Claim;
use http::header::{ACCEPT, USER_AGENT};
use http::{Method, Request, Response};
use http_body::{Frame, SizeHint};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;

/// A request and its answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Sent {
    /// The time since the start of the simulation.
    pub at: Duration,
    /// The number of the host, in the order of starts.
    pub host: usize,
    /// The method.
    pub method: Method,
    /// The path and query.
    pub uri: String,
    /// The user agent, which names the plugin and its digest.
    pub agent: String,
    /// The form of the answer that the host accepts.
    pub accept: String,
    /// The code of the answer; 0 before it, and if the connection failed.
    pub code: u16,
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, host, method, uri, code, .. } = self;
        write!(f, "{:.3} s: host {host}: {method} {uri}: {code}", at.as_secs_f64())
    }
}

impl Sent {
    /// Returns whether it is a watch, which a host reopens even if it has nothing to do.
    pub fn is_watch(&self) -> bool {
        self.method == Method::GET && self.uri.contains("watch=true")
    }

    /// Returns whether it lists objects of this resource, or a page of them.
    pub fn is_list_of(&self, resource: &str) -> bool {
        self.method == Method::GET && !self.is_watch() && self.path().rsplit('/').next() == Some(resource)
    }

    /// Returns whether it is a write.
    pub fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// Returns whether it is a write whose success the host knows.
    pub fn is_done(&self) -> bool {
        self.is_write() && (200..300).contains(&self.code)
    }

    /// Returns whether it reads one object of this resource.
    pub fn is_get_of(&self, resource: &str) -> bool {
        let mut segments = self.path().rsplit('/');
        self.method == Method::GET && segments.next().is_some() && segments.next() == Some(resource)
    }

    /// Returns the path.
    pub fn path(&self) -> &str {
        self.uri.split('?').next().unwrap_or_default()
    }
}

/// The requests of all hosts.
#[derive(Clone)]
pub struct Record(Arc<Shared>);

type Interruption = Box<dyn FnOnce() + Send>;

struct Shared {
    start: Instant,
    sent: Mutex<Vec<Sent>>,
    wrongs: Mutex<Vec<String>>,
    before: Mutex<Option<(usize, Interruption)>>,
}

impl Record {
    /// Returns an empty record.
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            start: Instant::now(),
            sent: Mutex::default(),
            wrongs: Mutex::default(),
            before: Mutex::default(),
        }))
    }

    /// Runs `action` right before this request of a host, counted from 1 without watches.
    pub fn before(&self, request: usize, action: impl FnOnce() + Send + 'static) {
        *self.0.before.lock() = Some((request, Box::new(action)));
    }

    fn is_due(&self) -> Option<Interruption> {
        let requests = self.inspect(|sent| sent.iter().filter(|sent| !sent.is_watch()).count());
        let mut before = self.0.before.lock();
        before.take_if(|(request, _)| requests == *request).map(|(_, action)| action)
    }

    /// Calls `inspect` with all requests so far.
    pub fn inspect<T>(&self, inspect: impl FnOnce(&[Sent]) -> T) -> T {
        inspect(&self.sent())
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.sent().len()
    }

    /// Returns whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the violations.
    pub fn wrongs(&self) -> Vec<String> {
        self.0.wrongs.lock().clone()
    }

    /// Returns the time since the last successful write.
    pub fn quiet_for(&self) -> Duration {
        let last = self.inspect(|sent| sent.iter().rev().find(|sent| sent.is_done()).map_or(Duration::ZERO, |sent| sent.at));
        self.0.start.elapsed().saturating_sub(last)
    }

    fn sent(&self) -> MutexGuard<'_, Vec<Sent>> {
        self.0.sent.lock()
    }
}

impl Default for Record {
    fn default() -> Self {
        Self::new()
    }
}

/// The lifetime of a host, which ends on request or after a given write.
#[derive(Clone)]
pub struct Life(Arc<Lived>);

struct Lived {
    host: usize,
    over: watch::Sender<bool>,
    writes: Mutex<u64>,
    last_write: Option<u64>,
}

impl Life {
    /// Returns the lifetime of a host, which ends right after write `last_write`, from 1.
    pub fn new(host: usize, last_write: Option<u64>) -> Self {
        Self(Arc::new(Lived { host, over: watch::Sender::new(false), writes: Mutex::default(), last_write }))
    }

    /// Ends it: nothing of the host sends or receives any more.
    pub fn end(&self) {
        self.0.over.send_replace(true);
    }

    /// Waits for the end.
    pub async fn over(&self) {
        let _ = self.0.over.subscribe().wait_for(|over| *over).await;
    }

    /// Returns the number of writes.
    pub fn writes(&self) -> u64 {
        *self.0.writes.lock()
    }

    fn is_over(&self) -> bool {
        *self.0.over.borrow()
    }

    fn wrote(&self) {
        let writes = {
            let mut writes = self.0.writes.lock();
            *writes += 1;
            *writes
        };
        if self.0.last_write == Some(writes) {
            self.end();
        }
    }
}

/// The connection of one host to the cluster, which records its requests.
#[derive(Clone)]
pub struct Recorder {
    inner: faults::Service,
    record: Record,
    life: Life,
    claim: Claim,
}

impl Recorder {
    /// Records the requests of a host, which may write only while it has the claim.
    pub fn new(inner: faults::Service, record: Record, life: Life, claim: Claim) -> Self {
        Self { inner, record, life, claim }
    }

    fn record_request(&self, sent: Sent) -> usize {
        if sent.is_write() && self.claim.check().is_err() {
            let wrong = format!("written without the claim: {sent:?}");
            self.record.0.wrongs.lock().push(wrong);
        }
        let mut all = self.record.sent();
        all.push(sent);
        all.len() - 1
    }
}

impl<B> tower_service::Service<Request<B>> for Recorder
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: fmt::Display,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        tower_service::Service::<Request<B>>::poll_ready(&mut self.inner, context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if self.life.is_over() {
            return Box::pin(std::future::pending());
        }
        let life = self.life.clone();
        // They are sent all the time.
        if request.uri().path().starts_with("/apis/coordination.k8s.io/") {
            let answer = self.inner.call(request);
            return Box::pin(async move { answer.await.map(|answer| answer.map(|inner| Body { inner: Some(inner), life })) });
        }
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let index = self.record_request(Sent {
            at: self.record.0.start.elapsed(),
            host: self.life.0.host,
            method: request.method().clone(),
            uri: request.uri().path_and_query().map_or_else(String::new, ToString::to_string),
            agent: header(USER_AGENT),
            accept: header(ACCEPT),
            code: 0,
        });
        if let Some(happens) = self.record.is_due() {
            happens();
        }
        let record = self.record.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let is_done = match &answer {
                Ok(answer) => {
                    let sent = &mut record.sent()[index];
                    sent.code = answer.status().as_u16();
                    sent.is_done()
                }
                Err(_) => false,
            };
            if is_done {
                life.wrote();
            }
            if life.is_over() {
                return std::future::pending().await;
            }
            answer.map(|answer| answer.map(|inner| Body { inner: Some(inner), life }))
        })
    }
}

/// The body of an answer, which ends with the host.
pub struct Body {
    inner: Option<faults::Body>,
    life: Life,
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.life.is_over() {
            self.inner = None;
        }
        match &mut self.inner {
            Some(inner) => Pin::new(inner).poll_frame(context),
            None => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_some_and(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(SizeHint::default, http_body::Body::size_hint)
    }
}
