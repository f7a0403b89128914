//! The requests that publish Events, in `events.k8s.io/v1`.

use gyre_core::event_queue::Publication;
use gyre_core::text::cut;
use jiff::Timestamp;
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::AddedAt;
use crate::client::answered;
use crate::clock::Clock;
use crate::error::is_gone;
use crate::program::MountName;
use crate::telemetry::metrics::EventOutcome;

/// The longest note that the API server accepts, in bytes (`noteLengthLimit`).
const NOTE_LIMIT: usize = 1024;
/// The longest reason and action that it accepts, in bytes (`reasonLengthLimit`).
const REASON_LIMIT: usize = 128;
/// An Event's name is the object's name and a hexadecimal time, at most 253 bytes.
const NAME_LIMIT: usize = 253 - 1 - 32;
const NAMES: u32 = 3;

pub(super) struct Recorder {
    instance: String,
    clock: Clock,
    /// The time in the last name, because a clock may return the same time twice.
    last: Mutex<i128>,
}

impl Recorder {
    pub(super) fn new(instance: String, clock: Clock) -> Self {
        Self { instance, clock, last: Mutex::default() }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn stamp(&self, now: Timestamp) -> i128 {
        let mut last = self.last.lock();
        *last = now.as_nanosecond().max(last.saturating_add(1));
        *last
    }

    /// Creates an Event, or updates the series of the existing one.
    pub(super) async fn publish(
        &self,
        client: &Client,
        publication: &Publication<MountName, AddedAt>,
    ) -> Result<(EventOutcome, String), kube::Error> {
        if let Some(name) = &publication.name {
            match self.count(client, publication, name).await {
                // It was deleted: by default, the API server deletes Events after an hour.
                Err(kube::Error::Api(status)) if is_gone(&status) => {}
                counted => return counted.map(|()| (EventOutcome::Counted, name.clone())),
            }
        }
        let mut result = self.create(client, publication).await;
        for _ in 1..NAMES {
            match &result {
                Err(kube::Error::Api(status)) if status.is_already_exists() => result = self.create(client, publication).await,
                _ => break,
            }
        }
        result.map(|name| (EventOutcome::Created, name))
    }

    async fn count(
        &self,
        client: &Client,
        publication: &Publication<MountName, AddedAt>,
        name: &str,
    ) -> Result<(), kube::Error> {
        let patch = json!({ "series": series(publication) });
        let request = Request::new(url(publication)).patch(name, &PatchParams::default(), &Patch::Merge(&patch));
        answered(client.request_text(request.map_err(kube::Error::BuildRequest)?)).await.map(drop)
    }

    async fn create(&self, client: &Client, publication: &Publication<MountName, AddedAt>) -> Result<String, kube::Error> {
        let Publication { mount, subject, event, first, .. } = publication;
        let object = &subject.object;
        let stem = truncated(&object.key.name, NAME_LIMIT).trim_end_matches(['-', '.']);
        let name = format!("{stem}.{:x}", self.stamp(first.time));
        let mut body = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": { "name": name, "namespace": namespace(publication) },
            "eventTime": micro_time(first.time),
            "reportingController": format!("gyre.dev/{mount}"),
            "reportingInstance": truncated(&self.instance, REASON_LIMIT),
            "action": "Reconcile",
            "type": event.severity,
            "reason": truncated_reason(&event.reason),
            // Cut again, because the prefix of a combined series makes the message longer.
            "note": truncated_note(&event.message),
            "regarding": {
                "apiVersion": object.kind.api_version(),
                "kind": object.kind.kind,
                "namespace": object.key.namespace,
                "name": object.key.name,
                "uid": subject.uid,
                "resourceVersion": subject.resource_version,
            },
        });
        if let (Some(body), true) = (body.as_object_mut(), publication.count > 1) {
            body.insert("series".to_owned(), series(publication));
        }
        let request = Request::new(url(publication)).create(&PostParams::default(), body.to_string().into_bytes());
        answered(client.request_text(request.map_err(kube::Error::BuildRequest)?)).await?;
        Ok(name)
    }
}

pub(super) fn truncated_reason(text: &str) -> &str {
    truncated(text, REASON_LIMIT)
}

pub(super) fn truncated_note(text: &str) -> String {
    cut(text, NOTE_LIMIT)
}

fn series(publication: &Publication<MountName, AddedAt>) -> Value {
    let Publication { count, last, .. } = publication;
    json!({ "count": count, "lastObservedTime": micro_time(last.time) })
}

fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}

fn url(publication: &Publication<MountName, AddedAt>) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{}/events", namespace(publication))
}

/// Events of cluster-scoped objects are in the namespace "default", by convention.
fn namespace(publication: &Publication<MountName, AddedAt>) -> &str {
    publication.subject.object.key.namespace.as_deref().unwrap_or("default")
}

fn truncated(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_events_have_the_same_name_whatever_the_clock_says() {
        let recorder = Recorder::new("one".to_owned(), Clock::default());
        let at = |nanoseconds| recorder.stamp(Timestamp::from_nanosecond(nanoseconds).unwrap());
        assert_eq!([at(10), at(10), at(9), at(20)], [10, 11, 12, 20]);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(truncated("Grüße", 3), "Gr");
        assert_eq!(truncated("Grüße", 4), "Grü");
        assert_eq!(truncated("ab", 9), "ab");
    }
}
