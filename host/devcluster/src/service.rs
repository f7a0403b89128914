//! The server as a [`tower_service::Service`], for `kube::Client::new` and for HTTP.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use tokio::sync::Semaphore;

use crate::audit::{self, Entry, Stage};
use crate::cluster::{self, Cluster};
use crate::random::Random;
use crate::status::Status;
use crate::user::Requester;

/// Any error, as tower's services have it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The maximum size of a body: `MaxRequestBodyBytes` of the real server, twice etcd's limit.
pub const BODY_LIMIT: usize = crate::request::body::LIMIT;

/// The bytes of a too large body that are read and dropped. If the connection were closed at once,
/// clients that read only after sending could lose the answer.
const DISCARD_LIMIT: usize = 256 * 1024 * 1024;

/// The timeout for receiving a body: `--request-timeout` of the real server.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum total size of incomplete bodies in KiB. Further requests wait.
const BODIES_KIB: usize = 64 * 1024;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Answers requests. Clones share the cluster.
#[derive(Clone, Debug)]
pub struct Service {
    cluster: Cluster,
    /// Another API server of the cluster for half of the requests, and the seed of the choice.
    other: Option<(Cluster, u64)>,
    audit: Option<Arc<audit::Log>>,
    requests: Arc<AtomicU64>,
    /// A permit per KiB of bodies.
    bodies: Arc<Semaphore>,
}

impl Service {
    /// A service that answers for `cluster`.
    pub fn new(cluster: Cluster) -> Self {
        Self { cluster, other: None, audit: None, requests: Arc::default(), bodies: Arc::new(Semaphore::new(BODIES_KIB)) }
    }

    /// Adds a log of all requests.
    #[must_use]
    pub fn with_audit(mut self, log: Arc<audit::Log>) -> Self {
        self.audit = Some(log);
        self
    }

    /// Adds another API server of the cluster. The seed and a request's number choose between them.
    #[must_use]
    pub fn with_another(mut self, other: Cluster, seed: u64) -> Self {
        self.other = Some((other, seed));
        self
    }

    fn next_server(&self) -> &Cluster {
        match &self.other {
            Some((other, seed)) if Random::new(seed ^ self.requests.load(Ordering::Relaxed)).below(2) == 0 => other,
            _ => &self.cluster,
        }
    }

    /// Returns the cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    async fn answer<B>(
        &self,
        cluster: Cluster,
        request: Request<B>,
        received: Timestamp,
        audit_id: HeaderValue,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: fmt::Display,
    {
        let (mut parts, body) = request.into_parts();
        let requester = Requester::of(&parts.headers);
        let mut entry = self.audit.as_ref().map(|log| {
            let id = audit_id.to_str().unwrap_or_default();
            Entry::new(Arc::clone(log), id, &parts, requester.as_ref().ok(), received)
        });
        let answered = match requester {
            Ok(requester) => {
                parts.extensions.insert(requester);
                self.collect(&parts, body).await.map(|bytes| {
                    entry.iter_mut().for_each(|entry| entry.sent(&bytes));
                    cluster.handle(&Request::from_parts(parts, bytes))
                })
            }
            Err(status) => Err(status),
        };
        let response = answered.unwrap_or_else(|status| refusal(&status));
        let mut response = self.audited(response, entry);
        response.headers_mut().insert(AUDIT_ID, audit_id);
        response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
        response
    }

    async fn collect<B>(&self, parts: &Parts, body: B) -> Result<Bytes, Status>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: fmt::Display,
    {
        let limit = BODY_LIMIT as u64;
        let is_declared_too_large = body.size_hint().lower() > limit;
        if is_declared_too_large && parts.headers.contains_key(header::EXPECT) {
            // The client waits for permission to send, so nothing needs to be dropped.
            return Err(Status::too_large(BODY_LIMIT));
        }
        let most = if is_declared_too_large { 0 } else { body.size_hint().upper().map_or(limit, |upper| upper.min(limit)) };
        let reading = async {
            let reserved = self.bodies.acquire_many(u32::try_from(most.div_ceil(1024)).unwrap_or(u32::MAX)).await;
            let bytes = read(body, is_declared_too_large).await;
            drop(reserved);
            bytes
        };
        tokio::time::timeout(BODY_TIMEOUT, reading).await.unwrap_or_else(|_| Err(timed_out()))
    }

    /// Logs an answer, or replaces it by an error, because a gap in the log would go unnoticed.
    fn audited(&self, response: Response<cluster::Body>, entry: Option<Entry>) -> Response<Body> {
        let Some(mut entry) = entry else { return response.map(|content| Body { content, completion: None }) };
        entry.answered(response.status(), response.body().bytes().map(Bytes::as_ref));
        let is_whole = response.body().bytes().is_some();
        let stage = if is_whole { Stage::ResponseComplete } else { Stage::ResponseStarted };
        if let Err(error) = entry.write(stage, self.cluster.now()) {
            let status = Status::internal(format!("unable to write the audit log: {error}"));
            return refusal(&status).map(|content| Body { content, completion: None });
        }
        let completion = (!is_whole).then(|| Completion { entry, cluster: self.cluster.clone() });
        response.map(|content| Body { content, completion })
    }

    /// Returns the request's ID from the client, or a new one.
    fn audit_id(&self, parts: &Parts) -> HeaderValue {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let given = parts.headers.get(AUDIT_ID).filter(|id| !id.is_empty()).cloned();
        given.unwrap_or_else(|| {
            let id = format!("00000000-0000-4000-8000-{number:012x}");
            HeaderValue::try_from(id).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
        })
    }
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        let received = self.cluster.now();
        let (parts, body) = request.into_parts();
        let cluster = self.next_server().clone();
        let audit_id = self.audit_id(&parts);
        let request = Request::from_parts(parts, body);
        Box::pin(async move { Ok(service.answer(cluster, request, received, audit_id).await) })
    }
}

pub(crate) fn refusal(status: &Status) -> Response<cluster::Body> {
    let mut response = Response::new(cluster::Body::full(Bytes::from(status.to_text())));
    *response.status_mut() = status.code;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// `NewTimeoutError` of the real server.
pub(crate) fn timed_out() -> Status {
    let message = "Timeout: request did not complete within the allotted timeout";
    Status { details: Some(serde_json::json!({})), ..Status::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message) }
}

async fn read<B>(body: B, mut is_too_large: bool) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: fmt::Display,
{
    let mut body = std::pin::pin!(body);
    let mut collected = BytesMut::new();
    let mut length = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Status::bad_request(error.to_string()))?;
        let Ok(bytes) = frame.into_data() else { continue };
        length = length.saturating_add(bytes.len());
        if length > BODY_LIMIT {
            is_too_large = true;
            collected = BytesMut::new();
        }
        if length > DISCARD_LIMIT {
            break;
        }
        if !is_too_large {
            collected.extend_from_slice(&bytes);
        }
    }
    if is_too_large { Err(Status::too_large(BODY_LIMIT)) } else { Ok(collected.freeze()) }
}

/// The body of an answer.
#[derive(Debug)]
pub struct Body {
    content: cluster::Body,
    completion: Option<Completion>,
}

/// Logs the end of a watch when it is dropped.
#[derive(Debug)]
struct Completion {
    entry: Entry,
    cluster: Cluster,
}

impl Drop for Completion {
    fn drop(&mut self) {
        if let Err(error) = self.entry.write(Stage::ResponseComplete, self.cluster.now()) {
            tracing::error!(%error, "the end of a watch could not be written into the audit log");
        }
    }
}

impl Body {
    pub(crate) fn full(bytes: Bytes) -> Self {
        Self { content: cluster::Body::full(bytes), completion: None }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.content).poll_frame(context));
        if frame.is_none() {
            self.completion = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}
