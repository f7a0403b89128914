//! The `gyre` command: the command line, the configuration, the loading of plugins, and the tools for authors of plugins.
//!
//! ```text
//! arguments ─▶ cli ─┬▶ run: config ─▶ programs ─▶ gyre_engine::host ◀──▶ the cluster
//!                   │         ▲
//!                   │      plugins (files, compiled code)
//!                   ├▶ commands: rbac, crds, inspect, record, shadow
//!                   └▶ tools: render, test, check, diff, replay ─▶ gyre_offline, and dev, new
//! ```
//!
//! The modules form layers. Each imports only from modules below it in this table:
//!
//! | module | what it does |
//! |---|---|
//! | [`cli`] | the command line: parses arguments, connects modules, prints errors |
//! | `commands` | the commands other than `run` |
//! | [`config`], `plugins` | the operator's configuration and arguments; the files of plugins; the programs that result from both |
//!
//! With the feature `tools`, which is on by default, it has all commands. Without it, it is the program that runs in a cluster.
//!
//! What is absent: the host itself, which is `gyre_engine`; simulations of it, which are `gyre_offline`; and the reading of YAML, manifests
//! and settings, which is `gyre_input`.

pub mod cli;
mod commands;
pub mod config;
mod plugins;
