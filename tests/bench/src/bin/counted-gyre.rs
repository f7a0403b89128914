//! `gyre` with a counter around its allocator; the file `GYRE_BENCH_COUNT` receives the bytes.

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
