//! Holds deletions of children that are no longer desired, if they are too many.
//!
//! A version of a plugin that returns no children would have the children of all parents deleted.
//! The plan of one parent does not show that, so the guard counts the deletions of a mount by kind:
//! those that wait and those of the last minutes. All that wait are held, not only those above
//! the limit.
//!
//! ```text
//!   a plan leaves children out ──▶ decide ── few ─────────────▶ Delete ──▶ record_deletion
//!                                         ├─ the first pass ──▶ Wait: the other parents come first
//!                                         └─ many ────────────▶ Hold, until it is released
//! ```
//!
//! Only deletions count that are planned because a parent that lives no longer wants the child, and
//! not those of deleted parents or replaced children.
//!
//! What is absent: state in the cluster. A restart, a new leader or a new program begins a pass
//! over all parents, and nothing is deleted before the guard has seen them. A host that leads again
//! still knows its earlier decisions.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::object::GroupVersionKind;
use crate::queue::Time;

/// The annotation of a parent that releases its held deletions: see [`is_released`].
pub const RELEASE_ANNOTATION: &str = "gyre.dev/release-deletions";

/// The time for which deletions count. Children that a plugin replaces regularly, such as the Jobs
/// of a history, are not deleted more than once in this time.
pub const WINDOW: Duration = Duration::from_secs(5 * 60);
/// Deletions are counted together for this time, so that a window needs little memory.
const SLOT: Duration = Duration::from_secs(30);

/// The shortest first pass: parents that are deferred ask for their turn every 5 s.
pub const FIRST_PASS: Duration = Duration::from_secs(10);
/// The longest first pass, because an overloaded mount may always have a backlog.
const LONGEST_FIRST_PASS: Duration = Duration::from_secs(10 * 60);

/// How long the number of all children of a kind is used, because to count them takes milliseconds.
const RECOUNT: Duration = Duration::from_secs(60);

/// The most deletions within [`WINDOW`] for each kind: `children`, or `percent` of all if that is
/// more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of children that may always be deleted.
    pub children: u32,
    /// The percentage of the mount's children of the kind. At 100, nothing is ever held.
    pub percent: u32,
}

impl Limits {
    /// Holds nothing.
    pub const OFF: Self = Self { children: 0, percent: 100 };

    /// Returns the most deletions if there are `all` children of the kind.
    pub fn most(self, all: u64) -> u64 {
        let share = all.saturating_mul(u64::from(self.percent)) / 100;
        share.max(u64::from(self.children))
    }
}

/// One edit of a parent rarely removes 25 children; an intended change that is held waits for a
/// person, but a wrong one that is not held loses data. A history of three that gets another member
/// deletes a fourth of all children at once.
impl Default for Limits {
    fn default() -> Self {
        Self { children: 25, percent: 30 }
    }
}

/// Whether the deletions of a parent are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// They are, and do not count.
    Yes,
    /// They are not.
    No,
}

/// Returns whether this value of [`RELEASE_ANNOTATION`] releases deletions: `VERSION/DAY`, with the
/// version of the plugin that wants them, and a recent day. So an old release does not apply to
/// another version, nor to another cause later.
pub fn is_released(annotation: Option<&str>, version: &str, recent_days: &[String]) -> Release {
    let parts = annotation.and_then(|value| value.split_once('/'));
    let is_valid = parts.is_some_and(|(of, day)| of == version && recent_days.iter().any(|recent| recent == day));
    if is_valid { Release::Yes } else { Release::No }
}

/// The decision about the deletions of one parent and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Delete them, and report each with [`DeletionGuard::record_deletion`].
    Delete,
    /// Ask again after this time, when the other parents have been reconciled.
    Wait(Duration),
    /// Delete none of them.
    Hold,
}

/// The circumstances of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// The mount's limits.
    pub limits: Limits,
    /// Whether the parent's deletions are released.
    pub release: Release,
    /// Whether other parents wait in the queue or for a retry, or are being reconciled.
    pub has_backlog: bool,
    /// The current time.
    pub now: Time,
}

/// The deletions of a mount. Its memory grows with the parents that want deletions.
#[derive(Clone, Debug)]
pub struct DeletionGuard<Parent> {
    began: Time,
    is_first_pass: bool,
    kinds: BTreeMap<GroupVersionKind, Deletions<Parent>>,
}

#[derive(Clone, Debug)]
struct Deletions<Parent> {
    wanted: BTreeMap<Parent, Wanted>,
    /// The sum of `wanted`.
    total_wanted: u64,
    /// The starts of slots, and the deletions in each.
    deleted: VecDeque<(Time, u64)>,
    /// When all children were counted, and their number.
    counted: Option<(Time, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    count: u64,
    is_held: bool,
}

/// The held deletions of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldDeletions {
    /// The number of children.
    pub children: u64,
    /// The number of their parents.
    pub parents: usize,
}

impl<Parent> Default for DeletionGuard<Parent> {
    fn default() -> Self {
        Self { began: Time::default(), is_first_pass: true, kinds: BTreeMap::new() }
    }
}

impl<Parent> Default for Deletions<Parent> {
    fn default() -> Self {
        Self { wanted: BTreeMap::new(), total_wanted: 0, deleted: VecDeque::new(), counted: None }
    }
}

impl<Parent: Clone + Ord> DeletionGuard<Parent> {
    /// Begins a first pass with another program: all parents are reconciled again, and the children
    /// that the former program did not want no longer count.
    pub fn begin(&mut self, now: Time) {
        self.resume(now);
        for deletions in self.kinds.values_mut() {
            *deletions = Deletions { deleted: std::mem::take(&mut deletions.deleted), ..Deletions::default() };
        }
    }

    /// Begins a first pass with the same program, because the host begins to lead. The last
    /// decision about each parent still counts: one that has not changed is not reconciled again at
    /// once, and one that is held only every 5 minutes.
    pub fn resume(&mut self, now: Time) {
        self.began = now;
        self.is_first_pass = true;
    }

    /// Returns whether the first pass goes on, as of the last decision. Only then does a decision
    /// depend on [`Circumstances::has_backlog`].
    pub fn is_first_pass(&self) -> bool {
        self.is_first_pass
    }

    /// Decides about the children, by kind, that a parent no longer wants. Call this for each plan,
    /// also without such children. `count` counts all children of the mount.
    ///
    /// A parent without a plan, because its call fails, still counts as in its last decision.
    /// Otherwise its failure would allow the deletions of the other parents.
    ///
    /// # Guarantees
    ///
    /// Within any [`WINDOW`], at most [`Limits`] children are deleted without a release.
    pub fn decide(
        &mut self,
        parent: &Parent,
        unwanted: &BTreeMap<GroupVersionKind, u64>,
        circumstances: &Circumstances,
        count: impl Fn(&GroupVersionKind) -> usize,
    ) -> BTreeMap<GroupVersionKind, Decision> {
        let Circumstances { limits, release, has_backlog, now } = *circumstances;
        self.forget(parent);
        self.kinds.retain(|_, deletions| deletions.deleted_until(now) > 0 || !deletions.wanted.is_empty());
        let passed = now.saturating_since(self.began);
        self.is_first_pass &= passed < FIRST_PASS || (has_backlog && passed < LONGEST_FIRST_PASS);
        let wait = self.is_first_pass.then(|| if passed < FIRST_PASS { FIRST_PASS - passed } else { FIRST_PASS });
        let decide = |(kind, unwanted): (&GroupVersionKind, &u64)| {
            if release == Release::Yes || limits.percent >= 100 {
                return (kind.clone(), Decision::Delete);
            }
            let deletions = self.kinds.entry(kind.clone()).or_default();
            let total = deletions.total_wanted + unwanted + deletions.deleted_until(now);
            let decision = if wait.is_none() && total <= u64::from(limits.children) {
                Decision::Delete
            } else {
                let all = deletions.all(now, || count(kind) as u64);
                let most = limits.most(all);
                match wait {
                    _ if total > most => Decision::Hold,
                    // So few children are never held, whatever the others want.
                    Some(wait) if all > most => Decision::Wait(wait),
                    _ => Decision::Delete,
                }
            };
            deletions.want(parent, Wanted { count: *unwanted, is_held: decision == Decision::Hold });
            (kind.clone(), decision)
        };
        unwanted.iter().map(decide).collect()
    }

    /// Records that a child was deleted, as decided. Released deletions do not count.
    pub fn record_deletion(&mut self, parent: &Parent, kind: &GroupVersionKind, now: Time) {
        let Some(deletions) = self.kinds.get_mut(kind) else { return };
        let Some(wanted) = deletions.unwant(parent) else { return };
        match deletions.deleted.back_mut() {
            Some((since, count)) if now.saturating_since(*since) < SLOT => *count += 1,
            _ => deletions.deleted.push_back((now, 1)),
        }
        if wanted.count > 1 {
            deletions.want(parent, Wanted { count: wanted.count - 1, ..wanted });
        }
    }

    /// Forgets a parent that is gone, or is being deleted.
    pub fn forget(&mut self, parent: &Parent) {
        for deletions in self.kinds.values_mut() {
            deletions.unwant(parent);
        }
    }

    /// The held deletions by kind.
    pub fn held(&self) -> impl Iterator<Item = (&GroupVersionKind, HeldDeletions)> {
        let held = |deletions: &Deletions<Parent>| {
            let held = deletions.wanted.values().filter(|wanted| wanted.is_held);
            HeldDeletions { children: held.clone().map(|wanted| wanted.count).sum(), parents: held.count() }
        };
        self.kinds.iter().map(move |(kind, deletions)| (kind, held(deletions))).filter(|(_, held)| held.parents > 0)
    }
}

impl<Parent: Clone + Ord> Deletions<Parent> {
    fn want(&mut self, parent: &Parent, wanted: Wanted) {
        self.total_wanted += wanted.count;
        self.wanted.insert(parent.clone(), wanted);
    }

    fn unwant(&mut self, parent: &Parent) -> Option<Wanted> {
        let wanted = self.wanted.remove(parent)?;
        self.total_wanted -= wanted.count;
        Some(wanted)
    }

    /// The deletions of the last [`WINDOW`], and up to a slot before it.
    fn deleted_until(&mut self, now: Time) -> u64 {
        while self.deleted.front().is_some_and(|(since, _)| now.saturating_since(*since) >= WINDOW + SLOT) {
            self.deleted.pop_front();
        }
        self.deleted.iter().map(|(_, count)| count).sum()
    }

    /// All children, with those that were just deleted, so that the limit does not sink with each.
    fn all(&mut self, now: Time, count: impl FnOnce() -> u64) -> u64 {
        let deleted = self.deleted_until(now);
        match self.counted {
            Some((at, all)) if now.saturating_since(at) < RECOUNT => all,
            _ => {
                let all = count() + deleted;
                self.counted = Some((now, all));
                all
            }
        }
    }
}

#[cfg(test)]
mod tests;
