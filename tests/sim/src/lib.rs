//! Hosts and a cluster in one process, with a simulated clock and faults, all from a seed.
//!
//! ```text
//!  script (seed) ─▶ people ──────────────────────────▶ Service ─▶ Cluster (controllers) ──▶ judge
//!                   hosts ─▶ Recorder ─▶ Faults (seed) ─▶ Service, audited ─▶  "   └──────▶ census
//! ```
//!
//! There is one thread, which also calls the plugins, and tokio's time is paused: it advances when
//! no task can run. So the seed determines the order of everything: the [`Record`]s of two runs are
//! equal.
//!
//! What is absent: a model of the host. The expected end state is a function of the objects of
//! people ([`judge`]). A run with faults is also compared with the same run without faults.

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
