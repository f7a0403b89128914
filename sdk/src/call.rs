//! Converts JSON to the author's types, for components and for native tests.

use serde_json::from_slice;

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::manifest::Manifest;
use crate::plan::{Child, Plan};
use crate::reconciler::Reconciler;
use crate::settings::Settings as _;

pub(crate) fn reconcile<R: Reconciler>(parent: &[u8], settings: &[u8], cluster: &Cluster) -> Result<Plan, Failure> {
    let (parent, settings) = read_inputs::<R>(parent, settings)?;
    reconciled(R::reconcile(&parent, &settings, cluster)?)
}

pub(crate) fn finalize<R: Reconciler>(parent: &[u8], settings: &[u8], cluster: &Cluster) -> Result<Plan, Failure> {
    let (parent, settings) = read_inputs::<R>(parent, settings)?;
    whole(R::finalize(&parent, &settings, cluster)?)
}

pub(crate) fn validate_settings<R: Reconciler>(settings: &[u8]) -> Result<(), String> {
    R::validate_settings(&from_slice(settings).map_err(|error| error.to_string())?)
}

/// Not inlined, so that a component contains it only once.
#[inline(never)]
fn read_inputs<R: Reconciler>(parent: &[u8], settings: &[u8]) -> Result<(R::Parent, R::Settings), Failure> {
    let unexpected = |what, error| Failure::terminal(format_args!("{what} not as expected: {error}"));
    let parent = from_slice(parent).map_err(|error| unexpected("the object is", error))?;
    let settings = from_slice(settings).map_err(|error| unexpected("the settings are", error))?;
    Ok((parent, settings))
}

/// Returns the parent of a call with the members of its group, if it is one.
pub(crate) fn with_members(mut parent: Vec<u8>, members: Vec<Vec<u8>>) -> Vec<u8> {
    if members.is_empty() {
        return parent;
    }
    let Some(end) = parent.iter().rposition(|byte| *byte == b'}') else { return parent };
    parent.truncate(end);
    parent.reserve(members.iter().map(|member| member.len() + 1).sum::<usize>() + MEMBERS.len() + 2);
    parent.extend_from_slice(MEMBERS);
    for (index, member) in members.into_iter().enumerate() {
        if index > 0 {
            parent.push(b',');
        }
        parent.extend_from_slice(&member);
    }
    parent.extend_from_slice(b"]}");
    parent
}

const MEMBERS: &[u8] = br#","members":["#;

/// Refuses a plan of `reconcile` that cannot be what the plugin means.
pub(crate) fn reconciled(plan: Plan) -> Result<Plan, Failure> {
    if plan.releases_parent {
        return Err(Failure::terminal(
            "reconcile returned a plan that releases the parent (Plan::finalized or release_parent), which is for finalize",
        ));
    }
    whole(plan)
}

/// Refuses a plan that cannot be what the plugin means.
pub(crate) fn whole(plan: Plan) -> Result<Plan, Failure> {
    if let Some(mistake) = plan.mistake {
        return Err(Failure::terminal(mistake));
    }
    let statuses = plan.members.iter().filter_map(|member| member.status.as_ref()).chain(&plan.status);
    if let Some(error) = statuses.filter_map(|status| status.as_ref().err()).next() {
        return Err(Failure::terminal(format_args!("the status cannot be serialised: {error}")));
    }
    if plan.children.iter().flatten().any(|child| matches!(child, Child::Apply(child) if child.object.is_null())) {
        return Err(Failure::terminal(
            "a child is null: its spec cannot be serialised, e.g. because a map has keys that are no texts",
        ));
    }
    Ok(plan)
}

/// The manifest with the schema of the settings.
pub(crate) fn manifest<R: Reconciler>() -> Manifest {
    Manifest { settings_schema: R::Settings::schema().map(String::into_bytes), ..R::manifest() }
}
