//! The child kinds that an earlier program of a mount declared. Their objects are deleted once the
//! host can list them: it may have only the rules of the present program.
//!
//! ```text
//!   can be listed ─ no objects ─▶ the inventory forgets the kind
//!                 ─ objects ────▶ caches, reconciles, deletion
//!   cannot ─▶ mounted without it: log, /debug/state, metric; the inventory keeps it; retried
//! ```

use gyre_core::plan::PLUGIN_LABEL;
use kube::Client;
use tracing::warn;

use crate::cluster::kinds::Resource;
use crate::cluster::pages::MetadataPages;
use crate::error::error_chain;
use crate::program::Program;

/// A former kind whose objects cannot be listed, so that they stay.
#[derive(Clone, Debug)]
pub(crate) struct UnprunedKind {
    pub(crate) resource: Resource,
    pub(crate) error: String,
}

impl UnprunedKind {
    pub(super) fn new(program: &Program, resource: Resource, error: &kube::Error) -> Self {
        let (mount, kind, error) = (&program.name, resource.kind(), error_chain(error));
        warn!(
            %mount, %kind, error,
            "mounted without pruning this kind, which an earlier version of the plugin declared: its objects stay until the host may list them (`gyre rbac --from-cluster` prints the rules); retrying"
        );
        Self { resource, error }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Objects,
    Nothing,
}

/// Asks the API server whether the plugin has objects of a kind.
pub(super) async fn look_for_objects(client: &Client, program: &Program, resource: &Resource) -> Result<Found, kube::Error> {
    let selector = format!("{PLUGIN_LABEL}={}", program.manifest().name);
    let places = program.namespaces.places(resource.scope);
    let mut pages = MetadataPages::new(client, resource, places, Some(&selector));
    while let Some(page) = pages.next().await? {
        if !page.is_empty() {
            return Ok(Found::Objects);
        }
    }
    Ok(Found::Nothing)
}
