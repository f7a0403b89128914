//! Shadows: another version of a mount's plugin that is called in parallel and never applied.
//!
//! ```text
//!   a call about a parent ────────────────┐
//!   all parents, once the shadow is ready ┴▶ ComparisonQueue ─▶ compare: both plugins, same inputs
//!                                              ▲                  │ differences of the plans
//!   /debug/shadow, metrics ◀───────────────────┴──────────────────┘
//! ```
//!
//! A shadow is activated like any program (`ActiveProgram`), but causes no reconciles, and its
//! client is fenced by a claim that is never held.
//!
//! Only names of parents wait, each once. Both plugins are called when a parent's turn comes: calls
//! are pure functions, so the mount's plugin answers as before. One comparison runs at a time, on a
//! thread with the idle priority.

mod compare;
mod queue;
mod redaction;
pub mod report;
mod runner;

pub(crate) use self::runner::{Shadow, run_shadow};
