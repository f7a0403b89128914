//! Kubernetes Events about parents, in `events.k8s.io/v1`.
//!
//! An Event reports a transition. A plugin returns the same events at each call; [`to_publish`] selects those that are new.

use std::sync::Arc;

use gyre_core::object::GroupVersionKind;
use gyre_core::outcome::Changed;
use gyre_core::response::Event;
use gyre_core::text::cut;
use jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use parking_lot::Mutex;
use serde_json::json;
use tracing::warn;

use crate::client::answered;
use crate::clock::Clock;
use crate::cluster::object::Object;
use crate::error::error_chain;

/// The longest note that the API server takes, in bytes (`noteLengthLimit` of its events validation).
const NOTE_LIMIT: usize = 1024;
/// The longest reason and action that it takes, in bytes (`reasonLengthLimit`).
const REASON_LIMIT: usize = 128;
/// An Event's name is that of its object and a time in hexadecimal; both together are at most 253 bytes.
const NAME_LIMIT: usize = 253 - 1 - 32;
/// So many names are tried for one.
const NAMES: u32 = 3;

/// The events that are news: all of them if the reconcile changed something, else those that did not hold last time. What held
/// last time is not known after a restart; then nothing is news, so that a restart writes nothing.
pub(crate) fn to_publish<'a>(events: &'a [Event], last: Option<&[Event]>, changed: Changed) -> Vec<&'a Event> {
    match (changed, last) {
        (Changed::Yes, None) => events.iter().collect(),
        (Changed::Yes | Changed::No, Some(last)) => events.iter().filter(|event| !last.contains(event)).collect(),
        (Changed::No, None) => Vec::new(),
    }
}

/// Writes Events on behalf of plugins.
#[derive(Clone)]
pub(crate) struct Recorder {
    /// The reporting instance: the name of the pod, if there is one.
    instance: String,
    clock: Clock,
    /// The time in the name of the last Event. A clock may say the same twice.
    last: Arc<Mutex<i128>>,
}

impl Recorder {
    pub(crate) fn new(instance: String, clock: Clock) -> Self {
        Self { instance, clock, last: Arc::default() }
    }

    /// For a name: about this time, and never the same again.
    fn stamp(&self, now: Timestamp) -> i128 {
        let mut last = self.last.lock();
        *last = now.as_nanosecond().max(last.saturating_add(1));
        *last
    }

    /// Publishes an event. One that cannot be published is logged: a reconcile does not fail for it.
    pub(crate) async fn publish(&self, client: &Client, mount: &str, kind: &GroupVersionKind, parent: &Object, event: &Event) {
        let mut result = Ok(());
        // Others make names of the same object and time.
        for _ in 0..NAMES {
            result = self.publish_once(client, mount, kind, parent, event).await;
            if !matches!(&result, Err(kube::Error::Api(status)) if status.is_already_exists()) {
                break;
            }
        }
        if let Err(error) = result {
            warn!(mount, object = %parent.key(), reason = event.reason, error = %error_chain(&error), "cannot publish an event");
        }
    }

    async fn publish_once(
        &self,
        client: &Client,
        mount: &str,
        kind: &GroupVersionKind,
        parent: &Object,
        event: &Event,
    ) -> Result<(), kube::Error> {
        // Events of cluster-scoped objects live in the namespace "default", by convention.
        let namespace = parent.namespace().unwrap_or("default");
        let now = self.clock.now();
        let name = format!("{}.{:x}", truncated(parent.name(), NAME_LIMIT).trim_end_matches(['-', '.']), self.stamp(now));
        let body = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": { "name": name, "namespace": namespace },
            "eventTime": format!("{now:.6}"),
            "reportingController": format!("gyre.dev/{mount}"),
            "reportingInstance": truncated(&self.instance, REASON_LIMIT),
            "action": "Reconcile",
            "type": event.severity,
            "reason": truncated(&event.reason, REASON_LIMIT),
            "note": cut(&event.message, NOTE_LIMIT),
            "regarding": {
                "apiVersion": kind.api_version(),
                "kind": kind.kind,
                "namespace": parent.namespace(),
                "name": parent.name(),
                "uid": parent.uid(),
                "resourceVersion": parent.resource_version().to_string(),
            },
        });
        create(client, namespace, &serde_json::from_value(body).map_err(kube::Error::SerdeError)?).await
    }
}

async fn create(client: &Client, namespace: &str, body: &k8s_openapi::api::events::v1::Event) -> Result<(), kube::Error> {
    let api: Api<k8s_openapi::api::events::v1::Event> = Api::namespaced(client.clone(), namespace);
    answered(api.create(&PostParams::default(), body)).await.map(|_| ())
}

/// The beginning of a text, at most `limit` bytes of it.
fn truncated(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use gyre_core::response::Severity;

    use super::*;

    fn event(reason: &str) -> Event {
        Event { severity: Severity::Normal, reason: reason.to_owned(), message: String::new() }
    }

    fn check(last: Option<&[&str]>, changed: Changed, expected: &[&str]) {
        let events = [event("A"), event("B")];
        let last: Option<Vec<Event>> = last.map(|reasons| reasons.iter().map(|reason| event(reason)).collect());
        let published: Vec<&str> =
            to_publish(&events, last.as_deref(), changed).iter().map(|event| event.reason.as_str()).collect();
        assert_eq!(published, expected, "{last:?} {changed:?}");
    }

    #[test]
    fn events_are_published_on_transitions_only() {
        check(None, Changed::Yes, &["A", "B"]);
        check(None, Changed::No, &[]);
        check(Some(&["A", "B"]), Changed::No, &[]);
        check(Some(&["A"]), Changed::No, &["B"]);
        check(Some(&["A"]), Changed::Yes, &["B"]);
    }

    #[test]
    fn no_two_events_have_the_same_name_whatever_the_clock_says() {
        let recorder = Recorder::new("one".to_owned(), Clock::default());
        let at = |nanoseconds| recorder.clone().stamp(Timestamp::from_nanosecond(nanoseconds).unwrap());
        assert_eq!([at(10), at(10), at(9), at(20)], [10, 11, 12, 20]);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(truncated("Grüße", 3), "Gr");
        assert_eq!(truncated("Grüße", 4), "Grü");
        assert_eq!(truncated("ab", 9), "ab");
    }
}
