//! Plugin calls: their threads, their durations, and the only function that makes them.

pub(crate) mod running;
mod scheduling;
pub(crate) mod threads;

use std::sync::Arc;

use gyre_core::response::Response;
use gyre_sandbox::{Call, HostImports, Input, Limits, Plugin};
use serde::{Deserialize, Serialize};

use crate::call::threads::Threads;
use crate::clock::Clock;

/// The function of the contract that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ask {
    /// `reconcile`, for a parent that is not being deleted.
    Reconcile,
    /// `finalize`, for a parent that is being deleted.
    Finalize,
}

/// Makes all calls of plugins.
pub(crate) fn make(
    plugin: &Plugin,
    ask: Ask,
    input: &Input<'_>,
    limits: &Limits,
    imports: Box<dyn HostImports>,
) -> Call<Response> {
    match ask {
        Ask::Reconcile => plugin.reconcile(input, limits, imports),
        Ask::Finalize => plugin.finalize(input, limits, imports),
    }
}

pub(crate) struct Caller {
    pub(crate) clock: Clock,
    pub(crate) calls: Calls,
    pub(crate) threads: Arc<Threads>,
}

impl Caller {
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        priority: threads::Priority,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, threads::Error> {
        match self.calls {
            Calls::OnThreads => self.threads.run(priority, work).await,
            Calls::Inline => Ok(work()),
        }
    }
}

/// Where plugins are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// On blocking threads, so that a slow plugin does not delay other work.
    #[default]
    OnThreads,
    /// On the thread of the reconcile, for simulations, which have only one thread.
    Inline,
}
