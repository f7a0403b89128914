//! Distinguishes our own writes to a parent's status from others' changes. If the watch's events of
//! our own writes counted, a failing reconcile that reports so would cause the next one at once.

use std::collections::HashMap;

use gyre_core::object::ObjectKey;
use parking_lot::{Mutex, MutexGuard};

use crate::cluster::informer::{Origin, WatchEvent};
use crate::cluster::object::Object;

#[derive(Default)]
pub(crate) struct OwnWrites(Mutex<WriteVersions>);

#[derive(Default)]
struct WriteVersions {
    /// The newest version of each object that was noticed during a write to it.
    under_way: HashMap<ObjectKey, Option<u64>>,
    to_come: HashMap<ObjectKey, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    Changed,
    Silent,
}

impl OwnWrites {
    pub(crate) fn begin(&self, key: &ObjectKey) {
        let mut state = self.state();
        state.to_come.remove(key);
        state.under_way.insert(key.clone(), None);
    }

    /// Notices an event of a watch or a list. Returns whether it is of our own write.
    pub(crate) fn is_own(&self, event: &WatchEvent) -> bool {
        let object = event.object();
        match event {
            WatchEvent::Stored { origin: Origin::Watch, .. } => self.suppresses(object),
            WatchEvent::Stored { origin: Origin::List, .. } => {
                self.listed(&object.key());
                false
            }
            WatchEvent::Deleted(_) => {
                self.forget(&object.key());
                false
            }
        }
    }

    /// Returns whether an event is of our own write, or is left to [`OwnWrites::end`].
    fn suppresses(&self, object: &Object) -> bool {
        let (key, version) = (object.key(), object.resource_version());
        let mut state = self.state();
        if let Some(noticed) = state.under_way.get_mut(&key) {
            *noticed = (*noticed).max(Some(version));
            return true;
        }
        // Each write replaces the version that we knew, so earlier events are not new either.
        match state.to_come.get(&key) {
            Some(made) if version < *made => true,
            Some(made) => {
                let is_own = version == *made;
                state.to_come.remove(&key);
                is_own
            }
            None => false,
        }
    }

    /// Forgets our own write to an object that a list shows: its versions may have gone back, so
    /// that no later event would seem new.
    fn listed(&self, key: &ObjectKey) {
        let mut state = self.state();
        state.to_come.remove(key);
        if let Some(noticed) = state.under_way.get_mut(key) {
            *noticed = Some(u64::MAX);
        }
    }

    pub(crate) fn end(&self, key: &ObjectKey, made: Option<u64>) -> Others {
        let mut state = self.state();
        // The write replaced the version that we knew, so the noticed one is its own or newer.
        let noticed = state.under_way.remove(key).flatten();
        if let Some(made) = made.filter(|made| noticed < Some(*made)) {
            state.to_come.insert(key.clone(), made);
        }
        if noticed > made { Others::Changed } else { Others::Silent }
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.state().to_come.remove(key);
    }

    pub(crate) fn written(&self) -> Vec<ObjectKey> {
        self.state().to_come.keys().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, WriteVersions> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(version: u64) -> Object {
        Object::parse(format!(r#"{{"metadata":{{"name":"a","resourceVersion":"{version}"}}}}"#)).unwrap()
    }

    fn check(noticed: &[u64], made: Option<u64>, expected: Others) -> OwnWrites {
        let writes = OwnWrites::default();
        let key = object(1).key();
        assert!(!writes.suppresses(&object(1)), "nothing is under way");
        writes.begin(&key);
        for version in noticed {
            assert!(writes.suppresses(&object(*version)));
        }
        assert_eq!(writes.end(&key, made), expected, "{noticed:?} {made:?}");
        writes
    }

    #[test]
    fn only_changes_by_others_count() {
        check(&[], Some(5), Others::Silent);
        check(&[5], Some(5), Others::Silent);
        check(&[5, 7], Some(5), Others::Changed);
        check(&[], None, Others::Silent);
        check(&[4], None, Others::Changed);
    }

    #[test]
    fn late_events_of_own_writes_are_not_news() {
        let late = || check(&[4], Some(5), Others::Silent);
        let news = |writes: &OwnWrites, versions: &[u64]| {
            versions.iter().map(|version| !writes.suppresses(&object(*version))).collect::<Vec<_>>()
        };
        assert_eq!(news(&late(), &[4, 5, 5]), [false, false, true]);
        assert_eq!(news(&late(), &[7]), [true]);
        assert_eq!(
            news(&check(&[5], Some(5), Others::Silent), &[5]),
            [true],
            "it has come, and what comes again is judged by the cache"
        );
        let listed = late();
        listed.listed(&object(1).key());
        assert_eq!(news(&listed, &[2, 3]), [true, true], "the API server was restored from a backup");
        let during = OwnWrites::default();
        during.begin(&object(1).key());
        during.listed(&object(1).key());
        assert_eq!(during.end(&object(1).key(), Some(5)), Others::Changed);
        assert_eq!(news(&during, &[2]), [true]);
        let gone = late();
        gone.forget(&object(1).key());
        assert_eq!(news(&gone, &[5]), [true]);
    }
}
