//! gyre-sandbox.

pub mod call;
mod digest;
mod limits;
pub mod load;
mod plugin;
mod sandbox;
pub mod settings;
mod cache;
mod console;
mod engine;
mod gate;
mod idle;
mod json;
mod limiter;
mod random;
mod state;
mod verdict;
mod wasi;
mod wit;
mod world;

pub use call::{Call, ClockUse, Fault, Input, Start, Usage};
pub use digest::Digest;
pub use limits::{Limits, Reuse};
pub use plugin::{CodeSource, CompileReport, Plugin};
pub use sandbox::{Error, Options, Sandbox, TICK};
pub use world::{Bytes, LogLevel, LogLine, LogSource, ReadError, World};
