//! The trait that an author implements.

use serde::de::DeserializeOwned;

use crate::cluster::Cluster;
use crate::failure::Result;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::settings::Settings;

/// A plugin.
///
/// Its functions are pure: results depend only on the arguments and on reads through [`Cluster`],
/// not on how often or why they are called.
pub trait Reconciler: 'static {
    /// The type of the parent, usually an [`Object`](crate::Object). If a parent does not fit it,
    /// the call is a [`Failure::Terminal`](crate::Failure::Terminal).
    type Parent: DeserializeOwned;
    /// The type of the settings, with their schema. Use [`NoSettings`](crate::NoSettings) if there
    /// are none.
    type Settings: Settings;

    /// Returns the manifest, which must be constant.
    fn manifest() -> Manifest;

    /// Returns the children and the status that should exist while the parent is not being deleted.
    ///
    /// # Errors
    ///
    /// The [`Failure`](crate::Failure) decides whether and when the call is retried.
    fn reconcile(parent: &Self::Parent, settings: &Self::Settings, cluster: &Cluster) -> Result<Plan>;

    /// Returns what should still exist while the parent, which has a `deletionTimestamp`, is being
    /// deleted. The parent stays until a plan lets it go: [`Plan::finalized`]. It is called only if
    /// the manifest sets [`finalizes`](Manifest::finalizes).
    ///
    /// # Errors
    ///
    /// The [`Failure`](crate::Failure) decides whether and when the call is retried.
    fn finalize(parent: &Self::Parent, settings: &Self::Settings, cluster: &Cluster) -> Result<Plan> {
        let _ = (parent, settings, cluster);
        Ok(Plan::finalized())
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
