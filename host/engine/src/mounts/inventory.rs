//! What this deployment has mounted, kept in the cluster: so that a host that starts later knows which kinds to prune that a plugin no
//! longer declares, and which mounts are gone whose parents still hold a finalizer.
//!
//! It is a ConfigMap beside the host, with an entry for each mount. It only changes when the configuration does.
//!
//! ```text
//!   a mount is noted ──▶ written, by a task of its own ── kept ───────────────▶ its objects are reconciled
//!                                                      ── cannot be written ──▶ the same, but no object gets a finalizer;
//!                                                                               /readyz says why; tried again
//! ```
//!
//! A mount waits for the first attempt to write its own entry, and for no other mount's. What only the inventory makes safe waits longer:
//! finalizers, which nobody would remove if a later start did not know of the mount.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gyre_core::grants::Namespaces;
use gyre_core::object::GroupVersionKind;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tracing::warn;

use crate::client::answered;
use crate::error::error_chain;
use crate::leadership::claim::Claim;
use crate::program::{MountName, Program, ServiceAccount};

/// How soon a write that failed is tried again,
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// and how soon at the latest: a person who made the ConfigMap writable again looks for the effect.
const TRY_AGAIN_AT_MOST_AFTER: Duration = Duration::from_secs(60);
/// How often a write is repeated at once after another replica was faster. Each write takes all that is noted, so replicas do not race for
/// long; one that loses this often meets something else that answers 409.
const RACES: usize = 5;

/// The place of the inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The namespace of the ConfigMap.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The entry of a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The plugin's name: what its children are labelled with.
    pub plugin: String,
    /// The kind of its parents.
    pub parent: GroupVersionKind,
    /// Their namespaces; none: all,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<BTreeSet<String>>,
    /// but not here.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub except: BTreeSet<String>,
    /// The kinds that its children are of, or were once.
    pub children: BTreeSet<GroupVersionKind>,
    /// The service account that it wrote as; none: the host's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impersonate: Option<ServiceAccount>,
}

impl Entry {
    pub(crate) fn of(program: &Program, children: impl Iterator<Item = GroupVersionKind>) -> Self {
        let manifest = program.manifest();
        let declared = manifest.children.iter().map(|child| child.kind.clone());
        Self {
            plugin: manifest.name.clone(),
            parent: manifest.parent.clone(),
            namespaces: match &program.namespaces {
                Namespaces::All => None,
                Namespaces::Only(names) => Some(names.clone()),
            },
            except: BTreeSet::new(),
            children: declared.chain(children).collect(),
            impersonate: program.impersonate.clone(),
        }
    }

    /// What of the parents is none of `other`'s; none: there is nothing.
    fn without(mut self, other: &Self) -> Option<Self> {
        if !self.is_about_the_same(other) {
            return Some(self);
        }
        let covers = |name: &String| other.covers(name);
        match (&mut self.namespaces, &other.namespaces) {
            (Some(names), _) => names.retain(|name| !covers(name)),
            (None, Some(names)) => self.except.extend(names.iter().cloned()),
            (None, None) => {
                let names = other.except.iter().filter(|name| !self.except.contains(*name)).cloned().collect();
                self.namespaces = Some(names);
                self.except.clear();
            }
        }
        let is_nothing = self.namespaces.as_ref().is_some_and(BTreeSet::is_empty);
        (!is_nothing).then_some(self)
    }

    /// The parents of both, which are about the same.
    fn with(mut self, other: Self) -> Self {
        match (&mut self.namespaces, other.namespaces) {
            (Some(names), Some(others)) => names.extend(others),
            (Some(names), None) => {
                self.except = other.except.into_iter().filter(|name| !names.contains(name)).collect();
                self.namespaces = None;
            }
            (None, Some(others)) => self.except.retain(|name| !others.contains(name)),
            (None, None) => self.except.retain(|name| other.except.contains(name)),
        }
        self.children.extend(other.children);
        self
    }

    /// Whether parents in that namespace are meant.
    pub(crate) fn covers(&self, namespace: &str) -> bool {
        self.namespaces.as_ref().is_none_or(|names| names.contains(namespace)) && !self.except.contains(namespace)
    }

    /// Whether it is of the plugin of a program, in whatever version.
    pub fn is_of(&self, program: &Program) -> bool {
        self.is_about_the_same(&Self::of(program, std::iter::empty()))
    }

    /// Whether it is the same plugin with the same kind, which may have come to another version.
    fn is_about_the_same(&self, other: &Self) -> bool {
        let identity = |entry: &Self| (entry.plugin.clone(), entry.parent.group.clone(), entry.parent.kind.clone());
        identity(self) == identity(other)
    }
}

/// The key of what a mount has left behind: a name that no mount can have.
fn left_by(mount: &str) -> String {
    format!("{mount}.left")
}

/// What the name of an inventory ends with, after that of its deployment.
pub const SUFFIX: &str = "-inventory";

/// The entries of a ConfigMap, as JSON; one that is no inventory has none.
pub fn read(map: &Value) -> Vec<Entry> {
    let name = map.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if !name.ends_with(SUFFIX) {
        return Vec::new();
    }
    let texts = map.get("data").and_then(Value::as_object).into_iter().flat_map(|entries| entries.values());
    texts.filter_map(|text| serde_json::from_str(text.as_str()?).ok()).collect()
}

/// An inventory that has these mounts, each with the kinds that its children were of, in JSON.
pub fn written(place: &Place, programs: &[Program], former: &BTreeMap<String, BTreeSet<GroupVersionKind>>) -> Value {
    let entries = programs.iter().filter_map(|program| {
        let kinds = former.get(&*program.name).into_iter().flatten().cloned();
        Some((program.name.to_string(), serde_json::to_string(&Entry::of(program, kinds)).ok()?))
    });
    let entries: BTreeMap<String, String> = entries.collect();
    let metadata = json!({ "namespace": place.namespace, "name": place.name });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": entries })
}

/// Whether it was tried to write an entry as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    NotYet,
    Failed,
}

/// Whether the host works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Going {
    On,
    Stopping,
}

/// See the module's documentation.
pub(crate) struct Inventory {
    kept: Option<(Client, Place)>,
    entries: Mutex<BTreeMap<String, Entry>>,
    /// The mounts whose entries are to be written.
    unkept: Mutex<BTreeMap<String, Attempt>>,
    noted: Notify,
    /// Notified when an attempt has ended, and when the host stops. A watch channel would wake those who wait in a random order, and
    /// simulations would not be repeatable.
    progress: Notify,
    is_stopping: AtomicBool,
    /// The error of the last write; none: it succeeded.
    failure: Mutex<Option<String>>,
    /// The configured mounts.
    wanted: Mutex<BTreeMap<String, Entry>>,
}

impl Inventory {
    /// Kept there; without a place, in memory alone.
    pub(crate) fn new(client: Client, place: Option<Place>) -> Self {
        Self {
            kept: place.map(|place| (client, place)),
            entries: Mutex::default(),
            unkept: Mutex::default(),
            noted: Notify::new(),
            progress: Notify::new(),
            is_stopping: AtomicBool::new(false),
            failure: Mutex::default(),
            wanted: Mutex::default(),
        }
    }

    /// These are to be mounted.
    pub(crate) fn want(&self, programs: &[Program]) {
        let entry = |program: &Program| (program.name.to_string(), Entry::of(program, std::iter::empty()));
        *self.wanted.lock() = programs.iter().map(entry).collect();
    }

    /// What of an entry is wanted by no mount; none: there is nothing.
    pub(crate) fn unwanted(&self, entry: &Entry) -> Option<Entry> {
        let wanted = self.wanted.lock();
        wanted.values().try_fold(entry.clone(), |left, wanted| left.without(wanted))
    }

    /// Whether an entry is that of a mount that is wanted, or of what it has left behind.
    pub(crate) fn is_wanted(&self, name: &str, entry: &Entry) -> bool {
        let wanted = self.wanted.lock();
        let is_it = |mount: &String| mount == name || left_by(mount) == name;
        wanted.iter().any(|(mount, wanted)| is_it(mount) && wanted.is_about_the_same(entry))
    }

    /// Reads what is kept. Waits until the API server answers; one that refuses is taken for one that has nothing.
    pub(crate) async fn load(&self) {
        loop {
            match self.fetch().await {
                Ok(found) => {
                    *self.entries() = found.as_ref().map(entries_of).unwrap_or_default();
                    return;
                }
                Err(error) => {
                    warn!("{}", self.describe(&error));
                    if matches!(error, kube::Error::Api(status) if status.is_forbidden()) {
                        return;
                    }
                }
            }
            tokio::time::sleep(TRY_AGAIN_AFTER).await;
        }
    }

    /// All entries.
    pub(crate) fn all(&self) -> BTreeMap<String, Entry> {
        self.entries().clone()
    }

    /// The kinds of a mount's children.
    pub(crate) fn kinds(&self, mount: &MountName) -> BTreeSet<GroupVersionKind> {
        self.entries().get(&**mount).map(|entry| entry.children.clone()).unwrap_or_default()
    }

    /// Notes a mount, and what it leaves behind if it was in more namespaces before; [`Inventory::keep`] writes it.
    pub(crate) fn record(&self, mount: &MountName, entry: Entry) {
        let (before, left) = {
            let entries = self.entries();
            (entries.get(&**mount).cloned(), entries.get(&left_by(mount)).cloned())
        };
        let same = |before: &Entry| before.is_about_the_same(&entry);
        let behind = match (before.filter(same), left.filter(same)) {
            (Some(before), Some(left)) => Some(before.with(left)),
            (before, left) => before.or(left),
        };
        match behind.and_then(|behind| behind.without(&entry)) {
            Some(behind) => self.note(&left_by(mount), behind),
            None => self.remove(&left_by(mount)),
        }
        self.note(mount, entry);
    }

    /// All that a program may have held parents of, and its mount before it had this program.
    pub(crate) fn all_of(&self, program: &Program) -> Entry {
        let entry = Entry::of(program, std::iter::empty());
        match self.entries().get(&*program.name) {
            Some(before) if before.is_about_the_same(&entry) => entry.with(before.clone()),
            _ => entry,
        }
    }

    /// The objects that a mount has left behind.
    pub(crate) fn left(&self, mount: &MountName) -> Option<(String, Entry)> {
        let name = left_by(mount);
        self.entries().get(&name).cloned().map(|entry| (name, entry))
    }

    fn note(&self, name: &str, entry: Entry) {
        if self.entries().get(name) != Some(&entry) {
            self.entries().insert(name.to_owned(), entry);
            self.is_to_be_written(name);
        }
    }

    fn is_to_be_written(&self, name: &str) {
        if self.kept.is_some() {
            self.unkept().insert(name.to_owned(), Attempt::NotYet);
            self.noted.notify_one();
        }
    }

    /// A mount is gone, and nothing of it is left to see to; [`Inventory::keep`] writes it.
    pub(crate) fn remove(&self, mount: &str) {
        if self.entries().remove(mount).is_some() {
            self.is_to_be_written(mount);
        }
    }

    /// Waits until it was tried to write the entry of a mount as it is now, whatever came of it, or the claim is lost.
    pub(crate) async fn tried(&self, mount: &str, claim: &Claim) -> Going {
        let is_stopping = || self.is_stopping.load(Ordering::Acquire);
        let is_tried = async {
            loop {
                let mut progress = pin!(self.progress.notified());
                // Before the look, so that no attempt ends in between.
                progress.as_mut().enable();
                if is_stopping() || self.unkept().get(mount) != Some(&Attempt::NotYet) {
                    return;
                }
                progress.await;
            }
        };
        tokio::select! {
            biased;
            () = is_tried => {}
            () = claim.lost() => {}
        }
        if is_stopping() { Going::Stopping } else { Going::On }
    }

    /// Whether a later start of the host knows of this mount as it is now.
    ///
    /// # Errors
    ///
    /// Why it does not.
    pub(crate) fn knows(&self, mount: &str) -> Result<(), String> {
        if !self.unkept().contains_key(mount) {
            return Ok(());
        }
        Err(self.failure().clone().unwrap_or_else(|| "the inventory is about to be written".to_owned()))
    }

    /// The reason why the inventory cannot be written, for operators.
    ///
    /// # Errors
    ///
    /// The last failure, with the mounts that it concerns.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Some(failure) = self.failure().clone() else { return Ok(()) };
        let names: Vec<String> = self.unkept().keys().cloned().collect();
        Err(if names.is_empty() { failure } else { format!("{failure} (not written: {})", names.join(", ")) })
    }

    /// Writes what changes, for as long as it is polled and the claim is held. A write that fails is tried again.
    pub(crate) async fn keep(&self, claim: &Claim) {
        let mut delay = TRY_AGAIN_AFTER;
        loop {
            while self.unkept().is_empty() {
                self.noted.notified().await;
            }
            if claim.check().is_err() {
                // Whether it can be written is for the host that leads to find out.
                *self.failure() = None;
                claim.held().await;
            }
            if self.keep_once(claim).await {
                delay = TRY_AGAIN_AFTER;
                continue;
            }
            // What is noted meanwhile is tried at once: a mount waits for it.
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = self.noted.notified() => {}
            }
            delay = (delay * 2).min(TRY_AGAIN_AT_MOST_AFTER);
        }
    }

    /// Nobody waits for an attempt any more.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.progress.notify_waiters();
    }

    /// Whether all that is noted could be written.
    async fn keep_once(&self, claim: &Claim) -> bool {
        // All at once, so that what a mount has left behind is never forgotten in between.
        let changes: BTreeMap<String, Option<Entry>> = {
            let (unkept, entries) = (self.unkept(), self.entries());
            unkept.keys().map(|name| (name.clone(), entries.get(name).cloned())).collect()
        };
        let mut written = self.write(&changes).await;
        for _ in 0..RACES {
            match &written {
                Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                    written = self.write(&changes).await;
                }
                _ => break,
            }
        }
        match &written {
            Ok(()) => *self.failure() = None,
            // It was not tried.
            Err(_) if claim.check().is_err() => return false,
            Err(error) => self.failed(error),
        }
        let unchanged = |name: &String, entries: &BTreeMap<String, Entry>| {
            changes.get(name).is_some_and(|tried| tried.as_ref() == entries.get(name))
        };
        {
            // What has changed again meanwhile was not tried yet.
            let (mut unkept, entries) = (self.unkept(), self.entries());
            match &written {
                Ok(()) => unkept.retain(|name, _| !unchanged(name, &entries)),
                Err(_) => unkept
                    .iter_mut()
                    .filter(|(name, _)| unchanged(name, &entries))
                    .for_each(|(_, attempt)| *attempt = Attempt::Failed),
            }
        }
        self.progress.notify_waiters();
        written.is_ok()
    }

    async fn write(&self, changes: &BTreeMap<String, Option<Entry>>) -> Result<(), kube::Error> {
        let Some((client, place)) = &self.kept else { return Ok(()) };
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), &place.namespace);
        let params = PostParams { field_manager: Some("gyre".to_owned()), ..PostParams::default() };
        let found = self.fetch().await?;
        let is_new = found.is_none();
        let metadata = ObjectMeta { name: Some(place.name.clone()), ..ObjectMeta::default() };
        let mut map = found.unwrap_or_else(|| ConfigMap { metadata, ..ConfigMap::default() });
        let mut data = map.data.clone().unwrap_or_default();
        for (name, entry) in changes {
            match entry.as_ref().map(serde_json::to_string).transpose().map_err(kube::Error::SerdeError)? {
                Some(text) => data.insert(name.clone(), text),
                None => data.remove(name),
            };
        }
        if map.data.as_ref().unwrap_or(&BTreeMap::new()) == &data {
            return Ok(());
        }
        map.data = Some(data);
        let written =
            async { if is_new { api.create(&params, &map).await } else { api.replace(&place.name, &params, &map).await } };
        answered(written).await.map(|_| ())
    }

    async fn fetch(&self) -> Result<Option<ConfigMap>, kube::Error> {
        let Some((client, place)) = &self.kept else { return Ok(None) };
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), &place.namespace);
        answered(api.get_opt(&place.name)).await
    }

    /// It is logged once, as long as it is the same.
    fn failed(&self, error: &kube::Error) {
        let text = self.describe(error);
        let before = self.failure().replace(text.clone());
        if before.as_ref() != Some(&text) {
            warn!("{text}");
        }
    }

    fn describe(&self, error: &kube::Error) -> String {
        let place = self.kept.as_ref().map(|(_, Place { namespace, name })| format!("{namespace}/{name}")).unwrap_or_default();
        format!(
            "cannot use the ConfigMap {place}, the inventory of mounts: {}; until it can be written, objects get no finalizers, \
             and a later start cannot clean up after mounts that are removed",
            error_chain(error)
        )
    }

    fn failure(&self) -> MutexGuard<'_, Option<String>> {
        self.failure.lock()
    }

    fn unkept(&self) -> MutexGuard<'_, BTreeMap<String, Attempt>> {
        self.unkept.lock()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.entries.lock()
    }
}

/// An entry that cannot be read was written by a later version, and is left as it is.
fn entries_of(map: &ConfigMap) -> BTreeMap<String, Entry> {
    let data = map.data.iter().flatten();
    data.filter_map(|(mount, text)| Some((mount.clone(), serde_json::from_str(text).ok()?))).collect()
}

#[cfg(test)]
mod tests;
