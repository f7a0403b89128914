//! The children of a parent that the garbage collector does not reach, read from the API server.

use gyre_core::grants::Namespaces;
use gyre_core::plan::{ChildList, OWNER_UID_LABEL, Ownership, PLUGIN_LABEL, ownership};
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Client};

use crate::client::answered;
use crate::cluster::kinds::Resource;
use crate::cluster::object::{Object, Received, SharedObject};
use crate::cluster::pages::MetadataPages;
use crate::error::{is_gone, is_stale};
use crate::writes::finalizers::child_list;

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

/// Lists the children that the garbage collector does not reach, where `listed` says that there may
/// be some; everywhere if it is missing. Needs the host's `list` permission; a mount's service
/// account may lack it for kinds that are not granted.
pub(crate) async fn children<'a>(
    client: &Client,
    plugin: &str,
    parent: &Object,
    listed: &ChildList,
    resources: &'a [Resource],
    namespaces: &Namespaces,
) -> Result<Vec<(&'a Resource, SharedObject)>, kube::Error> {
    // The garbage collector reaches all children of a cluster-scoped parent.
    if parent.namespace().is_none() {
        return Ok(Vec::new());
    }
    let selector = format!("{PLUGIN_LABEL}={plugin},{OWNER_UID_LABEL}={}", parent.uid());
    let mut found = Vec::new();
    for resource in resources {
        let kind = resource.kind();
        let is_listed = |child: &Object| listed.is_missing() || listed.contains(&kind, &child.key());
        let is_out_of_reach = |child: &Object| ownership(parent.namespace(), child.namespace()) != Ownership::Reference;
        // As in the plan, objects of other controllers are not the parent's.
        let is_its = |child: &Object| child.owner_uid() == Some(parent.uid());
        let places = listed.places(&kind, resource.scope, namespaces);
        let mut pages = MetadataPages::new(client, resource, places, Some(&selector));
        while let Some(page) = pages.next().await? {
            let children = page.into_iter().filter(|child| is_out_of_reach(child) && is_its(child) && is_listed(child));
            found.extend(children.map(|child| (resource, child)));
        }
    }
    Ok(found)
}
