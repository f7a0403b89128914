//! Runs the init functions of a module once, when it is built: the module that results begins with
//! the memory that they left, so that no call has to wait for them.
//!
//! ```text
//! module ─ _initialize runs here, against a stand-in for wasip1 ─▶ globals, memory ─▶ module without _initialize
//! ```
//!
//! The stand-in gives init functions the same answers on every machine, so that the same source
//! results in the same bytes.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use anyhow::anyhow;
use wasmtime::{Caller, Engine, ExternType, FuncType, Instance, Linker, Module, Store, Val, ValType};
use wasmtime_wizer::{InstanceState, SnapshotVal, Wizer};

use super::super::component::PREVIEW1;

const INITIALIZE: &str = "_initialize";

/// The name of the program, with its end. Some packages index `os.Args[0]`.
const ARGUMENT: &[u8] = b"plugin\0";

/// The nanoseconds between two readings of the monotonic clock, as in `adapter.wat`.
const TICK: u64 = 1_000;

/// Results of wasip1, by their numbers in
/// <https://github.com/WebAssembly/WASI/blob/wasi-0.1/preview1/docs.md#errno>.
const SUCCESS: i32 = 0;
const BADF: i32 = 8;
const NOSYS: i32 = 52;

/// The state of the stand-in.
#[derive(Default)]
struct StandIn {
    /// Nanoseconds of the monotonic clock.
    monotonic: u64,
    /// The last random number.
    random: u64,
    /// The output on stdout and stderr.
    written: Vec<u8>,
}

/// Runs the init functions of a module of Go.
///
/// # Errors
/// If an init function fails, or calls the host.
pub(super) fn preinitialize(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    initialized(module).map_err(|error| anyhow!("{error:#}"))
}

fn initialized(module: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let mut wizer = Wizer::new();
    wizer.init_func(INITIALIZE);
    let (context, instrumented) = wizer.instrument(module)?;
    let engine = Engine::default();
    let instrumented = Module::new(&engine, &instrumented)?;
    let mut store = Store::new(&engine, StandIn::default());
    let instance = linker(&engine, &instrumented)?.instantiate(&mut store, &instrumented)?;
    let initialize = instance.get_typed_func::<(), ()>(&mut store, INITIALIZE)?;
    if let Err(error) = initialize.call(&mut store, ()) {
        let written = String::from_utf8_lossy(&store.data().written);
        return Err(error.context(format!("an init function fails: {}", written.trim())));
    }
    let mut state = Initialized { store: &mut store, instance, unread: None };
    let snapshot = match pin!(wizer.snapshot(&context, &mut state)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(snapshot) => snapshot?,
        // Nothing that it awaits can be pending.
        Poll::Pending => wasmtime::bail!("the snapshot of the module does not end"),
    };
    match state.unread {
        Some(name) => wasmtime::bail!("the global {name} of the module cannot be kept"),
        None => Ok(snapshot),
    }
}

/// The imports of a module: the stand-in, and functions of the contract, which fail.
fn linker(engine: &Engine, module: &Module) -> wasmtime::Result<Linker<StandIn>> {
    let mut linker: Linker<StandIn> = Linker::new(engine);
    add_arguments(&mut linker)?;
    add_clocks(&mut linker)?;
    linker.func_wrap(PREVIEW1, "random_get", |mut caller: Caller<'_, StandIn>, at: u32, length: u32| {
        let bytes: Vec<u8> = (0..length).map(|_| caller.data_mut().random_byte()).collect();
        write(&mut caller, at, &bytes)
    })?;
    linker.func_wrap(PREVIEW1, "sched_yield", || SUCCESS)?;
    linker.func_wrap(PREVIEW1, "proc_exit", |code: i32| -> wasmtime::Result<()> {
        Err(wasmtime::Error::msg(format!("it exits with {code}")))
    })?;
    linker.func_wrap(PREVIEW1, "fd_write", fd_write)?;
    linker.func_wrap(PREVIEW1, "fd_prestat_get", |_: i32, _: u32| BADF)?;
    linker.func_wrap(PREVIEW1, "fd_fdstat_get", |mut caller: Caller<'_, StandIn>, file: i32, result: u32| {
        // The standard streams are character devices.
        let mut status = [0; 24];
        status[0] = 2;
        if (0..=2).contains(&file) { write(&mut caller, result, &status) } else { Ok(BADF) }
    })?;
    add_missing(&mut linker, module)?;
    Ok(linker)
}

fn add_arguments(linker: &mut Linker<StandIn>) -> wasmtime::Result<()> {
    linker.func_wrap(PREVIEW1, "args_sizes_get", |mut caller: Caller<'_, StandIn>, count: u32, size: u32| {
        write(&mut caller, count, &1_u32.to_le_bytes())?;
        write(&mut caller, size, &u32::try_from(ARGUMENT.len())?.to_le_bytes())
    })?;
    linker.func_wrap(PREVIEW1, "args_get", |mut caller: Caller<'_, StandIn>, pointers: u32, texts: u32| {
        write(&mut caller, pointers, &texts.to_le_bytes())?;
        write(&mut caller, texts, ARGUMENT)
    })?;
    linker.func_wrap(PREVIEW1, "environ_sizes_get", |mut caller: Caller<'_, StandIn>, count: u32, size: u32| {
        write(&mut caller, count, &0_u32.to_le_bytes())?;
        write(&mut caller, size, &0_u32.to_le_bytes())
    })?;
    linker.func_wrap(PREVIEW1, "environ_get", |_: u32, _: u32| SUCCESS)?;
    Ok(())
}

/// The clocks: the time is 1970-01-01, and sleep returns at once.
fn add_clocks(linker: &mut Linker<StandIn>) -> wasmtime::Result<()> {
    linker.func_wrap(PREVIEW1, "clock_res_get", |mut caller: Caller<'_, StandIn>, _: u32, result: u32| {
        write(&mut caller, result, &TICK.to_le_bytes())
    })?;
    linker.func_wrap(PREVIEW1, "clock_time_get", |mut caller: Caller<'_, StandIn>, clock: u32, _: u64, result: u32| {
        let monotonic = &mut caller.data_mut().monotonic;
        *monotonic = monotonic.saturating_add(TICK);
        let time = if clock == 0 { 0 } else { *monotonic };
        write(&mut caller, result, &time.to_le_bytes())
    })?;
    linker.func_wrap(PREVIEW1, "poll_oneoff", poll_oneoff)?;
    Ok(())
}

/// Functions of wasip1 that are not there, as in a call; and others, which only a call may use.
fn add_missing(linker: &mut Linker<StandIn>, module: &Module) -> wasmtime::Result<()> {
    for import in module.imports() {
        let ExternType::Func(kind) = import.ty() else { continue };
        let (from, name) = (import.module().to_owned(), import.name().to_owned());
        if from == PREVIEW1 && returns_number(&kind) {
            // Those that are there stay.
            let _ = linker.func_new(&from, &name, kind, |_, _, results| {
                results.iter_mut().for_each(|result| *result = Val::I32(NOSYS));
                Ok(())
            });
        }
    }
    linker.define_unknown_imports_as_traps(module)
}

fn returns_number(kind: &FuncType) -> bool {
    kind.results().all(|result| matches!(result, ValType::I32))
}

/// All subscriptions are ready: clocks advance to their time, by the layout of
/// <https://github.com/WebAssembly/WASI/blob/wasi-0.1/preview1/docs.md#subscription>.
fn poll_oneoff(mut caller: Caller<'_, StandIn>, from: u32, to: u32, count: u32, ready: u32) -> wasmtime::Result<i32> {
    const SUBSCRIPTION: u32 = 48;
    const EVENT: u32 = 32;
    for index in 0..count {
        let at = from.saturating_add(index.saturating_mul(SUBSCRIPTION));
        let subscription: [u8; SUBSCRIPTION as usize] = read_array(&mut caller, at)?;
        let (kind, timeout, flags) = (subscription[8], number(&subscription[24..32]), subscription[40]);
        if kind == 0 {
            let now = caller.data().monotonic;
            let until = if flags & 1 == 1 { timeout } else { now.saturating_add(timeout) };
            caller.data_mut().monotonic = now.max(until);
        }
        let mut event = [0; EVENT as usize];
        event[..8].copy_from_slice(&subscription[..8]);
        event[10] = kind;
        write(&mut caller, to.saturating_add(index.saturating_mul(EVENT)), &event)?;
    }
    write(&mut caller, ready, &count.to_le_bytes())
}

fn fd_write(mut caller: Caller<'_, StandIn>, _: i32, vectors: u32, count: u32, result: u32) -> wasmtime::Result<i32> {
    let mut total = 0_u32;
    for index in 0..count {
        let vector: [u8; 8] = read_array(&mut caller, vectors.saturating_add(index.saturating_mul(8)))?;
        let (at, length) = (number(&vector[..4]), number(&vector[4..]));
        let bytes = read(&mut caller, u32::try_from(at)?, u32::try_from(length)?)?;
        total = total.saturating_add(u32::try_from(length)?);
        caller.data_mut().written.extend(bytes);
    }
    write(&mut caller, result, &total.to_le_bytes())
}

impl StandIn {
    /// The numbers of `SplitMix64` from a fixed seed.
    fn random_byte(&mut self) -> u8 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).to_le_bytes()[0]
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn read_array<const LENGTH: usize>(caller: &mut Caller<'_, StandIn>, at: u32) -> wasmtime::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    memory(caller)?.read(caller, at as usize, &mut bytes)?;
    Ok(bytes)
}

fn read(caller: &mut Caller<'_, StandIn>, at: u32, length: u32) -> wasmtime::Result<Vec<u8>> {
    let memory = memory(caller)?;
    let end = at.checked_add(length).map(|end| end as usize);
    let bytes = end.and_then(|end| memory.data(&*caller).get(at as usize..end));
    bytes.map(<[u8]>::to_vec).ok_or_else(|| wasmtime::Error::msg("it reads beyond its memory"))
}

fn write(caller: &mut Caller<'_, StandIn>, at: u32, bytes: &[u8]) -> wasmtime::Result<i32> {
    memory(caller)?.write(caller, at as usize, bytes)?;
    Ok(SUCCESS)
}

fn memory(caller: &mut Caller<'_, StandIn>) -> wasmtime::Result<wasmtime::Memory> {
    let memory = caller.get_export("memory").and_then(wasmtime::Extern::into_memory);
    memory.ok_or_else(|| wasmtime::Error::msg("it exports no memory"))
}

/// A module after its init functions.
struct Initialized<'a> {
    store: &'a mut Store<StandIn>,
    instance: Instance,
    /// A global or a memory that could not be read.
    unread: Option<String>,
}

impl InstanceState for Initialized<'_> {
    async fn global_get(&mut self, name: &str, _: wasmtime_wizer::ValType) -> SnapshotVal {
        let value = self.instance.get_global(&mut *self.store, name).map(|global| global.get(&mut *self.store));
        match value {
            Some(Val::I32(value)) => SnapshotVal::I32(value),
            Some(Val::I64(value)) => SnapshotVal::I64(value),
            Some(Val::F32(bits)) => SnapshotVal::F32(bits),
            Some(Val::F64(bits)) => SnapshotVal::F64(bits),
            Some(Val::V128(bits)) => SnapshotVal::V128(bits.as_u128()),
            // Wizer has refused modules with other globals that change.
            _ => {
                self.unread = Some(name.to_owned());
                SnapshotVal::I32(0)
            }
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        match self.instance.get_memory(&mut *self.store, name) {
            Some(memory) => contents(memory.data(&*self.store)),
            None => self.unread = Some(name.to_owned()),
        }
    }
}
