//! Classifies errors of wasmtime: different causes end in the same trap.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_core::text::{cut, displayed};
use wasmtime::{FrameInfo, PoolConcurrencyLimitError, Trap, WasmBacktrace};

use crate::call::Error;
use crate::limits::Limits;
use crate::state::CallState;
use crate::wasi::Exit;

const FUNCTIONS: usize = 8;

/// The reported bytes of a function's name: the component chooses it, at any length. It is not
/// demangled, because a mangled C++ name can expand a million times.
const FUNCTION_NAME: usize = 256;

/// The reported bytes of an error's text, which may quote the component or have a backtrace.
const ERROR_TEXT: usize = 1_024;

/// The bytes of an error's text that are searched: the texts in question are at its beginning.
const ERROR_BEGINNING: usize = 128;

/// With this many frames of one function, an access out of bounds counts as a stack overflow.
const RECURSION: usize = 24;

/// An access at most this far below address zero counts as a stack overflow. Frames are smaller.
const BELOW_ZERO: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Start,
    Call,
}

pub(crate) fn error(error: &wasmtime::Error, phase: Phase, state: &CallState, limits: &Limits, waited: Duration) -> Error {
    if let Some(error) = error.downcast_ref::<Error>() {
        return error.clone();
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return Error::PoolSaturated { waited };
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => return Error::DeadlineExceeded { deadline: limits.deadline },
        Some(Trap::StackOverflow) => return Error::StackOverflow,
        Some(Trap::MemoryOutOfBounds) if left_the_stack(error) => return Error::StackOverflow,
        _ => {}
    }
    let root = displayed(error.root_cause(), ERROR_TEXT);
    // wasmtime does not export the type of this error; `tests/guests.rs` checks the text.
    if root.contains("fuel allocated for hostcalls has been exhausted") {
        return Error::OutputTooLarge { limit: limits.output_bytes };
    }
    if state.limiter.refused() {
        return Error::OutOfMemory { limit: limits.memory_bytes };
    }
    let trapped = error.is::<Trap>() || error.is::<Exit>() || error.is::<WasmBacktrace>();
    if !trapped && (phase == Phase::Start || error.is::<wasmtime::error::OutOfMemory>()) {
        return Error::Internal(displayed(&format_args!("{error:#}"), ERROR_TEXT));
    }
    Error::Trapped { message: message(root, state), backtrace: backtrace(error) }
}

fn message(root: String, state: &CallState) -> String {
    match state.console.last_words() {
        // The cause of a panic says more than the trap in which it ends.
        Some(words) if words.starts_with("it panicked") => words,
        Some(words) => format!("{root}; {words}"),
        None => root,
    }
}

fn backtrace(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    let mut frames: Vec<&FrameInfo> = backtrace.frames().iter().collect();
    frames.dedup_by(|one, other| (one.func_index(), one.func_name()) == (other.func_index(), other.func_name()));
    frames.into_iter().take(FUNCTIONS).map(function).collect()
}

fn function(frame: &FrameInfo) -> String {
    match frame.func_name() {
        Some(name) => cut(name, FUNCTION_NAME),
        None => format!("<wasm function {}>", frame.func_index()),
    }
}

/// Returns whether an access out of bounds was a stack overflow.
///
/// wasmtime guards the native stack, but programs have another for addressable values. Compilers
/// put it at the beginning of memory, growing down, so an overflow reaches an address below zero:
/// nearly 4 GiB. If an access does not report its address, recursion decides.
fn left_the_stack(error: &wasmtime::Error) -> bool {
    const FOUR_GIB: u64 = 1 << 32;
    // The backtrace comes first. It is skipped, because its text could demangle names.
    let mut causes = error.chain().skip(usize::from(error.is::<WasmBacktrace>()));
    // The same tests check this text.
    let address = causes.find_map(|cause| {
        let text = displayed(cause, ERROR_BEGINNING);
        let digits = text.strip_prefix("memory fault at wasm address 0x")?.split(' ').next()?;
        u64::from_str_radix(digits, 16).ok()
    });
    address.is_some_and(|address| address >= FOUR_GIB - BELOW_ZERO) || recurses(error)
}

fn recurses(error: &wasmtime::Error) -> bool {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return false };
    let mut counts = BTreeMap::<u32, usize>::new();
    backtrace.frames().iter().for_each(|frame| *counts.entry(frame.func_index()).or_default() += 1);
    counts.values().any(|count| *count >= RECURSION)
}
