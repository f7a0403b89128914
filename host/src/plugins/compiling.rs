//! Saying that a large plugin is being compiled, which takes up to minutes.

use std::path::Path;

use gyre_engine::telemetry::progress::Progress;
use gyre_sandbox::Sandbox;
use tracing::info;

/// From this size on, in bytes, it is said that a plugin is compiled. Plugins in Rust or Go have less, and are compiled within a second
/// or so; those with an interpreter in them (JavaScript, Python) have 12 MB and more.
const LARGE: usize = 4 << 20;

/// Says that a plugin is compiled, if it is large and its code is not there yet: in the log, where there is one, else on standard error.
/// On a terminal that line stays until what is returned is dropped.
pub(super) fn announce(sandbox: &Sandbox, path: &Path, bytes: &[u8]) -> Option<Progress> {
    if bytes.len() < LARGE || sandbox.is_compiled(bytes) {
        return None;
    }
    let (path, megabytes) = (path.display(), bytes.len() as f64 / 1e6);
    if tracing::dispatcher::has_been_set() {
        info!(plugin = %path, "compiling a plugin of {megabytes:.1} MB: this may take minutes");
        return None;
    }
    let progress = Progress::default();
    progress.announce(format_args!("compiling {path} ({megabytes:.1} MB): this may take minutes"));
    Some(progress)
}
