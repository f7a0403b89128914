//! Hosts and a cluster in one process, under time that does not pass by itself, with faults between them. A seed decides everything.
//!
//! ```text
//!  script (seed) ─▶ people ───────────────────────────▶ Service ─▶ Cluster (controllers) ──▶ judge
//!                   hosts ──▶ Recorder ─▶ Faults (seed) ─▶ Service, audited ─▶  "   └──────▶ census
//! ```
//!
//! There is one thread and tokio's time is paused: it jumps to the next timer when nobody can run. Plugins are called inline. So the
//! order of everything follows from the seed, and a seed that fails fails again: the [`Record`] of two runs is the same.
//!
//! What is absent: a model of the host. What must be true in the end is a function of what people have made ([`judge`]); beyond that, a
//! run with faults is compared with the same run without.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a simulation fails by panicking, and says its seed"
)]

mod census;
mod expected;
pub mod kinds;
mod people;
mod plugins;
mod recorder;
mod runs;
pub mod script;
mod world;

pub use census::{Census, Count};
pub use expected::{Judgement, finalizers, judge, touched};
pub use people::{Action, Cascade, FOREIGN, People};
pub use plugins::Plugins;
pub use recorder::{Life, Record, Recorder, Sent};
pub use runs::Runs;
pub use world::{Host, World, simulate};
