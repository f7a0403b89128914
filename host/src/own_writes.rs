//! Tells our own writes to a parent's status from changes that others make.
//!
//! The watch brings both. If our own counted as changes, a failing reconcile that says so in the status would cause the next one at
//! once, past all back-off.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gyre_core::object::ObjectKey;

use crate::object::Object;

/// The writes under way, and the newest version of each object that was noticed meanwhile.
#[derive(Default)]
pub(crate) struct OwnWrites(Mutex<HashMap<ObjectKey, Option<u64>>>);

/// Whether somebody else changed an object while we wrote to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    Changed,
    Silent,
}

impl OwnWrites {
    /// A write is about to be sent.
    pub(crate) fn begin(&self, key: &ObjectKey) {
        self.under_way().insert(key.clone(), None);
    }

    /// Whether a notice about this object is kept for [`OwnWrites::end`] to judge.
    pub(crate) fn holds_back(&self, object: &Object) -> bool {
        match self.under_way().get_mut(&object.key()) {
            Some(noticed) => {
                *noticed = (*noticed).max(Some(object.resource_version()));
                true
            }
            None => false,
        }
    }

    /// The write has ended: with the version that it made, or without one.
    pub(crate) fn end(&self, key: &ObjectKey, made: Option<u64>) -> Others {
        // The write was over the version that we knew, so what was noticed is either our own or newer.
        let noticed = self.under_way().remove(key).flatten();
        if noticed > made { Others::Changed } else { Others::Silent }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<ObjectKey, Option<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(noticed: &[u64], made: Option<u64>, expected: Others) {
        let writes = OwnWrites::default();
        let object =
            |version: u64| Object::parse(format!(r#"{{"metadata":{{"name":"a","resourceVersion":"{version}"}}}}"#)).unwrap();
        let key = object(1).key();
        assert!(!writes.holds_back(&object(1)), "nothing is under way");
        writes.begin(&key);
        for version in noticed {
            assert!(writes.holds_back(&object(*version)));
        }
        assert_eq!(writes.end(&key, made), expected, "{noticed:?} {made:?}");
        assert!(!writes.holds_back(&object(1)), "nothing is under way any more");
    }

    #[test]
    fn only_what_others_change_counts() {
        check(&[], Some(5), Others::Silent);
        check(&[5], Some(5), Others::Silent);
        check(&[5, 7], Some(5), Others::Changed);
        check(&[], None, Others::Silent);
        check(&[4], None, Others::Changed);
    }
}
