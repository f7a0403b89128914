//! The host frees all memory of calls. Its own process, because it counts allocations.
//!
//! Linear memories are not on the heap: see the unit tests of [`Sandbox`](gyre_sandbox::Sandbox).

#[cfg(test)]
mod stage;

use std::alloc::System;

use gyre_sandbox::{Limits, Plugin};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use self::stage::{limits, load, reconcile, sandbox, short_limits};

/// Counts allocations, because the process size depends on the allocator and the machine.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Rounds that allocate everything that is made once, or per thread.
const WARM_UP: usize = 2;
const ROUNDS: usize = 20;
/// Less than any of these plugins returns or logs in a call.
const BOUND: usize = 64 << 10;

#[cfg(test)]
fn allocated_bytes() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

#[test]
fn memory_returns_after_every_misbehaviour() {
    let sandbox = sandbox();
    let guests: Vec<(Plugin, Limits, &str)> = gyre_artifacts::CALLS_THAT_FAIL
        .into_iter()
        .map(|(path, reason)| {
            // The others end without a deadline, even on a busy machine.
            let limits = if reason == "DeadlineExceeded" { short_limits() } else { limits() };
            (load(&sandbox, path), limits, reason)
        })
        .collect();
    let round = || {
        for (guest, limits, reason) in &guests {
            assert_eq!(reconcile(guest, limits).result.unwrap_err().reason(), *reason);
        }
    };
    (0..WARM_UP).for_each(|_| round());
    let before = allocated_bytes();
    (0..ROUNDS).for_each(|_| round());
    let after = allocated_bytes();
    assert!(after < before + BOUND, "{before} bytes before, {after} after");
}
