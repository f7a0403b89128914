//! Unmounting without stranded finalizers: removes the finalizers of a plugin that is not mounted,
//! and withdraws the fields that it has set of its parents.

use std::collections::BTreeSet;
use std::time::Duration;

use gyre_core::grants::Namespaces;
use gyre_core::object::GroupVersionKind;
use kube::Client;
use tokio::sync::OnceCell;
use tracing::{info, warn};

use crate::cluster::kinds::{self, Resource};
use crate::cluster::object::Object;
use crate::cluster::pages::MetadataPages;
use crate::error::{error_chain, is_forbidden, is_stale};
use crate::mounts::inventory::{Entry, Inventory};
use crate::mounts::unreachable;
use crate::writes::finalizers::{
    child_list, has_fields, has_finalizer, remove_finalizer_without_mount, withdraw_fields_without_mount,
};

const TRY_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// The longest delay: people may wait for the deletion of an object.
const TRY_AGAIN_AT_MOST_AFTER: Duration = Duration::from_secs(60);

/// Removes the finalizer from all parents of a mount, and the fields of the plugin. Returns when
/// none has them.
///
/// # Guarantees
///
/// - Parents that live lose only the finalizer and the fields.
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
            Ok(Left { parents, .. }) => info!(mount, parents, "objects are not released yet"),
            Err(error) => {
                let text = error_chain(&error);
                if text != told {
                    let remedy = match &error {
                        kube::Error::Api(status) if is_forbidden(status) => {
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

/// The clients that release the parents of a mount. The host may only be permitted to read.
pub(crate) struct Releaser {
    pub(crate) host: Client,
    pub(crate) account: Option<Client>,
}

impl Releaser {
    /// Writes as the mount did, or as the host if that is forbidden.
    async fn release_once(&self, entry: &Entry) -> Result<Left, kube::Error> {
        let lacks_a_rule = |error: &kube::Error| matches!(error, kube::Error::Api(status) if is_forbidden(status));
        let Some(account) = &self.account else { return release_once(&self.host, &self.host, entry).await };
        match release_once(&self.host, account, entry).await {
            Err(forbidden) if lacks_a_rule(&forbidden) => release_once(&self.host, &self.host, entry)
                .await
                .map_err(|error| if lacks_a_rule(&error) { forbidden } else { error }),
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
    let (namespaces, children) = (entry.namespaces(), OnceCell::new());
    let places = namespaces.places(parents.scope);
    // One page at a time: all parents of a kind may take more memory than the host has.
    let mut pages = MetadataPages::new(client, &parents, places, None);
    while let Some(page) = pages.next().await? {
        for parent in page {
            let is_meant = parent.namespace().is_none_or(|namespace| entry.covers(namespace));
            if !is_meant {
                continue;
            }
            if has_fields(&parent, &entry.plugin) && !parent.is_deleting() {
                match withdraw_fields_without_mount(writer, &parents, &parent, &entry.plugin).await {
                    Ok(()) => left.released += 1,
                    Err(kube::Error::Api(status)) if is_stale(&status) => {}
                    Err(error) => return Err(error),
                }
                // Its resourceVersion is another one now.
                left.parents += 1;
                continue;
            }
            if !has_finalizer(&parent, &entry.plugin) {
                continue;
            }
            if parent.is_deleting() {
                let children = children.get_or_try_init(|| find_all(client, &entry.children)).await?;
                if has_unreachable_children(client, writer, entry, &parent, children, &namespaces).await? {
                    left.parents += 1;
                    continue;
                }
            }
            match remove_finalizer_without_mount(writer, &parents, &parent, &entry.plugin).await {
                Ok(()) => left.released += 1,
                Err(kube::Error::Api(status)) if is_stale(&status) => left.parents += 1,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(left)
}

/// Looks kinds up. Those that the API server does not serve have no objects.
async fn find_all(client: &Client, all: &BTreeSet<GroupVersionKind>) -> Result<Vec<Resource>, kube::Error> {
    let mut resources = Vec::new();
    for kind in all {
        resources.extend(kinds::find(client, kind).await?);
    }
    Ok(resources)
}

async fn has_unreachable_children(
    client: &Client,
    writer: &Client,
    entry: &Entry,
    parent: &Object,
    kinds: &[Resource],
    namespaces: &Namespaces,
) -> Result<bool, kube::Error> {
    let listed = child_list(parent, &entry.plugin);
    let children = unreachable::children(client, &entry.plugin, parent, &listed, kinds, namespaces).await?;
    unreachable::delete(writer, &children).await?;
    Ok(children.iter().any(|(_, child)| unreachable::is_waited_for(&entry.plugin, parent, child)))
}
