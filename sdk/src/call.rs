//! Converts JSON to the author's types, for components and for native tests.

use serde_json::from_slice;

use crate::cluster::Cluster;
use crate::reconciler::Reconciler;
use crate::response::{Failure, Response, Teardown};

pub(crate) fn reconcile<R: Reconciler>(parent: &[u8], settings: &[u8], cluster: &Cluster) -> Result<Response, Failure> {
    let (parent, settings) = read_inputs::<R>(parent, settings)?;
    R::reconcile(&parent, &settings, cluster)
}

pub(crate) fn finalize<R: Reconciler>(parent: &[u8], settings: &[u8], cluster: &Cluster) -> Result<Teardown, Failure> {
    let (parent, settings) = read_inputs::<R>(parent, settings)?;
    R::finalize(&parent, &settings, cluster)
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
