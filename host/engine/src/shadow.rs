//! Shadows: another version of a mount's plugin that is called beside it, and of what it wants nothing is done.
//!
//! ```text
//!   the plugin was called about a parent ─┐
//!   all parents, once the shadow is ready ┴▶ tally (who waits) ──▶ compare: both plugins, the same world and time, two plans
//!                                              ▲                       │ what the shadow would do otherwise
//!   /debug/shadow, metrics ◀───────────────────┴───────────────────────┘
//! ```
//!
//! A shadow is activated like any program (`ActiveProgram`), but it has no watches of its own: it reads the caches, and no change of what it reads
//! causes a reconcile. Its client is fenced by a claim that is never held, and nobody uses it.
//!
//! What waits is the name of a parent, once, however often it changes: both plugins are called again when its turn comes. A call is a pure
//! function, so the mount's plugin answers as it did; and no answer has to be kept meanwhile, nor one to be skipped for want of room. One
//! comparison runs at a time, on a thread that takes only what nobody else needs.

mod compare;
mod queue;
mod redaction;
pub mod report;
mod runner;

pub(crate) use self::runner::{Shadow, follow};
