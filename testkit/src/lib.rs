//! Tests of gyre plugins against the real host.
//!
//! ```text
//!   Plugin::native::<R>(), Plugin::wasm(path) ─┐
//!   settings, time, objects, files ────────────┴▶ Setup ──▶ World: gyre_engine::host, devcluster
//!                                                            │  ▲
//!                             Run: plan, children, status, … ┘  └ edit, delete, advance, …
//! ```
#![doc = include_str!("../README.md")]
//!
//! What is absent: a second implementation of the host. `gyre render`, `gyre test` and `gyre fuzz`
//! run the same one. The command line is not needed.

mod cases;
mod error;
mod jobs;
mod native;
mod object;
mod plugin;
mod reference;
mod run;
mod setup;
mod world;
pub mod yaml;

pub use gyre_engine::program::Program;
pub use gyre_engine::record::CallRecord;
pub use gyre_offline::plan::{Action, Subject, Verb};

pub use crate::cases::assert_cases;
pub use crate::error::{Error, Result};
pub use crate::object::{Object, object};
pub use crate::plugin::Plugin;
pub use crate::reference::Reference;
pub use crate::run::{Event, Run};
pub use crate::setup::Setup;
pub use crate::world::World;
