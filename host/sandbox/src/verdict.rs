//! What an error of wasmtime means: telling causes apart that all end in a trap.

use std::time::Duration;

use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};

use crate::call::Error;
use crate::limits::Limits;
use crate::state::State;
use crate::wasi::Exit;

/// Functions of a backtrace that are worth telling.
const FRAMES: usize = 8;

/// How far below address zero an access is still taken for the plugin's own stack having run over: the compilers put it at
/// the beginning of memory, growing down, so the address wraps around to the end of 4 GiB. Stack frames are smaller.
const BELOW_ZERO: u64 = 16 << 20;

/// When it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// While the instance was made.
    Start,
    /// While it answered.
    Call,
}

/// What went wrong.
pub(crate) fn of(error: &wasmtime::Error, phase: Phase, state: &State, limits: &Limits, waited: Duration) -> Error {
    if let Some(error) = error.downcast_ref::<Error>() {
        return error.clone();
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return Error::PoolSaturated { waited };
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => return Error::DeadlineExceeded { deadline: limits.deadline },
        Some(Trap::StackOverflow) => return Error::StackOverflow,
        Some(Trap::MemoryOutOfBounds) if below_zero(error) => return Error::StackOverflow,
        _ => {}
    }
    let root = error.root_cause().to_string();
    // The type of this error is wasmtime's own secret; `tests/guests.rs` holds the text.
    if root.contains("fuel allocated for hostcalls has been exhausted") {
        return Error::OutputTooLarge { limit: limits.output_bytes };
    }
    if state.limiter.refused() {
        return Error::OutOfMemory { limit: limits.memory_bytes };
    }
    let trapped = error.is::<Trap>() || error.is::<Exit>() || error.is::<WasmBacktrace>();
    if !trapped && (phase == Phase::Start || error.is::<wasmtime::error::OutOfMemory>()) {
        return Error::Internal(format!("{error:#}"));
    }
    Error::Trapped { message: message(root, state), backtrace: backtrace(error) }
}

fn message(root: String, state: &State) -> String {
    let words = state.console.last_words();
    if words.is_empty() { root } else { format!("{root}; it last wrote: {words}") }
}

fn backtrace(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    // Its `Display` demangles, one `N: 0xOFFSET - module!function` a line.
    let text = backtrace.to_string();
    text.lines().skip(1).take(FRAMES).map(|line| line.trim().to_owned()).collect()
}

fn below_zero(error: &wasmtime::Error) -> bool {
    const FOUR_GIB: u64 = 1 << 32;
    // Likewise secret, likewise held by a test.
    let address = error.chain().find_map(|cause| {
        let text = cause.to_string();
        let digits = text.strip_prefix("memory fault at wasm address 0x")?.split(' ').next()?.to_owned();
        u64::from_str_radix(&digits, 16).ok()
    });
    address.is_some_and(|address| address >= FOUR_GIB - BELOW_ZERO)
}
