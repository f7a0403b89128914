//! The configuration of a sandbox, and the errors of its start.

use std::path::PathBuf;

/// The options of a sandbox.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory in which a subdirectory `compiled` keeps compiled code between runs, if any.
    pub cache_dir: Option<PathBuf>,
    /// More directories with compiled code of another sandbox, which are only read.
    pub compiled_dirs: Vec<PathBuf>,
    /// The number of concurrent calls; others wait. It determines the size of the pool.
    pub concurrent_calls: u32,
    /// The upper bound of [`crate::Limits::memory_bytes`].
    pub max_memory_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        // A call occupies a CPU, so more calls than CPUs would only take more memory.
        let concurrent_calls = std::thread::available_parallelism().map_or(2, |cpus| cpus.get() as u32);
        // Comfortable for JavaScript and Python components.
        Self { cache_dir: None, compiled_dirs: Vec::new(), concurrent_calls, max_memory_bytes: 128 << 20 }
    }
}

/// The reason why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine does not start, e.g. because this CPU is not supported.
    #[error("the WebAssembly engine does not start: {0}")]
    Engine(String),
    /// The thread that enforces deadlines does not start.
    #[error("the thread that enforces deadlines does not start")]
    Ticker(#[source] std::io::Error),
}

impl Error {
    /// One word in CamelCase: a label of metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Engine(_) => "EngineFailed",
            Self::Ticker(_) => "TickerFailed",
        }
    }
}
