//! A host in a cluster: watches, calls plugins about what changes, and writes what they want.
//!
//! ```text
//! programs ─▶ mounts (a mount: live, and what comes after it)
//!               │ looks at
//! API server ── watch ──▶ informer ──▶ store (raw JSON + metadata, indexed) ── key ──▶ work ──▶ host (a task each)
//!                                         ▲                                                        │ parent
//!                                         └── view, lookup (reads, recorded) ◀── call, context ◀ reconcile
//!                                                                               │ desired children, status, events
//!                                          plan(observed, desired, grants) ◀────┘
//!                                               │ steps, refusals
//!                                             apply, parent ─▶ client (claim) ─▶ outcome ──▶ status, events, metrics, work.done
//! ```
//!
//! | modules, from the top down: each imports only what stands below it | what they do |
//! |---|---|
//! | [`host`] | a running host, from start to end |
//! | [`admin`] | what probes and people see of it |
//! | [`shadow`] | another version beside a mount's |
//! | [`difference`] | what would change, in words |
//! | [`reconcile`] | one reconcile after another: the call, the plan, what comes of it |
//! | [`mounts`] | what is mounted, how it changes, and how it goes |
//! | [`writes`] | what is written |
//! | [`record`] | calls, kept |
//! | [`cluster`] | what the cluster holds, and who may look at it |
//! | [`client`] | the ways to the API server, where writes are fenced |
//! | [`leadership`] | whether this host may write |
//! | [`call`] | where plugins are called |
//! | [`work`] | the queue |
//! | [`program`] | a plugin with all that its mount says of it |
//! | [`telemetry`], [`health`], [`target`], [`clock`], [`error`] | logs, metrics and traces, how watches fare, what they are about, the time, and how errors read |
//!
//! What is decided rather than done lies in `gyre_core`; what runs plugins in `gyre_sandbox`.
//!
//! What is absent: the command line, the configuration file and the loading of plugins, which are in `gyre`: a host is given
//! [programs](program::Programs) and [options](host::Options). A trait for the cluster: the seam to it is HTTP, through a [`kube::Client`].

pub mod admin;
pub mod call;
pub mod client;
pub mod clock;
pub mod cluster;
pub mod difference;
pub mod error;
pub mod health;
pub mod host;
pub mod leadership;
pub mod mounts;
pub mod program;
pub mod reconcile;
pub mod record;
pub mod shadow;
pub mod target;
pub mod telemetry;
pub mod work;
pub mod writes;
