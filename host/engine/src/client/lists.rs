//! When the list of an informer was requested, and when it was complete. Each list is consistent.

use parking_lot::{Mutex, MutexGuard};

use crate::clock::Moment;

#[derive(Debug, Default)]
pub(crate) struct Lists(Mutex<ListTimes>);

#[derive(Debug, Default)]
struct ListTimes {
    /// When the list in progress was requested.
    under_way: Option<Moment>,
    /// When the last complete list was requested.
    whole: Option<Moment>,
    /// The number of restores from a backup when the last list was requested.
    restores: u64,
}

impl Lists {
    /// Records the request of a list. `restores` is the number of restores before it.
    pub(crate) fn ask(&self, restores: u64) {
        let mut state = self.state();
        (state.under_way, state.restores) = (Some(Moment::now()), restores);
    }

    pub(crate) fn restores(&self) -> u64 {
        self.state().restores
    }

    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.whole = state.under_way.take();
    }

    /// When the list behind the cache was requested; `None` before the first, and during another
    /// list.
    pub(crate) fn asked(&self) -> Option<Moment> {
        let state = self.state();
        state.whole.filter(|_| state.under_way.is_none())
    }

    /// Returns whether a list was requested and is not complete.
    pub(crate) fn are_under_way(&self) -> bool {
        self.state().under_way.is_some()
    }

    fn state(&self) -> MutexGuard<'_, ListTimes> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_request_time_from_its_end_until_the_next_request() {
        let lists = Lists::default();
        assert_eq!(lists.asked(), None);
        let before = Moment::now();
        lists.ask(0);
        assert!(lists.asked().is_none() && lists.are_under_way());
        lists.end();
        assert!(!lists.are_under_way());
        let asked = lists.asked().unwrap();
        assert!(before < asked && asked < Moment::now());
        lists.ask(0);
        assert_eq!(lists.asked(), None);
        lists.ask(0);
        lists.end();
        assert!(lists.asked() > Some(asked));
    }
}
