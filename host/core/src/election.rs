//! Who may write: leader election with Leases, as client-go's `leaderelection` does it, in a state machine to which time is passed.
//!
//! ```text
//!               ┌──── the lease is free: its holder gave it back, ────┐
//!               │     or has not renewed it for its duration          ▼
//!   candidate ──┴─ reads, once in a retry period                    holder ── renews, once in a retry period
//!               ▲                                                     │
//!               └──── no renewal within the renew deadline, ──────────┘
//!                     or another has the lease, or it gives it back
//! ```
//!
//! [`Elector`] decides about one Lease. It sends nothing itself: a step takes what happened and says what to do.
//!
//! # Never two valid claims
//!
//! A *claim* is the right to write; [`Elector::claim`] says until when it is good. At any moment at most one process has one, by this
//! argument:
//!
//! 1. Leases are written by compare-and-swap on their resourceVersion (or by creating them), so each version of a lease follows from
//!    one before it, and a write that is based on an outdated one does nothing, however late it arrives.
//! 2. A holder that sends a renewal at the moment *s*, and learns later that it was done, has a claim until *s* + renew deadline. It
//!    reads its clock **before** it sends. So the version that it wrote came to be after *s*.
//! 3. Another takes the lease only by replacing just that version, once it has been the newest that it knows of for a lease duration.
//!    It reads its clock **after** the answer that showed the version to it, which was after the version came to be, and so after *s*.
//! 4. So the claim ends a renew deadline after *s*, and the lease is taken no sooner than a lease duration after *s*: each by the clock
//!    of who says it. The lease duration is the longer.
//!
//! Nothing in it rests on what time it is anywhere: a clock is only ever compared with itself, and the timestamps in the Lease are there
//! for people. What it does rest on is that clocks run about equally fast. If they do to within
//! [`Timing::tolerated_slowness`], a third with the defaults, the argument holds: the clock of a holder may be that much slower
//! than that of the one that waits. A process that does not run for a while (SIGSTOP, a busy node) has a clock that goes on meanwhile,
//! and finds its claim gone when it asks. A virtual machine that is halted together with its clock is beyond what anything here can
//! see.
//!
//! Two limits, both also of client-go. A claim says when a request may be *sent*: one that is on its way for longer than the difference of
//! lease duration and renew deadline ([`Timing::margin`]) may arrive when another has the claim. The host has the system give up a
//! connection whose peer acknowledges nothing for so long; what is left are proxies that hold back what they have acknowledged, and the
//! moment between looking at the claim and handing the request to the system. And the lease must not be deleted: who has seen it before
//! waits its duration all the same, but a process that starts just then finds nothing, and creates it.
//!
//! # One for all mounts, or one for each
//!
//! A host has one lease for all that it does, or a [`MountElector`](mounts::MountElector) in what several replicas do, with a lease for each mount:
//!
//! ```text
//!   alive replicas, and what each can lead ──▶ assignments ──▶ which of my electors take, leave alone, or give back
//! ```
//!
//! Each replica renews a Lease that says that it is there. All compute the same [`assignments`] from those that are, and the leases of
//! the mounts see to it that no mount has two leaders while they do not agree. Three rules, beside that each takes what is its own:
//!
//! - Who leads a mount that is to be another's gives it back, once that other has been there for a lease duration: first nobody writes
//!   for it any more, then it is free.
//! - A mount that nobody has had for a lease duration is taken by whoever sees it, and kept for a while.
//! - A replica that ends says so before it gives back what it leads.
//!
//! The two ways exclude each other only within a deployment: before a change from one to the other, all its replicas have to stop.

mod assignment;
mod elector;
pub mod mounts;
mod peers;
mod timing;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use assignment::assignments;
pub use elector::{Action, Elector, Goal, Input, NoIdentity, Request, RequestResult};
pub use timing::{Error, Timing};

/// The holder of a Lease, and its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// `holderIdentity`; empty: nobody.
    pub holder: String,
    /// `leaseDurationSeconds`: how long the others wait after the last renewal. Zero or less, which the API server does not accept:
    /// it is not said.
    pub duration_seconds: i32,
    /// `leaseTransitions`: how often the holder has changed.
    pub transitions: i32,
}

/// A Lease as the API server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The version. Every change makes another.
    pub resource_version: String,
    /// The content.
    pub record: Record,
}

/// What becomes of `acquireTime` when a Lease is replaced. `renewTime` is always the time of day at which the request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// It is the time of day at which the request is sent, too.
    Begins,
    /// It stays.
    GoesOn,
}
