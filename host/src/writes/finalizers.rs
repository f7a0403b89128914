//! The finalizer that a parent carries while something has to be seen to before it may go. When it is needed is decided in
//! `gyre_core::plan`.

use gyre_core::outcome::{Problem, ProblemKind};
use gyre_core::plan::finalizer;
use kube::Client;
use serde_json::json;

use crate::cluster::kinds::{Resource, answered};
use crate::cluster::object::{Object, Received, SharedObject};
use crate::writes::apply::problem;
use crate::writes::parent::{At, ParentWriter};

/// Whether a parent carries the finalizer of a plugin.
pub(crate) fn is_held(parent: &Object, plugin: &str) -> bool {
    parent.finalizers().contains(&finalizer(plugin))
}

/// Adds the finalizer to a parent that lacks it, and returns the parent as it is then.
///
/// # Errors
///
/// What the request came to. The parent is written over the state that is known, or not at all.
pub(crate) async fn hold(writer: &ParentWriter<'_>, parent: &Object) -> Result<SharedObject, Problem> {
    let mut finalizers = parent.finalizers();
    finalizers.push(finalizer(writer.plugin()));
    let answer = writer.patch(parent, json!({ "metadata": { "finalizers": finalizers } }), At::Object, "finalizer").await;
    let answer = answer.map_err(|error| problem(&error, &writer.subject(parent)))?;
    answer.ok_or_else(|| Problem::new(ProblemKind::Other, "the API server's answer to a new finalizer cannot be read"))
}

/// Takes the finalizer away, and returns the parent as it is then. A parent that is gone is as good.
///
/// # Errors
///
/// As for [`hold`].
pub(crate) async fn let_go(writer: &ParentWriter<'_>, parent: &Object) -> Result<Option<SharedObject>, Problem> {
    let patch = json!({ "metadata": { "finalizers": without(parent, writer.plugin()) } });
    match writer.patch(parent, patch, At::Object, "finalizer").await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(problem(&error, &writer.subject(parent))),
        Ok(answer) => Ok(answer),
    }
}

/// As [`let_go`], where there is no mount any more.
///
/// # Errors
///
/// What the request came to.
pub(crate) async fn let_go_unmounted(
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
