//! The `gyre` command: the command line, the configuration, the loading of plugins, and tools for
//! authors of plugins.
//!
//! ```text
//! arguments ─▶ cli ─┬▶ run: config ─▶ programs ─▶ gyre_engine::host ◀──▶ the cluster
//!                   │         ▲
//!                   │      plugins (sources, compiled code) ◀──▶ gyre_registry, gyre_signatures
//!                   ├▶ commands: rbac, crds, inspect, pull, verify, status, record, shadow
//!                   └▶ tools: render, test, fuzz, diff, replay ─▶ gyre_offline, and dev, new, build, push, sign, values
//! ```
//!
//! The modules form layers. Each imports only from modules below it in this table:
//!
//! | module | what it does |
//! |---|---|
//! | [`cli`] | the command line: parses arguments, connects modules, prints errors |
//! | `commands` | the commands other than `run` |
//! | [`config`], `plugins` | configuration and arguments; sources of plugins; the resulting programs |
//! | `known_kinds` | the resources of kinds, without a cluster |
//!
//! The feature `tools`, on by default, adds commands that the program in a cluster does not need.
//!
//! What is absent: the host, which is `gyre_engine`; its simulation, which is `gyre_offline`; and
//! the reading of YAML, manifests and settings, which is `gyre_input`.

pub mod cli;
mod commands;
pub mod config;
mod known_kinds;
mod plugins;
