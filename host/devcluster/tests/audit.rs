//! The audit log, read by the reader of the real server's log.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use bytes::Bytes;
use gyre_controlplane::audit::{AuditEvent, AuditReader, Mark};
use gyre_devcluster::{Clock, Cluster, Options, Service, audit};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use tower_service::Service as _;

fn summary(event: &AuditEvent) -> String {
    let AuditEvent { user, verb, resource, subresource, namespace, name, code, stage, .. } = event;
    format!("{user} {verb} {resource}/{subresource} {namespace}/{name} {code} {stage:?}")
}

async fn send(
    service: &mut Service,
    request: http::request::Builder,
    body: &'static str,
) -> http::Response<gyre_devcluster::service::Body> {
    service.call(request.body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn events_are_in_the_log_before_answers_are_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let cluster = Cluster::start(&Options::default(), Clock::tokio("2026-01-02T03:04:05Z".parse().unwrap()));
    let mut service = Service::new(cluster).with_audit(Arc::new(audit::Log::to_file(&path).unwrap()));
    let log = AuditReader::new(&path);
    let maps = "/api/v1/namespaces/default/configmaps";

    let create = Request::post(maps).header("content-type", "application/json").header("authorization", "Bearer gyre-host-x");
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#;
    drop(send(&mut service, create, body).await);
    let watch = send(&mut service, Request::get(format!("{maps}?watch=true&timeoutSeconds=30")), "").await;
    let get = Request::get("/apis/batch/v1/namespaces/x/jobs/j/status")
        .header("impersonate-user", "other")
        .header("audit-id", "mine");
    let answer = send(&mut service, get.header("user-agent", "test"), "").await;
    assert_eq!(answer.headers()["audit-id"], "mine");
    let events = log.since(Mark::START).unwrap();
    let found: Vec<String> = events.iter().map(summary).collect();
    let mut expected = vec![
        "gyre-host-x create configmaps/ default/a 201 ResponseComplete",
        "system:admin watch configmaps/ default/ 200 ResponseStarted",
        "system:admin get jobs/status x/j 404 ResponseComplete",
    ];
    assert_eq!(found, expected);
    let last = &events[2];
    assert_eq!((last.impersonated.as_deref(), last.id.as_str(), last.user_agent.as_str()), (Some("other"), "mine", "test"));
    assert_eq!((last.group.as_str(), last.decision.as_str()), ("batch", "allow"));

    drop(watch.into_body().collect().await);
    let events = log.since(Mark::START).unwrap();
    expected.push("system:admin watch configmaps/ default/ 200 ResponseComplete");
    assert_eq!(events.iter().map(summary).collect::<Vec<_>>(), expected);
    assert_eq!(events[3].id, events[1].id);
    assert_eq!(events[3].timestamp.duration_since(events[3].received).unwrap().as_secs(), 30);
}

struct FullDisk;

impl std::io::Write for FullDisk {
    fn write(&mut self, _bytes: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_logged_is_not_given() {
    let cluster = Cluster::start(&Options::default(), Clock::tokio("2026-01-02T03:04:05Z".parse().unwrap()));
    let mut service = Service::new(cluster).with_audit(Arc::new(audit::Log::new(FullDisk)));
    assert_eq!(send(&mut service, Request::get("/version"), "").await.status(), 500);
}
