use std::convert::Infallible;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Collected, Empty, Full};
use serde_json::{Value, json};

use super::body::Body;
use super::plan::{Draw, Outcome, Removal, generator};
use super::{Fault, Faults, Traced};
use crate::attributes::{Attributes, parameter};
use crate::service::{self, BoxError, refusal, timed_out};
use crate::status::{Named, Status};

/// A service with faults. Its errors are errors of the connection.
#[derive(Clone, Debug)]
pub struct Service {
    faults: Faults,
    inner: service::Service,
}

impl Service {
    pub(super) fn new(faults: Faults, inner: service::Service) -> Self {
        Self { faults, inner }
    }
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: fmt::Display,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Numbers follow the order of calls, not that of first polls.
        let number = self.faults.shared.requests.fetch_add(1, Ordering::SeqCst);
        let (parts, body) = request.into_parts();
        let traced = Traced {
            faults: self.faults.clone(),
            clock: self.inner.cluster().clone(),
            number,
            attributes: Attributes::of(&parts),
            uri: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        };
        let draw = if self.faults.is_stopped() {
            Draw::default()
        } else {
            let random = generator(self.faults.shared.seed, number);
            self.faults.shared.plan.draw(&traced.attributes, parts.uri.path(), random)
        };
        Box::pin(inject(self.inner.clone(), Request::from_parts(parts, body), draw, traced))
    }
}

async fn inject<B>(
    mut inner: service::Service,
    request: Request<B>,
    draw: Draw,
    traced: Traced,
) -> Result<Response<Body>, BoxError>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: fmt::Display,
{
    wait(&traced, Fault::LatencyBefore, draw.before).await;
    // Nothing that was drawn earlier happens after the faults are stopped.
    let outcome = if traced.faults.is_stopped() { Outcome::Answer } else { draw.outcome };
    let response = match outcome {
        Outcome::Answer => call(&mut inner, request).await.map(Body::plain),
        Outcome::Refused(fault, retry_after) => {
            traced.record(fault, (fault == Fault::TooManyRequests).then_some(retry_after));
            refused(fault, retry_after, &traced.attributes)?
        }
        Outcome::Lost(fault) => {
            let response = call(&mut inner, request).await;
            traced.record(fault, None);
            match fault {
                Fault::AnswerLost => answer(&timed_out()),
                Fault::AnswerCut => response.map(Body::cut),
                _ => return Err(connection_reset()),
            }
        }
        Outcome::Denied(code) => {
            traced.record(Fault::Denied, None);
            answer(&denied(code))
        }
        Outcome::Altered(removal) => altered(&mut inner, request, removal, &traced).await.map(Body::plain),
        Outcome::Stale(changes) => stale(&mut inner, request, changes, &traced).await.map(Body::plain),
        Outcome::Watch(script) => {
            let limit = request.uri().query().and_then(|query| parameter(query, "timeoutSeconds"));
            let limit = limit.and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
            let response = call(&mut inner, request).await;
            match response.status() {
                StatusCode::OK => response.map(|body| Body::scripted(body, *script, limit, traced.clone())),
                _ => response.map(Body::plain),
            }
        }
    };
    wait(&traced, Fault::LatencyAfter, draw.after).await;
    Ok(response)
}

async fn wait(traced: &Traced, fault: Fault, duration: Option<Duration>) {
    if let Some(duration) = duration
        && !traced.faults.is_stopped()
    {
        traced.record(fault, Some(duration));
        traced.faults.wait(duration).await;
    }
}

async fn call<B>(inner: &mut service::Service, request: Request<B>) -> Response<service::Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: fmt::Display,
{
    match tower_service::Service::call(inner, request).await {
        Ok(response) => response,
        Err(never) => match never as Infallible {},
    }
}

/// Handles the request without some marks of its object, as after a mutating webhook.
async fn altered<B>(
    inner: &mut service::Service,
    request: Request<B>,
    removal: Removal,
    traced: &Traced,
) -> Response<service::Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: fmt::Display,
{
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    // Other patches than applies are no objects, or have no marks.
    let object: Option<Value> = serde_json::from_slice(&bytes).ok();
    let altered = object.and_then(|mut object| {
        let metadata = object.get_mut("metadata")?.as_object_mut()?;
        let had_references = removal != Removal::Labels && metadata.remove("ownerReferences").is_some();
        let had_labels = removal != Removal::References && metadata.remove("labels").is_some();
        (had_references || had_labels).then(|| Bytes::from(object.to_string()))
    });
    if altered.is_some() {
        traced.record(Fault::MarksRemoved, None);
    }
    call(inner, Request::from_parts(parts, Full::new(altered.unwrap_or(bytes)))).await
}

/// Lists an earlier state, if the request permits it and the history reaches back.
async fn stale<B>(inner: &mut service::Service, request: Request<B>, changes: u64, traced: &Traced) -> Response<service::Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: fmt::Display,
{
    let revision = inner.cluster().revision().saturating_sub(changes).max(1);
    let (parts, body) = request.into_parts();
    if let Some(earlier) = at_revision(&parts, revision) {
        let response = call(inner, Request::from_parts(earlier, Empty::<Bytes>::new())).await;
        // A client that asked for no revision must not learn that one is forgotten.
        if response.status() == StatusCode::OK {
            traced.record(Fault::StaleList, None);
            return response;
        }
    }
    call(inner, Request::from_parts(parts, body)).await
}

/// Returns the list request for an exact revision; `None` if it does not permit old states.
fn at_revision(parts: &Parts, revision: u64) -> Option<Parts> {
    let query = parts.uri.query().unwrap_or_default();
    let permits = parameter(query, "resourceVersion").as_deref() == Some("0")
        && parameter(query, "resourceVersionMatch").is_none_or(|matching| matching.is_empty() || matching == "NotOlderThan")
        && parameter(query, "continue").is_none_or(|token| token.is_empty());
    if !permits {
        return None;
    }
    let kept = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| !matches!(&**name, "resourceVersion" | "resourceVersionMatch" | "continue"));
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(kept)
        .append_pair("resourceVersion", &revision.to_string())
        .append_pair("resourceVersionMatch", "Exact")
        .finish();
    let mut uri = parts.uri.clone().into_parts();
    uri.path_and_query = Some(format!("{}?{query}", parts.uri.path()).parse().ok()?);
    let mut parts = parts.clone();
    parts.uri = Uri::from_parts(uri).ok()?;
    Some(parts)
}

fn connection_reset() -> BoxError {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer").into()
}

fn answer(status: &Status) -> Response<Body> {
    refusal(status).map(|body| Body::plain(service::Body::full(body.bytes().cloned().unwrap_or_default())))
}

/// As `ToStatusErr` of the real server.
fn denied(code: u16) -> Status {
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::FORBIDDEN);
    let message = "admission webhook \"simulated.example.com\" denied the request: it says so";
    Status::new(code, code.canonical_reason().unwrap_or_default(), message)
}

fn page_of_gateway() -> Response<Body> {
    let page = Bytes::from_static(b"<html><h1>502 Bad Gateway</h1></html>");
    let mut response = Response::new(Body::plain(service::Body::full(page)));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}

fn refused(fault: Fault, retry_after: Duration, attributes: &Attributes) -> Result<Response<Body>, BoxError> {
    let status = match fault {
        Fault::Conflict => {
            let named = Named { group: &attributes.group, resource: &attributes.resource, name: &attributes.name };
            let why = "the object has been modified; please apply your changes to the latest version and try again";
            Status::conflict(named, why)
        }
        Fault::Forbidden => {
            let Attributes { verb, group, resource, .. } = attributes;
            let message = format!(
                r#"{resource} is forbidden: User "simulated" cannot {verb} resource "{resource}" in API group "{group}" at the cluster scope"#
            );
            Status::new(StatusCode::FORBIDDEN, "Forbidden", message)
        }
        Fault::TooManyRequests => {
            let message = "the server has received too many requests and has asked us to try again later";
            let details = json!({ "retryAfterSeconds": retry_after.as_secs() });
            Status { details: Some(details), ..Status::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message) }
        }
        // The server passes on this error of etcd.
        Fault::InternalError => Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", "etcdserver: leader changed"),
        Fault::Unavailable => {
            let message = "the server is currently unable to handle the request";
            Status::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
        }
        Fault::Timeout => timed_out(),
        Fault::BadGateway => return Ok(page_of_gateway()),
        _ => {
            let error = io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused");
            return Err(error.into());
        }
    };
    let mut response = answer(&status);
    if fault == Fault::TooManyRequests {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after.as_secs()));
    }
    Ok(response)
}
