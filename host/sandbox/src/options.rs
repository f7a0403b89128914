//! How a sandbox is set up, and why it may not start.

use std::path::PathBuf;

/// The options of a sandbox.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where compiled code is kept between runs, in a directory `compiled` of our own that is made in it; none: nowhere.
    pub cache_dir: Option<PathBuf>,
    /// Where else compiled code is looked for, as another sandbox has kept it: nothing is written there.
    pub compiled_dirs: Vec<PathBuf>,
    /// How many calls run at the same time; further ones wait. The pool's size follows.
    pub concurrent_calls: u32,
    /// The largest [`crate::Limits::memory_bytes`] that counts.
    pub max_memory_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        // A call occupies a CPU from start to end, so more at once than CPUs only adds memory.
        let concurrent_calls = std::thread::available_parallelism().map_or(2, |cpus| cpus.get() as u32);
        // What JavaScript and Python components need comfortably.
        Self { cache_dir: None, compiled_dirs: Vec::new(), concurrent_calls, max_memory_bytes: 128 << 20 }
    }
}

/// The reason why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine does not start, e.g. because this CPU is not supported.
    #[error("the WebAssembly engine does not start: {0}")]
    Engine(String),
    /// The thread that keeps deadlines does not start.
    #[error("the thread that enforces deadlines does not start")]
    Ticker(#[source] std::io::Error),
}

impl Error {
    /// One word in CamelCase: the label of metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Engine(_) => "EngineFailed",
            Self::Ticker(_) => "TickerFailed",
        }
    }
}
