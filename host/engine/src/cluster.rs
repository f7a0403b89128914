//! The caches of the cluster's objects, and the access to them.
//!
//! ```text
//! API server ─ watch ─▶ informer ─▶ store (raw JSON, metadata, indexes) ◀─ view, lookup ◀─ plugins
//! ```

pub mod informer;
pub mod kinds;
pub(crate) mod lookup;
pub mod object;
mod object_index;
pub(crate) mod pages;
pub(crate) mod raw;
pub mod store;
pub(crate) mod view;
