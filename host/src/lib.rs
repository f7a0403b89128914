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
//! | [`host`], [`mounts`], [`mount`], `live`, [`inventory`], `release` | what is mounted, how it changes, and how it goes |
//! | [`informer`], [`store`], [`object`], [`kinds`], `view`, `lookup` | what the cluster holds, and who may look at it |
//! | [`work`], `reconcile`, `call`, `world`, `probation`, `memory`, `progress` | one reconcile after another |
//! | `apply`, `parent`, `finalizers`, `status`, `events`, `client`, `transport`, [`claim`], [`election`], `leadership`, `own_writes` | what is written, and when it may be |
//! | `admin`, [`health`], [`metrics`], `state`, `log` | what people and probes see |
//! | [`record`], [`replay`] | calls, kept and made again |
//! | `new`, `inspect`, `offline` | how a plugin begins, what it is, and what it does to objects in files |
//! | [`cli`], `manual`, `rbac`, `dev`, [`clock`] | how it is started, and told the time |
//!
//! What is decided rather than done lies in `gyre_core`; what runs plugins in `gyre_sandbox`.
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
pub mod election;
mod events;
mod finalizers;
pub mod health;
pub mod host;
pub mod informer;
mod inspect;
pub mod inventory;
pub mod kinds;
mod leadership;
mod live;
mod log;
mod lookup;
mod manual;
mod memory;
pub mod metrics;
pub mod mount;
pub mod mounts;
mod new;
pub mod object;
mod offline;
mod own_writes;
mod parent;
mod plugins;
mod probation;
pub mod program;
mod progress;
mod rbac;
mod reconcile;
pub mod record;
mod release;
pub mod replay;
mod running;
mod state;
mod status;
pub mod store;
mod threads;
mod traces;
mod transport;
mod view;
pub mod work;
mod world;
