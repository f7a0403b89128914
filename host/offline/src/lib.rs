//! The engine on a cluster in memory, in simulated time: what plugins would do to objects.
//!
//! ```text
//! objects, live ──▶ scene: embedded API server ◀── journal ◀── gyre_engine::host, in time that does not pass by itself
//!                                                  └──▶ plan: what the host wrote, in order ──▶ rendered, diff, check
//! recordings ──▶ replay ──▶ how the answers compare
//! ```
//!
//! | modules, from the top down: each imports only what stands below it | what they do |
//! |---|---|
//! | [`check`] | tries to break a plugin, in worlds of its own |
//! | [`diff`], [`shown`] | what would change in a live cluster; what is shown of a rendering |
//! | [`foretold`] | what a host would do to what a live cluster holds |
//! | [`rendered`], [`selection`] | what a host did to objects; which objects programs reconcile, and why not the others |
//! | [`scene`] | a cluster that holds what files say, and a host that works on it until it rests |
//! | [`live`] | what a live cluster has for some programs, which is only read |
//! | [`plan`], `journal` | what a host did, in words; what it sent |
//! | [`replay`], [`parallel`] | recorded calls, made again; simulations beside each other |
//!
//! There is no second implementation of what the host does: it is the host that runs here, until it rests. Nobody else acts: there are no
//! controllers, so a Job does not start and nothing is collected. What a plugin does next is asked with objects that say how far things are.
//! [`check`] alone has more than that happen: it is somebody else who disturbs the world, and has garbage collected when a parent goes.
//!
//! What is absent: the command line, files and configurations, which are in `gyre`.

pub mod cases;
pub mod check;
pub mod diff;
pub mod foretold;
mod journal;
pub mod live;
pub mod parallel;
pub mod plan;
pub mod rendered;
pub mod replay;
pub mod scene;
pub mod selection;
pub mod shown;
