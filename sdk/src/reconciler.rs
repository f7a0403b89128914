//! The trait that an author implements.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::cluster::Cluster;
use crate::manifest::Manifest;
use crate::response::{Failure, Response, Teardown};

/// A plugin.
///
/// Its functions are pure: what they return depends on their arguments and on what they read through [`Cluster`], never on
/// how often or why they are called. A call may happen at any time and any number of times.
pub trait Reconciler: 'static {
    /// The objects that are reconciled, in the author's own type: usually an [`Object`](crate::Object). One that does not
    /// fit it is a [`Failure::Terminal`] with the reason.
    type Parent: DeserializeOwned;
    /// The mount's settings, of which there is at least `{}`; [`NoSettings`] if the plugin takes none.
    type Settings: DeserializeOwned;

    /// Returns the manifest of this plugin. It must be constant.
    fn manifest() -> Manifest;

    /// Returns the children and the status that should exist while the parent is not being deleted.
    ///
    /// # Errors
    ///
    /// The [`Failure`] decides when the host tries again, if at all.
    fn reconcile(parent: &Self::Parent, settings: &Self::Settings, cluster: &Cluster) -> Result<Response, Failure>;

    /// Returns what should still exist while the parent, which has a `deletionTimestamp`, is being deleted. It is called only if the
    /// manifest sets [`finalizes`](Manifest::finalizes).
    ///
    /// # Errors
    ///
    /// The [`Failure`] decides when the host tries again, if at all. The parent keeps its finalizer.
    fn finalize(parent: &Self::Parent, settings: &Self::Settings, cluster: &Cluster) -> Result<Teardown, Failure> {
        let _ = (parent, settings, cluster);
        Ok(Teardown::done())
    }

    /// Checks settings beyond the rules of their type.
    ///
    /// # Errors
    ///
    /// A sentence for the operator.
    fn validate_settings(settings: &Self::Settings) -> Result<(), String> {
        let _ = settings;
        Ok(())
    }
}

/// The settings of a plugin that takes none. Every setting is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}
