//! An observer of a mount's parents. The mount does not know what the observer does.

use std::any::Any;

use gyre_core::object::ObjectKey;
use gyre_core::queue::Time;

/// Notified of calls and deletions on the async thread: it must not block.
pub(crate) trait Observer: Any + Send + Sync {
    fn called(&self, parent: &ObjectKey);

    fn forgotten(&self, parent: &ObjectKey, now: Time);
}
