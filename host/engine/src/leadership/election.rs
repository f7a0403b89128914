//! Leader election: carries out the decisions of [`gyre_core::election`] on Leases.
//!
//! ```text
//!   Elector or MountElector ─ request ─────────▶ Leases ─▶ API server      one task per host
//!                           ◀ answer ──────────
//!                           ─ end of the claim ▶ ClaimSender ─▶ Claim ─▶ writers
//! ```
//!
//! [`Election`] has one lease for the host, [`MountElection`] one for each mount. Both return the
//! claim, a future that must run as long as the host, and a [`Release`] to end it.
//!
//! Requests use the host's own client, not a fenced one, because they obtain the claim.

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
