//! What is written to the cluster.
//!
//! ```text
//! plan ──▶ apply ───────────────┐
//! outcome ──▶ parent ◀── status ├──▶ client (claim) ──▶ transport ──▶ API server
//!                    ◀── finalizers        ▲
//!             events ──────────────────────┘
//! ```
//!
//! What should be written is decided in `gyre_core`; whether this host may, in [`leadership`](crate::leadership).

pub mod apply;
pub(crate) mod events;
pub(crate) mod finalizers;
pub(crate) mod own_writes;
pub(crate) mod parent;
pub(crate) mod status;
