//! `gyre`, with an allocator that counts, which is the system's: how much is allocated, it answers in the file that `GYRE_BENCH_COUNT`
//! names.

use std::alloc::System;
use std::process::ExitCode;

use gyre_controlplane::allocated;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    if let Some(file) = std::env::var_os("GYRE_BENCH_COUNT") {
        allocated::answer(file.into(), || {
            let stats = ALLOCATOR.stats();
            stats.bytes_allocated - stats.bytes_deallocated
        });
    }
    gyre::cli::main(std::env::args_os())
}
