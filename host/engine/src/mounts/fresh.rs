//! Parents whose missing children may be created without a look at whether the parent still lives.
//!
//! A child that is missing from the cache may have gone with its parent, which the cache of parents does not show yet. To create it again
//! would run its Job once more. A live look at the parent excludes that, at the price of a request. It is not needed for a parent of which
//! one of these holds, as long as nobody has tried to create anything for it and none of its children has gone:
//!
//! - It was created while this host held the claim, so that nobody else can have made children for it. That is known of a parent that the
//!   watch brings as new, if the list before was asked for under the claim; or if the version of the parent is later than one that the API
//!   server named under the claim ([`FreshParents::born_after`]). A standby has its list from before, and its watch may lag.
//! - It is in a list that was asked for under the claim, and by then the caches of children were complete. Then it was still alive when its
//!   missing children were already missing.
//!
//! The claim must have been held all the time since.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};

use parking_lot::{Mutex, MutexGuard};

use crate::clock::Moment;
use crate::leadership::claim::Claim;

/// See the module's documentation.
pub(crate) struct FreshParents {
    claim: Claim,
    hasher: RandomState,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the hash of their UIDs. A hash that is shared leads to a parent that is not looked at, once in 2^64 pairs.
    uids: BTreeSet<u64>,
    /// When the first of them came.
    since: Option<Moment>,
    /// Since when deletions of all children are observed, and all earlier children are in the caches.
    children_followed: Option<Moment>,
    /// Those of which a child has gone, while parents are not followed yet.
    bereaved: Option<BTreeSet<u64>>,
    /// A version of the parents' kind, and when it was asked for.
    born_after: Option<(Moment, u64)>,
}

/// The way in which a new parent was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The watch brought it, as of this version.
    ByWatch(u64),
    /// It is in the list, or was there when somebody began to follow.
    InList,
}

impl FreshParents {
    /// None yet.
    pub(crate) fn new(claim: Claim) -> Self {
        Self { claim, hasher: RandomState::new(), state: Mutex::default() }
    }

    /// All children are in the caches, whose lists were asked for then, and those that go are told of from now on. Parents are not followed
    /// before [`FreshParents::follow_parents`].
    pub(crate) fn follow_children(&self, lists: impl IntoIterator<Item = Option<Moment>>) {
        let is_under_claim = |list: Option<Moment>| list.is_some_and(|asked| self.claim.held_since(asked));
        let mut state = self.state();
        state.children_followed = lists.into_iter().all(is_under_claim).then(Moment::now);
        state.bereaved = Some(BTreeSet::new());
    }

    /// The parents that were there have all been seen.
    pub(crate) fn follow_parents(&self) {
        self.state().bereaved = None;
    }

    /// Whether a version that is known under the claim is still of use: the list of parents was asked for before.
    pub(crate) fn needs_version(&self, list: Option<Moment>) -> bool {
        list.is_none_or(|asked| !self.claim.held_since(asked))
    }

    /// The API server named this version of the parents' kind when it was asked at that moment: whatever was created later has a later one.
    pub(crate) fn born_after(&self, asked: Moment, version: u64) {
        self.state().born_after = Some((asked, version));
    }

    /// A parent is there that was not there before. `list` is when the list was asked for that the cache of parents is made of.
    pub(crate) fn found(&self, uid: &str, found: Found, list: Option<Moment>) {
        let mut state = self.state();
        let held_since = |moment: Moment| self.claim.held_since(moment);
        let list = list.filter(|list| held_since(*list));
        let is_fresh = match found {
            Found::ByWatch(version) => {
                let is_later = |(asked, known): (Moment, u64)| held_since(asked) && version > known;
                list.is_some() || state.born_after.is_some_and(is_later)
            }
            Found::InList => {
                state.children_followed.is_some_and(|followed| held_since(followed) && list.is_some_and(|list| followed < list))
            }
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

    /// A parent is gone, or a child of it.
    pub(crate) fn forget(&self, uid: &str) {
        let hash = self.hasher.hash_one(uid);
        let mut state = self.state();
        state.uids.remove(&hash);
        if let Some(bereaved) = &mut state.bereaved {
            bereaved.insert(hash);
        }
    }

    /// Children of a kind that was not seen before are there from now on.
    pub(crate) fn forget_all(&self) {
        let mut state = self.state();
        state.uids = BTreeSet::new();
        state.children_followed = None;
    }

    /// Whether a parent need not be looked at before something is created for it, which is about to be tried. It has to be the next time.
    pub(crate) fn take(&self, uid: &str) -> bool {
        let mut state = self.state();
        let is_held = state.since.is_some_and(|since| self.claim.held_since(since));
        state.uids.remove(&self.hasher.hash_one(uid)) && is_held
    }

    fn state(&self) -> MutexGuard<'_, State> {
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

    /// Whether a parent that is found is fresh.
    fn is_fresh(fresh: &FreshParents, found: Found, list: Option<Moment>) -> bool {
        fresh.found("it", found, list);
        fresh.take("it")
    }

    #[test]
    fn what_is_created_under_the_claim_is_fresh() {
        let (holder, claim) = ClaimSender::new();
        let fresh = FreshParents::new(claim);
        let before = moment();
        assert!(!is_fresh(&fresh, Found::ByWatch(9), before), "nobody holds the claim");
        holder.hold_until(Instant::now() + Duration::from_secs(10));
        let under = moment();
        assert!(!is_fresh(&fresh, Found::ByWatch(9), before), "the watch may lag behind another leader");
        assert!(is_fresh(&fresh, Found::ByWatch(9), under));
        assert!(!fresh.take("it"), "something was created for it");

        assert!(fresh.needs_version(before) && fresh.needs_version(None) && !fresh.needs_version(under));
        fresh.born_after(under.unwrap(), 9);
        assert!(!is_fresh(&fresh, Found::ByWatch(9), before), "it may have been there under another leader");
        assert!(is_fresh(&fresh, Found::ByWatch(10), before));

        fresh.found("it", Found::ByWatch(11), under);
        holder.lose();
        holder.hold_until(Instant::now() + Duration::from_secs(10));
        assert!(!fresh.take("it"), "another leader may have been there");
        assert!(!is_fresh(&fresh, Found::ByWatch(12), before), "the version is from before");
        let again = moment();
        fresh.found("other", Found::ByWatch(12), again);
        assert!(fresh.take("other"));
    }

    #[test]
    fn what_is_listed_under_the_claim_is_fresh_if_its_children_were_known_before() {
        let fresh = FreshParents::new(Claim::always());
        let early = moment();
        assert!(!is_fresh(&fresh, Found::InList, early), "children are not followed");
        fresh.follow_children([early, early]);
        fresh.forget("bereaved");
        assert!(!is_fresh(&fresh, Found::InList, early), "a child may have been there and gone before it was listed");
        let late = moment();
        assert!(is_fresh(&fresh, Found::InList, late));
        fresh.found("bereaved", Found::InList, late);
        assert!(!fresh.take("bereaved"), "a child of it has gone before it was seen");
        fresh.follow_parents();
        fresh.found("it", Found::InList, late);
        fresh.forget("it");
        assert!(!fresh.take("it"), "a child of it has gone");
        fresh.found("it", Found::InList, late);
        fresh.forget_all();
        assert!(!fresh.take("it"), "children of another kind may have gone");
        assert!(!is_fresh(&fresh, Found::InList, late));
        fresh.follow_children([late, None]);
        assert!(!is_fresh(&fresh, Found::InList, moment()), "one list of children is under way");
    }

    #[test]
    fn lists_from_before_the_claim_are_not_enough() {
        let (holder, claim) = ClaimSender::new();
        let fresh = FreshParents::new(claim);
        let before = moment();
        holder.hold_until(Instant::now() + Duration::from_secs(10));
        fresh.follow_children([before]);
        let under = moment();
        assert!(!is_fresh(&fresh, Found::InList, under), "the children are of a list from before");
        fresh.follow_children([under]);
        assert!(!is_fresh(&fresh, Found::InList, before) && is_fresh(&fresh, Found::InList, moment()));
    }
}
