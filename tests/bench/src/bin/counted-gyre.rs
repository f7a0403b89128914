//! `gyre` with its own allocator and a counter around it: the program answers how much is allocated in the file that `GYRE_BENCH_COUNT` names.

use std::process::ExitCode;

use cap::Cap;
use gyre_controlplane::allocated;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: Cap<MiMalloc> = Cap::new(MiMalloc, usize::MAX);

fn main() -> ExitCode {
    if let Some(file) = std::env::var_os("GYRE_BENCH_COUNT") {
        allocated::answer(file.into(), || ALLOCATOR.allocated());
    }
    gyre::cli::main(std::env::args_os())
}
