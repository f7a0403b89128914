//! Unmounting without stranded finalizers: removes the finalizers of a plugin that is not mounted.

use std::collections::BTreeSet;
use std::time::Duration;

use gyre_core::grants::Scope;
use gyre_core::object::GroupVersionKind;
use gyre_core::plan::{OWNER_UID_LABEL, Ownership, PLUGIN_LABEL, ownership};
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client};
use tracing::{info, warn};

use crate::client::answered;
use crate::cluster::kinds::{self, Resource};
use crate::cluster::object::{Object, Received, SharedObject};
use crate::error::error_chain;
use crate::mounts::inventory::{Entry, Inventory};
use crate::writes::finalizers::{child_list, has_finalizer, remove_finalizer_without_mount};

const TRY_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// The longest delay: people may wait for the deletion of an object.
const TRY_AGAIN_AT_MOST_AFTER: Duration = Duration::from_secs(60);
/// The page size of lists, as in client-go's pager.
const PAGE: u32 = 500;

/// Removes the finalizer from all parents of a mount. Returns when none has it.
///
/// # Guarantees
///
/// - Parents that live lose only the finalizer.
/// - Before a parent that is being deleted, its children go that the garbage collector does not
///   reach.
/// - Parents of another mount are left unchanged.
pub(crate) async fn release(releaser: &Releaser, mount: &str, entry: &Entry, inventory: &Inventory) {
    let mut delay = TRY_AGAIN_AFTER;
    let mut told = String::new();
    loop {
        let Some(entry) = inventory.unwanted(entry) else {
            info!(mount, "its objects belong to another mount");
            return;
        };
        match releaser.release_once(&entry).await {
            Ok(Left { parents: 0, released }) => {
                info!(mount, released, "unmounted: no object holds a finalizer of the plugin {}", entry.plugin);
                return;
            }
            Ok(Left { parents, .. }) => info!(mount, parents, "objects still wait until their children are deleted"),
            Err(error) => {
                let text = error_chain(&error);
                if text != told {
                    let remedy = match &error {
                        kube::Error::Api(status) if status.is_forbidden() => {
                            "permit this to the host, or to the service account that the mount used, until it is done; or, if no object has the finalizer, remove the mount from the inventory"
                        }
                        _ => "retrying",
                    };
                    warn!(mount, error = text, "cannot remove the finalizers of the plugin {}: {remedy}", entry.plugin);
                    told = text;
                }
            }
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(TRY_AGAIN_AT_MOST_AFTER);
    }
}

/// A service account of the mount may write; the host may only be permitted to read.
pub(crate) struct Releaser {
    pub(crate) host: Client,
    pub(crate) account: Option<Client>,
}

impl Releaser {
    /// Writes as the mount did, or as the host if that is forbidden.
    async fn release_once(&self, entry: &Entry) -> Result<Left, kube::Error> {
        let is_forbidden = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.is_forbidden());
        let Some(account) = &self.account else { return release_once(&self.host, &self.host, entry).await };
        match release_once(&self.host, account, entry).await {
            Err(forbidden) if is_forbidden(&forbidden) => release_once(&self.host, &self.host, entry)
                .await
                .map_err(|error| if is_forbidden(&error) { forbidden } else { error }),
            other => other,
        }
    }
}

struct Left {
    parents: usize,
    released: usize,
}

async fn release_once(client: &Client, writer: &Client, entry: &Entry) -> Result<Left, kube::Error> {
    let mut left = Left { parents: 0, released: 0 };
    let Some(parents) = kinds::find(client, &entry.parent).await? else { return Ok(left) };
    for parent in list(client, &parents, entry.namespaces.as_ref(), None).await? {
        let is_meant = parent.namespace().is_none_or(|namespace| entry.covers(namespace));
        if !is_meant || !has_finalizer(&parent, &entry.plugin) {
            continue;
        }
        if parent.is_deleting() && has_unreachable_children(client, writer, entry, &parent).await? {
            left.parents += 1;
            continue;
        }
        match remove_finalizer_without_mount(writer, &parents, &parent, &entry.plugin).await {
            Ok(()) => left.released += 1,
            Err(kube::Error::Api(status)) if status.is_conflict() => left.parents += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(left)
}

async fn has_unreachable_children(
    client: &Client,
    writer: &Client,
    entry: &Entry,
    parent: &Object,
) -> Result<bool, kube::Error> {
    let mut resources = Vec::new();
    for kind in &entry.children {
        resources.extend(kinds::find(client, kind).await?);
    }
    let children = unreachable(client, &entry.plugin, parent, &resources, entry.namespaces.as_ref()).await?;
    delete(writer, &children).await?;
    Ok(children.iter().any(|(_, child)| is_waited_for(&entry.plugin, parent, child)))
}

/// If the parent has no list, a child with a finalizer may be forged to block its deletion.
pub(crate) fn is_waited_for(plugin: &str, parent: &Object, child: &Object) -> bool {
    !child_list(parent, plugin).is_missing() || !child.is_deleting()
}

pub(crate) async fn delete(client: &Client, children: &[(&Resource, SharedObject)]) -> Result<(), kube::Error> {
    for (resource, child) in children.iter().filter(|(_, child)| !child.is_deleting()) {
        let api: Api<Received> = resource.api(client, child.namespace());
        let uid = Some(child.uid().to_owned());
        let params = DeleteParams::background().preconditions(Preconditions { uid, resource_version: None });
        match answered(api.delete(child.name(), &params)).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Lists the children that the garbage collector does not reach. Needs the host's `list`
/// permission; a mount's service account may lack it for kinds that are not granted.
pub(crate) async fn unreachable<'a>(
    client: &Client,
    plugin: &str,
    parent: &Object,
    resources: &'a [Resource],
    namespaces: Option<&BTreeSet<String>>,
) -> Result<Vec<(&'a Resource, SharedObject)>, kube::Error> {
    // The garbage collector reaches all children of a cluster-scoped parent.
    if parent.namespace().is_none() {
        return Ok(Vec::new());
    }
    let listed = child_list(parent, plugin);
    let is_listed = |kind: &GroupVersionKind, child: &Object| listed.is_missing() || listed.contains(kind, &child.key());
    let selector = format!("{PLUGIN_LABEL}={plugin},{OWNER_UID_LABEL}={}", parent.uid());
    let mut found = Vec::new();
    for resource in resources {
        let children = list(client, resource, namespaces, Some(&selector)).await?;
        let is_out_of_reach = |child: &SharedObject| ownership(parent.namespace(), child.namespace()) != Ownership::Reference;
        let kind = resource.kind();
        // As in the plan, objects of other controllers are not the parent's.
        let is_its = |child: &SharedObject| child.owner_uid() == Some(parent.uid());
        let children = children.into_iter().filter(|child| is_out_of_reach(child) && is_its(child) && is_listed(&kind, child));
        found.extend(children.map(|child| (resource, child)));
    }
    Ok(found)
}

async fn list(
    client: &Client,
    resource: &Resource,
    namespaces: Option<&BTreeSet<String>>,
    selector: Option<&str>,
) -> Result<Vec<SharedObject>, kube::Error> {
    let namespaces: Vec<Option<&str>> = match namespaces {
        Some(names) if resource.scope == Scope::Namespaced => names.iter().map(|name| Some(name.as_str())).collect(),
        _ => vec![None],
    };
    let mut objects = Vec::new();
    for namespace in namespaces {
        let api: Api<Received> = resource.api(client, namespace);
        let mut parameters = ListParams::default().limit(PAGE);
        parameters.label_selector = selector.map(str::to_owned);
        loop {
            let page = answered(api.list(&parameters)).await?;
            objects.extend(page.items.into_iter().filter_map(|item| item.object.ok()));
            match page.metadata.continue_ {
                Some(next) if !next.is_empty() => parameters = parameters.continue_token(&next),
                _ => break,
            }
        }
    }
    Ok(objects)
}
