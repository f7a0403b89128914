//! Native calls of a reconciler for the test kit `gyre-test`. Not for plugins.

use std::rc::Rc;

use crate::call;
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::host::{Imports, LoggingTo};
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::reconciler::Reconciler;

pub use crate::host::Host;

/// Returns the manifest with the schema of the settings.
pub fn manifest<R: Reconciler>() -> Manifest {
    call::manifest::<R>()
}

/// Calls [`Reconciler::reconcile`] with JSON texts. A group has members.
///
/// # Errors
///
/// The failure of the plugin.
pub fn reconcile<R: Reconciler>(
    parent: Vec<u8>,
    members: Vec<Vec<u8>>,
    settings: &[u8],
    host: Rc<dyn Host>,
) -> Result<Plan, Failure> {
    let _logging = LoggingTo::host(&host);
    let parent = call::with_members(parent, members);
    call::reconcile::<R>(&parent, settings, &Cluster::new(Imports(host)))
}

/// Calls [`Reconciler::finalize`] with JSON texts.
///
/// # Errors
///
/// The failure of the plugin.
pub fn finalize<R: Reconciler>(parent: &[u8], settings: &[u8], host: Rc<dyn Host>) -> Result<Plan, Failure> {
    let _logging = LoggingTo::host(&host);
    call::finalize::<R>(parent, settings, &Cluster::new(Imports(host)))
}

/// Calls [`Reconciler::validate_settings`] with a JSON text.
///
/// # Errors
///
/// The sentence for the operator.
pub fn validate_settings<R: Reconciler>(settings: &[u8]) -> Result<(), String> {
    call::validate_settings::<R>(settings)
}
