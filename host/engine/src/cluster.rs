//! What the cluster holds, and who may look at it.
//!
//! ```text
//! API server ── watch ──▶ informer ──▶ store (raw JSON + metadata, indexed) ◀── view, lookup ◀── plugins
//! ```

pub mod informer;
pub mod kinds;
pub(crate) mod lookup;
pub mod object;
mod object_index;
pub(crate) mod raw;
pub mod store;
pub(crate) mod view;
