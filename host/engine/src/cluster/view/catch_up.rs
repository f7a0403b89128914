//! Whether a cache shows what hosts have written: the host before, and this one. Only plugins that
//! group parents need it, because they may allocate.
//!
//! ```text
//!   a list of metadata, once under each claim ─▶ versions that the cache lacks ─┐
//!   our own writes whose answers the cache has refused ─────────────────────────┼▶ awaited ─▶ caught up
//!   our own writes without an answer, which may have arrived ───────────────────┘   until the cache shows them
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_core::object::ObjectKey;
use kube::{Api, Client};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::View;
use crate::client::answered;
use crate::clock::Moment;
use crate::cluster::object::Received;
use crate::cluster::pages::MetadataPages;
use crate::leadership::claim::Claim;

/// The time after which a cache that lacks writes is compared again. A watch is usually late by
/// milliseconds.
pub(crate) const CATCH_UP_PAUSE: Duration = Duration::from_secs(1);

/// The most objects that are read one by one: more are listed.
const MOST_READS: usize = 50;

/// The versions that a view has to show.
#[derive(Default)]
pub(super) struct CatchUp {
    awaited: Mutex<BTreeMap<ObjectKey, Awaited>>,
    requests: tokio::sync::Mutex<Requests>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// This version, or a later one.
    Version(u64),
    /// The version that the API server returns next: a write may have arrived, or not.
    Unknown,
}

#[derive(Default)]
struct Requests {
    /// When the last list was requested.
    listed: Option<Moment>,
    /// When awaited objects were read last.
    read: Option<Instant>,
}

impl CatchUp {
    /// Waits for a version that our own write has resulted in.
    pub(super) fn await_version(&self, key: ObjectKey, version: u64) {
        self.awaited.lock().insert(key, Awaited::Version(version));
    }

    /// Waits for the result of a write without an answer.
    pub(super) fn await_result(&self, key: ObjectKey) {
        self.awaited.lock().insert(key, Awaited::Unknown);
    }

    /// Returns whether the view shows all that was written. Sends requests only after a claim was
    /// obtained, and if the view lacks something.
    ///
    /// # Errors
    /// Those of the requests.
    pub(super) async fn is_caught_up(&self, view: &View, client: &Client, claim: &Claim) -> Result<bool, kube::Error> {
        let is_under_claim = |asked: Option<Moment>| asked.is_some_and(|asked| claim.held_since(asked));
        let is_listed_under_claim = || view.lists().all(|list| is_under_claim(list.asked()));
        if self.awaited.lock().is_empty() && is_listed_under_claim() {
            return Ok(true);
        }
        let mut requests = self.requests.lock().await;
        if !is_under_claim(requests.listed) && !is_listed_under_claim() {
            requests.listed = Some(self.list(view, client).await?);
        }
        self.forget_shown(view);
        let is_due = requests.read.is_none_or(|read| read.elapsed() >= CATCH_UP_PAUSE);
        if !self.awaited.lock().is_empty() && is_due {
            requests.read = Some(Instant::now());
            self.read(view, client).await?;
            self.forget_shown(view);
        }
        Ok(self.awaited.lock().is_empty())
    }

    /// Waits for all versions of a list that the view lacks.
    async fn list(&self, view: &View, client: &Client) -> Result<Moment, kube::Error> {
        let asked = Moment::now();
        let selector = view.label_selector();
        let mut pages = MetadataPages::new(client, &view.resource, view.watched_namespaces(), selector);
        while let Some(page) = pages.next().await? {
            for listed in page.iter().filter(|listed| !view.shows(&listed.key(), listed.resource_version())) {
                self.await_version(listed.key(), listed.resource_version());
            }
        }
        Ok(asked)
    }

    /// Reads the awaited objects: one may be gone, and the API server may have been restored.
    async fn read(&self, view: &View, client: &Client) -> Result<(), kube::Error> {
        let keys: Vec<ObjectKey> = self.awaited.lock().keys().cloned().collect();
        if keys.len() > MOST_READS {
            self.awaited.lock().clear();
            return self.list(view, client).await.map(drop);
        }
        for key in keys {
            let epoch = view.write_epoch(key.namespace.as_deref());
            let api: Api<Received> = view.resource.api(client, key.namespace.as_deref());
            let found = answered(api.get_opt(&key.name)).await?.and_then(|found| found.object.ok());
            match found {
                Some(found) => {
                    self.await_version(key, found.resource_version());
                    view.insert_written(&found, epoch);
                }
                None => drop(self.awaited.lock().remove(&key)),
            }
        }
        Ok(())
    }

    fn forget_shown(&self, view: &View) {
        self.awaited.lock().retain(|key, awaited| match awaited {
            Awaited::Version(version) => !view.shows(key, *version),
            Awaited::Unknown => true,
        });
    }
}
