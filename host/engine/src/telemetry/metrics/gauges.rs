//! The gauges that are determined for each scrape, and replace those of the scrape before.

use std::time::Duration;

use gyre_core::object::GroupVersionKind;
use gyre_core::queue::InProgress;
use gyre_sandbox::CompileReport;

use super::labels::{Mount, MountInfo, MountKind, MountState, MountWrite};
use super::{Form, Metrics, queue, watch};
use crate::target::Target;

/// The gauges that are determined for each scrape.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// Of all watches.
    pub watches: Vec<WatchGauges>,
    /// Of all mounts, by name.
    pub mounts: Vec<(String, MountGauges)>,
    /// Of all shadows, by the name of their mount.
    pub shadows: Vec<(String, Shadowed)>,
}

/// The gauges of a watch.
#[derive(Clone, Debug)]
pub struct WatchGauges {
    /// The target.
    pub target: Target,
    /// The time since it last received anything.
    pub silent_for: Duration,
    /// Whether it is connected.
    pub is_connected: bool,
}

/// The gauges of a mount.
#[derive(Clone, Debug)]
pub struct MountGauges {
    /// The version of its plugin.
    pub version: String,
    /// The digest of its plugin.
    pub digest: String,
    /// The digest of its plugin's manifest in a registry; empty if it comes from a file.
    pub artifact: String,
    /// The compilation of its plugin.
    pub compile: CompileReport,
    /// The running instances of its plugin.
    pub running: usize,
    /// The idle instances of its plugin.
    pub idle: usize,
    /// The keys in progress.
    pub in_progress: InProgress,
    /// Whether the whole mount is quarantined.
    pub is_quarantined: bool,
    /// The number of quarantined namespaces and cluster-scoped objects.
    pub quarantined_scopes: usize,
    /// The kinds that it waits for.
    pub awaited_kinds: Vec<GroupVersionKind>,
    /// The number of former kinds whose objects cannot be listed.
    pub unpruned_kinds: usize,
    /// The number of children whose deletion is held.
    pub held_deletions: u64,
}

/// The gauges of a shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// The parents that were compared.
    pub compared: usize,
    /// The parents that wait.
    pub waiting: usize,
    /// The compared parents that differ.
    pub diverging: usize,
    /// The differences, by verb.
    pub changes: Vec<(&'static str, usize)>,
}

impl Metrics {
    /// Replaces the gauges that are determined for each scrape, and returns the text of `/metrics`.
    pub fn scrape(&self, gauges: &Gauges, form: Form) -> Result<String, std::fmt::Error> {
        let _scrape = self.scrape.lock();
        self.watched(&gauges.watches);
        self.mounts(&gauges.mounts);
        self.shadows(&gauges.shadows);
        self.encode(form)
    }

    fn watched(&self, watches: &[WatchGauges]) {
        self.watch_silence.clear();
        self.watch_up.clear();
        for WatchGauges { target, silent_for, is_connected } in watches {
            self.watch_silence.get_or_create(&watch(target)).set(silent_for.as_secs() as i64);
            self.watch_up.get_or_create(&watch(target)).set(i64::from(*is_connected));
        }
    }

    fn mounts(&self, mounts: &[(String, MountGauges)]) {
        self.plugin_info.clear();
        self.compile_seconds.clear();
        self.instances.clear();
        self.unfinished_seconds.clear();
        self.longest_seconds.clear();
        self.quarantined.clear();
        self.quarantined_namespaces.clear();
        self.awaited_kinds.clear();
        self.unpruned_kinds.clear();
        self.held_deletions.clear();
        for (mount, gauges) in mounts {
            let labels = Mount::new(mount);
            let MountGauges { version, digest, artifact, .. } = gauges.clone();
            self.plugin_info.get_or_create(&MountInfo { mount: Mount::new(mount), version, digest, artifact }).set(1);
            self.compile_seconds.get_or_create(&labels).set(gauges.compile.duration.as_secs_f64());
            self.unpruned_kinds.get_or_create(&labels).set(gauges.unpruned_kinds as i64);
            self.quarantined.get_or_create(&labels).set(i64::from(gauges.is_quarantined));
            self.quarantined_namespaces.get_or_create(&labels).set(gauges.quarantined_scopes as i64);
            self.held_deletions.get_or_create(&labels).set(gauges.held_deletions as i64);
            for (state, count) in [("running", gauges.running), ("idle", gauges.idle)] {
                self.instances.get_or_create(&MountState { mount: Mount::new(mount), state }).set(count as i64);
            }
            self.unfinished_seconds.get_or_create(&queue(mount)).set(gauges.in_progress.total.as_secs_f64());
            self.longest_seconds.get_or_create(&queue(mount)).set(gauges.in_progress.longest.as_secs_f64());
            for kind in &gauges.awaited_kinds {
                self.awaited_kinds.get_or_create(&MountKind { mount: Mount::new(mount), kind: kind.to_string() }).set(1);
            }
        }
    }

    fn shadows(&self, shadows: &[(String, Shadowed)]) {
        self.shadowed_parents.clear();
        self.shadowed_changes.clear();
        for (mount, Shadowed { compared, waiting, diverging, changes }) in shadows {
            for (state, count) in [("compared", *compared), ("diverging", *diverging), ("waiting", *waiting)] {
                self.shadowed_parents.get_or_create(&MountState { mount: Mount::new(mount), state }).set(count as i64);
            }
            for (verb, count) in changes {
                self.shadowed_changes.get_or_create(&MountWrite { mount: Mount::new(mount), verb }).set(*count as i64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::target::Projection;

    #[test]
    fn scrapes_at_the_same_time_have_all_series() {
        let metrics = Arc::new(Metrics::default());
        let watch = |number: usize| WatchGauges {
            target: Target {
                kind: GroupVersionKind::new("", "v1", "Pod"),
                namespace: Some(format!("namespace-{number}")),
                label_selector: None,
                projection: Projection::Whole,
            },
            silent_for: Duration::ZERO,
            is_connected: true,
        };
        let gauges = Arc::new(Gauges { watches: (0..200).map(watch).collect(), ..Gauges::default() });
        let scrape = move || {
            let text = metrics.scrape(&gauges, Form::Text).unwrap();
            text.lines().filter(|line| line.starts_with("gyre_watch_connected{")).count()
        };
        let scrapers: Vec<_> = (0..4)
            .map(|_| {
                let scrape = scrape.clone();
                std::thread::spawn(move || (0..50).map(|_| scrape()).collect::<BTreeSet<usize>>())
            })
            .collect();
        for scraper in scrapers {
            assert_eq!(scraper.join().unwrap(), BTreeSet::from([200]));
        }
    }
}
