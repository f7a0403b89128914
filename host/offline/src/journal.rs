//! The write requests of a host, and the answers to them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use gyre_devcluster::Service;
use gyre_devcluster::service::{self, BoxError};
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Either, Full};
use kube::client::Body;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) content_type: String,
    pub(crate) body: Value,
    /// The object before the request, or `Null` if it did not exist.
    pub(crate) before: Value,
    pub(crate) code: StatusCode,
    pub(crate) answer: Value,
}

/// Forwards requests to the API server, and records write requests. Clones share the record.
/// Experiments can refuse creations, and can cut the connection.
#[derive(Clone)]
pub(crate) struct Journal {
    service: Service,
    kept: Arc<Mutex<Kept>>,
    cut: Arc<Notify>,
}

type Answer = Either<service::Body, Full<Bytes>>;

struct Kept {
    sent: Vec<Sent>,
    last: Instant,
    /// The kinds whose objects cannot be created, as the ends of paths.
    refused: Vec<String>,
    connection: Connection,
}

/// Whether requests reach the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    Up,
    /// Until this number of further writes have been answered, without Events.
    UpFor(usize),
    Cut,
}

impl Journal {
    pub(crate) fn new(service: Service) -> Self {
        let kept = Arc::new(Mutex::new(Kept {
            sent: Vec::new(),
            last: Instant::now(),
            refused: Vec::new(),
            connection: Connection::Up,
        }));
        Self { service, kept, cut: Arc::default() }
    }

    /// Refuses creations of objects of these plurals, like an admission webhook.
    pub(crate) fn refuse(&self, plurals: impl IntoIterator<Item = String>) {
        self.kept().refused = plurals.into_iter().map(|plural| format!("/{plural}")).collect();
    }

    /// Cuts the connection once this number of further writes have been answered, without Events.
    pub(crate) async fn cut_after(&self, writes: usize) {
        let cut = self.cut.notified();
        self.kept().connection = Connection::UpFor(writes);
        cut.await;
    }

    /// Restores the connection.
    pub(crate) fn mend(&self) {
        self.kept().connection = Connection::Up;
    }

    pub(crate) fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut self.kept().sent)
    }

    pub(crate) fn has_event(&self, reason: &str) -> bool {
        let is_meant =
            |sent: &Sent| sent.path.ends_with("/events") && sent.body.get("reason").is_some_and(|said| said == reason);
        self.kept().sent.iter().any(is_meant)
    }

    pub(crate) fn last(&self) -> Instant {
        self.kept().last
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock()
    }

    async fn pass_on(mut self, request: Request<Body>) -> Result<Response<Answer>, BoxError> {
        if self.kept().connection == Connection::Cut {
            return Err("the connection is cut by this experiment".into());
        }
        if request.method() == Method::GET {
            return Ok(self.forward(request).await?.map(Either::Left));
        }
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        let before =
            if parts.method == Method::POST { Value::Null } else { self.read_object(path.trim_end_matches("/status")).await? };
        let body = body.collect_bytes().await?;
        let header = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let mut sent = Sent {
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            content_type: header.unwrap_or_default().to_owned(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            before,
            code: StatusCode::OK,
            answer: Value::Null,
        };
        let is_refused = sent.method == Method::POST && self.kept().refused.iter().any(|end| sent.path.ends_with(end));
        let response = match is_refused {
            true => refusal()?,
            false => {
                let response = self.forward(Request::from_parts(parts, Body::from(body.to_vec()))).await?;
                let (parts, body) = response.into_parts();
                Response::from_parts(parts, body.collect().await?.to_bytes())
            }
        };
        let (parts, body) = response.into_parts();
        sent.code = parts.status;
        sent.answer = serde_json::from_slice(&body).unwrap_or_default();
        let mut kept = self.kept();
        kept.last = Instant::now();
        if let Connection::UpFor(writes) = &mut kept.connection
            && !sent.path.ends_with("/events")
        {
            *writes = writes.saturating_sub(1);
            if *writes == 0 {
                kept.connection = Connection::Cut;
                self.cut.notify_waiters();
            }
        }
        kept.sent.push(sent);
        drop(kept);
        Ok(Response::from_parts(parts, Either::Right(Full::new(body))))
    }

    async fn read_object(&mut self, path: &str) -> Result<Value, BoxError> {
        let response = self.forward(Request::get(path).body(Body::empty())?).await?;
        if !response.status().is_success() {
            return Ok(Value::Null);
        }
        let body = response.into_body().collect().await?.to_bytes();
        Ok(serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn forward(&mut self, request: Request<Body>) -> Result<Response<service::Body>, BoxError> {
        Ok(tower_service::Service::call(&mut self.service, request).await?)
    }
}

/// The answer of an API server whose admission webhook denies a request.
fn refusal() -> Result<Response<Bytes>, BoxError> {
    let message = "admission webhook \"gyre-check\" denied the request: this experiment refuses the creation of children";
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": message,
    });
    let response = Response::builder().status(StatusCode::FORBIDDEN).header(CONTENT_TYPE, "application/json");
    Ok(response.body(Bytes::from(status.to_string()))?)
}

impl tower_service::Service<Request<Body>> for Journal {
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answer>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().pass_on(request))
    }
}
