//! When a plugin that keeps failing by its own fault is no longer called.
//!
//! ```text
//!    closed ── faults in a row, of many ─▶ held ── after 30 s, 1 min, 2 min … 10 min ──▶ one call: the probe
//!      ▲                                    ▲                                              │
//!      │                                    └─────────────── a fault ──────────────────────┤
//!      └───────────────────────────────── an answer ───────────────────────────────────────┘
//! ```
//!
//! A plugin that traps or spins on whatever it is given costs a worker each time, and a fault repeated for every one of a thousand parents
//! says no more than a fault repeated for ten. What counts is the plugin as a whole: faults in a row, of so many different parents. Any
//! answer, a failure of the plugin's own telling too, says that the plugin works, and ends it all.
//!
//! One state for each mount and digest of its plugin: another digest begins anew.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::queue::Time;

/// How long the first probe waits. Soon enough that a passing cause (a host short of CPU makes calls run into their deadline) is not
/// noticed by people.
pub const FIRST_PROBE: Duration = Duration::from_secs(30);

/// No probe waits longer: someone who has removed the cause without changing the plugin waits for as long as this.
pub const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);

/// So many faults in a row make a mount suspect: one may be a parent that the plugin cannot bear, two are a beginning.
const SUSPECT_AFTER: u32 = 2;

/// Whether the plugin of one mount is called.
#[derive(Clone, Debug)]
pub struct Quarantine<K> {
    after: Option<u32>,
    /// The objects of these calls: fewer than `after`, until the plugin is held.
    culprits: BTreeSet<K>,
    /// How many calls in a row ended in a fault of the plugin's.
    faults: u32,
    record: Record,
    /// Apart from `held`, since a probe may outlast the quarantine that it was made in.
    probe: Probe,
    held: Option<Held>,
    /// How long the probe after the next one waits.
    wait: Duration,
}

/// Whether the plugin has ever answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    None,
    Answered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    None,
    Out,
}

/// Whether to make a call. Whoever gets [`Self::Call`] or [`Self::Probe`] hands it back to [`Quarantine::ended`], whatever happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Make it.
    Call,
    /// Make it: it decides whether the plugin is called again.
    Probe,
    /// Do not make it.
    Held {
        /// When to ask again. If the plugin recovers, [`Change::Recovered`] says so earlier.
        until: Time,
    },
}

/// How a call ended, as far as it says something about the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With an answer, and be it that the plugin says that it failed.
    Answered,
    /// By the plugin's fault: it trapped, or was stopped at one of its limits.
    PluginFault {
        /// The sandbox's word for it, in CamelCase.
        reason: &'static str,
    },
    /// By the host's fault, or it was not made at all.
    HostFault,
}

/// What the end of a call changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing that anyone needs to be told.
    None,
    /// The plugin is no longer called.
    Quarantined,
    /// It is called again: what was held is due.
    Recovered,
}

/// That a plugin is quarantined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Since when.
    pub since: Time,
    /// How many calls in a row ended in a fault of the plugin's, probes included.
    pub faults: u32,
    /// How the last of them ended, in CamelCase.
    pub reason: &'static str,
    /// When the next probe may be made. Past while one is being made.
    pub until: Time,
}

/// How many calls of a mount may run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// As many as the mount has workers.
    Full,
    /// One, since it has not answered yet, or its last calls ended in faults: a plugin that spins takes no more than one CPU.
    One,
}

impl<K: Clone + Ord> Quarantine<K> {
    /// For a plugin that has not been called yet. It is quarantined after faults in a row about so many different objects (0 is the same
    /// as 1); none: never. An object that the plugin cannot bear is thus held back by its own back-off, and not by a quarantine that
    /// would hold back all others, too: not everybody who may create an object may stop a plugin.
    pub fn new(after: Option<u32>) -> Self {
        Self {
            after,
            culprits: BTreeSet::new(),
            faults: 0,
            record: Record::None,
            probe: Probe::None,
            held: None,
            wait: FIRST_PROBE,
        }
    }

    /// Whether a call is made now.
    pub fn admit(&mut self, now: Time) -> Admission {
        match (self.held, self.probe) {
            (None, _) => Admission::Call,
            // Nobody knows when the probe ends; if it ends well, it is said.
            (Some(_), Probe::Out) => Admission::Held { until: now + self.wait },
            (Some(held), Probe::None) if now < held.until => Admission::Held { until: held.until },
            (Some(_), Probe::None) => {
                self.probe = Probe::Out;
                Admission::Probe
            }
        }
    }

    /// Takes note of how a call about that object ended, which was admitted like this.
    ///
    /// Calls that were in progress when the plugin was quarantined count for nothing, except that an answer is an answer. A probe that
    /// comes to no end by the host's fault may be repeated at once: it says nothing.
    pub fn ended(&mut self, object: &K, admission: Admission, end: End, now: Time) -> Change {
        if admission == Admission::Probe {
            self.probe = Probe::None;
        }
        match (end, &mut self.held) {
            (_, _) if matches!(admission, Admission::Held { .. }) => Change::None,
            (End::HostFault, _) => Change::None,
            (End::Answered, held) => {
                let change = if held.is_some() { Change::Recovered } else { Change::None };
                *self = Self { probe: self.probe, record: Record::Answered, ..Self::new(self.after) };
                change
            }
            (End::PluginFault { .. }, Some(_)) if admission == Admission::Call => Change::None,
            (End::PluginFault { reason }, Some(held)) => {
                self.faults = self.faults.saturating_add(1);
                *held = Held { faults: self.faults, reason, until: now + self.wait, ..*held };
                self.wait = self.wait.saturating_mul(2).min(LONGEST_WAIT);
                Change::None
            }
            (End::PluginFault { reason }, None) => {
                self.faults = self.faults.saturating_add(1);
                let Some(after) = self.after else { return Change::None };
                self.culprits.insert(object.clone());
                if self.culprits.len() < after as usize {
                    return Change::None;
                }
                self.culprits.clear();
                self.held = Some(Held { since: now, faults: self.faults, reason, until: now + self.wait });
                self.wait = self.wait.saturating_mul(2).min(LONGEST_WAIT);
                Change::Quarantined
            }
        }
    }

    /// The quarantine, if the plugin is in it.
    pub fn view(&self) -> Option<Held> {
        self.held
    }

    /// How many calls may run at once. Calls that already do are let be.
    pub fn share(&self) -> Share {
        let is_suspect = self.record == Record::None || self.faults >= SUSPECT_AFTER || self.held.is_some();
        if is_suspect { Share::One } else { Share::Full }
    }
}

#[cfg(test)]
mod tests;
