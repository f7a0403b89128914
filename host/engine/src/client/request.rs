//! The time limit of requests, which all clients share.

use std::time::Duration;

use http::Request;
use kube::client::Body;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The API server's own limit (`--request-timeout`), except for watches.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits for an answer with a time limit: a dead peer would block a worker and its key.
///
/// # Errors
///
/// The errors of the request; [`kube::Error::Service`] if there is no answer in time.
pub async fn answered<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, kube::Error> {
    match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
        Ok(answer) => answer,
        Err(_) => Err(kube::Error::Service(format!("no answer within {REQUEST_TIMEOUT:?}").into())),
    }
}

pub(super) fn is_watch(request: &Request<Body>) -> bool {
    has_parameter(request, |parameter| parameter == "watch=true")
}

pub(super) fn has_parameter(request: &Request<Body>, is_meant: impl Fn(&str) -> bool) -> bool {
    request.uri().query().is_some_and(|query| query.split('&').any(is_meant))
}
