//! The children of a parent that the garbage collector does not reach, read from the API server.

use std::collections::BTreeSet;

use gyre_core::grants::Scope;
use gyre_core::object::GroupVersionKind;
use gyre_core::plan::{OWNER_UID_LABEL, Ownership, PLUGIN_LABEL, ownership};
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client};

use crate::client::answered;
use crate::cluster::kinds::Resource;
use crate::cluster::object::{Object, Received, SharedObject};
use crate::error::{is_gone, is_stale};
use crate::writes::finalizers::child_list;

/// The page size of lists, as in client-go's pager.
const PAGE: u32 = 500;

/// Returns whether a deletion waits for this child. It may be forged if the parent has no list.
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
            Err(kube::Error::Api(status)) if is_gone(&status) || is_stale(&status) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Lists the children that the garbage collector does not reach. Needs the host's `list`
/// permission; a mount's service account may lack it for kinds that are not granted.
pub(crate) async fn children<'a>(
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
        let children = list_objects(client, resource, namespaces, Some(&selector)).await?;
        let is_out_of_reach = |child: &SharedObject| ownership(parent.namespace(), child.namespace()) != Ownership::Reference;
        let kind = resource.kind();
        // As in the plan, objects of other controllers are not the parent's.
        let is_its = |child: &SharedObject| child.owner_uid() == Some(parent.uid());
        let children = children.into_iter().filter(|child| is_out_of_reach(child) && is_its(child) && is_listed(&kind, child));
        found.extend(children.map(|child| (resource, child)));
    }
    Ok(found)
}

pub(super) async fn list_objects(
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
