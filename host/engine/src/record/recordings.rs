//! The listeners to the calls of a host.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use super::call_record::CallRecord;

/// The listeners to the calls of a host. Clones share them.
#[derive(Clone, Default)]
pub struct Recordings(Arc<RwLock<BTreeMap<u64, Listener>>>);

struct Listener {
    mount: Option<Arc<str>>,
    take: Arc<Take>,
    stay: Stay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    UntilDropped,
    UntilHostEnds,
}

type Take = dyn Fn(&Arc<CallRecord>) + Send + Sync;

/// A registered listener, until this is dropped.
#[must_use = "it listens for as long as this is kept"]
pub struct Listening {
    recordings: Recordings,
    id: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.recordings.0.write().remove(&self.id);
    }
}

impl Recordings {
    /// Passes each finished call of that mount, or of all, to `take`, on the async thread: it must
    /// not block.
    pub fn listen(&self, mount: Option<&str>, take: impl Fn(&Arc<CallRecord>) + Send + Sync + 'static) -> Listening {
        self.add(Listener { mount: mount.map(Arc::from), take: Arc::new(take), stay: Stay::UntilDropped })
    }

    pub(super) fn listen_to_host(&self, mount: &str, take: impl Fn(&Arc<CallRecord>) + Send + Sync + 'static) -> Listening {
        self.add(Listener { mount: Some(mount.into()), take: Arc::new(take), stay: Stay::UntilHostEnds })
    }

    fn add(&self, listener: Listener) -> Listening {
        static IDS: AtomicU64 = AtomicU64::new(0);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        self.0.write().insert(id, listener);
        Listening { recordings: self.clone(), id }
    }

    pub(super) fn sessions(&self) -> usize {
        let listeners = self.0.read();
        listeners.values().filter(|listener| listener.stay == Stay::UntilHostEnds).count()
    }

    /// Returns whether there were any listeners until the host ends.
    pub(crate) fn end(&self) -> bool {
        let mut listeners = self.0.write();
        listeners.extract_if(.., |_, listener| listener.stay == Stay::UntilHostEnds).count() > 0
    }

    pub(crate) fn wants(&self, mount: &str) -> bool {
        self.0.read().values().any(|listener| listener.wants(mount))
    }

    pub(crate) fn take(&self, record: CallRecord) {
        let record = Arc::new(record);
        let listeners = self.0.read();
        // Outside of the lock, because a listener may remove itself.
        let wanting: Vec<_> = listeners
            .values()
            .filter(|listener| listener.wants(&record.program.name))
            .map(|listener| Arc::clone(&listener.take))
            .collect();
        drop(listeners);
        wanting.iter().for_each(|take| take(&record));
    }
}

impl Listener {
    fn wants(&self, mount: &str) -> bool {
        self.mount.as_ref().is_none_or(|wanted| **wanted == *mount)
    }
}
