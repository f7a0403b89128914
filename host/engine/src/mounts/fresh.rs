//! Parents whose missing children may be created without reading the parent first.
//!
//! A child that is missing from the cache may have gone with its parent, and the cache of parents
//! may lag. Creating it again would run its Job once more, so the parent is read first. This is not
//! necessary as long as nothing was created for it, none of its children has gone, and:
//!
//! - it was created while this host held the claim, so nobody else has created children: a watch
//!   brought it after a list under the claim, or its version is later than one that the API server
//!   returned under the claim ([`FreshParents::record_version`]); or
//! - it is in a list under the claim that was requested after the caches of children were complete:
//!   its missing children were then missing while it still lived.
//!
//! The claim must have been held ever since.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};

use parking_lot::{Mutex, MutexGuard};

use crate::clock::Moment;
use crate::leadership::claim::Claim;

pub(crate) struct FreshParents {
    claim: Claim,
    hasher: RandomState,
    state: Mutex<FreshState>,
}

#[derive(Default)]
struct FreshState {
    /// Hashes of UIDs. A collision skips one read, once in 2^64 pairs.
    uids: BTreeSet<u64>,
    since: Option<Moment>,
    children_cached_since: Option<Moment>,
    bereaved: Option<BTreeSet<u64>>,
    known_version: Option<(Moment, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discovery {
    /// By a watch event, at this version.
    ByWatch(u64),
    /// In a list, or already in the cache when the subscription began.
    InList,
}

impl FreshParents {
    pub(crate) fn new(claim: Claim) -> Self {
        Self { claim, hasher: RandomState::new(), state: Mutex::default() }
    }

    /// Records that all children are cached, from lists requested at these times.
    /// [`FreshParents::record_parents_seen`] comes later.
    pub(crate) fn record_cached_children(&self, lists: impl IntoIterator<Item = Option<Moment>>) {
        let is_under_claim = |list: Option<Moment>| list.is_some_and(|asked| self.claim.held_since(asked));
        let mut state = self.state();
        state.children_cached_since = lists.into_iter().all(is_under_claim).then(Moment::now);
        state.bereaved = Some(BTreeSet::new());
    }

    pub(crate) fn record_parents_seen(&self) {
        self.state().bereaved = None;
    }

    /// Returns whether the list of parents is older than the claim.
    pub(crate) fn needs_version(&self, list: Option<Moment>) -> bool {
        list.is_none_or(|asked| !self.claim.held_since(asked))
    }

    /// Records a version that was requested at `asked`. Objects created later have a later one.
    pub(crate) fn record_version(&self, asked: Moment, version: u64) {
        self.state().known_version = Some((asked, version));
    }

    /// Records a new parent. `list` is when the list behind the cache was requested.
    pub(crate) fn record_parent(&self, uid: &str, found: Discovery, list: Option<Moment>) {
        let mut state = self.state();
        let held_since = |moment: Moment| self.claim.held_since(moment);
        let list = list.filter(|list| held_since(*list));
        let is_fresh = match found {
            Discovery::ByWatch(version) => {
                let is_later = |(asked, known): (Moment, u64)| held_since(asked) && version > known;
                list.is_some() || state.known_version.is_some_and(is_later)
            }
            Discovery::InList => state
                .children_cached_since
                .is_some_and(|followed| held_since(followed) && list.is_some_and(|list| followed < list)),
        };
        let hash = self.hasher.hash_one(uid);
        if !is_fresh || state.bereaved.as_ref().is_some_and(|bereaved| bereaved.contains(&hash)) {
            return;
        }
        if !state.since.is_some_and(held_since) {
            state.uids.clear();
            state.since = Some(Moment::now());
        }
        state.uids.insert(hash);
    }

    pub(crate) fn forget(&self, uid: &str) {
        let hash = self.hasher.hash_one(uid);
        let mut state = self.state();
        state.uids.remove(&hash);
        if let Some(bereaved) = &mut state.bereaved {
            bereaved.insert(hash);
        }
    }

    pub(crate) fn forget_all(&self) {
        let mut state = self.state();
        state.uids = BTreeSet::new();
        state.children_cached_since = None;
    }

    /// Returns whether creation is safe without a read, which is true only once per parent.
    pub(crate) fn take(&self, uid: &str) -> bool {
        let mut state = self.state();
        let is_held = state.since.is_some_and(|since| self.claim.held_since(since));
        state.uids.remove(&self.hasher.hash_one(uid)) && is_held
    }

    fn state(&self) -> MutexGuard<'_, FreshState> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;
    use crate::leadership::claim::ClaimSender;

    fn moment() -> Option<Moment> {
        Some(Moment::now())
    }

    fn is_fresh(fresh: &FreshParents, found: Discovery, list: Option<Moment>) -> bool {
        fresh.record_parent("it", found, list);
        fresh.take("it")
    }

    #[test]
    fn parents_created_under_the_claim_are_fresh() {
        let (holder, claim) = ClaimSender::new();
        let fresh = FreshParents::new(claim);
        let before = moment();
        assert!(!is_fresh(&fresh, Discovery::ByWatch(9), before), "nobody holds the claim");
        holder.hold_until(Instant::now() + Duration::from_secs(10));
        let under = moment();
        assert!(!is_fresh(&fresh, Discovery::ByWatch(9), before), "the watch may lag behind another leader");
        assert!(is_fresh(&fresh, Discovery::ByWatch(9), under));
        assert!(!fresh.take("it"), "something was created for it");

        assert!(fresh.needs_version(before) && fresh.needs_version(None) && !fresh.needs_version(under));
        fresh.record_version(under.unwrap(), 9);
        assert!(!is_fresh(&fresh, Discovery::ByWatch(9), before), "it may have been there under another leader");
        assert!(is_fresh(&fresh, Discovery::ByWatch(10), before));

        fresh.record_parent("it", Discovery::ByWatch(11), under);
        holder.lose();
        holder.hold_until(Instant::now() + Duration::from_secs(10));
        assert!(!fresh.take("it"), "another leader may have been there");
        assert!(!is_fresh(&fresh, Discovery::ByWatch(12), before), "the version is from before");
        let again = moment();
        fresh.record_parent("other", Discovery::ByWatch(12), again);
        assert!(fresh.take("other"));
    }

    #[test]
    fn listed_parents_are_fresh_if_their_children_were_cached_before() {
        let fresh = FreshParents::new(Claim::always());
        let early = moment();
        assert!(!is_fresh(&fresh, Discovery::InList, early), "children are not followed");
        fresh.record_cached_children([early, early]);
        fresh.forget("bereaved");
        assert!(!is_fresh(&fresh, Discovery::InList, early), "a child may have been there and gone before it was listed");
        let late = moment();
        assert!(is_fresh(&fresh, Discovery::InList, late));
        fresh.record_parent("bereaved", Discovery::InList, late);
        assert!(!fresh.take("bereaved"), "a child of it has gone before it was seen");
        fresh.record_parents_seen();
        fresh.record_parent("it", Discovery::InList, late);
        fresh.forget("it");
        assert!(!fresh.take("it"), "a child of it has gone");
        fresh.record_parent("it", Discovery::InList, late);
        fresh.forget_all();
        assert!(!fresh.take("it"), "children of another kind may have gone");
        assert!(!is_fresh(&fresh, Discovery::InList, late));
        fresh.record_cached_children([late, None]);
        assert!(!is_fresh(&fresh, Discovery::InList, moment()), "one list of children is under way");
    }

    #[test]
    fn lists_from_before_the_claim_are_not_enough() {
        let (holder, claim) = ClaimSender::new();
        let fresh = FreshParents::new(claim);
        let before = moment();
        holder.hold_until(Instant::now() + Duration::from_secs(10));
        fresh.record_cached_children([before]);
        let under = moment();
        assert!(!is_fresh(&fresh, Discovery::InList, under), "the children are of a list from before");
        fresh.record_cached_children([under]);
        assert!(!is_fresh(&fresh, Discovery::InList, before) && is_fresh(&fresh, Discovery::InList, moment()));
    }
}
