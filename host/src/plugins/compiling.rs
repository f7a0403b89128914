//! Announces that a large plugin is being compiled, which may take minutes.

use gyre_engine::telemetry::progress::Progress;
use gyre_sandbox::Sandbox;
use tracing::info;

use crate::plugins::source::Component;

/// The smallest announced plugin, in bytes. Plugins in Rust or Go are smaller, and compile in about
/// a second; those with an interpreter (JavaScript, Python) have at least 12 MB.
const LARGE: u64 = 4 << 20;

/// Announces the compilation of a large plugin that is not in the cache: in the log, or else on
/// standard error. On a terminal, the line stays until the returned value is dropped.
pub(super) fn announce(sandbox: &Sandbox, component: &Component) -> Option<Progress> {
    if component.size < LARGE || sandbox.is_compiled(&component.digest) {
        return None;
    }
    let megabytes = component.size as f64 / 1e6;
    if tracing::dispatcher::has_been_set() {
        info!(plugin = %component, "compiling a plugin of {megabytes:.1} MB: this may take minutes");
        return None;
    }
    let progress = Progress::default();
    progress.announce(format_args!("compiling {component} ({megabytes:.1} MB): this may take minutes"));
    Some(progress)
}
