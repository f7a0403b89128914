//! The trait that an author implements.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::cluster::Cluster;
use crate::manifest::Manifest;
use crate::response::{Failure, Response, Teardown};

/// A plugin.
///
/// Its functions are pure: results depend only on the arguments and on reads through [`Cluster`],
/// not on how often or why they are called.
pub trait Reconciler: 'static {
    /// The type of the parent, usually an [`Object`](crate::Object). If a parent does not fit it,
    /// the call is a [`Failure::Terminal`].
    type Parent: DeserializeOwned;
    /// The type of the settings, which are at least `{}`. Use [`NoSettings`] if there are none.
    type Settings: DeserializeOwned;

    /// Returns the manifest, which must be constant.
    fn manifest() -> Manifest;

    /// Returns the children and the status that should exist while the parent is not being deleted.
    ///
    /// # Errors
    ///
    /// The [`Failure`] decides whether and when the call is retried.
    fn reconcile(parent: &Self::Parent, settings: &Self::Settings, cluster: &Cluster) -> Result<Response, Failure>;

    /// Returns what should still exist while the parent, which has a `deletionTimestamp`, is being
    /// deleted. It is called only if the manifest sets [`finalizes`](Manifest::finalizes).
    ///
    /// # Errors
    ///
    /// The [`Failure`] decides whether and when the call is retried.
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

/// The settings of a plugin that takes none. Any setting is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}
