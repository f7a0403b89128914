//! `gyre worlds`: simulated clusters with a host, for test kits in any language.
//!
//! ```text
//! stdin ──▶ lines ──▶ dispatch ──▶ a thread for each world: session ──▶ gyre_offline::world
//!                                                            │  ▲
//! stdout ◀── lines ◀── answers, calls of plugins in the kit ─┘  └─ plugins: components, remote
//! ```
//!
//! `docs/test-kit-protocol.md` documents the lines. What is absent: anything of one language.

mod compare;
mod dispatch;
mod lines;
mod link;
mod plugins;
mod protocol;
mod remote;
mod session;

use std::io;

use anyhow::Context as _;
use clap::Args;

use self::plugins::Plugins;
use crate::config::arguments::mounts::CodeArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre worlds < session.jsonl

Test kits start this command: it reads requests from standard input and writes answers to standard output, one JSON value per line.
docs/test-kit-protocol.md has the requests, the answers, and an example. It ends when standard input ends.";

#[derive(Debug, Args)]
pub(crate) struct WorldsArguments {
    #[command(flatten)]
    code: CodeArguments,
}

pub(crate) fn run(arguments: &WorldsArguments) -> anyhow::Result<()> {
    let sandbox = arguments.code.sandbox()?;
    let store = arguments.code.registry.store();
    dispatch::serve(io::stdin(), io::stdout(), Plugins::new(sandbox, store)).context("cannot write to standard output")
}
