//! The host: what touches the world.
//!
//! ```text
//! API server ── watch ──▶ informer ──▶ store (raw JSON + metadata, indexed) ── key ──▶ work ──▶ host (workers)
//!                                         ▲                                                        │ parent
//!                                         └─────────── world (reads) ◀──── plugin call ◀───── reconcile
//!                                                                               │ desired children, status, events
//!                                          plan(observed, desired, grants) ◀────┘
//!                                               │ steps, refusals
//!                                             apply ──▶ outcome ──▶ status, events, metrics, work.done
//! ```
//!
//! One module a box: [`informer`], [`store`] with [`object`], [`work`], [`host`], `reconcile`, `world`, `apply`, `status`, `events`
//! and [`metrics`]. [`config`] comes down to a list of [`program`]s; [`mount`] ties a plugin to the caches that it sees, [`kinds`] finds a kind at the API server, and [`admin`] serves
//! what people and probes ask. What is decided rather than done lies in `gyre_core`; what runs plugins in `gyre_sandbox`.
//!
//! What is absent: a trait for the cluster. The seam to it is HTTP, through a [`kube::Client`].

pub mod admin;
mod apply;
mod call;
pub mod claim;
pub mod cli;
mod client;
pub mod clock;
pub mod config;
mod dev;
mod events;
mod finalizers;
pub mod host;
pub mod informer;
pub mod inventory;
pub mod kinds;
mod live;
mod log;
mod lookup;
mod memory;
pub mod metrics;
pub mod mount;
pub mod mounts;
pub mod object;
mod own_writes;
mod parent;
mod plugins;
mod probation;
pub mod program;
mod progress;
mod reconcile;
mod release;
mod state;
mod status;
pub mod store;
mod view;
pub mod work;
mod world;
