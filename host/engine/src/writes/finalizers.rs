//! What a parent carries while something has to be seen to before it may go: the finalizer, and the list of children that no ownerReference
//! can name. When they are needed, and what is on the list, is decided in `gyre_core::plan`.

use std::sync::Arc;

use gyre_core::outcome::{Problem, ProblemKind};
use gyre_core::plan::{ChildList, finalizer, list_annotation};
use kube::Client;
use serde_json::{Value, json};

use crate::client::answered;
use crate::cluster::kinds::Resource;
use crate::cluster::object::{Object, Received, SharedObject};
use crate::writes::apply::problem;
use crate::writes::parent::{At, ParentWriter};

/// Whether a parent carries the finalizer of a plugin.
pub(crate) fn has_finalizer(parent: &Object, plugin: &str) -> bool {
    parent.finalizers().contains(&finalizer(plugin))
}

/// The children that a parent lists as a plugin's.
pub(crate) fn child_list(parent: &Object, plugin: &str) -> ChildList {
    ChildList::read(parent.annotation(&list_annotation(plugin)).as_deref(), has_finalizer(parent, plugin))
}

/// The parent without a plugin's list of children.
pub(crate) fn without_list(parent: &SharedObject, plugin: &str) -> SharedObject {
    parent.without_annotation(&list_annotation(plugin)).map_or_else(|| Arc::clone(parent), Arc::new)
}

/// Has the parent carry the finalizer and this list, and returns the parent as it is then.
///
/// # Errors
///
/// What the request came to. The parent is written over the state that is known, or not at all.
pub(crate) async fn add_finalizer(
    writer: &ParentWriter<'_>,
    parent: &Object,
    list: &ChildList,
) -> Result<SharedObject, Problem> {
    let plugin = writer.plugin;
    let mut finalizers = parent.finalizers();
    if !has_finalizer(parent, plugin) {
        finalizers.push(finalizer(plugin));
    }
    let annotations = json!({ list_annotation(plugin): list.to_text() });
    let patch = json!({ "metadata": { "finalizers": finalizers, "annotations": annotations } });
    let answer = writer.patch(parent, patch, At::Object, "finalizer").await;
    let answer = answer.map_err(|error| problem(&error, &writer.subject(parent)))?;
    answer.ok_or_else(|| Problem::new(ProblemKind::Other, "the API server's answer to a new finalizer cannot be read"))
}

/// The treatment of the list when the finalizer is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// Nothing is on it any more.
    Remove,
    /// The children stay, and are the parent's again if it is held again.
    Keep,
}

/// Takes the finalizer away, and returns the parent as it is then. A parent that is gone is as good.
///
/// # Errors
///
/// As for [`add_finalizer`].
pub(crate) async fn remove_finalizer(
    writer: &ParentWriter<'_>,
    parent: &Object,
    list: List,
) -> Result<Option<SharedObject>, Problem> {
    let annotation = list_annotation(writer.plugin);
    let mut patch = json!({ "metadata": { "finalizers": without(parent, writer.plugin) } });
    if list == List::Remove
        && parent.annotation(&annotation).is_some()
        && let Some(Value::Object(metadata)) = patch.get_mut("metadata")
    {
        metadata.insert("annotations".to_owned(), json!({ annotation: null }));
    }
    match writer.patch(parent, patch, At::Object, "finalizer").await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(problem(&error, &writer.subject(parent))),
        Ok(answer) => Ok(answer),
    }
}

/// As [`remove_finalizer`], where there is no mount any more.
///
/// # Errors
///
/// What the request came to.
pub(crate) async fn remove_finalizer_without_mount(
    client: &Client,
    resource: &Resource,
    parent: &Object,
    plugin: &str,
) -> Result<(), kube::Error> {
    let patch = json!({ "metadata": {
        "uid": parent.uid(),
        "resourceVersion": parent.resource_version().to_string(),
        "finalizers": without(parent, plugin),
    } });
    let api: kube::Api<Received> = resource.api(client, parent.namespace());
    match answered(api.patch(parent.name(), &kube::api::PatchParams::default(), &kube::api::Patch::Merge(&patch))).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        other => other.map(|_| ()),
    }
}

fn without(parent: &Object, plugin: &str) -> Vec<String> {
    let ours = finalizer(plugin);
    parent.finalizers().into_iter().filter(|finalizer| *finalizer != ours).collect()
}
