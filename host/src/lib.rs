//! The `gyre` command: the command line, the configuration, the loading of plugins, and what authors of plugins work with.
//!
//! ```text
//! arguments ─▶ cli ─┬▶ run: config ─▶ programs ─▶ gyre_engine::host ◀──▶ the cluster
//!                   │         ▲
//!                   │      plugins (files, compiled code)
//!                   ├▶ commands: rbac, crds, inspect, record, shadow
//!                   └▶ tools: render, test, check, diff, dev, new, replay (commands::offline, scene, replay)
//! ```
//!
//! | modules, from the top down: each imports only what stands below it | what they do |
//! |---|---|
//! | [`cli`] | the command line: arguments in, modules together, errors out |
//! | `commands`, [`scene`] | the commands beside the host itself, and what tests of plugins have of them |
//! | [`manifests`] | objects in files and folders |
//! | [`config`], `plugins` | the operator's configuration and the arguments, the files of plugins, and the programs that they come down to |
//! | [`replay`] | recorded calls made again |
//!
//! With the feature `tools`, which is on by default, it has all commands. Without it, it is the program that runs in a cluster.
//!
//! What is absent: the host itself, which is `gyre_engine`.

pub mod cli;
mod commands;
pub mod config;
pub mod manifests;
mod plugins;
#[cfg(feature = "tools")]
pub mod replay;
#[cfg(feature = "tools")]
pub mod scene;
