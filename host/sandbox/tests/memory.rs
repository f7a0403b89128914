//! Whatever plugins do, the host gives back what it allocated for their calls. Alone in its process, because it counts what that allocates.
//!
//! Linear memories are not on the heap: that calls give them back is tested beside [`Sandbox`](gyre_sandbox::Sandbox).

#[cfg(test)]
mod stage;

use std::alloc::System;
use std::time::Duration;

use gyre_sandbox::{Limits, Plugin};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use self::stage::{limits, load, reconcile, sandbox};

/// Counts what is allocated: what the system gives the process depends on the allocator and on the machine.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Rounds until what is made at the first use, and for each thread, is there.
const WARM_UP: usize = 2;
const ROUNDS: usize = 20;
/// Less than any of these plugins answers or logs in one call.
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
            // The others end in their own way, however busy the machine is.
            let deadline = if reason == "DeadlineExceeded" { Duration::from_millis(50) } else { limits().deadline };
            (load(&sandbox, path), Limits { deadline, ..limits() }, reason)
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
