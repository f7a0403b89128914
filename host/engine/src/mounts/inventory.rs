//! The mounts of this deployment, recorded in the cluster. A host that starts later learns which
//! undeclared kinds to prune, and which removed mounts still have finalizers on their parents.
//!
//! It is a ConfigMap with an entry for each mount, and changes only with the configuration.
//!
//! ```text
//!  a mount is recorded ─▶ a task writes it ─ success ─▶ its objects are reconciled
//!                                          ─ failure ─▶ the same, but without new finalizers;
//!                                                       /readyz says why; retried
//! ```
//!
//! A mount waits for the first attempt to write its own entry. New finalizers wait for a success,
//! because a later start that does not know the mount would never remove them.

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
use crate::cluster::kinds::{self, Resource};
use crate::error::{error_chain, is_of_api_server, is_stale};
use crate::leadership::claim::Claim;
use crate::program::{MountName, Program, ServiceAccount};

/// The first delay after a failed write.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// The longest delay: a person who has made the ConfigMap writable again waits for the effect.
const TRY_AGAIN_AT_MOST_AFTER: Duration = Duration::from_secs(60);
/// How often a write that lost a race is repeated at once. Each write contains all changes, so
/// after this many, the 409 has another cause.
const RACES: usize = 5;

/// The location of the inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The namespace of the ConfigMap.
    pub namespace: String,
    /// The name of the ConfigMap.
    pub name: String,
}

/// The entry of a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The name of the plugin, with which its children are labelled.
    pub plugin: String,
    /// The kind of its parents.
    pub parent: GroupVersionKind,
    /// The namespaces of its parents; all if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<BTreeSet<String>>,
    /// Namespaces that are excluded from these.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub except: BTreeSet<String>,
    /// The present and former kinds of its children.
    pub children: BTreeSet<GroupVersionKind>,
    /// The service account that it writes as; the host's own if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impersonate: Option<ServiceAccount>,
    /// The digest of the plugin, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The digest of its manifest in a registry, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
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
            digest: Some(program.plugin.digest().to_string()),
            artifact: program.artifact_digest().map(str::to_owned),
        }
    }

    /// The parents of this entry that `other` does not cover; `None` if it covers all.
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

    pub(crate) fn covers(&self, namespace: &str) -> bool {
        self.namespaces.as_ref().is_none_or(|names| names.contains(namespace)) && !self.except.contains(namespace)
    }

    /// The namespaces of its parents, without regard to those that are excluded.
    pub fn namespaces(&self) -> Namespaces {
        self.namespaces.clone().map_or(Namespaces::All, Namespaces::Only)
    }

    /// Returns whether the entry is of the program's plugin, in any version.
    pub fn is_of(&self, program: &Program) -> bool {
        self.is_about_the_same(&Self::of(program, std::iter::empty()))
    }

    /// Compares plugin and parent kind, but not versions.
    fn is_about_the_same(&self, other: &Self) -> bool {
        let identity = |entry: &Self| (entry.plugin.clone(), entry.parent.group.clone(), entry.parent.kind.clone());
        identity(self) == identity(other)
    }
}

/// The key of an entry that a mount left behind. No mount can have this name.
fn left_by(mount: &str) -> String {
    format!("{mount}{LEFT}")
}

fn is_left(key: &str) -> bool {
    key.ends_with(LEFT)
}

const LEFT: &str = ".left";

/// The suffix of an inventory's name, after the name of its deployment.
pub const SUFFIX: &str = "-inventory";

/// Whether the mount of an entry exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mounting {
    /// It is mounted.
    Present,
    /// It was removed or changed, and its finalizers are being removed.
    Left,
}

/// An entry as it is read from the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Whether its mount exists.
    pub mount: Mounting,
    /// The entry.
    pub entry: Entry,
}

/// Returns the entries of a ConfigMap in JSON; empty if it is not an inventory.
pub fn read(map: &Value) -> Vec<Recorded> {
    let name = map.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if !name.ends_with(SUFFIX) {
        return Vec::new();
    }
    let texts = map.get("data").and_then(Value::as_object).into_iter().flatten();
    let recorded = |(mount, text): (&String, &Value)| {
        let mount = if is_left(mount) { Mounting::Left } else { Mounting::Present };
        Some(Recorded { mount, entry: serde_json::from_str(text.as_str()?).ok()? })
    };
    texts.filter_map(recorded).collect()
}

/// Returns an inventory in JSON, with these mounts and the former kinds of their children.
pub fn written(place: &Place, programs: &[Program], former: &BTreeMap<String, BTreeSet<GroupVersionKind>>) -> Value {
    let entries = programs.iter().filter_map(|program| {
        let kinds = former.get(&*program.name).into_iter().flatten().cloned();
        Some((program.name.to_string(), serde_json::to_string(&Entry::of(program, kinds)).ok()?))
    });
    let entries: BTreeMap<String, String> = entries.collect();
    let metadata = json!({ "namespace": place.namespace, "name": place.name });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": entries })
}

/// Returns the kinds that earlier versions of mounted plugins declared, according to the inventory,
/// each with its mount. They are pruned. Kinds that the API server does not serve are left out.
///
/// # Errors
///
/// Those of the requests.
pub async fn former_kinds<'a>(
    client: &Client,
    place: &Place,
    programs: &'a [Program],
) -> Result<Vec<(&'a Program, Resource)>, kube::Error> {
    let Some(map) = Inventory::new(client.clone(), Some(place.clone())).fetch().await? else { return Ok(Vec::new()) };
    let (entries, mut found) = (entries_of(&map), Vec::new());
    for program in programs {
        let entry = entries.get(&*program.name).filter(|entry| entry.is_of(program));
        for kind in entry.map(|entry| program.undeclared(&entry.children)).unwrap_or_default() {
            found.extend(kinds::find(client, &kind).await?.map(|resource| (program, resource)));
        }
    }
    Ok(found)
}

/// The last attempt to write an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    NotYet,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Going {
    On,
    Stopping,
}

pub(crate) struct Inventory {
    kept: Option<(Client, Place)>,
    entries: Mutex<BTreeMap<String, Entry>>,
    unkept: Mutex<BTreeMap<String, Attempt>>,
    noted: Notify,
    /// Not a watch channel: it wakes waiters in a random order, and simulations must be repeatable.
    progress: Notify,
    is_stopping: AtomicBool,
    failure: Mutex<Option<String>>,
    wanted: Mutex<BTreeMap<String, Entry>>,
}

impl Inventory {
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

    pub(crate) fn want(&self, programs: &[Program]) {
        let entry = |program: &Program| (program.name.to_string(), Entry::of(program, std::iter::empty()));
        *self.wanted.lock() = programs.iter().map(entry).collect();
    }

    pub(crate) fn unwanted(&self, entry: &Entry) -> Option<Entry> {
        let wanted = self.wanted.lock();
        wanted.values().try_fold(entry.clone(), |left, wanted| left.without(wanted))
    }

    pub(crate) fn is_wanted(&self, name: &str, entry: &Entry) -> bool {
        let wanted = self.wanted.lock();
        let is_it = |mount: &String| mount == name || left_by(mount) == name;
        wanted.iter().any(|(mount, wanted)| is_it(mount) && wanted.is_about_the_same(entry))
    }

    /// Loads the inventory. Waits until the API server answers; after a 403 it is empty.
    pub(crate) async fn load(&self) {
        loop {
            match self.fetch().await {
                Ok(found) => {
                    *self.entries() = found.as_ref().map(entries_of).unwrap_or_default();
                    return;
                }
                Err(error) => {
                    warn!("{}", self.describe(&error));
                    if matches!(error, kube::Error::Api(status) if status.is_forbidden() && is_of_api_server(&status)) {
                        return;
                    }
                }
            }
            tokio::time::sleep(TRY_AGAIN_AFTER).await;
        }
    }

    pub(crate) fn all(&self) -> BTreeMap<String, Entry> {
        self.entries().clone()
    }

    pub(crate) fn kinds(&self, mount: &MountName) -> BTreeSet<GroupVersionKind> {
        self.entries().get(&**mount).map(|entry| entry.children.clone()).unwrap_or_default()
    }

    /// Records a mount, and what it leaves behind if it had more namespaces before.
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
            Some(behind) => self.record_entry(&left_by(mount), behind),
            None => self.remove(&left_by(mount)),
        }
        self.record_entry(mount, entry);
    }

    pub(crate) fn all_of(&self, program: &Program) -> Entry {
        let entry = Entry::of(program, std::iter::empty());
        match self.entries().get(&*program.name) {
            Some(before) if before.is_about_the_same(&entry) => entry.with(before.clone()),
            _ => entry,
        }
    }

    pub(crate) fn left(&self, mount: &MountName) -> Option<(String, Entry)> {
        let name = left_by(mount);
        self.entries().get(&name).cloned().map(|entry| (name, entry))
    }

    fn record_entry(&self, name: &str, entry: Entry) {
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

    pub(crate) fn remove(&self, mount: &str) {
        if self.entries().remove(mount).is_some() {
            self.is_to_be_written(mount);
        }
    }

    /// Waits for an attempt to write an entry, successful or not, or until the claim is lost.
    pub(crate) async fn tried(&self, mount: &str, claim: &Claim) -> Going {
        let is_stopping = || self.is_stopping.load(Ordering::Acquire);
        let is_tried = async {
            loop {
                let mut progress = pin!(self.progress.notified());
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

    /// Fails if a later start would not know the current entry of this mount.
    pub(crate) fn knows(&self, mount: &str) -> Result<(), String> {
        if !self.unkept().contains_key(mount) {
            return Ok(());
        }
        Err(self.failure().clone().unwrap_or_else(|| "the inventory is about to be written".to_owned()))
    }

    /// Fails if the inventory cannot be written, for operators.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Some(failure) = self.failure().clone() else { return Ok(()) };
        let names: Vec<String> = self.unkept().keys().cloned().collect();
        Err(if names.is_empty() { failure } else { format!("{failure} (not written: {})", names.join(", ")) })
    }

    /// Writes changes while it is polled and the claim is held. Failed writes are retried.
    pub(crate) async fn write_changes(&self, claim: &Claim) {
        let mut delay = TRY_AGAIN_AFTER;
        loop {
            while self.unkept().is_empty() {
                self.noted.notified().await;
            }
            if claim.check().is_err() {
                // The leader finds out whether it can be written.
                *self.failure() = None;
                claim.held().await;
            }
            if self.write_once(claim).await {
                delay = TRY_AGAIN_AFTER;
                continue;
            }
            // New entries are written at once, because mounts wait for them.
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = self.noted.notified() => {}
            }
            delay = (delay * 2).min(TRY_AGAIN_AT_MOST_AFTER);
        }
    }

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.progress.notify_waiters();
    }

    async fn write_once(&self, claim: &Claim) -> bool {
        // All at once, so that an entry that is left behind is never lost in between.
        let changes: BTreeMap<String, Option<Entry>> = {
            let (unkept, entries) = (self.unkept(), self.entries());
            unkept.keys().map(|name| (name.clone(), entries.get(name).cloned())).collect()
        };
        let mut written = self.write(&changes).await;
        for _ in 0..RACES {
            match &written {
                Err(kube::Error::Api(status)) if is_stale(status) => {
                    written = self.write(&changes).await;
                }
                _ => break,
            }
        }
        match &written {
            Ok(()) => *self.failure() = None,
            Err(_) if claim.check().is_err() => return false,
            Err(error) => self.failed(error),
        }
        let unchanged = |name: &String, entries: &BTreeMap<String, Entry>| {
            changes.get(name).is_some_and(|tried| tried.as_ref() == entries.get(name))
        };
        {
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

/// Returns the readable entries. Others were written by a later version, and stay unchanged.
fn entries_of(map: &ConfigMap) -> BTreeMap<String, Entry> {
    let data = map.data.iter().flatten();
    data.filter_map(|(mount, text)| Some((mount.clone(), serde_json::from_str(text).ok()?))).collect()
}

#[cfg(test)]
mod tests;
