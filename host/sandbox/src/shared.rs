//! The parts of a sandbox that all plugins share.

use std::sync::Arc;

use wasmtime::Engine;

use crate::gate::{Gate, Ticker};
use crate::idle::Idle;

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) gate: Arc<Gate>,
    pub(crate) idle: Idle,
    pub(crate) max_memory_bytes: usize,
    pub(crate) _ticker: Ticker,
}
