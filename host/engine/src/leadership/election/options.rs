//! What is elected, for whom, and with which times.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use gyre_core::election::Timing;

use super::denials::Denials;
use super::leaders::Leaders;
use crate::clock::Clock;

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
    /// The identity of this process. No other process may have the same: see [`identity`].
    pub identity: String,
    /// The times of the election.
    pub timing: Timing,
    /// The time of day, which goes into Leases for people to read. Nothing is decided by it.
    pub clock: Clock,
    /// The requests that were denied.
    pub denials: Arc<Denials>,
    /// The holders that the Leases name.
    pub leaders: Arc<Leaders>,
}

/// An identity that no other process has: the name of the node or the pod, and a random number, as controller-runtime makes it.
///
/// Also if the name is given: two replicas that are given the same one would take each other's lease for their own.
pub fn identity(node: &str) -> String {
    // Seeded by the operating system.
    format!("{node}_{:016x}", RandomState::new().hash_one(std::process::id()))
}
