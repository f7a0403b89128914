//! The host converges under every fault, and then sends nothing more.
//!
//! `GYRE_SIM_SEEDS=2` tries twice as many seeds, `GYRE_SIM_SEED` only the given one.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod backlog;
mod claims;
mod copies;
mod crashes;
mod events;
mod faults;
mod generated;
mod groups;
mod hostile_plugin;
mod hostile_tenant;
mod lag;
mod names;
mod namespaces;
mod outliving;
mod parent_deletion;
mod parent_fields;
mod programs;
mod recordings;
mod refusals;
mod requests;
mod restores;
mod seeds;
mod silence;
mod storms;
mod subjects;
