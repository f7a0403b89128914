//! Decides about the deletion of a parent that its plugin asks for, e.g. of a finished Job after
//! its TTL.
//!
//! ```text
//!   response ── not declared, not granted ──▶ refusal
//!            ── due later ──────────────────▶ call again then
//!            ── due, and all else is done ──▶ delete, if nobody has changed the parent since
//! ```
//!
//! A controller may make a deleted object again, under the same name and with another UID, so that
//! both would go on for ever. So [`ParentDeletions`] delays repeated deletions of a name.
//!
//! What is absent: the request, with the UID and the resourceVersion of the parent that the plugin
//! saw as its preconditions.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::grants::Grants;
use crate::manifest::Propagation;
use crate::object::{ObjectKey, ObjectRef};
use crate::plan::{Refusal, RefusalReason};
use crate::queue::Time;
use crate::response::ParentDeletion;

/// The decision about a parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It stays.
    Keep,
    /// It is to be deleted, once everything else is done.
    Delete(Propagation),
    /// The plugin is to be called again after this time.
    Later(Duration),
    /// It stays, and the plugin's wish is refused.
    Refuse(Refusal),
}

/// Decides about a parent that is not being deleted.
pub fn decide(wanted: Option<&ParentDeletion>, plugin: &str, parent: &ObjectRef, grants: &Grants) -> Decision {
    let Some(ParentDeletion { after, propagation }) = wanted else { return Decision::Keep };
    let refuse = |reason: RefusalReason, message: String| Decision::Refuse(Refusal { child: None, reason, message });
    if !grants.declares_parent_deletions() {
        return refuse(
            RefusalReason::UndeclaredParentDeletion,
            format!(
                "the plugin asks to delete its parent {parent}, and the manifest of {plugin} does not declare it: declare it (deletes-parent)"
            ),
        );
    }
    if !grants.allows_parent_deletions() {
        return refuse(
            RefusalReason::ParentDeletionNotGranted,
            format!("the plugin asks to delete its parent {parent}: set the mount's key grants.deleteParents, if it may"),
        );
    }
    if after.is_zero() { Decision::Delete(*propagation) } else { Decision::Later(*after) }
}

/// The shortest time between the first two deletions of a name. It doubles with each one.
pub const FIRST_DELAY: Duration = Duration::from_secs(10);
/// The longest time between two deletions of a name.
pub const LONGEST_DELAY: Duration = Duration::from_secs(1_000);
/// The time after which a deletion is forgotten: longer than any delay, else there would be none.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(2_000);
/// The most names that are remembered. After a mass deletion, the oldest are forgotten first, which
/// costs only their delay.
const MOST_NAMES: usize = 10_000;

/// The recent deletions of the parents of a mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParentDeletions(BTreeMap<ObjectKey, Recent>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Recent {
    last: Time,
    count: u32,
}

impl Recent {
    fn next(self) -> Time {
        let doublings = self.count.saturating_sub(1).min(10);
        self.last + FIRST_DELAY.saturating_mul(1 << doublings).min(LONGEST_DELAY)
    }

    fn is_over(self, now: Time) -> bool {
        now.saturating_since(self.last) >= FORGOTTEN_AFTER
    }
}

impl ParentDeletions {
    /// The time until the parent of this name may be deleted; `None` if it may be now.
    pub fn delay(&self, parent: &ObjectKey, now: Time) -> Option<Duration> {
        let recent = self.0.get(parent).filter(|recent| !recent.is_over(now))?;
        Some(recent.next().saturating_since(now)).filter(|delay| !delay.is_zero())
    }

    /// Records a deletion.
    pub fn record(&mut self, parent: &ObjectKey, now: Time) {
        if self.0.len() >= MOST_NAMES {
            self.0.retain(|_, recent| !recent.is_over(now));
        }
        if self.0.len() >= MOST_NAMES
            && let Some(oldest) = self.0.iter().min_by_key(|(_, recent)| recent.last).map(|(key, _)| key.clone())
        {
            self.0.remove(&oldest);
        }
        let recent = self.0.entry(parent.clone()).or_insert(Recent { last: now, count: 0 });
        if recent.is_over(now) {
            recent.count = 0;
        }
        *recent = Recent { last: now, count: recent.count.saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grants::{Namespaces, ParentDeletions as Granted};
    use crate::manifest::Manifest;
    use crate::object::GroupVersionKind;

    fn grants(declares: bool, granted: Granted) -> Grants {
        let kind = GroupVersionKind::from_api_version("batch/v1", "Job");
        let manifest = Manifest { deletes_parent: declares, ..Manifest::new("cleaner", "1", kind) };
        Grants::new(&manifest, Namespaces::All).with_parent_deletions(granted)
    }

    fn parent(name: &str) -> ObjectRef {
        let kind = GroupVersionKind::from_api_version("batch/v1", "Job");
        ObjectRef { kind, key: ObjectKey::new(Some("default"), name) }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn each_refusal_names_the_parent_and_the_remedy() {
        let wanted = ParentDeletion { after: Duration::ZERO, propagation: Propagation::Background };
        let refused = |declares, granted| match decide(Some(&wanted), "cleaner", &parent("one"), &grants(declares, granted)) {
            Decision::Refuse(refusal) => (refusal.reason, refusal.message),
            other => panic!("{other:?}"),
        };
        let (reason, message) = refused(false, Granted::Granted);
        assert_eq!(reason, RefusalReason::UndeclaredParentDeletion);
        assert!(message.contains("Job.v1.batch default/one") && message.contains("deletes-parent"), "{message}");
        let (reason, message) = refused(true, Granted::NotGranted);
        assert_eq!(reason, RefusalReason::ParentDeletionNotGranted);
        assert!(message.contains("Job.v1.batch default/one") && message.contains("grants.deleteParents"), "{message}");
    }

    proptest! {
        #[test]
        fn a_parent_is_deleted_only_if_it_is_asked_for_declared_granted_and_due(
            after in proptest::option::of(0_u64..3),
            declares in any::<bool>(),
            is_granted in any::<bool>(),
        ) {
            let granted = if is_granted { Granted::Granted } else { Granted::NotGranted };
            let wanted = after.map(|after| ParentDeletion { after: seconds(after), propagation: Propagation::Orphan });
            let decision = decide(wanted.as_ref(), "cleaner", &parent("one"), &grants(declares, granted));
            let is_deleted = decision == Decision::Delete(Propagation::Orphan);
            prop_assert_eq!(is_deleted, after == Some(0) && declares && is_granted);
            prop_assert_eq!(decision == Decision::Keep, after.is_none());
            let later = after.filter(|after| *after > 0 && declares && is_granted).map(seconds);
            prop_assert_eq!(decision == Decision::Later(later.unwrap_or_default()), later.is_some());
        }

        /// A controller that makes the object again at once, and a plugin that deletes it at once.
        #[test]
        fn deletions_of_one_name_become_rare_and_those_of_others_do_not(names in proptest::collection::vec(0_u8..3, 1..60)) {
            let mut deletions = ParentDeletions::default();
            let mut now = Time::default();
            let mut last: BTreeMap<u8, (Time, u32)> = BTreeMap::new();
            for name in names {
                let key = parent(&name.to_string()).key;
                if let Some(delay) = deletions.delay(&key, now) {
                    prop_assert!(delay <= LONGEST_DELAY);
                    now = now + delay;
                }
                prop_assert_eq!(deletions.delay(&key, now), None, "a delay ends");
                deletions.record(&key, now);
                let (before, count) = last.get(&name).copied().unwrap_or((now, 0));
                if count > 0 {
                    let least = FIRST_DELAY.saturating_mul(1 << (count - 1).min(10)).min(LONGEST_DELAY);
                    let gap = now.saturating_since(before);
                    prop_assert!(gap >= least || gap >= FORGOTTEN_AFTER, "{gap:?} after {count}");
                    last.insert(name, (now, if gap >= FORGOTTEN_AFTER { 1 } else { count + 1 }));
                } else {
                    last.insert(name, (now, 1));
                }
            }
        }

        #[test]
        fn a_deletion_is_forgotten_and_the_memory_is_bounded(rest in 0_u64..100) {
            let mut deletions = ParentDeletions::default();
            let one = parent("one").key;
            deletions.record(&one, Time::default());
            deletions.record(&one, Time::default());
            let after = Time::default() + FORGOTTEN_AFTER + seconds(rest);
            prop_assert_eq!(deletions.delay(&one, after), None);
            deletions.record(&one, after);
            prop_assert_eq!(deletions.delay(&one, after), Some(FIRST_DELAY));
        }
    }

    #[test]
    fn no_more_than_so_many_names_are_remembered() {
        let mut deletions = ParentDeletions::default();
        for number in 0..MOST_NAMES + 10 {
            let now = Time::default() + Duration::from_millis(number as u64);
            deletions.record(&parent(&number.to_string()).key, now);
        }
        assert_eq!(deletions.0.len(), MOST_NAMES);
        assert!(!deletions.0.contains_key(&parent("0").key), "the oldest are forgotten first");
    }
}
