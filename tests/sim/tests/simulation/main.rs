//! The host converges whatever goes wrong between it and the cluster, and then rests.
//!
//! `GYRE_SIM_SEEDS` is by how much more seeds are tried than usual (2: twice as many), and `GYRE_SIM_SEED` tries a single one.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod backlog;
mod claims;
mod crashes;
mod faults;
mod lag;
mod names;
mod programs;
mod recordings;
mod seeds;
mod silence;
mod storms;
