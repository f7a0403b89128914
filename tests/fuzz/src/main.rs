//! Fuzzes devcluster and the host with cases that are generated from a seed.
//!
//! ```text
//! fleet ── a process per core ──▶ target ─┬─ server               (requests)
//!   └─ progress, limits, failures         ├─ host::watch          (objects of an API server)
//!                                         ├─ host::answers        (of plugins)
//!                                         ├─ host::configuration  (files of operators)
//!                                         ├─ host::recordings     (of calls)
//!                                         └─ host::artifacts      (of registries)
//!                                               └─ all: mutate ◀── corpus
//! ```
//!
//! What is absent: coverage guidance, which needs another toolchain.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test: what it draws from is never empty, and its corpus is its own"
)]

mod arguments;
mod corpus;
mod fleet;
mod host;
mod mutate;
mod outcome;
mod server;
mod target;
#[cfg(test)]
mod tests;
mod worker;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::Arguments;
use crate::target::Target;

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.stride {
        Some(stride) => Ok(worker::run(&arguments, arguments.target.unwrap_or(Target::Server), stride)),
        None => fleet::run(&arguments),
    }
}
