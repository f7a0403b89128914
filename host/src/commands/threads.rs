//! The threads of commands that send requests.

use std::time::Duration;

use anyhow::Context as _;

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
