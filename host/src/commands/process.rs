//! The process that a command runs in: its threads, and the signals that end it.

use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

/// The threads of a host, except those of plugin calls.
pub(crate) fn threads() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Blocking threads are for the resolver, and for loading plugins.
        .max_blocking_threads(8)
        // An idle thread keeps memory that its work has freed.
        .thread_keep_alive(Duration::from_secs(2))
        .build()
        .context("cannot start the threads")
}

/// Ends at the first SIGTERM or SIGINT. The second one ends the process at once, with exit code 1.
pub(crate) fn told_to_stop() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let (stop, stopped) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let mut stop = Some(stop);
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            match stop.take() {
                // The receiver is gone if the host has ended by itself.
                Some(stop) => drop(stop.send(())),
                None => std::process::exit(1),
            }
        }
    });
    Ok(async move {
        let _ = stopped.await;
    })
}
