//! The `gyre` command: the command line, the configuration, the loading of plugins, and what authors of plugins work with.
//!
//! ```text
//! arguments ─▶ cli ─┬▶ run: config ─▶ programs ─▶ gyre_engine::host ◀──▶ the cluster
//!                   │         ▲
//!                   │      plugins (files, compiled code)
//!                   ├▶ commands: rbac, crds, inspect, record, shadow
//!                   └▶ tools: render, test, check, diff, replay ─▶ gyre_offline, and dev, new
//! ```
//!
//! | modules, from the top down: each imports only what stands below it | what they do |
//! |---|---|
//! | [`cli`] | the command line: arguments in, modules together, errors out |
//! | `commands` | the commands beside the host itself |
//! | [`cases`] | golden cases in directories |
//! | [`manifests`] | objects in files and folders |
//! | [`config`], `plugins` | the operator's configuration and the arguments, the files of plugins, and the programs that they come down to |
//!
//! With the feature `tools`, which is on by default, it has all commands. Without it, it is the program that runs in a cluster.
//!
//! What is absent: the host itself, which is `gyre_engine`, and simulations of it, which are `gyre_offline`.

pub mod cases;
pub mod cli;
mod commands;
pub mod config;
pub mod manifests;
mod plugins;
