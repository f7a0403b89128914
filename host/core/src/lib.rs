//! The decisions of gyre, without their execution.
//!
//! Everything here is a function of its arguments: there is no I/O, async, clock or randomness, and
//! time is an argument. The host executes the decisions, and the offline tools show them.
//!
//! ```text
//!   changes ──▶ queue ──▶ (host calls the plugin) ──▶ plan ──▶ (host applies it) ──▶ outcome
//!                 ▲                                                                    │ │
//!                 └────────────────────────────────────────────────────────────────────┘ └▶ status
//! ```
//!
//! What is absent: kube, tokio and wasmtime. A test checks that the crate does not depend on them.

pub mod answer;
pub mod conflict;
pub mod contains;
pub mod deletion_guard;
pub mod election;
pub mod event_queue;
pub mod field_path;
pub mod generated;
pub mod grants;
pub mod groups;
pub mod managed_fields;
pub mod manifest;
pub mod member_statuses;
pub mod milliseconds;
pub mod names;
pub mod no_proxy;
pub mod object;
pub mod outcome;
pub mod pace;
pub mod parent_deletion;
pub mod parent_fields;
pub mod plan;
pub mod quantity;
pub mod quarantine;
pub mod queue;
mod random;
pub mod reads;
pub mod refused;
pub mod response;
pub mod selector;
pub mod status;
pub mod terminating;
pub mod text;
pub mod token_bucket;
pub mod yaml;
