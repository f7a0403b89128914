//! Announces that a large plugin is being compiled, which may take minutes.

use std::path::Path;

use gyre_engine::telemetry::progress::Progress;
use gyre_sandbox::Sandbox;
use tracing::info;

/// The smallest announced plugin, in bytes. Plugins in Rust or Go are smaller, and compile in about
/// a second; those with an interpreter (JavaScript, Python) have at least 12 MB.
const LARGE: usize = 4 << 20;

/// Announces the compilation of a large plugin that is not in the cache: in the log, or else on
/// standard error. On a terminal, the line stays until the returned value is dropped.
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
