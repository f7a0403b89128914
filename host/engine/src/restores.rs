//! Restores of the cluster from a backup, which Leases show within seconds.
//!
//! Resource versions go back then, and an API server sends nothing to a watch that begins at a
//! version which it has not reached yet. Once it has reached it, it sends only what comes later. So
//! all objects are listed again as soon as a Lease has an older version than before.

use tokio::sync::watch;

/// The number of restores that this process has noticed. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Restores(watch::Sender<u64>);

impl Restores {
    pub(crate) fn report(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    pub(crate) fn count(&self) -> u64 {
        *self.0.borrow()
    }

    /// Completes once the number differs from `count`.
    pub(crate) fn since(&self, count: u64) -> impl Future<Output = ()> + Send + use<> {
        let mut changed = self.0.subscribe();
        async move {
            if changed.wait_for(|now| *now != count).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
