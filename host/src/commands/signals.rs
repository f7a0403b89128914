//! The signals that end a command.

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for the first SIGTERM or SIGINT. The second ends the process at once, with exit code 1.
pub(crate) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
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
                // The receiver is gone if the host has already ended.
                Some(stop) => drop(stop.send(())),
                None => std::process::exit(1),
            }
        }
    });
    Ok(async move {
        let _ = stopped.await;
    })
}
