//! What is elected, for whom, and with which times.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use gyre_core::election::Timing;

use super::denials::Denials;
use super::leaders::Leaders;
use crate::clock::Clock;

/// What is elected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElectionScope {
    /// One leader for all mounts.
    #[default]
    Host,
    /// One leader for each mount.
    Mount,
}

/// What is elected for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the Leases are.
    pub namespace: String,
    /// What the Lease is called, or what the names of all Leases begin with.
    pub name: String,
    /// Who this is. No other process may have the same: see [`identity`].
    pub identity: String,
    /// How long is waited for what.
    pub timing: Timing,
    /// The time of day, which goes into Leases for people to read. Nothing is decided by it.
    pub clock: Clock,
    /// What turns out not to be permitted.
    pub denials: Arc<Denials>,
    /// Whom the Leases name.
    pub leaders: Arc<Leaders>,
}

/// An identity that no other process has: the name of the node or the pod, and a random number, as controller-runtime makes it.
///
/// Also if the name is given: two replicas that are given the same one would take each other's lease for their own.
pub fn identity(node: &str) -> String {
    // Seeded by the operating system.
    format!("{node}_{:016x}", RandomState::new().hash_one(std::process::id()))
}
