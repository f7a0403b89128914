//! The host: what touches the world.
//!
//! ```text
//! configuration ─ config ─▶ programs ─▶ mounts (a mount: live, and what comes after it)
//!                                         │ looks at
//! API server ── watch ──▶ informer ──▶ store (raw JSON + metadata, indexed) ── key ──▶ work ──▶ host (a task each)
//!                                         ▲                                                        │ parent
//!                                         └── view, lookup (reads, recorded) ◀── call, world ◀─ reconcile
//!                                                                               │ desired children, status, events
//!                                          plan(observed, desired, grants) ◀────┘
//!                                               │ steps, refusals
//!                                             apply, parent ─▶ client (claim) ─▶ outcome ──▶ status, events, metrics, work.done
//! ```
//!
//! | modules | what they do |
//! |---|---|
//! | [`config`], `plugins`, [`program`] | the operator's configuration, and the programs that it comes down to |
//! | [`host`], [`mounts`] | what is mounted, how it changes, and how it goes |
//! | [`cluster`] | what the cluster holds, and who may look at it |
//! | [`work`], `reconcile` | one reconcile after another: the queue, the call, what comes of it |
//! | `writes` | what is written |
//! | [`leadership`] | whether this host may write |
//! | [`admin`], [`health`], [`telemetry`] | what people and probes see |
//! | [`record`], [`replay`] | calls, kept and made again |
//! | [`scene`] | a cluster in memory with a host that works on it, for tests of plugins |
//! | `shadow`, `difference` | another version beside a mount's, and what would change |
//! | [`cli`], `commands`, [`clock`] | how it is started, the commands for plugin authors, and the time |
//!
//! What is decided rather than done lies in `gyre_core`; what runs plugins in `gyre_sandbox`.
//!
//! What is absent: a trait for the cluster. The seam to it is HTTP, through a [`kube::Client`].

pub mod admin;
pub mod cli;
pub mod clock;
pub mod cluster;
mod commands;
pub mod config;
mod difference;
pub mod health;
pub mod host;
pub mod leadership;
pub mod mounts;
mod plugins;
pub mod program;
mod reconcile;
pub mod record;
pub mod replay;
pub mod scene;
mod shadow;
pub mod telemetry;
pub mod work;
mod writes;
