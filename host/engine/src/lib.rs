//! A host in a cluster: it watches objects, calls plugins when something changes, and writes what
//! they return.
//!
//! ```text
//! programs ─▶ mounts (each: its active program, and the next one during preparation)
//!
//! API server ─ watch ─▶ informer ─▶ store (JSON, metadata, indexes) ─ key ─▶ work ─▶ host
//!                                     │                                                │ parent
//!                                     ▼                                                ▼
//!                           view, lookup ─ recorded reads ─▶ call ◀──────────────── reconcile
//!                                                             │ desired children, status, events
//!                                             plan(observed, desired, grants)
//!                                                             │ steps, refusals
//!                                 apply, parent ─▶ client (claim) ─▶ API server
//!                                                             │ outcome
//!                                            status, events, metrics, work.done
//! ```
//!
//! The modules form layers. Each imports only from modules below it in this table:
//!
//! | module | what it does |
//! |---|---|
//! | [`host`] | runs a host, from start to shutdown |
//! | [`admin`] | serves probes, metrics, state, recordings and reports of shadows |
//! | [`shadow`] | calls another version beside a mount's plugin, and compares the answers |
//! | [`difference`] | describes what would change |
//! | [`reconcile`] | one reconcile: the call, the plan, its steps, the outcome |
//! | [`mounts`] | mounts, changes and unmounts programs |
//! | [`writes`] | writes children, statuses, finalizers and events |
//! | [`record`] | records calls |
//! | [`values`] | shows generated values of Secrets as placeholders, and keeps the key of their digests |
//! | [`cluster`] | informers, caches, and what plugins may read of them |
//! | [`client`] | clients for the API server, which send no write without the claim |
//! | [`leadership`] | leader election: whether this host may write |
//! | [`call`] | calls plugins, on threads of their own |
//! | [`work`] | the work queue |
//! | [`program`] | a plugin with its settings, limits and grants |
//! | [`telemetry`] | logs, metrics and traces |
//! | [`health`], [`restores`] | the state of watches and of the host's own tasks; restores of the cluster from a backup |
//! | [`target`], [`clock`] | what a watch covers; time |
//! | [`error`], `fingerprint` | how errors are printed; fingerprints of values |
//!
//! Decisions are in `gyre_core`; `gyre_sandbox` runs plugins.
//!
//! What is absent: the command line, the configuration file and the loading of plugins are in
//! `gyre`, which passes [programs](program::Programs) and [options](host::Options). There is no
//! trait for the cluster: the boundary is HTTP, a [`kube::Client`].

pub mod admin;
pub mod call;
pub mod client;
pub mod clock;
pub mod cluster;
pub mod difference;
pub mod error;
mod fingerprint;
pub mod health;
pub mod host;
pub mod leadership;
pub mod mounts;
pub mod program;
pub mod reconcile;
pub mod record;
pub mod restores;
pub mod shadow;
pub mod target;
pub mod telemetry;
pub mod values;
pub mod work;
pub mod writes;
