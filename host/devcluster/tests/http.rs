//! Misbehaving clients of the HTTP port.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod raw;

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use gyre_devcluster::http::{Limits, serve_connection};
use gyre_devcluster::{Clock, Cluster, Options, Service};
use http::{Request, Response};
use http_body::Frame;
use hyper::body::Incoming;
use proptest::prelude::*;
use raw::{MAPS, Serving, exchange, head, rest, split};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

fn service() -> Service {
    Service::new(Cluster::start(&Options::default(), Clock::tokio("2026-01-02T03:04:05Z".parse().unwrap())))
}

/// Returns the client's end of a connection without a network.
fn connect(service: impl gyre_devcluster::http::Handler, limits: Limits, ending: CancellationToken) -> DuplexStream {
    let (client, server) = tokio::io::duplex(64 * 1024);
    drop(tokio::spawn(serve_connection(server, None, service, limits, ending)));
    client
}

fn connected() -> DuplexStream {
    connect(service(), Limits::default(), CancellationToken::new())
}

fn post(path: &str, kind: &str, body: &str) -> String {
    head("POST", path, &format!("content-type: {kind}\r\ncontent-length: {}\r\n", body.len())) + body
}

fn status(answer: &str, code: u16) -> Value {
    let (found, body) = split(answer);
    let status: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {answer}"));
    assert_eq!((found, &status["kind"], &status["code"]), (code, &json!("Status"), &json!(code)), "{answer}");
    status
}

#[tokio::test(start_paused = true)]
async fn invalid_http_gets_400() {
    for rubbish in [
        "\0\0\0\0\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nno header\r\n\r\n",
        "\u{16}\u{3}\u{1}\r\n",
    ] {
        let (code, _) = split(&exchange(connected(), rubbish).await);
        assert_eq!(code, 400, "{rubbish:?}");
    }
    let endless = head("GET", "/", &format!("x: {}\r\n", "x".repeat(100_000)));
    assert_eq!(split(&exchange(connected(), endless).await).0, 431);
}

#[tokio::test(start_paused = true)]
async fn invalid_requests_get_a_status() {
    for path in ["/apis/no.such/v1/things", "/no/such/path", "/%ff%00", "/api/v1/namespaces/../../x"] {
        assert_eq!(split(&exchange(connected(), head("GET", path, "")).await).0, 404, "{path}");
    }
    status(&exchange(connected(), head("GET", &format!("{MAPS}/none"), "")).await, 404);
    status(&exchange(connected(), head("BREW", MAPS, "")).await, 405);
    status(&exchange(connected(), post(MAPS, "application/json", "{\"kind\":")).await, 400);
    status(&exchange(connected(), post(MAPS, "application/json", "\u{0}\u{1}")).await, 400);
    status(&exchange(connected(), post(MAPS, "text/html", "{}")).await, 415);
}

#[tokio::test(start_paused = true)]
async fn web_pages_of_other_sites_are_refused() {
    let refused = exchange(connected(), head("GET", "/version", "origin: https://evil.example\r\n")).await;
    assert_eq!(status(&refused, 403)["reason"], "Forbidden");
    let rebound = "GET /version HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    status(&exchange(connected(), rebound).await, 403);
}

const HUNDRED_MEGABYTES: usize = 100 * 1024 * 1024;

async fn send_zeros(connection: &mut DuplexStream, chunk_head: &str, chunk_tail: &str) {
    let chunk = [chunk_head.as_bytes(), &[b'0'; 64 * 1024], chunk_tail.as_bytes()].concat();
    for _ in 0..HUNDRED_MEGABYTES / (64 * 1024) {
        connection.write_all(&chunk).await.unwrap();
    }
}

fn assert_too_large(answer: &str) {
    let status = status(answer, 413);
    assert_eq!(status["message"], "Request entity too large: limit is 3145728");
    assert_eq!(status["reason"], "RequestEntityTooLarge");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_megabytes_are_refused() {
    let declared = format!("content-type: application/json\r\ncontent-length: {HUNDRED_MEGABYTES}\r\n");
    let mut connection = connected();
    connection.write_all(head("POST", MAPS, &declared).as_bytes()).await.unwrap();
    send_zeros(&mut connection, "", "").await;
    assert_too_large(&rest(&mut connection).await);

    let mut connection = connected();
    let chunked = head("POST", MAPS, "content-type: application/json\r\ntransfer-encoding: chunked\r\n");
    connection.write_all(chunked.as_bytes()).await.unwrap();
    send_zeros(&mut connection, "10000\r\n", "\r\n").await;
    connection.write_all(b"0\r\n\r\n").await.unwrap();
    assert_too_large(&rest(&mut connection).await);

    // A client that asks first need not send the body.
    let expecting = head("POST", MAPS, &format!("{declared}expect: 100-continue\r\n"));
    assert_too_large(&exchange(connected(), expecting).await);
}

#[tokio::test(start_paused = true)]
async fn clients_that_ask_before_they_send_are_told_to() {
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }).to_string();
    let headers = format!("content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n", body.len());
    let mut connection = connected();
    connection.write_all(head("POST", MAPS, &headers).as_bytes()).await.unwrap();
    let mut answer = [0; 25];
    connection.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(split(&exchange(connection, body).await).0, 201);
}

#[tokio::test(start_paused = true)]
async fn heads_and_bodies_that_come_too_slowly_are_not_waited_for() {
    let begin = Instant::now();
    let mut connection = connected();
    connection.write_all(b"GET /version HT").await.unwrap();
    let dripping = async {
        while connection.write_all(b"T").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
    };
    dripping.await;
    assert!(begin.elapsed() <= Limits::default().head + Duration::from_secs(11));

    let begin = Instant::now();
    let slow = head("POST", MAPS, "content-type: application/json\r\ncontent-length: 100\r\n") + "{";
    let status = status(&exchange(connected(), slow).await, 504);
    assert_eq!(status["message"], "Timeout: request did not complete within the allotted timeout");
    assert_eq!(begin.elapsed().as_secs(), 60);
}

#[derive(Clone)]
struct Answering<F>(F);

impl<F, B> tower_service::Service<Request<Incoming>> for Answering<F>
where
    F: Fn(&str) -> Response<B> + Clone,
{
    type Response = Response<B>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<B>, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        std::future::ready(Ok((self.0)(request.uri().path())))
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_gets_a_500_and_leaves_the_connection_usable() {
    let service = Answering(|path: &str| match path {
        "/panic" => panic!("a defect"),
        _ => Response::new(http_body_util::Full::new(Bytes::from("well"))),
    });
    let mut connection = connect(service, Limits::default(), CancellationToken::new());
    connection.write_all(b"GET /panic HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    connection.write_all(head("GET", "/", "").as_bytes()).await.unwrap();
    let answers = rest(&mut connection).await;
    let (panicked, well) = answers.split_at(answers.rfind("HTTP/1.1").unwrap());
    assert_eq!(status(panicked, 500)["reason"], "InternalError");
    assert_eq!(split(well), (200, "well"));
}

struct Endless;

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 1024])))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_for_too_long_is_cut() {
    let begin = Instant::now();
    let service = Answering(|_: &str| Response::new(Endless));
    let (mut client, server) = tokio::io::duplex(1024);
    let serving = serve_connection(server, None, service, Limits::default(), CancellationToken::new());
    let serving = tokio::spawn(serving);
    client.write_all(head("GET", "/", "").as_bytes()).await.unwrap();
    // A client that sometimes reads a little is only slow.
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(50)).await;
        client.read_exact(&mut [0; 512]).await.unwrap();
    }
    assert!(!serving.is_finished());
    assert!(serving.await.unwrap().is_err());
    assert_eq!(begin.elapsed().as_secs(), 500 + Limits::default().stall.as_secs());
}

async fn read_until(connection: &mut (impl AsyncRead + Unpin), text: &str) -> String {
    let mut found = Vec::new();
    while !String::from_utf8_lossy(&found).contains(text) {
        let byte = connection.read_u8().await.unwrap();
        found.push(byte);
    }
    String::from_utf8(found).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_ends_watches() {
    let ending = CancellationToken::new();
    let mut connection = connect(service(), Limits::default(), ending.clone());
    connection.write_all(head("GET", &format!("{MAPS}?watch=true"), "").as_bytes()).await.unwrap();
    read_until(&mut connection, "\r\n\r\n").await;
    let begin = Instant::now();
    ending.cancel();
    assert!(rest(&mut connection).await.ends_with("0\r\n\r\n"));
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let server = Serving::start(service(), Limits { connections: 1, ..Limits::default() }).await;
    let mut first = server.connect().await;
    first.write_all(b"GET /version HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    first.readable().await.unwrap();
    let second = tokio::spawn(exchange(server.connect().await, head("GET", "/version", "")));
    first.write_all(head("GET", "/version", "").as_bytes()).await.unwrap();
    assert_eq!(rest(&mut first).await.matches("HTTP/1.1 200").count(), 2);
    assert_eq!(split(&second.await.unwrap()).0, 200);
    server.stop().await;
}

fn answer_to(bytes: &[u8]) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (mut client, server) = tokio::io::duplex(64 * 1024);
        let serving = tokio::spawn(serve_connection(server, None, service(), Limits::default(), CancellationToken::new()));
        drop(client.write_all(bytes).await);
        drop(client.shutdown().await);
        let answer = rest(&mut client).await;
        drop(serving.await.unwrap());
        answer
    })
}

fn request_like() -> impl Strategy<Value = Vec<u8>> {
    let methods = prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "X"]);
    let path = "/?(api|apis|openapi|version|healthz|[a-z%./]{0,8})(/(v1|batch|v3|[a-z%.]{0,4})){0,3}(/(jobs|configmaps|namespaces|[^ ]{0,5})){0,4}";
    let query =
        "([?&](watch|limit|continue|resourceVersion|fieldSelector|labelSelector|timeoutSeconds|dryRun)=[^ \r\n]{0,6}){0,3}";
    let kinds =
        prop::sample::select(vec!["application/json", "application/yaml", "application/apply-patch+yaml", "text/x", ""]);
    let body = "[{\\[]?(\"(kind|metadata|spec|apiVersion)\":(\"[a-z]{0,4}\"|[{}0-9,\\]]{0,3}),?){0,4}[}\\]]?";
    (methods, path, query, kinds, body).prop_map(|(method, path, query, kind, body)| {
        let length = body.len();
        let headers = format!("host: localhost\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}");
        format!("{method} {path}{query} HTTP/1.1\r\n{headers}\r\n\r\n{body}").into_bytes()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop_oneof![request_like(), prop::collection::vec(any::<u8>(), 0..200)]) {
        let answer = answer_to(&bytes);
        prop_assert!(!answer.contains("caused the server to panic"), "{}", answer);
    }
}
