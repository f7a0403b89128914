//! Watches, which send the changes of a kind.

use std::sync::Arc;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::conversion::convert;
use crate::kinds::{Kind, Kinds};
use crate::render::Rendering;
use crate::selection::Selection;
use crate::status::Status;
use crate::store::{Change, Forgotten, Key, Limit, Presence, Resource, Store, Stored};

/// The size of a frame in bytes: fills packets, and is little to hold for a slow client.
const FRAME: usize = 64 * 1024;
/// The number of objects to inspect per frame, so that selective watches do not delay others.
const STEP: usize = 1_000;
/// The interval of bookmarks: kube-apiserver's `bookmarkFrequency`.
const BOOKMARK_EVERY: SignedDuration = SignedDuration::from_secs(60);
/// The annotation of the bookmark after the initial events (KEP-3157).
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A client's watch: a position in the history of its kind. It holds no events, so that a client
/// that does not read costs nothing. Behind the history, it gets `410 Gone`.
#[derive(Debug)]
pub struct Watch {
    pub(crate) kind: Arc<Kind>,
    pub(crate) resource: Resource,
    pub(crate) namespace: Option<String>,
    pub(crate) selection: Selection,
    pub(crate) rendering: Rendering,
    pub(crate) stage: Stage,
    pub(crate) bookmarks: Bookmarks,
    pub(crate) until: Timestamp,
    /// The number of restored backups when it began.
    pub(crate) restores: u64,
}

#[derive(Debug)]
pub(crate) enum Stage {
    /// The objects as of `revision`, after the key `after`.
    Initial { revision: u64, after: Option<Key>, then: InitialEnd },
    /// The changes after `revision`.
    Changes { revision: u64 },
    /// The watch has ended.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialEnd {
    Bookmark,
    Changes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bookmarks {
    Unwanted,
    At(Timestamp),
}

/// The next step of a watch.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Send these bytes, and ask again.
    Send(Bytes),
    /// Wait until the store changes, or until this time.
    Wait(Option<Timestamp>),
    /// Close the connection.
    End,
}

impl Watch {
    /// Returns the resource that it watches.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Returns the next step. `cached` is the newest revision in this server's watch cache.
    pub(crate) fn next(&mut self, store: &Store, kinds: &Kinds, now: Timestamp, cached: u64) -> Next {
        if now >= self.until || self.restores != store.restores() {
            return Next::End;
        }
        let step = match &self.stage {
            Stage::Initial { .. } => self.initial(store, kinds, now, cached),
            Stage::Changes { .. } => self.changes(store, kinds, now, cached),
            Stage::Over => return Next::End,
        };
        match step {
            Ok(frame) if !frame.is_empty() => Next::Send(frame.into()),
            // The last deletions are sent before the watch ends.
            Ok(_) if self.awaits_last_changes(store) => self.bookmark_or_wait(cached, now),
            // As on the real server, a watch ends with its definition, and when that changes.
            Ok(_) | Err(_) if !kinds.still_has(&self.kind) => {
                self.stage = Stage::Over;
                Next::End
            }
            Ok(_) => self.bookmark_or_wait(cached, now),
            Err(forgotten) => {
                self.stage = Stage::Over;
                let status = Status::expired(forgotten.to_string());
                Next::Send(event("ERROR", status.to_json().to_string().as_bytes()).into())
            }
        }
    }

    /// Returns whether its kind has ended, but this server's cache lacks the last changes.
    fn awaits_last_changes(&self, store: &Store) -> bool {
        let Stage::Changes { revision } = self.stage else { return false };
        let has_changes = || store.changes_since(&self.resource, revision).is_ok_and(|mut changes| changes.next().is_some());
        store.has_ended(&self.resource) && has_changes()
    }

    fn initial(&mut self, store: &Store, kinds: &Kinds, now: Timestamp, cached: u64) -> Result<Vec<u8>, Forgotten> {
        let Stage::Initial { revision, after, then } = &self.stage else { return Ok(Vec::new()) };
        let (revision, mut after, then) = (*revision, after.clone(), *then);
        let mut frame = Vec::new();
        // A page without selected objects gives an empty frame, so the next page follows.
        while frame.is_empty() {
            let limit = Limit { objects: STEP, bytes: FRAME };
            let page = store.page_at(&self.resource, self.namespace.as_deref(), revision, after.as_ref(), limit)?;
            for (key, object) in page.objects {
                if self.selection.matches(&self.kind, &object.value) {
                    self.write(&mut frame, "ADDED", &object, None, kinds, now);
                }
                after = Some(key);
            }
            if page.is_last {
                self.stage = Stage::Changes { revision };
                if then == InitialEnd::Bookmark {
                    frame.extend(self.bookmark(revision, true));
                }
                return if frame.is_empty() { self.changes(store, kinds, now, cached) } else { Ok(frame) };
            }
        }
        self.stage = Stage::Initial { revision, after, then };
        Ok(frame)
    }

    fn changes(&mut self, store: &Store, kinds: &Kinds, now: Timestamp, cached: u64) -> Result<Vec<u8>, Forgotten> {
        let Stage::Changes { revision } = self.stage else { return Ok(Vec::new()) };
        let mut frame = Vec::new();
        let mut reached = revision;
        let resource = self.resource.clone();
        for change in store.changes_since(&resource, revision)? {
            if frame.len() >= FRAME || change.revision > cached {
                break;
            }
            reached = change.revision;
            self.write_change(&mut frame, change, kinds, now);
        }
        self.stage = Stage::Changes { revision: reached };
        Ok(frame)
    }

    fn write_change(&mut self, frame: &mut Vec<u8>, change: &Change, kinds: &Kinds, now: Timestamp) {
        if self.namespace.as_deref().is_some_and(|namespace| *change.key.namespace != *namespace) {
            return;
        }
        let matches = |object: &Arc<Stored>| self.selection.matches(&self.kind, &object.value);
        let before = change.before.as_ref().is_some_and(&matches);
        let after = change.presence == Presence::Present && matches(&change.after);
        match (before, after) {
            (false, false) => {}
            (false, true) => self.write(frame, "ADDED", &change.after, None, kinds, now),
            (true, true) => self.write(frame, "MODIFIED", &change.after, None, kinds, now),
            // An object that matches no longer is deleted for the client, as it last matched.
            (true, false) => {
                let last = change.before.as_ref().unwrap_or(&change.after);
                self.write(frame, "DELETED", last, Some(change.revision), kinds, now);
            }
        }
    }

    fn write(
        &mut self,
        frame: &mut Vec<u8>,
        kind: &str,
        object: &Arc<Stored>,
        revision: Option<u64>,
        kinds: &Kinds,
        now: Timestamp,
    ) {
        let body = match revision {
            None => self.rendering.watched(kinds, &self.kind, object, now),
            Some(revision) => {
                let mut value = convert(kinds, &self.kind, &object.value).into_owned();
                crate::object::set_resource_version(&mut value, revision);
                self.rendering.watched_value(&self.kind, &value, now)
            }
        };
        frame.extend(event(kind, &body));
    }

    fn bookmark_or_wait(&mut self, cached: u64, now: Timestamp) -> Next {
        match self.bookmarks {
            Bookmarks::At(at) if now >= at => {
                let Stage::Changes { revision } = self.stage else { return Next::Wait(Some(self.until)) };
                // As on the real server, which sends only what is newer than the version asked for.
                if revision > cached {
                    return Next::Wait(Some(self.until));
                }
                // No object of the kind has changed, so the client may resume from here.
                let newest = cached;
                self.stage = Stage::Changes { revision: newest };
                self.bookmarks = Bookmarks::At(now.saturating_add(BOOKMARK_EVERY).unwrap_or(Timestamp::MAX));
                Next::Send(self.bookmark(newest, false).into())
            }
            Bookmarks::At(at) => Next::Wait(Some(at.min(self.until))),
            Bookmarks::Unwanted => Next::Wait((self.until < Timestamp::MAX).then_some(self.until)),
        }
    }

    fn bookmark(&mut self, revision: u64, is_end_of_initial: bool) -> Vec<u8> {
        let mut object = json!({
            "apiVersion": self.kind.api_version(),
            "kind": &*self.kind.kind,
            "metadata": { "resourceVersion": revision.to_string() },
        });
        if is_end_of_initial && let Some(metadata) = crate::object::metadata_mut(&mut object) {
            metadata.insert("annotations".to_owned(), json!({ INITIAL_EVENTS_END: "true" }));
        }
        // Decoding adds the structs that Go never leaves out.
        let _ = self.kind.decode(&mut object, crate::kinds::FieldValidation::Ignore);
        let body = self.rendering.bookmark(&self.kind, object);
        event("BOOKMARK", &body)
    }

    pub(crate) fn first_bookmark(now: Timestamp, are_wanted: bool) -> Bookmarks {
        if are_wanted {
            Bookmarks::At(now.saturating_add(BOOKMARK_EVERY).unwrap_or(Timestamp::MAX))
        } else {
            Bookmarks::Unwanted
        }
    }
}

fn event(kind: &str, object: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(object.len() + 40);
    frame.extend_from_slice(b"{\"type\":\"");
    frame.extend_from_slice(kind.as_bytes());
    frame.extend_from_slice(b"\",\"object\":");
    frame.extend_from_slice(object);
    frame.extend_from_slice(b"}\n");
    frame
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::answer::Body;
    use crate::server::{Controllers, Options, Server};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const WIDGETS: &str = "/apis/x.test/v1/namespaces/default/widgets";

    fn send(server: &mut Server, method: &str, path: &str, body: &str) -> Body {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let answer = server.handle(NOW, &request.body(Bytes::from(body.to_owned())).unwrap());
        assert!(answer.status.is_success(), "{method} {path}: {:?}", answer.body);
        answer.body
    }

    fn next(server: &mut Server, watch: &mut Watch, cached: u64) -> Next {
        server.behind(cached, |server| server.watch(NOW, watch))
    }

    #[test]
    fn a_watch_of_a_lagging_server_sends_the_last_deletions_before_it_ends_with_its_definition() {
        let mut server = Server::new(&Options { controllers: Controllers::Absent, ..Options::default() }, NOW);
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "widgets.x.test" },
            "spec": {
                "group": "x.test", "scope": "Namespaced", "names": { "plural": "widgets", "kind": "Widget" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } },
                }],
            },
        });
        send(&mut server, "POST", DEFINITIONS, &definition.to_string());
        let widget = json!({ "apiVersion": "x.test/v1", "kind": "Widget", "metadata": { "name": "a" } });
        send(&mut server, "POST", WIDGETS, &widget.to_string());
        let before = server.revision();
        let path = format!("{WIDGETS}?watch=true&resourceVersion={before}");
        let Body::Watch(mut watch) = send(&mut server, "GET", &path, "") else { panic!("a watch") };
        send(&mut server, "DELETE", &format!("{DEFINITIONS}/widgets.x.test"), "");
        let after = server.revision();
        assert!(matches!(next(&mut server, &mut watch, before), Next::Wait(_)), "the cache does not have the deletion yet");
        let Next::Send(frame) = next(&mut server, &mut watch, after) else { panic!("an event") };
        assert!(frame.starts_with(br#"{"type":"DELETED""#), "{frame:?}");
        assert_eq!(next(&mut server, &mut watch, after), Next::End);
    }
}
