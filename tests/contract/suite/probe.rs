//! Makes the requests of a check, and records them.
//!
//! Paths are short: `v1/configmaps/a` is in the check's own namespace and the core group,
//! `apps/v1/deployments` in a named group; a path that begins with `/` is complete. In paths and
//! bodies, `{ns}` is the check's namespace and `{group}` its API group.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Index;
use std::time::Duration;

use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};

use super::mask::Mask;
use super::transcript::{Exchange, Transcript};

/// Longer than any answer of a working server.
const PATIENCE: Duration = Duration::from_secs(30);
/// For controllers that discover new kinds every 30 s.
const LONG_PATIENCE: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(25);
/// The message of a 429 while the storage of a changed CustomResourceDefinition is prepared.
const PREPARES_STORAGE: &str = "storage is (re)initializing";
const HEADERS: [&str; 4] = ["content-type", "location", "retry-after", "warning"];
/// The maximum length of a namespace, which is a DNS label. A longer name is cut and gets a digest.
const MAX_LABEL: usize = 63;
const MAX_BODY_SHOWN: usize = 2000;

/// Recent enough to be masked.
const LONG_AGO: &str = "2020-01-01T00:00:00Z";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";

pub(crate) struct Probe {
    client: kube::Client,
    namespace: String,
    record: RefCell<(Transcript, Mask)>,
}

impl Probe {
    pub(crate) fn new(client: kube::Client, check: &str) -> Self {
        Self { client, namespace: namespace_of(check), record: RefCell::default() }
    }

    pub(crate) fn into_transcript(self) -> Transcript {
        self.record.into_inner().0
    }

    pub(crate) async fn make_namespace(&self) {
        let body = json!({ "metadata": { "name": self.namespace } });
        self.post("/api/v1/namespaces").body(body).unrecorded().expect(201).await;
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn group(&self) -> String {
        format!("{}.contract.test", self.namespace)
    }

    pub(crate) fn get(&self, path: &str) -> Request<'_> {
        self.request("GET", path)
    }

    pub(crate) fn post(&self, path: &str) -> Request<'_> {
        self.request("POST", path)
    }

    pub(crate) fn put(&self, path: &str) -> Request<'_> {
        self.request("PUT", path)
    }

    pub(crate) fn delete(&self, path: &str) -> Request<'_> {
        self.request("DELETE", path)
    }

    pub(crate) fn patch(&self, path: &str, content_type: &str, body: Value) -> Request<'_> {
        self.request("PATCH", path).header("content-type", content_type).body(body)
    }

    pub(crate) fn apply(&self, path: &str, manager: &str, body: Value) -> Request<'_> {
        self.patch(path, APPLY_PATCH, body).query(&format!("fieldManager={manager}"))
    }

    /// Creates an object. Panics if it is not created.
    pub(crate) async fn create(&self, path: &str, body: Value) -> Answer {
        self.post(path).body(body).expect(201).await
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> Request<'_> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let request = Request {
            probe: self,
            method: method.parse().unwrap(),
            uri: self.full(path),
            headers: Vec::new(),
            body: Vec::new(),
            recorded: true,
        };
        if query.is_empty() { request } else { request.query(query) }
    }

    pub(crate) async fn watch(&self, path: &str) -> Watch<'_> {
        self.get(path).query("watch=true").watch().await
    }

    /// Records a value that the check derived from unrecorded answers.
    pub(crate) fn record_value(&self, what: &str, value: &Value) {
        let mut record = self.record.borrow_mut();
        let (transcript, mask) = &mut *record;
        let body = mask.value(value);
        transcript.exchanges.push(Exchange {
            request: what.to_owned(),
            status: None,
            headers: BTreeMap::new(),
            body,
            events: Vec::new(),
        });
    }

    /// Polls, unrecorded, until `condition` is true. Panics after a timeout.
    pub(crate) async fn until(&self, path: &str, condition: impl Fn(&Answer) -> bool) -> Answer {
        self.until_request(|| self.get(path), condition).await
    }

    /// Like [`Probe::until`], with a timeout for controllers that discover new kinds.
    pub(crate) async fn until_slowly(&self, path: &str, condition: impl Fn(&Answer) -> bool) -> Answer {
        self.until_within(LONG_PATIENCE, || self.get(path), condition).await
    }

    /// Like [`Probe::until`], with any request.
    pub(crate) async fn until_request<'a>(
        &'a self,
        request: impl Fn() -> Request<'a>,
        condition: impl Fn(&Answer) -> bool,
    ) -> Answer {
        self.until_within(PATIENCE, request, condition).await
    }

    async fn until_within<'a>(
        &'a self,
        patience: Duration,
        request: impl Fn() -> Request<'a>,
        condition: impl Fn(&Answer) -> bool,
    ) -> Answer {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let answer = request().unrecorded().send().await;
            if condition(&answer) {
                return answer;
            }
            assert!(tokio::time::Instant::now() < deadline, "not in good time: {} {:#}", answer.status, answer.body);
            tokio::time::sleep(POLL).await;
        }
    }

    /// Creates a CRD, unrecorded, and waits until its kind is served.
    pub(crate) async fn install(&self, crd: Value) {
        let plural = crd["spec"]["names"]["plural"].as_str().unwrap().to_owned();
        let name = crd["metadata"]["name"].as_str().unwrap().to_owned();
        let versions = crd["spec"]["versions"].as_array().unwrap().clone();
        self.post(CRDS).body(crd).unrecorded().expect(201).await;
        for version in versions.iter().filter(|version| version["served"] == true) {
            let path = format!("/apis/{{group}}/{}/{plural}", version["name"].as_str().unwrap());
            self.until(&path, |answer| answer.status == 200).await;
        }
        self.backdate(&format!("{CRDS}/{name}")).await;
    }

    /// Makes a CRD look old, because kube-apiserver delays creates for 2 s after its establishment.
    async fn backdate(&self, path: &str) {
        let mut conditions = self.get(path).unrecorded().expect(200).await.at("/status/conditions").clone();
        for condition in conditions.as_array_mut().into_iter().flatten() {
            condition["lastTransitionTime"] = LONG_AGO.into();
        }
        let patch = json!({ "status": { "conditions": conditions } });
        self.patch(&format!("{path}/status"), MERGE_PATCH, patch).unrecorded().send().await;
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{ns}", &self.namespace).replace("{group}", &self.group())
    }

    fn full(&self, path: &str) -> String {
        let path = self.fill(path);
        if path.starts_with('/') {
            return path;
        }
        let namespace = &self.namespace;
        match path.strip_prefix("v1/") {
            Some(rest) => format!("/api/v1/namespaces/{namespace}/{rest}"),
            None => {
                let parts: Vec<&str> = path.splitn(3, '/').collect();
                format!("/apis/{}/{}/namespaces/{namespace}/{}", parts[0], parts[1], parts[2])
            }
        }
    }

    fn push(&self, request: String, answer: &Answer) -> usize {
        let mut record = self.record.borrow_mut();
        let (transcript, mask) = &mut *record;
        let body = mask.value(&answer.body);
        let headers =
            answer.headers.iter().map(|(name, values)| (name.clone(), values.iter().map(|value| mask.text(value)).collect()));
        transcript.exchanges.push(Exchange {
            request,
            status: Some(answer.status),
            headers: headers.collect(),
            body,
            events: Vec::new(),
        });
        transcript.exchanges.len() - 1
    }
}

fn namespace_of(check: &str) -> String {
    let name = check.replace('_', "-");
    if name.len() <= MAX_LABEL {
        return name;
    }
    let digest = check.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{}-{digest:08x}", name[..MAX_LABEL - 9].trim_end_matches('-'))
}

#[must_use]
pub(crate) struct Request<'p> {
    probe: &'p Probe,
    method: http::Method,
    uri: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    recorded: bool,
}

impl<'p> Request<'p> {
    /// Adds `name=value`, or several with `&` between them.
    pub(crate) fn query(mut self, query: &str) -> Self {
        self.uri.push(if self.uri.contains('?') { '&' } else { '?' });
        for byte in self.probe.fill(query).bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => self.uri.push(byte.into()),
                b'-' | b'_' | b'.' | b'~' | b'=' | b'&' | b'%' | b',' | b'/' | b'!' | b'(' | b')' | b':' => {
                    self.uri.push(byte.into())
                }
                _ => write!(self.uri, "%{byte:02X}").unwrap(),
            }
        }
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn accept(self, value: &str) -> Self {
        self.header("accept", value)
    }

    pub(crate) fn body(self, body: Value) -> Self {
        self.text(&body.to_string())
    }

    pub(crate) fn text(mut self, body: &str) -> Self {
        self.body = self.probe.fill(body).into_bytes();
        if !self.headers.iter().any(|(name, _)| name == "content-type") {
            return self.header("content-type", "application/json");
        }
        self
    }

    /// Keeps it out of the transcript, because its answer depends on other checks or on timing.
    pub(crate) fn unrecorded(mut self) -> Self {
        self.recorded = false;
        self
    }

    /// Sends it. Panics if the status is another.
    pub(crate) async fn expect(self, status: u16) -> Answer {
        let line = format!("{} {}", self.method, self.uri);
        let answer = self.send().await;
        assert_eq!(answer.status, status, "{line} is answered with {:#}", answer.body);
        answer
    }

    /// Sends it, and retries while the server prepares the storage of a changed CRD.
    pub(crate) async fn send(self) -> Answer {
        let (request, probe, recorded) = (self.shown(), self.probe, self.recorded);
        let given_up = tokio::time::Instant::now() + PATIENCE;
        let answer = loop {
            let answer = self.answer().await;
            if answer.status != 429 || *answer.at("/message") != PREPARES_STORAGE || tokio::time::Instant::now() > given_up {
                break answer;
            }
            let pause = answer.at("/details/retryAfterSeconds").as_u64().unwrap_or(1);
            tokio::time::sleep(Duration::from_secs(pause)).await;
        };
        if recorded {
            probe.push(request, &answer);
        }
        answer
    }

    async fn answer(&self) -> Answer {
        let response = self.response().await;
        let (status, headers) = (response.status().as_u16(), compared(response.headers()));
        let bytes = tokio::time::timeout(PATIENCE, response.into_body().collect_bytes()).await;
        let bytes = bytes.expect("an answer in good time").expect("a whole answer");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let content_type = headers.get("content-type").and_then(|values| values.first()).cloned().unwrap_or_default();
        let body = match content_type.split(';').next() {
            Some("application/json") => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            Some("application/yaml") => serde_saphyr::from_str(&text).unwrap_or(Value::String(text)),
            _ => Value::String(text),
        };
        Answer { status, headers, body }
    }

    pub(crate) async fn watch(self) -> Watch<'p> {
        let (request, probe) = (self.shown(), self.probe);
        let response = self.response().await;
        let (status, headers) = (response.status().as_u16(), compared(response.headers()));
        if status != 200 {
            let bytes = response.into_body().collect_bytes().await.expect("a whole answer");
            panic!("{request} is answered with {status} {}", String::from_utf8_lossy(&bytes));
        }
        let index = probe.push(request, &Answer { status, headers, body: Value::Null });
        Watch { probe, index, body: response.into_body(), bytes: Vec::new() }
    }

    async fn response(&self) -> http::Response<Body> {
        let mut request = http::Request::builder().method(&self.method).uri(&self.uri);
        if !self.headers.iter().any(|(name, _)| name == "accept") {
            request = request.header("accept", "application/json");
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(self.body.clone())).expect("a valid request");
        tokio::time::timeout(PATIENCE, self.probe.client.send(request))
            .await
            .expect("an answer in good time")
            .expect("an answer")
    }

    fn shown(&self) -> String {
        let record = self.probe.record.borrow();
        let mut text = format!("{} {}", self.method, self.uri);
        for (name, value) in &self.headers {
            let _ = write!(text, " {name}: {value}");
        }
        if !self.body.is_empty() {
            let body = String::from_utf8_lossy(&self.body);
            let _ = write!(text, " {}", body.chars().take(MAX_BODY_SHOWN).collect::<String>());
        }
        record.1.text(&text)
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, Vec<String>>,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn str(&self, pointer: &str) -> &str {
        let value = self.body.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_else(|| panic!("no text at {pointer} of {:#}", self.body))
    }

    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.body.pointer(pointer).unwrap_or(&Value::Null)
    }

    pub(crate) fn version(&self) -> &str {
        self.str("/metadata/resourceVersion")
    }

    pub(crate) fn uid(&self) -> &str {
        self.str("/metadata/uid")
    }

    pub(crate) fn message(&self) -> &str {
        self.str("/message")
    }

    pub(crate) fn reason(&self) -> &str {
        self.str("/reason")
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        let items = self.body["items"].as_array().into_iter().flatten();
        items.map(|item| item["metadata"]["name"].as_str().unwrap_or_default()).collect()
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.headers.get("warning").into_iter().flatten().map(String::as_str).collect()
    }

    /// Returns the fields that `manager` owns through `operation`, as `fieldsV1`, or null.
    pub(crate) fn owned(&self, manager: &str, operation: &str) -> &Value {
        let entries = self.body["metadata"]["managedFields"].as_array().into_iter().flatten();
        let mut found = entries.filter(|entry| entry["manager"] == manager && entry["operation"] == operation);
        found.next().map_or(&Value::Null, |entry| &entry["fieldsV1"])
    }
}

impl Index<&str> for Answer {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        &self.body[key]
    }
}

fn compared(headers: &http::HeaderMap) -> BTreeMap<String, Vec<String>> {
    let values = |name: &str| -> Vec<String> {
        headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    };
    HEADERS.iter().map(|name| ((*name).to_owned(), values(name))).filter(|(_, values)| !values.is_empty()).collect()
}

pub(crate) struct Watch<'p> {
    probe: &'p Probe,
    index: usize,
    body: Body,
    bytes: Vec<u8>,
}

impl Watch<'_> {
    /// Returns the next `count` events. Panics if the watch ends, or after a timeout.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<Value> {
        let mut events = Vec::new();
        while events.len() < count {
            let event = tokio::time::timeout(PATIENCE, self.next()).await;
            let event = event.unwrap_or_else(|_| panic!("{count} events were expected, and there are but {events:#?}"));
            events.push(event.unwrap_or_else(|| panic!("the watch ended; it should have {count} events: {events:#?}")));
        }
        events
    }

    pub(crate) async fn one(&mut self) -> Value {
        self.take(1).await.remove(0)
    }

    /// Returns the events until the server ends the watch. Panics after a timeout.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = tokio::time::timeout(PATIENCE, self.next()).await.expect("an end in good time") {
            events.push(event);
        }
        events
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).expect("an event is JSON");
                let mut record = self.probe.record.borrow_mut();
                let (transcript, mask) = &mut *record;
                let masked = mask.event(&event);
                transcript.exchanges[self.index].events.push(masked);
                return Some(event);
            }
            let frame = self.body.frame().await?.expect("a frame of the watch");
            if let Ok(data) = frame.into_data() {
                self.bytes.extend_from_slice(&data);
            }
        }
    }
}

pub(crate) fn summary(events: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| format!("{} {}", text(&event["type"]), text(&event["object"]["metadata"]["name"]))).collect()
}
