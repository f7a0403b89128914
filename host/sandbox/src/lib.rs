//! Runs plugins: WebAssembly components, each call in a sandbox of its own and within limits.
//!
//! ```text
//!   bytes ──▶ load ──▶ cache ──▶ compile ──▶ link ──▶ describe ──▶ Plugin
//!
//!   Input ──▶ gate ──▶ instance, fresh or idle ──▶ plugin ──▶ answer ──▶ Call
//!               │            │      │                 │  ▲        │
//!             ticker      limiter  pool            wit│  │wasi    json
//!           (deadline)    (memory)                    ▼  │
//!                                                    World, console
//! ```
//!
//! A [`Sandbox`] turns bytes into a [`Plugin`]. A [`Plugin`] turns an [`Input`] into a [`Call`]: the answer or a
//! [`call::Error`], what it took, and the [`World`] that the host gave for it. Functions are synchronous and block; the
//! host calls them from threads that may.
//!
//! | module | what it does |
//! |---|---|
//! | `sandbox`, `options` | loads plugins, and how it is set up |
//! | `engine`, `shared` | what all plugins share: wasmtime's engine with its settings, and what bounds calls |
//! | `load`, `cache` | from bytes to a plugin, and compiled code on disk |
//! | `plugin`, `execution` | a plugin of either kind, and what its calls are given and leave behind |
//! | `component`, `idle` | calls of components, and instances that are reused where a mount allows it |
//! | [`native`] | plugins as native code, in tests: the same calls without WebAssembly |
//! | `gate` | how many calls run at a time, and the thread that keeps deadlines |
//! | `state`, `limiter`, `console`, `random`, `handles` | what belongs to one call: memory, log, clock, random numbers, WASI's handles |
//! | `wit` | one module per version of the contract, which alone knows its types |
//! | `wasi` | WASI, with nothing in it |
//! | `verdict` | what a trap means |
//!
//! A call is a pure function of its input and of what it read: clocks stand still, random numbers come from the seed, there
//! are no files, sockets, arguments or environment, and instances are not reused unless a mount says so.
//!
//! Whatever a plugin does, a call ends, by an error of its own, soon after its deadline, and gives back what it held.
//!
//! What is absent: kube, tokio, async, retries, grants, and any opinion on what a plugin answers beyond its size and shape.

mod cache;
pub mod call;
mod component;
mod console;
mod digest;
mod engine;
mod execution;
mod gate;
mod handles;
mod idle;
mod json;
mod limiter;
mod limits;
pub mod load;
pub mod native;
mod options;
mod plugin;
mod random;
mod sandbox;
pub mod settings;
mod shared;
mod state;
mod verdict;
mod wasi;
mod wit;
mod world;

pub use call::{Call, ClockUse, Fault, Input, Start, Usage};
pub use digest::Digest;
pub use gate::TICK;
pub use limits::{Limits, Reuse};
pub use options::{Error, Options};
pub use plugin::{CodeSource, CompileReport, Plugin};
pub use sandbox::Sandbox;
pub use world::{Bytes, LogLevel, LogLine, LogSource, ReadError, World};
