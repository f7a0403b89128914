//! Leader election with Leases, as in client-go's `leaderelection`, as a state machine that gets
//! the time as an argument.
//!
//! ```text
//!               ┌── the lease is free: its holder released it, ──┐
//!               │   or has not renewed it for its duration       ▼
//!   candidate ──┴─ reads, once per retry period                holder ── renews, once per period
//!               ▲                                                │
//!               └── no renewal within the renew deadline, ───────┘
//!                   or another has the lease, or it releases it
//! ```
//!
//! [`Elector`] decides about one Lease. It sends nothing: a step takes an input and returns an
//! action.
//!
//! # Never two valid claims
//!
//! A *claim* is the right to write until the time that [`Elector::claim`] returns. At any time at
//! most one process has a claim:
//!
//! 1. Leases are written by compare-and-swap on their resourceVersion (or by creating them), so a
//!    write that is based on an outdated version does nothing, however late it arrives.
//! 2. A holder reads its clock **before** it sends a renewal, at *s*. If the renewal succeeds, the
//!    claim lasts until *s* + renew deadline. So the new version was made after *s*.
//! 3. Another process takes the lease only by replacing that version, once it has been the newest
//!    known one for a lease duration. It reads its clock **after** the answer with this version,
//!    and so after *s*.
//! 4. So the claim ends a renew deadline after *s*, and the lease is taken at the earliest a lease
//!    duration after *s*, each by its own clock. The lease duration is longer.
//!
//! The time of day does not matter: a clock is only compared with itself, and the timestamps in the
//! Lease are for people. But clocks must run about equally fast: a holder's clock may be slower
//! than another's by [`Timing::tolerated_slowness`], a third with the defaults. The clock of a
//! suspended process (SIGSTOP, a busy node) goes on, so its claim is gone when it resumes. Nothing
//! here detects that a virtual machine was halted together with its clock.
//!
//! After a restore of etcd from a backup, the Lease names an earlier holder, or nobody, while the
//! claim of the last holder may still be valid. So a process that sees an older version than
//! before, and has no claim, takes the lease only after a lease duration.
//!
//! Two limits, both shared with client-go. First, a claim says when a request may be *sent*: one
//! that takes longer than [`Timing::margin`] may arrive when another process has the claim. The
//! host has the system close connections whose peer acknowledges nothing for so long; what is left
//! are proxies that hold back acknowledged requests, and the time between the check of the claim
//! and the send. Second, the lease must not be deleted, or restored from a backup: processes that
//! have seen it still wait for its duration, but a process that starts just then does not know it.
//!
//! # One lease for all mounts, or one for each
//!
//! A host has one lease or, with a [`MountElector`](mounts::MountElector), one for each mount:
//!
//! ```text
//!   alive replicas, and what each can lead ──▶ assignments ──▶ the goal of each of my electors
//! ```
//!
//! Each replica renews a Lease to show that it is alive. All compute the same [`assignments`] from
//! the alive replicas; while they disagree, the lease of a mount prevents two leaders. Besides
//! taking its own mounts, a replica follows three rules:
//!
//! - A mount that is assigned to another replica is released once that replica has been alive for a
//!   lease duration: first its workers stop, then the lease is released.
//! - A mount without a leader for a lease duration is taken by any replica, and kept for a while.
//! - A replica that ends announces it before it releases its mounts.
//!
//! Before a deployment changes from one way to the other, all its replicas have to stop.

mod assignment;
mod elector;
pub mod mounts;
mod peers;
mod timing;

#[cfg(test)]
mod tests;

pub use assignment::assignments;
pub use elector::{Action, Elector, Goal, Input, NoIdentity, Request, RequestResult};
pub use timing::{Error, Timing};

/// The holder of a Lease, and its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// `holderIdentity`; empty if nobody holds it.
    pub holder: String,
    /// `leaseDurationSeconds`: how long others wait after the last renewal. The API server accepts
    /// only positive values; others mean that it is unknown.
    pub duration_seconds: i32,
    /// `leaseTransitions`: the number of changes of the holder.
    pub transitions: i32,
}

/// A Lease as the API server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its resourceVersion. Every change makes another.
    pub resource_version: String,
    /// The content.
    pub record: Record,
}

/// The new `acquireTime` of a replaced Lease. `renewTime` is always the time of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The time of sending.
    Begins,
    /// Unchanged.
    GoesOn,
}
