//! Writes to the cluster.
//!
//! ```text
//! plan ─▶ apply ───────────────┐
//! outcome ─▶ parent ◀─ status  ├─▶ client (claim) ─▶ transport ─▶ API server
//!                   ◀─ finalizers      ▲
//!           events ────────────────────┘
//! ```
//!
//! `gyre_core` decides what is written, [`leadership`](crate::leadership) whether it may be.

pub mod apply;
pub(crate) mod events;
pub(crate) mod finalizers;
pub(crate) mod own_writes;
pub(crate) mod parent;
pub(crate) mod status;
