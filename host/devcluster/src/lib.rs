//! An in-memory Kubernetes API server, for development, tests and simulation. It is not for
//! production.
//!
//! ```text
//!  kubectl ─▶ http (loopback) ─┐
//!  kube::Client ─▶ faults ─────┴▶ cluster ─ lock ─▶ server: request ─▶ kinds ─▶ verbs ─▶ store
//!                                    │                               │      │
//!                                    └─ wakes watches, controllers   │      ├ patch, fields
//!                                                    builtin, custom ┘      └ table, discovery
//! ```
//!
//! [`server::Server`] is the whole API server as a function: time, seed and requests in, answers
//! out. It has no sockets, clock, tasks or randomness of its own. The modules around it connect it
//! to clients and to a clock.
//!
//! What is absent: authentication, authorization, webhooks and admission policies, aggregated API
//! servers, most controllers, and nodes. Objects that configure these are stored, with a warning
//! (`verbs::warnings`). `verbs::admission` has the built-in admission plugins. Messages have
//! our own texts instead of those of Go's libraries (`tests/contract/suite/messages.rs` lists
//! them).

pub mod answer;
pub mod attributes;
pub mod audit;
mod builtin;
pub mod cluster;
mod controllers;
mod conversion;
mod custom;
mod discovery;
mod duration;
pub mod faults;
pub mod fields;
mod go;
pub mod http;
pub mod kinds;
pub mod kubeconfig;
mod lag;
pub mod object;
mod openapi;
mod partial;
mod patch;
mod quota;
pub mod random;
mod registry;
mod render;
mod reply;
mod request;
mod schedule;
pub mod schema;
mod selection;
mod selector;
pub mod server;
pub mod service;
pub mod status;
pub mod store;
pub mod table;
#[cfg(test)]
mod test_kinds;
pub mod user;
mod validation;
mod verbs;
pub mod watch;

pub use cluster::{Clock, Cluster};
pub use registry::Watches;
pub use server::{Controllers, Options, Server};
pub use service::Service;
