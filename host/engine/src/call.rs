//! Plugin calls: the threads that they run on, how long they have been running, and the only function that makes them.

pub(crate) mod running;
mod scheduling;
pub(crate) mod threads;

use std::sync::Arc;

use gyre_core::response::{Response, Teardown};
use gyre_sandbox::{Call, Input, Limits, Plugin, World};

use crate::call::threads::Threads;
use crate::clock::Clock;

/// What is asked of the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// What should exist while the parent lives.
    Reconcile,
    /// What should still exist during its teardown.
    Finalize,
}

/// Calls a plugin: all calls are made here. The response of a reconcile is that of a teardown that is not done.
pub(crate) fn make(plugin: &Plugin, ask: Ask, input: &Input<'_>, limits: &Limits, world: Box<dyn World>) -> Call<Teardown> {
    match ask {
        Ask::Reconcile => {
            let Call { result, usage, world } = plugin.reconcile(input, limits, world);
            let undone = |response: Response| Teardown { response, done: false };
            Call { result: result.map(undone), usage, world }
        }
        Ask::Finalize => plugin.finalize(input, limits, world),
    }
}

/// Where plugins are called, and with which clock.
pub(crate) struct Caller {
    pub(crate) clock: Clock,
    pub(crate) calls: Calls,
    pub(crate) threads: Arc<Threads>,
}

impl Caller {
    /// Does what calls plugins.
    ///
    /// # Errors
    ///
    /// As of [`Threads::run`].
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
    /// On the thread of the reconcile: simulations have only one thread, whose order of events depends on a seed.
    Inline,
}
