//! What an author implements.

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

    /// What this plugin is. It must not depend on anything.
    fn manifest() -> Manifest;

    /// What should exist while the parent lives.
    ///
    /// # Errors
    ///
    /// The [`Failure`] says when to try again, if at all.
    fn reconcile(parent: &Self::Parent, settings: &Self::Settings, cluster: &Cluster) -> Result<Response, Failure>;

    /// What should still exist while the parent, which has a `deletionTimestamp`, goes. It is called only if the manifest
    /// says [`finalizes`](Manifest::finalizes).
    ///
    /// # Errors
    ///
    /// The [`Failure`] says when to try again, if at all. The parent stays.
    fn finalize(parent: &Self::Parent, settings: &Self::Settings, cluster: &Cluster) -> Result<Teardown, Failure> {
        let _ = (parent, settings, cluster);
        Ok(Teardown::done())
    }

    /// Checks settings beyond what their type can say.
    ///
    /// # Errors
    ///
    /// A sentence for the operator.
    fn validate_settings(settings: &Self::Settings) -> Result<(), String> {
        let _ = settings;
        Ok(())
    }
}

/// The settings of a plugin that takes none. Any that are given are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}
