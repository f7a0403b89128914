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
use serde_json::Value;
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
#[derive(Clone)]
pub(crate) struct Journal {
    service: Service,
    kept: Arc<Mutex<Kept>>,
}

type Answer = Either<service::Body, Full<Bytes>>;

struct Kept {
    sent: Vec<Sent>,
    last: Instant,
}

impl Journal {
    pub(crate) fn new(service: Service) -> Self {
        Self { service, kept: Arc::new(Mutex::new(Kept { sent: Vec::new(), last: Instant::now() })) }
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
        let response = self.forward(Request::from_parts(parts, Body::from(body.to_vec()))).await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        sent.code = parts.status;
        sent.answer = serde_json::from_slice(&body).unwrap_or_default();
        let mut kept = self.kept();
        kept.last = Instant::now();
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
