//! The audit log: one event per line, as the real server writes it at level `Metadata`. The event
//! is logged before the answer ends, as with `--audit-log-mode=blocking`.

use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use http::request::Parts;
use http::{StatusCode, header};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::attributes::Attributes;
use crate::user::{Requester, User};

/// An audit log in a file or elsewhere.
pub struct Log {
    sink: Mutex<Box<dyn Write + Send>>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

/// The stage of a request that an event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The headers of a watch are sent.
    ResponseStarted,
    /// The answer is complete.
    ResponseComplete,
}

/// The address of the client, in the extensions of requests from the network.
#[derive(Clone, Copy, Debug)]
pub struct Source(pub IpAddr);

impl Log {
    /// A log that appends to a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or created.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self::new(std::fs::File::options().create(true).append(true).open(path)?))
    }

    /// A log that writes to `sink`.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self { sink: Mutex::new(Box::new(sink)) }
    }

    fn write(&self, event: &Map<String, Value>) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        let mut sink = self.sink.lock();
        sink.write_all(&line)?;
        sink.flush()
    }
}

/// The log entry of a request.
#[derive(Debug)]
pub struct Entry {
    log: Arc<Log>,
    event: Map<String, Value>,
}

impl Entry {
    /// The entry of a request that arrived at `received`.
    pub fn new(log: Arc<Log>, id: &str, request: &Parts, requester: Option<&Requester>, received: Timestamp) -> Self {
        let attributes = Attributes::of(request);
        let mut event = json!({
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": id,
            "requestURI": request.uri.path_and_query().map_or("/", |uri| uri.as_str()),
            "verb": attributes.verb,
            "user": requester.map_or_else(|| json!({}), |requester| user(&requester.user)),
            "requestReceivedTimestamp": format!("{received:.6}"),
            "annotations": { "authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "" },
        });
        let agent = request.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let others = [
            ("impersonatedUser", requester.and_then(|requester| requester.impersonated.as_ref()).map(user)),
            ("sourceIPs", request.extensions.get::<Source>().map(|source| json!([source.0]))),
            ("userAgent", agent.map(Value::from)),
            ("objectRef", object_reference(&attributes)),
        ];
        for (field, value) in others {
            if let (Some(value), Some(event)) = (value, event.as_object_mut()) {
                event.insert(field.to_owned(), value);
            }
        }
        let event = if let Value::Object(event) = event { event } else { Map::new() };
        Self { log, event }
    }

    /// Takes the name of a new object from the body, as the server's `LogRequestObject` does.
    pub fn sent(&mut self, body: &[u8]) {
        #[derive(serde::Deserialize)]
        struct Sent {
            metadata: Metadata,
        }
        #[derive(serde::Deserialize)]
        struct Metadata {
            name: String,
        }
        let is_create = self.event.get("verb").is_some_and(|verb| verb == "create");
        let Some(Value::Object(reference)) = self.event.get_mut("objectRef") else { return };
        if is_create
            && !reference.contains_key("name")
            && let Ok(Sent { metadata: Metadata { name } }) = serde_json::from_slice(body)
            && !name.is_empty()
        {
            reference.insert("name".to_owned(), Value::from(name));
        }
    }

    /// Records the status code, and the `Status` of a failure.
    pub fn answered(&mut self, code: StatusCode, body: Option<&[u8]>) {
        let mut status = json!({ "metadata": {}, "code": code.as_u16() });
        if !code.is_success()
            && let Some(Ok(failure)) = body.map(serde_json::from_slice::<Value>)
            && let Some(status) = status.as_object_mut()
        {
            for field in ["status", "message", "reason", "details"] {
                if let Some(value) = failure.get(field) {
                    status.insert(field.to_owned(), value.clone());
                }
            }
        }
        self.event.insert("responseStatus".to_owned(), status);
    }

    /// Writes an event of the request.
    ///
    /// # Errors
    ///
    /// If the log cannot be written.
    pub fn write(&mut self, stage: Stage, now: Timestamp) -> io::Result<()> {
        self.event.insert("stage".to_owned(), Value::from(format!("{stage:?}")));
        self.event.insert("stageTimestamp".to_owned(), Value::from(format!("{now:.6}")));
        self.log.write(&self.event)
    }
}

fn user(user: &User) -> Value {
    json!({ "username": user.name, "groups": user.groups })
}

fn object_reference(attributes: &Attributes) -> Option<Value> {
    let fields = [
        ("resource", &attributes.resource),
        ("namespace", &attributes.namespace),
        ("name", &attributes.name),
        ("apiGroup", &attributes.group),
        ("apiVersion", &attributes.version),
        ("subresource", &attributes.subresource),
    ];
    let fields = fields.into_iter().filter(|(_, text)| !text.is_empty());
    let reference: Map<String, Value> = fields.map(|(field, text)| (field.to_owned(), Value::from(text.as_str()))).collect();
    (!attributes.resource.is_empty()).then_some(Value::Object(reference))
}
