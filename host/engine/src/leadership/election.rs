//! Leader election: what is decided in [`gyre_core::election`] is done here, against Leases in the cluster.
//!
//! ```text
//!   Elector or MountElector ── request ──▶ Leases ──▶ API server          one task, for as long as the host runs
//!        ▲     │                       │
//!        │     └─ until when ─▶ ClaimSender │ ──▶ Claim ──▶ whoever writes
//!        └─────────── answer ──────────┘
//! ```
//!
//! [`Election`] is about one lease, for all that a host does; [`MountElection`] about one for each mount. Either is three things: the claim,
//! a future that must be run for as long as the host does, and a [`Release`] for when it ends.
//!
//! Its requests go by the host's own client, not one that is fenced: the claim is what they are for.

mod denials;
mod leaders;
mod lease;
mod lease_state;
mod mounts;
mod options;
mod single;
#[cfg(test)]
mod tests;

pub use denials::Denials;
pub use leaders::Leaders;
pub use lease_state::Release;
pub use mounts::{Drains, MountClaims, MountElection};
pub use options::{ElectionScope, Options, identity};
pub use single::Election;
