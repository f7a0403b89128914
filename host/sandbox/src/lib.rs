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
//! [`call::Error`], what the call used, and the [`HostImports`] that the host provided for it. Functions are synchronous and block, so the
//! host calls them from threads that may block.
//!
//! | module | what it does |
//! |---|---|
//! | `sandbox`, `options` | loads plugins; how the sandbox is configured |
//! | `engine`, `shared` | what all plugins share: wasmtime's engine with its settings, and the limit on parallel calls |
//! | `load`, `cache` | from bytes to a plugin; compiled code on disk |
//! | `plugin`, `execution` | a plugin, component or native; the state that its calls get and leave behind |
//! | `component`, `idle` | calls of components; instances that are reused if a mount allows it |
//! | [`native`] | plugins as native code, for tests: the same calls without WebAssembly |
//! | `gate` | how many calls run at a time; the thread that enforces deadlines |
//! | `state`, `limiter`, `console`, `random`, `handles` | the state of one call: memory, log, clock, random numbers, WASI's handles |
//! | `wit` | one module per version of the contract; no other module knows its types |
//! | `wasi` | WASI without files, sockets or environment |
//! | `classify` | the meaning of a trap |
//!
//! A call is a pure function of its input and of what it read: clocks stand still, random numbers come from the seed, there
//! are no files, sockets, arguments or environment, and instances are not reused unless a mount allows it.
//!
//! Every call ends, whatever the plugin does: at the latest soon after its deadline, with an error that names the cause. It then
//! releases its resources.
//!
//! What is absent: kube, tokio, async, retries, grants, and any check of an answer beyond its size and shape.

mod cache;
pub mod call;
mod classify;
mod component;
mod console;
mod digest;
mod engine;
mod execution;
mod gate;
mod handles;
mod host_imports;
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
mod wasi;
mod wit;

pub use call::{Call, ClockUse, Fault, Input, Start, Usage};
pub use digest::Digest;
pub use gate::TICK;
pub use host_imports::{Bytes, HostImports, LogLevel, LogLine, LogSource, ReadError};
pub use limits::{Limits, Reuse};
pub use options::{Error, Options};
pub use plugin::{CodeSource, CompileReport, Plugin};
pub use sandbox::Sandbox;
