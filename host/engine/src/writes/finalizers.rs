//! The marks on a parent that must wait for work before its deletion: the finalizer, and the list
//! of children that no ownerReference can name. `gyre_core::plan` decides about both.

use std::sync::Arc;

use gyre_core::outcome::{Problem, ProblemKind};
use gyre_core::parent_fields;
use gyre_core::plan::{ChildList, finalizer, list_annotation};
use kube::Client;
use serde_json::{Value, json};

use crate::client::answered;
use crate::cluster::kinds::Resource;
use crate::cluster::object::{Object, Received, SharedObject};
use crate::error::is_gone;
use crate::writes::apply::{field_manager, problem};
use crate::writes::parent::{At, ParentWriter, identity};

pub(crate) fn has_finalizer(parent: &Object, plugin: &str) -> bool {
    parent.finalizers().contains(&finalizer(plugin))
}

/// The list of a parent. A cluster-scoped one needs none, because owner references name all its
/// children.
pub(crate) fn child_list(parent: &Object, plugin: &str) -> ChildList {
    let needs_list = parent.namespace().is_some() && has_finalizer(parent, plugin);
    ChildList::read(parent.annotation(&list_annotation(plugin)).as_deref(), needs_list)
}

/// Returns whether a parent has fields that the plugin has set.
pub(crate) fn has_fields(parent: &Object, plugin: &str) -> bool {
    parent.annotation(&parent_fields::mark(plugin)).is_some()
}

/// The parent without the marks of the host that change while it works.
pub(crate) fn without_marks(parent: &SharedObject, plugin: &str) -> SharedObject {
    without_annotation(&without_list(parent, plugin), &parent_fields::mark(plugin))
}

/// The parent without its list.
pub(crate) fn without_list(parent: &SharedObject, plugin: &str) -> SharedObject {
    without_annotation(parent, &list_annotation(plugin))
}

fn without_annotation(object: &SharedObject, name: &str) -> SharedObject {
    object.without_annotation(name).map_or_else(|| Arc::clone(object), Arc::new)
}

/// Sets the finalizer and the list, only over the known state.
///
/// # Errors
///
/// Also if the API server stored the parent without them.
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
    let mut patch = json!({ "metadata": { "finalizers": finalizers } });
    if let (Some(_), Some(Value::Object(metadata))) = (parent.namespace(), patch.get_mut("metadata")) {
        // Also an empty list: without one, labels alone would be believed.
        metadata.insert("annotations".to_owned(), json!({ list_annotation(plugin): list.to_text() }));
    }
    let answer = writer.patch(parent, patch, At::Object, "finalizer").await;
    let answer = answer.map_err(|error| problem(&error, &writer.subject(parent)))?;
    let answer =
        answer.ok_or_else(|| Problem::new(ProblemKind::Other, "the API server's answer to a new finalizer cannot be read"))?;
    match missing_mark(parent, &answer, list, plugin) {
        None => Ok(answer),
        Some(field) => Err(Problem::new(
            ProblemKind::MarksRemoved,
            format!(
                "{} was written, but {field} is missing in the API server's answer: a webhook removes it, so children could be left behind when the object is deleted, and none is created; exempt it from that webhook",
                writer.subject(parent)
            ),
        )),
    }
}

fn missing_mark(parent: &Object, answer: &Object, list: &ChildList, plugin: &str) -> Option<String> {
    if !has_finalizer(answer, plugin) {
        return Some(format!("the finalizer {}", finalizer(plugin)));
    }
    let annotation = list_annotation(plugin);
    let is_listed = parent.namespace().is_none() || answer.annotation(&annotation).as_deref() == Some(&*list.to_text());
    (!is_listed).then(|| format!("the annotation {annotation}"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Remove,
    /// The children stay, and belong to the parent again if the finalizer returns.
    Keep,
}

/// Removes the finalizer. A parent that is gone is a success.
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
        Err(kube::Error::Api(status)) if is_gone(&status) => Ok(None),
        Err(error) => Err(problem(&error, &writer.subject(parent))),
        Ok(answer) => Ok(answer),
    }
}

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
        Err(kube::Error::Api(status)) if is_gone(&status) => Ok(()),
        other => other.map(|_| ()),
    }
}

/// Withdraws the fields that a plugin has set, which is not mounted. A parent that is gone is a
/// success.
pub(crate) async fn withdraw_fields_without_mount(
    client: &Client,
    resource: &Resource,
    parent: &Object,
    plugin: &str,
) -> Result<(), kube::Error> {
    let kind = resource.kind();
    let nothing = json!({ "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": identity(parent) });
    let params = kube::api::PatchParams::apply(&field_manager(plugin));
    let api: kube::Api<Received> = resource.api(client, parent.namespace());
    let answer = match answered(api.patch(parent.name(), &params, &kube::api::Patch::Apply(&nothing))).await {
        Err(kube::Error::Api(status)) if is_gone(&status) => return Ok(()),
        other => other?.object.ok(),
    };
    let Some(marked) = answer.filter(|answer| has_fields(answer, plugin)) else { return Ok(()) };
    // Somebody else has set the mark.
    let params = kube::api::PatchParams::default();
    match answered(api.patch(marked.name(), &params, &kube::api::Patch::Merge(&without_mark(plugin)))).await {
        Err(kube::Error::Api(status)) if is_gone(&status) => Ok(()),
        other => other.map(|_| ()),
    }
}

/// A merge patch that removes the mark of fields that the plugin has set.
pub(crate) fn without_mark(plugin: &str) -> Value {
    json!({ "metadata": { "annotations": { parent_fields::mark(plugin): null } } })
}

fn without(parent: &Object, plugin: &str) -> Vec<String> {
    let ours = finalizer(plugin);
    parent.finalizers().into_iter().filter(|finalizer| *finalizer != ours).collect()
}
