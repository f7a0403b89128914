//! Waiting for Ctrl-C.

use std::time::Duration;

use anyhow::Context as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The interval at which other conditions are polled.
const POLL: Duration = Duration::from_millis(200);

/// Waits for Ctrl-C (or SIGTERM), or until `ended` says why there is nothing left to wait for.
///
/// Until it is called, a signal ends this process at once; what it has started then ends by its
/// guards.
pub(crate) fn wait(mut ended: impl FnMut() -> anyhow::Result<Option<String>>) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).context("cannot listen for Ctrl-C")?;
    while signals.pending().next().is_none() {
        if let Some(reason) = ended()? {
            anyhow::bail!(reason);
        }
        std::thread::sleep(POLL);
    }
    eprintln!("stopping");
    Ok(())
}
