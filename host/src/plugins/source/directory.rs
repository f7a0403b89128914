//! The plugins of a directory that stay mounted: those in it, and those that vanished recently.
//!
//! ```text
//!   present ── vanishes ──▶ missing ── the grace period ends ──▶ given up: unmounted
//!      ▲                       │
//!      └────── comes back ─────┘
//! ```
//!
//! Unmounting a plugin removes the finalizers of its parents without calling `finalize`. That is
//! intended if a configuration file no longer has the mount, but not if a file is missing for some
//! seconds: a volume may be empty until it is filled, and a copy may delete the file first.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gyre_core::queue::Time;
use gyre_sandbox::Digest;

use crate::plugins::files::Files;

/// The default grace period: enough to fill a volume or pull an image.
pub(crate) const PLUGIN_DIR_GRACE: Duration = Duration::from_secs(5 * 60);

#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    grace: Duration,
    /// The plugins of the directory that the current configuration mounts.
    mounted: BTreeMap<PathBuf, Digest>,
    /// The plugins that this or an earlier configuration mounted, while they are mounted or listed.
    remembered: BTreeSet<PathBuf>,
    missing: BTreeMap<PathBuf, Time>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DirectoryScan {
    /// Missing, and still mounted, with their digests.
    pub(crate) kept: BTreeMap<PathBuf, Digest>,
    /// Present at the previous scan, and missing now.
    pub(crate) vanished: Vec<PathBuf>,
    /// Missing for longer than the grace period.
    pub(crate) given_up: Vec<PathBuf>,
}

impl Directory {
    #[must_use]
    pub(crate) fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Lists the plugins in a directory, and scans it.
    pub(crate) fn list(&mut self, directory: &Path, files: &mut Files, now: Time) -> io::Result<(Vec<PathBuf>, DirectoryScan)> {
        let mut plugins = files.list(directory)?;
        self.forget_all_but(&plugins.iter().cloned().collect());
        plugins.retain(|plugin| {
            // A dangling link that was never mounted fails when it is read.
            if !self.has_mounted(plugin) {
                return true;
            }
            // A vanished link. Its target may return without a change of the directory.
            files.track(plugin);
            plugin.exists()
        });
        let scan = self.scan(directory, &plugins.iter().cloned().collect(), now);
        Ok((plugins, scan))
    }

    fn has_mounted(&self, plugin: &Path) -> bool {
        self.remembered.contains(plugin)
    }

    /// Forgets plugins that are neither mounted nor listed any more. Dangling links are listed.
    fn forget_all_but(&mut self, listed: &BTreeSet<PathBuf>) {
        let Self { mounted, remembered, .. } = self;
        remembered.retain(|path| mounted.contains_key(path) || listed.contains(path));
    }

    pub(crate) fn grace(&self) -> Duration {
        self.grace
    }

    /// Scans a directory with these plugins. Gives up plugins of another directory at once.
    fn scan(&mut self, directory: &Path, there: &BTreeSet<PathBuf>, now: Time) -> DirectoryScan {
        let mut scan = DirectoryScan::default();
        self.missing.retain(|path, _| !there.contains(path));
        let is_of_it = |path: &Path| path.parent() == Some(directory);
        for (path, digest) in self.mounted.iter().filter(|(path, _)| is_of_it(path) && !there.contains(*path)) {
            let is_new = !self.missing.contains_key(path);
            let since = *self.missing.entry(path.clone()).or_insert(now);
            if now.saturating_since(since) >= self.grace {
                scan.given_up.push(path.clone());
                continue;
            }
            if is_new {
                scan.vanished.push(path.clone());
            }
            scan.kept.insert(path.clone(), *digest);
        }
        scan
    }

    pub(crate) fn mount(&mut self, mounted: BTreeMap<PathBuf, Digest>) {
        self.missing.retain(|path, _| mounted.contains_key(path));
        self.remembered.extend(mounted.keys().cloned());
        self.mounted = mounted;
    }

    pub(crate) fn next_end(&self, after: Time) -> Option<Time> {
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

    fn scan_and_mount(directory: &mut Directory, there: &BTreeSet<u8>, now: Time) -> DirectoryScan {
        let paths = there.iter().map(|number| path(*number)).collect();
        let scan = directory.scan(Path::new(FOLDER), &paths, now);
        let mut mounted = scan.kept.clone();
        mounted.extend(there.iter().map(|number| (path(*number), digest(*number))));
        directory.mount(mounted);
        scan
    }

    /// The mounted plugins are those that a scan within the last grace period found.
    #[test]
    fn a_plugin_is_unmounted_once_it_has_been_missing_for_the_grace_period_and_never_before() {
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let mut directory = Directory::default().with_grace(GRACE);
            let mut now = 0;
            // A naive model: the time since when each mounted plugin is missing.
            let mut model: BTreeMap<u8, Option<u64>> = BTreeMap::new();
            for _ in 0..30 {
                now += random.below(60);
                let there: BTreeSet<u8> = (0..4).filter(|_| random.below(2) == 0).collect();
                let scan = scan_and_mount(&mut directory, &there, at(now));
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
                assert_eq!(scan, DirectoryScan { kept, vanished, given_up }, "seed {seed}");
                let ends = model.values().flatten().map(|since| at(*since) + GRACE).min();
                assert_eq!(directory.next_end(at(now)), ends, "seed {seed}");
            }
        }
    }

    #[test]
    fn without_a_grace_period_a_missing_plugin_is_unmounted_at_once() {
        let mut directory = Directory::default();
        scan_and_mount(&mut directory, &BTreeSet::from([1]), at(0));
        let scan = scan_and_mount(&mut directory, &BTreeSet::new(), at(1));
        assert_eq!(scan, DirectoryScan { given_up: vec![path(1)], ..DirectoryScan::default() });
        assert_eq!(directory.next_end(at(1)), None);
    }

    #[test]
    fn a_plugin_that_was_given_up_is_remembered_while_it_is_listed() {
        let mut directory = Directory::default();
        scan_and_mount(&mut directory, &BTreeSet::from([1, 2]), at(0));
        scan_and_mount(&mut directory, &BTreeSet::from([2]), at(1));
        directory.forget_all_but(&BTreeSet::from([path(1)]));
        assert!(directory.has_mounted(&path(1)) && directory.has_mounted(&path(2)));
        directory.forget_all_but(&BTreeSet::new());
        assert!(!directory.has_mounted(&path(1)));
        assert!(directory.has_mounted(&path(2)), "it is mounted");
    }

    #[test]
    fn a_change_to_another_directory_has_no_grace_period() {
        let mut directory = Directory::default().with_grace(GRACE);
        scan_and_mount(&mut directory, &BTreeSet::from([1]), at(0));
        assert_eq!(directory.scan(Path::new("/others"), &BTreeSet::new(), at(1)), DirectoryScan::default());
    }

    #[test]
    fn a_grace_period_that_ended_while_the_configuration_was_refused_causes_no_further_wakeup() {
        let mut directory = Directory::default().with_grace(GRACE);
        scan_and_mount(&mut directory, &BTreeSet::from([1]), at(0));
        directory.scan(Path::new(FOLDER), &BTreeSet::new(), at(10));
        assert_eq!(directory.next_end(at(10)), Some(at(110)));
        let scan = directory.scan(Path::new(FOLDER), &BTreeSet::new(), at(110));
        assert_eq!((scan.given_up, directory.next_end(at(110))), (vec![path(1)], None));
    }
}
