//! Assigns mounts to replicas.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

/// Assigns each mount that any replica can lead to one of these replicas.
///
/// This is rendezvous hashing with bounded loads: each pair of a mount and a replica has a weight
/// from their names. The heaviest pairs win, if the mount is free and the replica not full.
///
/// - The same replicas give the same result, in every process and build.
/// - If every replica can lead every mount, their numbers of mounts differ by at most one. If not,
///   the rest goes to the replica with the fewest mounts.
/// - Few mounts move when a replica comes or goes: on average one of 12 mounts, with 3 replicas.
pub fn assignments<'offer>(
    leadable: impl IntoIterator<Item = (&'offer str, &'offer BTreeSet<String>)>,
) -> BTreeMap<&'offer str, &'offer str> {
    let leadable: BTreeMap<&str, &BTreeSet<String>> = leadable.into_iter().filter(|(_, mounts)| !mounts.is_empty()).collect();
    let mounts: BTreeSet<&str> = leadable.values().copied().flatten().map(String::as_str).collect();
    let mut limits = LoadLimits::new(mounts.len(), leadable.len());
    let mut pairs: Vec<Pair<'_>> =
        leadable.iter().flat_map(|(replica, mounts)| mounts.iter().map(|mount| Pair::new(mount, replica))).collect();
    pairs.sort_unstable();

    let mut assigned: BTreeMap<&str, &str> = BTreeMap::new();
    for Pair { mount, replica, .. } in &pairs {
        if !assigned.contains_key(mount) && limits.take(replica) {
            assigned.insert(mount, replica);
        }
    }
    for mount in mounts {
        if !assigned.contains_key(mount) {
            let able = pairs.iter().filter(|pair| pair.mount == mount);
            if let Some(Pair { replica, .. }) = able.min_by_key(|pair| limits.load(pair.replica)) {
                limits.add(replica);
                assigned.insert(mount, replica);
            }
        }
    }
    assigned
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Pair<'offer> {
    weight: Reverse<[u8; 32]>,
    mount: &'offer str,
    replica: &'offer str,
}

impl<'offer> Pair<'offer> {
    fn new(mount: &'offer str, replica: &'offer str) -> Self {
        // Not the standard library's hash, which may differ between builds.
        let mut hash = Sha256::new();
        hash.update(replica.as_bytes());
        hash.update([0]);
        hash.update(mount.as_bytes());
        Self { weight: Reverse(hash.finalize().into()), mount, replica }
    }
}

struct LoadLimits<'offer> {
    each: usize,
    extra: usize,
    load: BTreeMap<&'offer str, usize>,
}

impl<'offer> LoadLimits<'offer> {
    fn new(mounts: usize, replicas: usize) -> Self {
        let each = mounts.checked_div(replicas).unwrap_or(0);
        Self { each, extra: mounts.checked_rem(replicas).unwrap_or(0), load: BTreeMap::new() }
    }

    fn load(&self, replica: &str) -> usize {
        self.load.get(replica).copied().unwrap_or(0)
    }

    fn take(&mut self, replica: &'offer str) -> bool {
        let load = self.load(replica);
        let is_extra = load == self.each && self.extra > 0;
        if load >= self.each && !is_extra {
            return false;
        }
        self.extra -= usize::from(is_extra);
        self.add(replica);
        true
    }

    fn add(&mut self, replica: &'offer str) {
        *self.load.entry(replica).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, btree_set};
    use proptest::prelude::*;

    use super::*;

    type Leadable = BTreeMap<String, BTreeSet<String>>;

    fn assigned(leadable: &Leadable) -> BTreeMap<String, String> {
        let result = assignments(leadable.iter().map(|(replica, mounts)| (replica.as_str(), mounts)));
        result.into_iter().map(|(mount, replica)| (mount.to_owned(), replica.to_owned())).collect()
    }

    fn everywhere(mounts: &BTreeSet<String>, replicas: impl IntoIterator<Item = String>) -> Leadable {
        replicas.into_iter().map(|replica| (replica, mounts.clone())).collect()
    }

    fn numbered(name: &str, count: usize) -> BTreeSet<String> {
        (0..count).map(|number| format!("{name}-{number}")).collect()
    }

    fn loads(leadable: &Leadable) -> BTreeMap<String, usize> {
        let mut loads: BTreeMap<String, usize> = leadable.keys().map(|replica| (replica.clone(), 0)).collect();
        for replica in assigned(leadable).into_values() {
            *loads.get_mut(&replica).unwrap() += 1;
        }
        loads
    }

    fn names(count: std::ops::Range<usize>) -> impl Strategy<Value = BTreeSet<String>> {
        btree_set("[a-z]{1,6}", count)
    }

    proptest! {
        #[test]
        fn loads_differ_by_one_at_most(mounts in names(1..40), replicas in names(1..8)) {
            let loads = loads(&everywhere(&mounts, replicas));
            let (least, most) = (loads.values().min().unwrap(), loads.values().max().unwrap());
            prop_assert!(most - least <= 1, "{loads:?}");
            prop_assert_eq!(loads.values().sum::<usize>(), mounts.len());
        }

        #[test]
        fn each_mount_goes_to_one_that_can_lead_it(leadable in btree_map("[a-z]{1,6}", names(0..20), 0..6)) {
            let assigned = assigned(&leadable);
            let mounts: BTreeSet<&String> = leadable.values().flatten().collect();
            prop_assert_eq!(assigned.keys().collect::<BTreeSet<_>>(), mounts);
            prop_assert!(assigned.iter().all(|(mount, replica)| leadable[replica].contains(mount)));
        }

        #[test]
        fn the_assignment_does_not_depend_on_the_order_of_replicas(mounts in names(1..20), replicas in names(1..8)) {
            let leadable = everywhere(&mounts, replicas);
            let backwards = leadable.iter().rev().map(|(replica, mounts)| (replica.as_str(), mounts));
            let backwards: BTreeMap<String, String> =
                assignments(backwards).into_iter().map(|(mount, replica)| (mount.to_owned(), replica.to_owned())).collect();
            prop_assert_eq!(assigned(&leadable), backwards);
        }

        #[test]
        fn a_replica_that_can_lead_nothing_does_not_change_the_assignment(mounts in names(1..20), replicas in names(1..8)) {
            let leadable = everywhere(&mounts, replicas);
            let mut with_idle = leadable.clone();
            with_idle.insert("IDLE".to_owned(), BTreeSet::new());
            prop_assert_eq!(assigned(&leadable), assigned(&with_idle));
        }
    }

    /// The mean and maximum of the mounts that move needlessly when a replica comes (or goes).
    fn moved_needlessly(mounts: usize, replicas: usize) -> (f64, usize) {
        let mut moved = Vec::new();
        for membership in 0..1000 {
            let mounts = numbered(&format!("mount-{membership}"), mounts);
            let before = everywhere(&mounts, numbered(&format!("replica-{membership}"), replicas));
            let mut after = before.clone();
            after.insert("newcomer".to_owned(), mounts);
            let (before, after) = (assigned(&before), assigned(&after));
            let elsewhere = after.iter().filter(|(mount, replica)| *replica != "newcomer" && before[*mount] != **replica);
            moved.push(elsewhere.count());
        }
        (moved.iter().sum::<usize>() as f64 / 1000.0, moved.into_iter().max().unwrap())
    }

    #[test]
    fn few_mounts_move_unnecessarily() {
        for (mounts, replicas, mean, most) in [(12, 2, 0.6, 3), (12, 3, 1.0, 4), (40, 4, 2.5, 8)] {
            let found = moved_needlessly(mounts, replicas);
            assert!(found.0 <= mean && found.1 <= most, "{mounts} mounts, {replicas} replicas: {found:?}");
        }
    }

    /// Replicas of different builds meet during a rollout: changing this changes the protocol.
    #[test]
    fn a_later_build_assigns_as_this_one_does() {
        let leadable = everywhere(&numbered("mount", 6), numbered("replica", 3));
        let assigned = assigned(&leadable);
        let replicas: Vec<&str> = assigned.values().map(String::as_str).collect();
        assert_eq!(replicas, ["replica-2", "replica-1", "replica-0", "replica-0", "replica-2", "replica-1"]);
    }
}
