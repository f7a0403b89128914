//! Tests of gyre plugins against the real host.
//!
//! ```text
//!   Plugin::native::<R>(), Plugin::wasm(path) ─┐
//!   settings, time, objects, files ────────────┴▶ Setup ──▶ World ──▶ Run: plan, children, status, …
//!                                                            │  ▲
//!                                           requests, answers▼  │calls of native plugins
//!                                                 program: `gyre worlds`
//! ```
#![doc = include_str!("../README.md")]
//!
//! What is absent: the host, which is in the program `gyre`. `gyre render`, `gyre test` and `gyre
//! fuzz` run the same one. `docs/test-kit-protocol.md` documents what this crate sends.

mod cases;
mod error;
mod native;
mod object;
mod plugin;
mod program;
mod reference;
mod run;
mod session;
mod setup;
mod subject;
mod world;
pub mod yaml;

pub use crate::cases::assert_cases;
pub use crate::error::{Error, Result};
pub use crate::object::{Object, object};
pub use crate::plugin::Plugin;
pub use crate::reference::Reference;
pub use crate::run::{Action, Event, LogLine, Run};
pub use crate::setup::Setup;
pub use crate::subject::Subject;
pub use crate::world::World;
