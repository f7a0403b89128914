//! Which plugins of a directory stay mounted: those in it, and those that vanished from it not long ago.
//!
//! ```text
//!   there ── vanishes ──▶ missing ── the grace period ends ──▶ given up: unmounted
//!     ▲                      │
//!     └───── comes back ─────┘
//! ```
//!
//! To unmount a plugin takes its finalizers off its parents, and their `finalize` is never called. A configuration file that no longer has a
//! mount means that; a directory that lacks a file for some seconds does not: a volume may be empty until it is filled, and a copy may
//! delete before it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gyre_core::queue::Time;
use gyre_sandbox::Digest;

/// How long a plugin that vanished stays mounted unless the operator says otherwise. Longer than it takes to fill a volume or to pull an
/// image, and short enough that somebody who did mean it sees it happen.
pub(crate) const GRACE: Duration = Duration::from_secs(5 * 60);

/// See the module's documentation. By default nothing that vanishes stays mounted.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    grace: Duration,
    /// What the configuration in force mounts from the directory.
    mounted: BTreeMap<PathBuf, Digest>,
    /// What this or an earlier configuration has mounted from the directory, for as long as it is mounted or listed in the directory.
    remembered: BTreeSet<PathBuf>,
    /// Since when each of these has been missing.
    missing: BTreeMap<PathBuf, Time>,
}

/// What came of a look at the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Looked {
    /// Missing, and still mounted: each with the plugin that was loaded from it.
    pub(super) kept: BTreeMap<PathBuf, Digest>,
    /// Those of them that were there at the last look.
    pub(super) vanished: Vec<PathBuf>,
    /// Missing for longer than the grace period.
    pub(super) given_up: Vec<PathBuf>,
}

impl Directory {
    /// The same, where what vanishes stays mounted for so long.
    #[must_use]
    pub(super) fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Whether the configuration in force mounts that plugin from the directory, or an earlier one did.
    pub(super) fn has_mounted(&self, plugin: &Path) -> bool {
        self.remembered.contains(plugin)
    }

    /// Forgets plugins that are neither mounted nor listed in the directory any more. A link that leads nowhere is listed.
    pub(super) fn forget_all_but(&mut self, listed: &BTreeSet<PathBuf>) {
        let Self { mounted, remembered, .. } = self;
        remembered.retain(|path| mounted.contains_key(path) || listed.contains(path));
    }

    /// How long what vanishes stays mounted.
    pub(super) fn grace(&self) -> Duration {
        self.grace
    }

    /// Looks at a directory that holds these plugins. What was mounted from another directory counts for nothing: that the file names
    /// this one is what its operator wants.
    pub(super) fn look(&mut self, directory: &Path, there: &BTreeSet<PathBuf>, now: Time) -> Looked {
        let mut looked = Looked::default();
        self.missing.retain(|path, _| !there.contains(path));
        let is_of_it = |path: &Path| path.parent() == Some(directory);
        for (path, digest) in self.mounted.iter().filter(|(path, _)| is_of_it(path) && !there.contains(*path)) {
            let is_new = !self.missing.contains_key(path);
            let since = *self.missing.entry(path.clone()).or_insert(now);
            if now.saturating_since(since) >= self.grace {
                looked.given_up.push(path.clone());
                continue;
            }
            if is_new {
                looked.vanished.push(path.clone());
            }
            looked.kept.insert(path.clone(), *digest);
        }
        looked
    }

    /// A configuration comes into force that mounts this from the directory.
    pub(super) fn mount(&mut self, mounted: BTreeMap<PathBuf, Digest>) {
        self.missing.retain(|path, _| mounted.contains_key(path));
        self.remembered.extend(mounted.keys().cloned());
        self.mounted = mounted;
    }

    /// When, after that time, the next grace period ends.
    pub(super) fn next_end(&self, after: Time) -> Option<Time> {
        self.missing.values().map(|since| *since + self.grace).filter(|end| *end > after).min()
    }
}

#[cfg(test)]
mod tests {
    use gyre_devcluster::random::Random;

    use super::*;

    const GRACE: Duration = Duration::from_secs(100);
    const FOLDER: &str = "/plugins";

    fn path(number: u8) -> PathBuf {
        Path::new(FOLDER).join(format!("{number}.wasm"))
    }

    fn digest(number: u8) -> Digest {
        Digest::of(&[number])
    }

    fn at(seconds: u64) -> Time {
        Time::from_duration(Duration::from_secs(seconds))
    }

    /// Looks, and mounts what is there and what is kept.
    fn look(directory: &mut Directory, there: &BTreeSet<u8>, now: Time) -> Looked {
        let paths = there.iter().map(|number| path(*number)).collect();
        let looked = directory.look(Path::new(FOLDER), &paths, now);
        let mut mounted = looked.kept.clone();
        mounted.extend(there.iter().map(|number| (path(*number), digest(*number))));
        directory.mount(mounted);
        looked
    }

    /// What is mounted after a look is exactly what was in the directory at some look within the grace period before.
    #[test]
    fn a_plugin_is_unmounted_once_it_has_been_missing_for_the_grace_period_and_never_before() {
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let mut directory = Directory::default().with_grace(GRACE);
            let mut now = 0;
            // Since when each one that is mounted has been missing, looked at naively.
            let mut model: BTreeMap<u8, Option<u64>> = BTreeMap::new();
            for _ in 0..30 {
                now += random.below(60);
                let there: BTreeSet<u8> = (0..4).filter(|_| random.below(2) == 0).collect();
                let looked = look(&mut directory, &there, at(now));
                let mut vanished = Vec::new();
                for (number, missing) in &mut model {
                    if there.contains(number) {
                        *missing = None;
                    } else if missing.is_none() {
                        *missing = Some(now);
                        vanished.push(path(*number));
                    }
                }
                let is_over = |since: &Option<u64>| since.is_some_and(|since| now - since >= GRACE.as_secs());
                let given_up = model.iter().filter(|(_, since)| is_over(since)).map(|(number, _)| path(*number)).collect();
                model.retain(|_, since| !is_over(since));
                model.extend(there.iter().map(|number| (*number, None)));
                let kept = model.iter().filter(|(_, since)| since.is_some());
                let kept = kept.map(|(number, _)| (path(*number), digest(*number))).collect();
                assert_eq!(looked, Looked { kept, vanished, given_up }, "seed {seed}");
                let ends = model.values().flatten().map(|since| at(*since) + GRACE).min();
                assert_eq!(directory.next_end(at(now)), ends, "seed {seed}");
            }
        }
    }

    #[test]
    fn without_a_grace_period_what_vanishes_is_unmounted_at_once() {
        let mut directory = Directory::default();
        look(&mut directory, &BTreeSet::from([1]), at(0));
        let looked = look(&mut directory, &BTreeSet::new(), at(1));
        assert_eq!(looked, Looked { given_up: vec![path(1)], ..Looked::default() });
        assert_eq!(directory.next_end(at(1)), None);
    }

    #[test]
    fn a_plugin_that_was_given_up_is_remembered_while_it_is_listed() {
        let mut directory = Directory::default();
        look(&mut directory, &BTreeSet::from([1, 2]), at(0));
        look(&mut directory, &BTreeSet::from([2]), at(1));
        directory.forget_all_but(&BTreeSet::from([path(1)]));
        assert!(directory.has_mounted(&path(1)) && directory.has_mounted(&path(2)));
        directory.forget_all_but(&BTreeSet::new());
        assert!(!directory.has_mounted(&path(1)));
        assert!(directory.has_mounted(&path(2)), "it is mounted");
    }

    #[test]
    fn a_change_to_another_directory_has_no_grace_period() {
        let mut directory = Directory::default().with_grace(GRACE);
        look(&mut directory, &BTreeSet::from([1]), at(0));
        assert_eq!(directory.look(Path::new("/others"), &BTreeSet::new(), at(1)), Looked::default());
    }

    #[test]
    fn a_grace_period_that_ended_while_the_configuration_was_refused_causes_no_further_wakeup() {
        let mut directory = Directory::default().with_grace(GRACE);
        look(&mut directory, &BTreeSet::from([1]), at(0));
        directory.look(Path::new(FOLDER), &BTreeSet::new(), at(10));
        assert_eq!(directory.next_end(at(10)), Some(at(110)));
        let looked = directory.look(Path::new(FOLDER), &BTreeSet::new(), at(110));
        assert_eq!((looked.given_up, directory.next_end(at(110))), (vec![path(1)], None));
    }
}
