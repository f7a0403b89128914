//! What hosts send, and what they are answered; and the end of a host at a moment of its own choosing.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use gyre_devcluster::faults;
use gyre_devcluster::service::BoxError;
use gyre_engine::leadership::claim::Claim;
use http::header::USER_AGENT;
use http::{Method, Request, Response};
use http_body::{Frame, SizeHint};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;

/// A request, with its answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Sent {
    /// Since the beginning of the simulation.
    pub at: Duration,
    /// Which host: they are counted as they are started.
    pub host: usize,
    /// The method.
    pub method: Method,
    /// Path and query.
    pub uri: String,
    /// Who it says that it is: mounts name their plugin and its digest.
    pub agent: String,
    /// The code of the answer; 0 while there is none, or when the connection failed.
    pub code: u16,
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, host, method, uri, code, .. } = self;
        write!(f, "{:.3} s: host {host}: {method} {uri}: {code}", at.as_secs_f64())
    }
}

impl Sent {
    /// Whether it is a watch, which a host opens again from time to time without having anything to do.
    pub fn is_watch(&self) -> bool {
        self.method == Method::GET && self.uri.contains("watch=true")
    }

    /// Whether it is to change something.
    pub fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// Whether it changed something, and the host was told so.
    pub fn is_done(&self) -> bool {
        self.is_write() && (200..300).contains(&self.code)
    }

    /// Whether it reads one object of this resource.
    pub fn is_look_at(&self, resource: &str) -> bool {
        let mut segments = self.path().rsplit('/');
        self.method == Method::GET && segments.next().is_some() && segments.next() == Some(resource)
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        self.uri.split('?').next().unwrap_or_default()
    }
}

/// What all hosts have sent.
#[derive(Clone)]
pub struct Record(Arc<Shared>);

/// What somebody else does at a moment.
type Happening = Box<dyn FnOnce() + Send>;

struct Shared {
    start: Instant,
    sent: Mutex<Vec<Sent>>,
    /// What must never be.
    wrongs: Mutex<Vec<String>>,
    /// What happens right before the request of that number, watches apart.
    before: Mutex<Option<(usize, Happening)>>,
}

impl Record {
    /// Nothing yet.
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            start: Instant::now(),
            sent: Mutex::default(),
            wrongs: Mutex::default(),
            before: Mutex::default(),
        }))
    }

    /// Has something happen right before hosts send their request of that number, counted from 1, watches apart.
    pub fn before(&self, request: usize, happens: impl FnOnce() + Send + 'static) {
        *self.0.before.lock() = Some((request, Box::new(happens)));
    }

    fn is_due(&self) -> Option<Happening> {
        let requests = self.look(|sent| sent.iter().filter(|sent| !sent.is_watch()).count());
        let mut before = self.0.before.lock();
        before.take_if(|(request, _)| requests == *request).map(|(_, happens)| happens)
    }

    /// Looks at everything so far.
    pub fn look<T>(&self, look: impl FnOnce(&[Sent]) -> T) -> T {
        look(&self.sent())
    }

    /// How much that is.
    pub fn len(&self) -> usize {
        self.sent().len()
    }

    /// Whether that is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was sent that must never be.
    pub fn wrongs(&self) -> Vec<String> {
        self.0.wrongs.lock().clone()
    }

    /// How long it is since something was last changed.
    pub fn quiet_for(&self) -> Duration {
        let last = self.look(|sent| sent.iter().rev().find(|sent| sent.is_done()).map_or(Duration::ZERO, |sent| sent.at));
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

/// The life of one host: it may be ended from outside, or end when so many of its writes are done.
#[derive(Clone)]
pub struct Life(Arc<Lived>);

struct Lived {
    host: usize,
    over: watch::Sender<bool>,
    writes: Mutex<u64>,
    last_write: Option<u64>,
}

impl Life {
    /// Of the host of that number. Right after its write number `last_write`, counted from 1, it is over.
    pub fn new(host: usize, last_write: Option<u64>) -> Self {
        Self(Arc::new(Lived { host, over: watch::Sender::new(false), writes: Mutex::default(), last_write }))
    }

    /// It is over: nothing that is left of the host sends or receives anything.
    pub fn end(&self) {
        self.0.over.send_replace(true);
    }

    /// Waits until it is over.
    pub async fn over(&self) {
        // The sender is its own.
        let _ = self.0.over.subscribe().wait_for(|over| *over).await;
    }

    /// How many writes were done in it.
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

/// The way of one host to the cluster: it notes what goes there.
#[derive(Clone)]
pub struct Recorder {
    inner: faults::Service,
    record: Record,
    life: Life,
    claim: Claim,
}

impl Recorder {
    /// Notes what the host of this life sends, which may write while it has the claim.
    pub fn new(inner: faults::Service, record: Record, life: Life, claim: Claim) -> Self {
        Self { inner, record, life, claim }
    }

    fn note(&self, sent: Sent) -> usize {
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
        let index = self.note(Sent {
            at: self.record.0.start.elapsed(),
            host: self.life.0.host,
            method: request.method().clone(),
            uri: request.uri().path_and_query().map_or_else(String::new, ToString::to_string),
            agent: request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default().to_owned(),
            code: 0,
        });
        if let Some(happens) = self.record.is_due() {
            happens();
        }
        let (record, life) = (self.record.clone(), self.life.clone());
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

/// An answer, for as long as there is somebody to read it.
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
