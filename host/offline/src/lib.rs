//! The engine on a cluster in memory, with a simulated clock: previews of what plugins do, tests of plugins, and replays.
//!
//! ```text
//! objects, live ──▶ simulation: API server in memory ◀── journal ◀── gyre_engine::host, with a simulated clock
//!                                                           └──▶ plan: what the host wrote, in order ──▶ rendered, diff, check
//! recordings ──▶ replay ──▶ how the answers compare
//! ```
//!
//! The modules form layers. Each imports only from modules below it in this table:
//!
//! | module | what it does |
//! |---|---|
//! | [`check`] | tries to break a plugin: `gyre check` |
//! | [`diff`], [`render_output`] | what would change in a live cluster: `gyre diff`; what `gyre render` prints |
//! | [`preview`] | what a host would do in a live cluster, by a copy of its objects |
//! | [`rendered`], [`selection`] | runs a host on objects of files; which objects programs reconcile, and why not the others |
//! | [`simulation`] | a cluster in memory, and a host that runs until it stops writing |
//! | [`live`] | reads the objects of a live cluster |
//! | [`host_run`] | what a host did, and the resulting parents |
//! | [`call_log`] | the calls of a host |
//! | [`replay`] | makes recorded calls again |
//! | [`plan`] | what a host did, in readable form |
//! | `journal`, [`cases`], [`parallel`] | the write requests of a host; golden cases in directories; simulations in parallel |
//!
//! Here runs the host itself, not a second implementation of it. Nothing else acts: there are no controllers, so a Job does not start and
//! nothing is garbage-collected. To see what a plugin does next, add objects in that state. Only [`check`] changes objects while the host
//! runs, and has garbage collected when a parent is deleted.
//!
//! What is absent: the command line and the configuration file, which are in `gyre`.

pub mod call_log;
pub mod cases;
pub mod check;
pub mod diff;
pub mod host_run;
mod journal;
pub mod live;
pub mod parallel;
pub mod plan;
pub mod preview;
pub mod render_output;
pub mod rendered;
pub mod replay;
pub mod selection;
pub mod simulation;
