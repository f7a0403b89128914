//! What an error of wasmtime means: telling causes apart that all end in a trap.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_core::text::{cut, displayed};
use wasmtime::{FrameInfo, PoolConcurrencyLimitError, Trap, WasmBacktrace};

use crate::call::Error;
use crate::limits::Limits;
use crate::state::State;
use crate::wasi::Exit;

/// Functions of a backtrace that are worth telling.
const FUNCTIONS: usize = 8;

/// How much of a function's name is told, in bytes. The component says what a function is called, and a name may be as long as the
/// component. It is not demangled: what a mangled name of C++ stands for may be a million times as long as the name.
const FUNCTION_NAME: usize = 256;

/// How much of an error's text is told, in bytes. Errors of the canonical ABI quote what the component gave, and a chain of errors holds the
/// whole backtrace.
const ERROR_TEXT: usize = 1_024;

/// How much of an error's text is looked at to tell what it is: all that is looked for stands at its beginning.
const ERROR_BEGINNING: usize = 128;

/// How often one function has to be under way for an access out of bounds to be taken for the end of the stack.
const RECURSION: usize = 24;

/// How far below address zero an access is taken for the end of the stack. Stack frames are smaller.
const BELOW_ZERO: u64 = 16 << 20;

/// The phase of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// While the instance was made.
    Start,
    /// While it answered.
    Call,
}

/// Classifies an error of wasmtime.
pub(crate) fn error(error: &wasmtime::Error, phase: Phase, state: &State, limits: &Limits, waited: Duration) -> Error {
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
    // The type of this error is wasmtime's own secret; `tests/guests.rs` holds the text.
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

fn message(root: String, state: &State) -> String {
    match state.console.last_words() {
        // How a panic ends is no news.
        Some(words) if words.starts_with("it panicked") => words,
        Some(words) => format!("{root}; {words}"),
        None => root,
    }
}

/// The innermost functions, without repetitions.
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

/// Beside the native stack, which wasmtime guards, programs keep a stack of their own for what has an address. Compilers
/// put it at the beginning of memory, growing down, so at its end an address below zero is reached: in 32 bits, one close
/// to 4 GiB. Only for single loads and stores the address is known; for others, recursion has to tell.
fn left_the_stack(error: &wasmtime::Error) -> bool {
    const FOUR_GIB: u64 = 1 << 32;
    // Of a backtrace, which stands first, no text is made: that could demangle names.
    let mut causes = error.chain().skip(usize::from(error.is::<WasmBacktrace>()));
    // The type is secret here too, and the text held by the same tests.
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
