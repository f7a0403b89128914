//! What all plugins of a sandbox share: the engine, the limit on concurrent calls, and the idle instances.

use std::sync::Arc;

use wasmtime::Engine;

use crate::gate::{Gate, Ticker};
use crate::idle::Idle;

/// The parts that plugins share.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) gate: Arc<Gate>,
    pub(crate) idle: Idle,
    pub(crate) max_memory_bytes: usize,
    pub(crate) _ticker: Ticker,
}
