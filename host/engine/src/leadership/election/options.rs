//! The scope, names and times of an election.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use gyre_core::election::Timing;

use super::denials::Denials;
use super::leaders::Leaders;
use crate::clock::Clock;
use crate::restores::Restores;

/// The scope of an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElectionScope {
    /// One leader for all mounts.
    #[default]
    Host,
    /// One leader for each mount.
    Mount,
}

/// The options of an election.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace of the Leases.
    pub namespace: String,
    /// The name of the Lease, or the prefix of the names of all Leases.
    pub name: String,
    /// The identity of this process, unique as from [`identity`].
    pub identity: String,
    /// The times of the election.
    pub timing: Timing,
    /// The time of day in Leases, for people. No decision depends on it.
    pub clock: Clock,
    /// The requests that were denied.
    pub denials: Arc<Denials>,
    /// The holders of the Leases.
    pub leaders: Arc<Leaders>,
    /// Restores of the cluster from a backup, which Leases show.
    pub restores: Restores,
}

impl Options {
    /// An election with Leases of this name, or prefix of names, in a namespace.
    pub fn new(namespace: &str, name: &str, identity: String, timing: Timing) -> Self {
        Self {
            leaders: Arc::new(Leaders::new(namespace, &identity)),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity,
            timing,
            clock: Clock::default(),
            denials: Arc::default(),
            restores: Restores::default(),
        }
    }
}

/// A unique identity: a name and a random number, as in controller-runtime. Replicas with the same
/// identity would take each other's lease for their own.
pub fn identity(node: &str) -> String {
    format!("{node}_{:016x}", RandomState::new().hash_one(std::process::id()))
}
