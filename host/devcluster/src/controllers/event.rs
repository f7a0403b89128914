//! Events as client-go's recorder writes them: a repetition raises the count of the existing Event.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::json::{integer, later, seconds};
use super::{EVENTS, Intent, Step, Write};
use crate::object;
use crate::store::{Key, Resource, Store};

/// The number of Events that are remembered to count repetitions, as in client-go.
const REMEMBERED: usize = 4096;

/// `--event-ttl` of the real server.
const LIFETIME_SECONDS: i64 = 3600;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    Normal,
    Warning,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    namespace: String,
    name: String,
    uid: String,
    kind: String,
    api_version: String,
    component: &'static str,
    severity: Severity,
    reason: String,
    message: String,
}

impl Event {
    pub(super) fn new(
        component: &'static str,
        about: &Value,
        severity: Severity,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            namespace: object::namespace(about).to_owned(),
            name: object::name(about).to_owned(),
            uid: object::uid(about).unwrap_or_default().to_owned(),
            kind: object::text(about, "kind").to_owned(),
            api_version: object::text(about, "apiVersion").to_owned(),
            component,
            severity,
            reason: reason.into(),
            message: message.into(),
        }
    }

    pub(super) fn ending(mut self, end: &str) -> Self {
        self.message.push_str(end);
        self
    }

    /// Events about cluster-scoped objects are in the namespace `default`.
    fn place(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }

    fn to_object(&self, name: &str, now: Timestamp) -> Value {
        let mut involved = json!({
            "kind": self.kind, "apiVersion": self.api_version, "name": self.name, "uid": self.uid, "namespace": self.namespace,
        });
        if let Some(involved) = involved.as_object_mut().filter(|_| self.namespace.is_empty()) {
            involved.remove("namespace");
        }
        let severity = match self.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": name, "namespace": self.place() },
            "involvedObject": involved, "reason": self.reason, "message": self.message, "type": severity,
            "source": { "component": self.component }, "firstTimestamp": seconds(now), "lastTimestamp": seconds(now), "count": 1,
            "reportingComponent": self.component, "reportingInstance": "",
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Recorder {
    pending: VecDeque<Event>,
    written: BTreeMap<Event, Key>,
    /// Makes the names of simultaneous events about one object differ.
    count: u64,
}

impl Recorder {
    pub(super) fn record(&mut self, event: Event) {
        self.pending.push_back(event);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn next(&mut self, store: &Store, now: Timestamp) -> Option<Intent> {
        let event = self.pending.pop_front()?;
        if let Some(stored) = self.written.get(&event).and_then(|key| store.get(&EVENTS, key)) {
            let mut object = stored.value.clone();
            let count = integer(&object, "/count").unwrap_or(1).saturating_add(1);
            if let Some(object) = object.as_object_mut() {
                object.insert("count".to_owned(), Value::from(count));
                object.insert("lastTimestamp".to_owned(), Value::from(seconds(now)));
            }
            return Some(Intent::update(&EVENTS, object));
        }
        self.count += 1;
        let moment = now.as_nanosecond().saturating_add(i128::from(self.count));
        let name = format!("{}.{moment:x}", event.name);
        let object = event.to_object(&name, now);
        if self.written.len() >= REMEMBERED {
            self.written.clear();
        }
        let key = Key::new(event.place(), &name);
        self.written.insert(event, key);
        Some(Intent::new(Write::Create { resource: EVENTS.clone(), object }))
    }
}

pub(super) fn expiry(now: Timestamp) -> Timestamp {
    later(now, LIFETIME_SECONDS)
}

pub(super) fn expire(store: &Store, resource: &Resource, key: &Key) -> Step {
    let Some(stored) = store.get(resource, key) else { return Step::default() };
    Step::of(vec![Intent::delete(resource, &stored.value, None)])
}
