//! An in-memory Kubernetes API server, for development, tests and simulation. Production is a real cluster.
//!
//! ```text
//!  kubectl ─▶ http (loopback) ─┐
//!  kube::Client ─▶ faults ─────┴▶ cluster ── lock ──▶ server: request ─▶ kinds ─▶ verbs ─▶ store
//!                                    │                                     │        │
//!                                    └─ wakes watches and controllers      │        ├ patch, fields (managedFields)
//!                                                          builtin, custom ┘        └ table, discovery, openapi
//! ```
//!
//! [`server::Server`] is the whole API server as a function: time, seed and requests in, answers out. It has no sockets, clock, tasks or
//! randomness of its own. What is around it only carries bytes and time.

pub mod answer;
mod builtin;
mod custom;
pub mod kinds;
pub mod object;
pub mod schema;
pub mod server;
pub mod status;
pub mod store;
pub mod table;
pub mod watch;

pub use server::{Controllers, Options, Server};
