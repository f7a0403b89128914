//! A registry that is busy.

use axum::body::Body;
use axum::response::Response;
use gyre_registry::{Component, Error, Silent, bounds};
use http::Method;
use http::header::RETRY_AFTER;
use tokio::time::{Duration, Instant};

use super::client::{Folder, client, expect};
use super::server::{Registry, answer, empty};

fn busy(status: u16, seconds: u64) -> Response {
    answer(status).header(RETRY_AFTER, seconds).body(Body::empty()).unwrap()
}

#[tokio::test]
async fn a_busy_registry_is_asked_again_after_the_time_that_it_says() {
    let registry = Registry::start().await;
    registry.put_component("1", b"component");
    registry.on(Method::HEAD, "/manifests/1", 2, |_| busy(429, 20));
    registry.on(Method::GET, "/blobs/", 1, |_| busy(503, 10));
    let begin = Instant::now();
    Folder::new().pull(&client(&registry), &registry, "1").await.unwrap();
    // A second takes 10 ms in these tests.
    assert!(begin.elapsed() >= Duration::from_millis(500));
    assert_eq!(registry.requests(Method::HEAD, "/manifests/1").len(), 3);
    assert_eq!(registry.requests(Method::GET, "/blobs/").len(), 2);
}

#[tokio::test]
async fn a_registry_that_stays_busy_is_given_up_after_a_few_requests() {
    let registry = Registry::start().await;
    let client = client(&registry);
    for status in [429, 502, 503, 504] {
        registry.on(Method::HEAD, "/manifests/1", bounds::RETRIES as usize + 1, move |_| empty(status));
        let error = expect(client.resolve(&registry.reference("1")).await, &format!("is busy: it answers {status}"));
        assert!(matches!(error, Error::Busy { retry_after: None, .. }) && error.is_temporary());
    }
    let each = bounds::RETRIES as usize + 1;
    assert_eq!(registry.requests(Method::HEAD, "/manifests/1").len(), 4 * each);
    // A date is read as no time at all.
    registry.on(Method::HEAD, "/manifests/1", each, |_| {
        answer(429).header(RETRY_AFTER, "Sun, 06 Nov 1994 08:49:37 GMT").body(Body::empty()).unwrap()
    });
    expect(client.resolve(&registry.reference("1")).await, "is busy");
    registry.on(Method::HEAD, "/manifests/1", 1, |_| empty(500));
    let error = expect(client.resolve(&registry.reference("1")).await, "answers 500 for 1");
    assert!(error.is_temporary());
}

#[tokio::test]
async fn a_long_time_is_left_to_the_caller() {
    let registry = Registry::start().await;
    registry.on(Method::HEAD, "/manifests/1", usize::MAX, |_| busy(429, bounds::RETRY_AFTER + 1));
    let error = expect(client(&registry).resolve(&registry.reference("1")).await, "to try again in 61 s");
    assert!(matches!(error, Error::Busy { status: 429, retry_after: Some(_), .. }));
    assert_eq!(registry.seen().len(), 1);
}

#[tokio::test]
async fn tokens_and_uploads_are_repeated_too() {
    let registry = Registry::start().await;
    registry.require_tokens();
    registry.on(Method::GET, "/token", 1, |_| busy(429, 1));
    registry.on(Method::PUT, "/blobs/uploads/1", 1, |_| busy(503, 1));
    let component = Component { bytes: b"component", ..Component::default() };
    client(&registry).push(component, &registry.reference("1"), &Silent).await.unwrap();
    assert_eq!(registry.requests(Method::GET, "/token").len(), 2);
    // The component twice, and its config.
    assert_eq!(registry.requests(Method::PUT, "/blobs/uploads/1").len(), 3);
}
