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
use tokio::sync::Notify;
use tracing::warn;

use crate::kinds::{answered, error_chain};
use crate::program::Program;
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
    /// Where they are; none: everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) namespaces: Option<BTreeSet<String>>,
    /// The kinds that its children are of, or were once.
    pub(crate) children: BTreeSet<GroupVersionKind>,
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
            children: declared.chain(children).collect(),
        }
    }
}

/// See the module's documentation.
pub(crate) struct Inventory {
    kept: Option<(Client, Place)>,
    entries: Mutex<BTreeMap<String, Entry>>,
    /// The mounts whose entries are to be written.
    unkept: Mutex<BTreeSet<String>>,
    noted: Notify,
}

impl Inventory {
    /// Kept there; without a place, in memory alone.
    pub(crate) fn new(client: Client, place: Option<Place>) -> Self {
        Self {
            kept: place.map(|place| (client, place)),
            entries: Mutex::default(),
            unkept: Mutex::default(),
            noted: Notify::new(),
        }
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

    /// Notes a mount; [`Inventory::keep`] keeps it.
    pub(crate) fn record(&self, mount: &MountName, entry: Entry) {
        if self.entries().get(&**mount) != Some(&entry) {
            self.entries().insert(mount.to_string(), entry);
            self.unkept().insert(mount.to_string());
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

    /// Waits until there is something to keep.
    pub(crate) async fn changed(&self) {
        while self.unkept().is_empty() {
            self.noted.notified().await;
        }
    }

    /// Writes what has changed, before anything is written on behalf of new mounts. Waits until that is done, unless it is forbidden.
    pub(crate) async fn keep(&self) {
        loop {
            let Some(mount) = self.unkept().first().cloned() else { return };
            let entry = self.entries().get(&mount).cloned();
            match answered(self.try_to_keep(&mount, entry.as_ref())).await {
                Ok(()) => {
                    self.unkept().remove(&mount);
                    continue;
                }
                Err(kube::Error::Api(status)) if status.is_forbidden() => {
                    self.unkept().remove(&mount);
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

    async fn try_to_keep(&self, mount: &str, entry: Option<&Entry>) -> Result<(), kube::Error> {
        let Some((client, place)) = &self.kept else { return Ok(()) };
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), &place.namespace);
        let params = PostParams { field_manager: Some("gyre".to_owned()), ..PostParams::default() };
        let found = self.fetch().await?;
        let is_new = found.is_none();
        let metadata = ObjectMeta { name: Some(place.name.clone()), ..ObjectMeta::default() };
        let mut map = found.unwrap_or_else(|| ConfigMap { metadata, ..ConfigMap::default() });
        let data = map.data.get_or_insert_default();
        let text = entry.map(serde_json::to_string).transpose().map_err(kube::Error::SerdeError)?;
        if data.get(mount) == text.as_ref() {
            return Ok(());
        }
        match text {
            Some(text) => data.insert(mount.to_owned(), text),
            None => data.remove(mount),
        };
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
