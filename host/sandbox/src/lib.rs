//! Runs plugins: WebAssembly components, each call in its own sandbox and within limits.
//!
//! ```text
//!   bytes ──▶ load ──▶ cache ──▶ compile ──▶ link ──▶ describe ──▶ Reconcilers ──▶ Plugin, …
//!
//!   Input ──▶ gate ──▶ instance, fresh or idle ──▶ plugin ──▶ answer ──▶ Call
//!               │            │      │                 │  ▲        │
//!             ticker      limiter  pool            wit│  │wasi    json
//!           (deadline)    (memory)                    ▼  │
//!                                                HostImports, console
//! ```
//!
//! A [`Sandbox`] turns bytes into [`Reconcilers`], each a [`Plugin`]. A [`Plugin`] turns an
//! [`Input`] into a [`Call`]: the answer or a [`call::Error`], the usage, and the host's
//! [`HostImports`], which recorded the reads and the log. Functions are synchronous: call them from
//! threads that may block.
//!
//! | module | what it does |
//! |---|---|
//! | `sandbox`, `options` | loads plugins; how the sandbox is configured |
//! | `engine`, `shared` | shared by all plugins: wasmtime's engine, the gate and idle instances |
//! | `load`, `cache`, `digest` | bytes become a plugin; compiled code on disk; hash of the bytes |
//! | `plugin`, `execution` | a plugin, component or native; the context and result of its calls |
//! | `component`, `idle` | calls of components; instances that are reused if a mount allows it |
//! | [`call`], `limits`, [`settings`] | input, result, errors and limits of calls; setting errors |
//! | `host_imports` | what the host provides to a call: reads and a log |
//! | [`native`] | plugins as native code, for tests: the same calls without WebAssembly |
//! | `gate` | how many calls run at a time; the thread that enforces deadlines |
//! | `state`, `limiter`, `console`, `random`, `handles` | the state of a call |
//! | `wit` | one module per version of the contract; no other module knows its types |
//! | `json` | parses untrusted JSON |
//! | `wasi` | WASI without files, sockets or environment |
//! | `classify` | the meaning of a trap |
//!
//! A call is a pure function of its input and the objects that it reads: clocks stand still, random
//! numbers follow from a seed, there are no files, sockets, arguments or environment, and instances
//! are not reused unless a mount allows it.
//!
//! Every call ends soon after its deadline at the latest, with an error that names the cause, and
//! releases its resources.
//!
//! What is absent: kube, tokio, async, retries, grants, and any check of an answer beyond its size
//! and shape.

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
pub use plugin::{CodeSource, CompileReport, Plugin, Reconcilers};
pub use sandbox::Sandbox;
pub use wit::CONTRACT;
