//! What this deployment has mounted, kept in the cluster: so that a host that starts later knows which kinds to prune that a plugin no
//! longer declares, and which mounts are gone whose parents still hold a finalizer.
//!
//! It is a ConfigMap beside the host, with an entry for each mount. It only changes when the configuration does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gyre_core::grants::Namespaces;
use gyre_core::object::GroupVersionKind;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tracing::warn;

use crate::cluster::kinds::{answered, error_chain};
use crate::leadership::claim::Claim;
use crate::program::{Program, ServiceAccount};
use crate::work::MountName;

/// How soon a write that failed is tried again.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Where the inventory is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The namespace of the ConfigMap.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What is known of a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// The plugin's name: what its children are labelled with.
    pub(crate) plugin: String,
    /// The kind of its parents.
    pub(crate) parent: GroupVersionKind,
    /// Where they are; none: everywhere,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) namespaces: Option<BTreeSet<String>>,
    /// but not here.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) except: BTreeSet<String>,
    /// The kinds that its children are of, or were once.
    pub(crate) children: BTreeSet<GroupVersionKind>,
    /// The service account that it wrote as; none: the host's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) impersonate: Option<ServiceAccount>,
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
    pub(crate) fn is_of(&self, program: &Program) -> bool {
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
pub(crate) const SUFFIX: &str = "-inventory";

/// The entries of a ConfigMap, as JSON; one that is no inventory has none.
pub(crate) fn read(map: &Value) -> Vec<Entry> {
    let name = map.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if !name.ends_with(SUFFIX) {
        return Vec::new();
    }
    let texts = map.get("data").and_then(Value::as_object).into_iter().flat_map(|entries| entries.values());
    texts.filter_map(|text| serde_json::from_str(text.as_str()?).ok()).collect()
}

/// An inventory that has these mounts, each with the kinds that its children were of, in JSON.
pub(crate) fn written(place: &Place, programs: &[Program], former: &BTreeMap<String, BTreeSet<GroupVersionKind>>) -> Value {
    let entries = programs.iter().filter_map(|program| {
        let kinds = former.get(&*program.name).into_iter().flatten().cloned();
        Some((program.name.to_string(), serde_json::to_string(&Entry::of(program, kinds)).ok()?))
    });
    let entries: BTreeMap<String, String> = entries.collect();
    let metadata = json!({ "namespace": place.namespace, "name": place.name });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": entries })
}

/// See the module's documentation.
pub(crate) struct Inventory {
    kept: Option<(Client, Place)>,
    entries: Mutex<BTreeMap<String, Entry>>,
    /// The mounts whose entries are to be written.
    unkept: Mutex<BTreeSet<String>>,
    noted: Notify,
    /// What is to be mounted.
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
            wanted: Mutex::default(),
        }
    }

    /// These are to be mounted.
    pub(crate) fn want(&self, programs: &[Program]) {
        let entry = |program: &Program| (program.name.to_string(), Entry::of(program, std::iter::empty()));
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = programs.iter().map(entry).collect();
    }

    /// What of an entry is wanted by no mount; none: there is nothing.
    pub(crate) fn unwanted(&self, entry: &Entry) -> Option<Entry> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.values().try_fold(entry.clone(), |left, wanted| left.without(wanted))
    }

    /// Whether an entry is that of a mount that is wanted, or of what it has left behind.
    pub(crate) fn is_wanted(&self, name: &str, entry: &Entry) -> bool {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
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
                Err(kube::Error::Api(status)) if status.is_forbidden() => {
                    self.say(&kube::Error::Api(status));
                    return;
                }
                Err(error) => self.say(&error),
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

    /// Notes a mount, and what it leaves behind if it was in more namespaces before; [`Inventory::keep`] keeps it.
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

    /// What a mount has left behind.
    pub(crate) fn left(&self, mount: &MountName) -> Option<(String, Entry)> {
        let name = left_by(mount);
        self.entries().get(&name).cloned().map(|entry| (name, entry))
    }

    fn note(&self, name: &str, entry: Entry) {
        if self.entries().get(name) != Some(&entry) {
            self.entries().insert(name.to_owned(), entry);
            self.unkept().insert(name.to_owned());
            self.noted.notify_one();
        }
    }

    /// A mount is gone, and nothing of it is left to see to; [`Inventory::keep`] keeps it.
    pub(crate) fn remove(&self, mount: &str) {
        if self.entries().remove(mount).is_some() {
            self.unkept().insert(mount.to_owned());
            self.noted.notify_one();
        }
    }

    /// Waits until there is something to keep, and it may be written.
    pub(crate) async fn can_be_kept(&self, claim: &Claim) {
        while self.unkept().is_empty() {
            self.noted.notified().await;
        }
        claim.held().await;
    }

    /// Writes what has changed, before anything is written on behalf of new mounts. Waits until that is done, unless it is forbidden, or
    /// the claim is lost: then nothing else is written either.
    pub(crate) async fn keep(&self, claim: &Claim) {
        while claim.check().is_ok() {
            // All at once, so that what a mount has left behind is never forgotten in between.
            let changes: BTreeMap<String, Option<Entry>> = {
                let (unkept, entries) = (self.unkept(), self.entries());
                unkept.iter().map(|name| (name.clone(), entries.get(name).cloned())).collect()
            };
            if changes.is_empty() {
                return;
            }
            match answered(self.try_to_keep(&changes)).await {
                Ok(()) => {
                    self.are_kept(&changes);
                    continue;
                }
                Err(kube::Error::Api(status)) if status.is_forbidden() => {
                    self.are_kept(&changes);
                    self.say(&kube::Error::Api(status));
                    continue;
                }
                // Another host of this deployment was faster.
                Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
                Err(error) => self.say(&error),
            }
            tokio::time::sleep(TRY_AGAIN_AFTER).await;
        }
    }

    /// Those that have changed again meanwhile are not.
    fn are_kept(&self, changes: &BTreeMap<String, Option<Entry>>) {
        let (mut unkept, entries) = (self.unkept(), self.entries());
        unkept.retain(|name| changes.get(name).is_none_or(|kept| kept.as_ref() != entries.get(name)));
    }

    async fn try_to_keep(&self, changes: &BTreeMap<String, Option<Entry>>) -> Result<(), kube::Error> {
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
        let written = if is_new { api.create(&params, &map).await } else { api.replace(&place.name, &params, &map).await };
        written.map(|_| ())
    }

    async fn fetch(&self) -> Result<Option<ConfigMap>, kube::Error> {
        let Some((client, place)) = &self.kept else { return Ok(None) };
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), &place.namespace);
        answered(api.get_opt(&place.name)).await
    }

    fn say(&self, error: &kube::Error) {
        let Some((_, Place { namespace, name })) = &self.kept else { return };
        warn!(
            error = %error_chain(error),
            "cannot use the ConfigMap {namespace}/{name}: until it can, a later start of the host does not know what is mounted now"
        );
    }

    fn unkept(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.unkept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An entry that cannot be read is one of a later version, and none of ours to touch.
fn entries_of(map: &ConfigMap) -> BTreeMap<String, Entry> {
    let data = map.data.iter().flatten();
    data.filter_map(|(mount, text)| Some((mount.clone(), serde_json::from_str(text).ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(namespaces: Option<&[&str]>, except: &[&str]) -> Entry {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Entry {
            plugin: "plugin".to_owned(),
            parent: GroupVersionKind::new("example.com", "v1", "Parent"),
            namespaces: namespaces.map(names),
            except: names(except),
            children: BTreeSet::new(),
            impersonate: None,
        }
    }

    #[test]
    fn what_is_left_is_what_was_without_what_is() {
        let sets: &[&[&str]] = &[&[], &["a"], &["b"], &["a", "b"], &["b", "c"], &["a", "b", "c"]];
        let some = sets.iter().map(|names| entry(Some(names), &[]));
        let all = sets.iter().map(|except| entry(None, except));
        let entries: Vec<Entry> = some.chain(all).collect();
        // What no entry names stands for all the rest.
        let everywhere = ["a", "b", "c", "elsewhere"];
        for one in &entries {
            for other in &entries {
                let (left, both) = (one.clone().without(other), one.clone().with(other.clone()));
                for name in everywhere {
                    let is_left = left.as_ref().is_some_and(|left| left.covers(name));
                    assert_eq!(is_left, one.covers(name) && !other.covers(name), "{name}: {one:?} without {other:?}: {left:?}");
                    assert_eq!(
                        both.covers(name),
                        one.covers(name) || other.covers(name),
                        "{name}: {one:?} with {other:?}: {both:?}"
                    );
                }
                assert_eq!(left.is_some(), everywhere.iter().any(|name| left.as_ref().is_some_and(|left| left.covers(name))));
            }
            let another = Entry { plugin: "another".to_owned(), ..entry(None, &[]) };
            assert_eq!(one.clone().without(&another).as_ref(), Some(one), "another plugin's");
        }
    }
}
