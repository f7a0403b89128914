use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use gyre_controlplane::Signal;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::harness::{Cluster, PATIENCE};

/// A minimal OpenTelemetry collector, which stores the requests.
pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Collector {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        // Until this process ends.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || serve(stream, &kept));
            }
        });
        Self { address, requests }
    }

    /// Returns the bodies of all requests.
    pub(crate) fn text(&self) -> String {
        self.requests.lock().iter().map(|(_, body)| body.to_string()).collect()
    }

    fn got(&self) -> (Vec<String>, Vec<Value>) {
        let requests = self.requests.lock();
        let spans = requests.iter().flat_map(|(_, body)| list(&body["resourceSpans"]));
        let spans = spans.flat_map(|spans| list(&spans["scopeSpans"])).flat_map(|spans| list(&spans["spans"]));
        (requests.iter().map(|(head, _)| head.clone()).collect(), spans.collect())
    }
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn serve(mut stream: TcpStream, kept: &Mutex<Vec<(String, Value)>>) {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let Ok(count @ 1..) = stream.read(&mut chunk) else { return };
        bytes.extend_from_slice(&chunk[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        let body_ends = end + 4 + length.parse::<usize>().expect("a number");
        if bytes.len() < body_ends {
            continue;
        }
        let body = serde_json::from_slice(&bytes[end + 4..body_ends]).expect("JSON");
        kept.lock().push((head, body));
        bytes.drain(..body_ends);
        let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        stream.write_all(answer).expect("sent");
    }
}

fn attribute<'a>(of: &'a Value, key: &str) -> &'a Value {
    let found = of["attributes"].as_array().expect("attributes").iter().find(|attribute| attribute["key"] == key);
    &found.unwrap_or_else(|| panic!("{key} is not in {of}"))["value"]
}

#[test]
fn a_collector_gets_each_reconcile_with_its_id_and_log() {
    let Some(cluster) = Cluster::for_test("traces", &["traces"]) else { return };
    let collector = Collector::new();
    let endpoint = format!("http://{}", collector.address);
    let arguments = ["--otlp-endpoint", &endpoint, "--otlp-header", "X-Tenant=a=b", "--log-format", "json"];
    let mut host = cluster.host_with(&[gyre_artifacts::GATEWAY], &["traces"], &arguments);
    const GATEWAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/gateway/samples/gateway.yaml");
    cluster.kubectl(&["apply", "-n", "traces", "-f", GATEWAY]);
    cluster.ready("traces", "gateway.app.example.com", "hello");
    // The host sends the last batch before it ends.
    host.process.signal(Signal::Terminate).unwrap();
    let status = host.process.wait(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(0), "{}", host.log());

    let (heads, spans) = collector.got();
    let head = heads.first().expect("a request");
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    assert!(head.contains("content-type: application/json") && head.contains("x-tenant: a=b"), "{head}");
    let resource = collector.requests.lock()[0].1["resourceSpans"][0]["resource"].clone();
    assert_eq!(attribute(&resource, "service.name"), &json!({ "stringValue": "gyre" }));

    let log = host.log();
    let line = log.lines().find(|line| line.contains("the desired state of Gateway hello")).expect("the plugin's line");
    let line: Value = serde_json::from_str(line).expect("JSON");
    // Attributes have no unsigned 64-bit numbers.
    let id = json!({ "stringValue": line["span"]["id"].to_string() });
    let span = spans.iter().find(|span| *attribute(span, "id") == id).unwrap_or_else(|| panic!("{id} in {spans:#?}"));
    assert_eq!(span["name"], "reconcile");
    assert_eq!(attribute(span, "mount"), &json!({ "stringValue": "gateway" }));
    assert_eq!(attribute(span, "object"), &json!({ "stringValue": "traces/hello" }));
    let time = |field: &str| span[field].as_str().and_then(|text| text.parse::<u64>().ok()).expect("nanoseconds");
    assert!(time("startTimeUnixNano") < time("endTimeUnixNano"), "{span}");
    assert_eq!(span["traceId"].as_str().map(str::len), Some(32));
    let events = list(&span["events"]);
    let said = |text: &str| events.iter().any(|event| event["name"].as_str().is_some_and(|name| name.contains(text)));
    assert!(said("the desired state of Gateway hello"), "what the plugin logs is in it: {events:#?}");
}

#[test]
fn an_unreachable_collector_delays_nothing() {
    let Some(cluster) = Cluster::for_test("no-collector", &["no-collector"]) else { return };
    // Nobody listens on a released port.
    let endpoint = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let mut host = cluster.host_with(&[gyre_artifacts::ECHO], &["no-collector"], &["--otlp-endpoint", &endpoint]);
    cluster.apply(
        r#"{"apiVersion":"mmontes.io/v1alpha1","kind":"Echo","metadata":{"name":"it","namespace":"no-collector"},"spec":{"message":"hello"}}"#,
    );
    cluster.ready("no-collector", "echo", "it");
    cluster.eventually("that it is told of", || host.log().contains("cannot send traces; they are dropped").then_some(()));
    host.process.signal(Signal::Terminate).unwrap();
    assert_eq!(host.process.wait(PATIENCE).unwrap().expect("it ends").code(), Some(0));
}
