//! From JSON to the author's types: the same steps for a component and for native tests.

use crate::cluster::Cluster;
use crate::json::read;
use crate::reconciler::Reconciler;
use crate::response::{Failure, Response, Teardown};

pub(crate) fn reconcile<R: Reconciler>(parent: &[u8], settings: &[u8], cluster: &Cluster) -> Result<Response, Failure> {
    R::reconcile(&read_parent::<R>(parent)?, &read_settings::<R>(settings)?, cluster)
}

pub(crate) fn finalize<R: Reconciler>(parent: &[u8], settings: &[u8], cluster: &Cluster) -> Result<Teardown, Failure> {
    R::finalize(&read_parent::<R>(parent)?, &read_settings::<R>(settings)?, cluster)
}

pub(crate) fn validate_settings<R: Reconciler>(settings: &[u8]) -> Result<(), String> {
    R::validate_settings(&read(settings).map_err(|error| error.to_string())?)
}

fn read_parent<R: Reconciler>(parent: &[u8]) -> Result<R::Parent, Failure> {
    read(parent).map_err(|error| Failure::terminal(format_args!("the object is not as expected: {error}")))
}

fn read_settings<R: Reconciler>(settings: &[u8]) -> Result<R::Settings, Failure> {
    read(settings).map_err(|error| Failure::terminal(format_args!("the settings are not as expected: {error}")))
}
