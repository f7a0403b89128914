//! Hosts and a cluster in one process, with a simulated clock and with faults between them. Everything follows from a seed.
//!
//! ```text
//!  script (seed) ─▶ people ───────────────────────────▶ Service ─▶ Cluster (controllers) ──▶ judge
//!                   hosts ──▶ Recorder ─▶ Faults (seed) ─▶ Service, audited ─▶  "   └──────▶ census
//! ```
//!
//! There is one thread, and tokio's time is paused: it advances to the next timer when no task can run. Plugins are called on that thread.
//! So the order of everything follows from the seed, and a failing seed fails again: the [`Record`]s of two runs are equal.
//!
//! What is absent: a model of the host. The expected final state is a function of what people have created ([`judge`]). Beyond that, a
//! run with faults is compared with the same run without faults.

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
