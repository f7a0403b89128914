//! The engine on a cluster in memory, with a simulated clock: previews of what plugins do, tests of
//! plugins, and replays.
//!
//! ```text
//! objects, live ──▶ simulation: API server in memory ◀── journal ◀── gyre_engine::host
//!                                                           └──▶ plan ──▶ rendered, diff, check
//! recordings ──▶ replay ──▶ how the answers compare
//! ```
//!
//! The modules form layers. Each imports only from modules below it in this table:
//!
//! | module | what it does |
//! |---|---|
//! | [`world`] | a cluster in memory for a test: `gyre worlds` |
//! | [`check`] | tries to break a plugin: `gyre fuzz` |
//! | [`diff`], [`render_output`] | what would change in a live cluster; what `gyre render` prints |
//! | [`preview`] | what a host would do in a live cluster, by a copy of its objects |
//! | [`rendered`], [`selection`] | runs a host on objects of files; which objects are reconciled |
//! | [`simulation`] | a cluster in memory, and a host that runs until it stops writing |
//! | [`live`] | reads the objects of a live cluster |
//! | [`host_run`] | what a host did, and the resulting parents |
//! | [`call_log`] | the calls of a host |
//! | [`replay`] | makes recorded calls again |
//! | [`plan`] | what a host did, in readable form |
//! | `journal`, [`cases`], [`parallel`] | a host's writes; golden cases; simulations in parallel |
//!
//! The real host runs here, not a second implementation. Nothing else acts: there are no
//! controllers, so no Job starts and no garbage is collected. To see a plugin's next step, add
//! objects in that state. Only [`check`] changes objects while the host runs, and collects garbage.
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
pub mod world;
