//! The mounts that one of several replicas leads.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::assignment::assignments;
use super::elector::{self, Elector, Goal, NoIdentity, Request, RequestResult};
use super::peers::Peers;
use super::{Lease, Timing};
use crate::queue::Time;
use crate::random::splitmix64;

pub use super::peers::ListedLease;

/// The lease durations for which a fallback keeps a mount. Otherwise the mount would change back
/// and forth if the assigned replica cannot lead it, and have no leader half of the time.
const FALLBACK_KEEPS: u32 = 10;

/// The limit of the API server for the value of a label.
const LONGEST_LABEL: usize = 63;

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time passed.
    Tick,
    /// All Leases of the deployment, or `None` if listing failed.
    Listed(Option<Vec<ListedLease>>),
    /// The result of a request about the Lease of this name.
    Answered(String, RequestResult),
    /// Nobody writes for this mount any more.
    Drained(String),
    /// The mounts that this replica can lead.
    Mounts(BTreeSet<String>),
    /// The process is about to end, and nobody writes for any mount any more.
    Leave,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// List all Leases of this deployment, with the newest version of each.
    List,
    /// Send a request, other than a read, about a Lease.
    Send {
        /// The name of the Lease.
        name: String,
        /// The request.
        request: Request,
        /// The mounts that this replica can lead, for its own Lease.
        leadable: Option<BTreeSet<String>>,
    },
    /// Delete this version of a Lease. Its result need not be reported.
    Delete {
        /// The name of the Lease.
        name: String,
        /// The version that must still exist.
        resource_version: String,
    },
    /// Start no more work for a mount, and report when the current work has ended.
    Drain(String),
    /// All leases are released: nothing else will be requested.
    Left,
}

/// Decides which mounts this replica leads, with a lease for each. See [the module](super).
#[derive(Clone, Debug)]
pub struct MountElector {
    names: Names,
    /// The Lease that shows that this replica is alive.
    own: String,
    identity: String,
    timing: Timing,
    random: u64,
    presence: Member,
    mounts: BTreeMap<String, Mount>,
    leadable: BTreeSet<String>,
    peers: Peers,
    listing: Listing,
    stage: Stage,
    /// The assigned replica of each mount, and the alive replicas that it was computed from.
    assigned: BTreeMap<String, String>,
    assigned_among: BTreeMap<String, BTreeSet<String>>,
}

/// The names of the Leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names(String);

impl Names {
    /// The names for a deployment.
    pub fn new(deployment: &str) -> Self {
        Self(deployment.to_owned())
    }

    /// The Lease of a mount. The dot separates deployments, because names of mounts have none.
    pub fn mount(&self, mount: &str) -> String {
        format!("{}.{mount}", self.0)
    }

    /// The Lease that shows that a replica is alive. It contains the identity as far as a name can.
    pub fn replica(&self, identity: &str) -> String {
        let digest = digest(identity);
        let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let readable: String = identity.chars().map(letter).skip_while(|letter| *letter == '-').take(50).collect();
        format!("{}{readable}{}{digest}", self.replicas(), if readable.is_empty() { "" } else { "-" })
    }

    /// The value of the label that selects them: the deployment's name, cut if necessary.
    pub fn label(&self) -> String {
        if self.0.len() <= LONGEST_LABEL {
            return self.0.clone();
        }
        let readable: String = self.0.chars().take(LONGEST_LABEL - 9).collect();
        format!("{readable}-{}", digest(&self.0))
    }

    fn replicas(&self) -> String {
        format!("{}.replica.", self.0)
    }
}

/// Distinguishes names that are equal once they are cut.
fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// It announces that it leaves, so that the others know who takes which free lease.
    Retiring {
        until: Time,
    },
    Leaving,
    Left,
}

#[derive(Clone, Copy, Debug)]
struct Listing {
    asked: Option<Time>,
    due: Time,
    is_known: bool,
}

#[derive(Clone, Debug)]
struct Member {
    elector: Elector,
    reads: Option<Time>,
    wake: Option<Time>,
    has_left: bool,
}

#[derive(Clone, Debug)]
struct Mount {
    name: String,
    member: Member,
    turn: Turn,
    kept_until: Option<Time>,
}

/// The hand-over of a mount between replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// No hand-over is in progress.
    Settled,
    /// It leads the mount until its work has ended.
    Draining,
    /// It does not lead the mount any more, and is releasing the lease.
    GivingBack,
}

impl MountElector {
    /// An elector for a replica that can lead these mounts. The identity must be unique.
    ///
    /// # Errors
    ///
    /// If the identity is empty.
    pub fn new(
        names: Names,
        identity: String,
        timing: Timing,
        leadable: BTreeSet<String>,
        seed: u64,
    ) -> Result<Self, NoIdentity> {
        let presence = Member::new(Elector::new(identity.clone(), timing, Goal::Lead, seed)?);
        Ok(Self {
            own: names.replica(&identity),
            names,
            identity,
            timing,
            random: splitmix64(seed),
            presence,
            mounts: BTreeMap::new(),
            leadable,
            peers: Peers::new(timing),
            listing: Listing { asked: None, due: Time::default(), is_known: false },
            stage: Stage::Running,
            assigned: BTreeMap::new(),
            assigned_among: BTreeMap::new(),
        })
    }

    /// Processes an input and returns the next actions.
    ///
    /// # Assumptions
    ///
    /// As for [`Elector::step`]. Each request but [`Action::Delete`] is answered once, and so is
    /// [`Action::Drain`], with [`Input::Drained`].
    ///
    /// # Guarantees
    ///
    /// There is at most one list, and one request about each Lease, at a time.
    pub fn step(&mut self, input: Input, now: Time) -> Vec<Action> {
        if self.stage == Stage::Left {
            return Vec::new();
        }
        let mut actions = Vec::new();
        match input {
            Input::Tick => {}
            Input::Listed(found) => self.listed(found, now, &mut actions),
            Input::Answered(name, answer) => self.answered(&name, answer, now, &mut actions),
            Input::Drained(mount) => {
                if let Some(mount) = self.mounts.get_mut(&mount).filter(|mount| mount.turn == Turn::Draining) {
                    mount.turn = Turn::GivingBack;
                }
            }
            Input::Mounts(mounts) => self.leadable = mounts,
            Input::Leave if self.stage == Stage::Running => {
                self.stage = Stage::Retiring { until: now + self.timing.retry_period() };
            }
            Input::Leave => {}
        }
        self.proceed(now, &mut actions);
        self.list(now, &mut actions);
        actions
    }

    /// The time of the next tick, later than the last step, if nothing else happens.
    pub fn wakeup(&self, now: Time) -> Option<Time> {
        let members = self.mounts.values().map(|mount| &mount.member).chain([&self.presence]);
        let retires = match self.stage {
            Stage::Running => self.peers.next_end(now),
            Stage::Retiring { until } => Some(until),
            Stage::Leaving => None,
            Stage::Left => return None,
        };
        let lists = self.listing.asked.is_none().then_some(self.listing.due);
        members.filter_map(|member| member.wake).chain(retires).chain(lists).min()
    }

    /// Until when this replica may write for a mount, or `None` if it may not.
    pub fn claim(&self, mount: &str) -> Option<Time> {
        self.mounts.get(mount)?.member.elector.claim()
    }

    /// The holder in the lease of a mount, as last seen. The lease may have expired.
    pub fn holder(&self, mount: &str) -> Option<&str> {
        self.mounts.get(mount)?.member.elector.holder()
    }

    /// The mounts that this replica may write for, each with the end of its claim.
    pub fn claims(&self) -> impl Iterator<Item = (&str, Time)> {
        self.mounts.iter().filter_map(|(name, mount)| Some((name.as_str(), mount.member.elector.claim()?)))
    }

    /// The identity of this process.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The assigned replica of each mount, as far as this replica knows.
    pub fn assigned(&self) -> &BTreeMap<String, String> {
        &self.assigned
    }

    fn listed(&mut self, found: Option<Vec<ListedLease>>, now: Time, actions: &mut Vec<Action>) {
        let Some(asked) = self.listing.asked.take() else { return };
        let Some(found) = found else {
            let members = self.mounts.values_mut().map(|mount| &mut mount.member).chain([&mut self.presence]);
            for member in members.filter(|member| member.reads.is_some_and(|reads| reads <= asked)) {
                member.reads = None;
                member.elector.answered(RequestResult::Unknown, now);
            }
            return;
        };
        self.listing.is_known = true;
        let (prefix, own) = (self.names.replicas(), self.own.clone());
        let (replicas, others): (Vec<ListedLease>, Vec<ListedLease>) =
            found.into_iter().partition(|found| found.name.starts_with(&prefix) && found.name != own);
        self.peers.record_listed(replicas, now);
        for (name, resource_version) in self.peers.sweep(now) {
            actions.push(Action::Delete { name, resource_version });
        }
        // Goals come first, so that the steps below take no mount that another replica should lead.
        self.set_goals(now, actions);
        let mut leases: BTreeMap<String, Lease> = others.into_iter().map(|found| (found.name, found.lease)).collect();
        let presence = leases.remove(&own);
        let leadable = &self.leadable;
        self.presence.step(
            elector::Input::Seen(asked, presence),
            now,
            |request| Action::presence(&own, request, leadable),
            actions,
        );
        for Mount { name, member, .. } in self.mounts.values_mut() {
            let seen = elector::Input::Seen(asked, leases.remove(name));
            member.step(seen, now, |request| Action::mount(name, request), actions);
        }
    }

    fn answered(&mut self, name: &str, answer: RequestResult, now: Time, actions: &mut Vec<Action>) {
        let input = elector::Input::Answer(answer);
        if name == self.own {
            let leadable = &self.leadable;
            self.presence.step(input, now, |request| Action::presence(name, request, leadable), actions);
        } else if let Some((_, mount)) = self.mounts.iter_mut().find(|(_, mount)| mount.name == name) {
            mount.member.step(input, now, |request| Action::mount(name, request), actions);
        }
    }

    fn proceed(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.set_goals(now, actions);
        let (own, leadable) = (&self.own, &self.leadable);
        self.presence.step(elector::Input::Tick, now, |request| Action::presence(own, request, leadable), actions);
        for Mount { name, member, .. } in self.mounts.values_mut() {
            member.step(elector::Input::Tick, now, |request| Action::mount(name, request), actions);
        }
        self.mounts.retain(|_, mount| !mount.member.has_left);
        match self.stage {
            Stage::Retiring { until } if self.presence.has_left || until <= now => {
                self.stage = Stage::Leaving;
                self.proceed(now, actions);
            }
            Stage::Leaving if self.presence.has_left && self.mounts.is_empty() => {
                self.stage = Stage::Left;
                if let Some(Lease { resource_version, .. }) = self.presence.elector.lease() {
                    actions.push(Action::Delete { name: self.own.clone(), resource_version: resource_version.clone() });
                }
                actions.push(Action::Left);
            }
            _ => {}
        }
    }

    fn list(&mut self, now: Time, actions: &mut Vec<Action>) {
        let reads = self.mounts.values().any(|mount| mount.member.reads.is_some()) || self.presence.reads.is_some();
        if self.stage != Stage::Left && self.listing.asked.is_none() && (reads || self.listing.due <= now) {
            self.random = splitmix64(self.random);
            self.listing.asked = Some(now);
            self.listing.due = now + self.timing.pause(self.random);
            actions.push(Action::List);
        }
    }

    fn set_goals(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.stage != Stage::Running {
            self.presence.set_goal(Goal::Leave, now);
            if self.stage == Stage::Leaving {
                self.mounts.values_mut().for_each(|mount| mount.member.set_goal(Goal::Leave, now));
            }
            return;
        }
        if !self.listing.is_known {
            return;
        }
        self.assign(now);
        for name in &self.leadable {
            if !self.mounts.contains_key(name) {
                let elector = Elector::new(self.identity.clone(), self.timing, Goal::Follow, self.random ^ seed_of(name));
                // The identity is not empty: it was checked in `new`.
                let Ok(elector) = elector else { continue };
                let (lease, member) = (self.names.mount(name), Member::new(elector));
                self.mounts.insert(name.clone(), Mount { name: lease, member, turn: Turn::Settled, kept_until: None });
            }
        }
        let hysteresis = self.timing.lease_duration();
        for (name, mount) in &mut self.mounts {
            let assigned = self.assigned.get(name).map(String::as_str);
            let is_leadable = self.leadable.contains(name);
            let wants_it_back = |peer| self.peers.alive_since(peer, now).is_some_and(|since| since + hysteresis <= now);
            let is_wanted = !is_leadable || assigned.is_some_and(|peer| peer != self.identity && wants_it_back(peer));
            match mount
                .decide(MountSituation { is_mine: assigned == Some(&self.identity), is_leadable, is_wanted, hysteresis }, now)
            {
                Decision::Drain => actions.push(Action::Drain(name.clone())),
                Decision::Pursue(goal) => mount.member.set_goal(goal, now),
            }
        }
    }

    fn assign(&mut self, now: Time) {
        let me = (self.identity.as_str(), &self.leadable);
        let among: BTreeMap<&str, &BTreeSet<String>> = self.peers.alive(now).chain([me]).collect();
        let known = self.assigned_among.iter().map(|(replica, leadable)| (replica.as_str(), leadable));
        if known.eq(among.iter().map(|(replica, leadable)| (*replica, *leadable))) {
            return;
        }
        let assigned = assignments(among.iter().map(|(replica, leadable)| (*replica, *leadable)));
        let assigned = assigned.into_iter().map(|(mount, replica)| (mount.to_owned(), replica.to_owned())).collect();
        let among = among.into_iter().map(|(replica, leadable)| (replica.to_owned(), leadable.clone())).collect();
        (self.assigned, self.assigned_among) = (assigned, among);
    }
}

#[derive(Clone, Copy)]
struct MountSituation {
    is_mine: bool,
    is_leadable: bool,
    is_wanted: bool,
    hysteresis: Duration,
}

enum Decision {
    Drain,
    Pursue(Goal),
}

impl Mount {
    fn decide(&mut self, situation: MountSituation, now: Time) -> Decision {
        let may_hold = self.member.elector.may_hold();
        if self.turn == Turn::GivingBack && !may_hold {
            self.turn = Turn::Settled;
        }
        match self.turn {
            Turn::Draining => Decision::Pursue(Goal::Lead),
            Turn::GivingBack => Decision::Pursue(if situation.is_leadable { Goal::Follow } else { Goal::Leave }),
            Turn::Settled if situation.is_mine && situation.is_leadable => {
                self.kept_until = None;
                Decision::Pursue(Goal::Lead)
            }
            Turn::Settled if may_hold => {
                let is_kept = situation.is_leadable && self.kept_until.is_some_and(|until| now < until);
                if !situation.is_wanted || is_kept {
                    return Decision::Pursue(Goal::Lead);
                }
                self.kept_until = None;
                self.turn = Turn::Draining;
                Decision::Drain
            }
            Turn::Settled if !situation.is_leadable => Decision::Pursue(Goal::Leave),
            // The assigned replica does not take it.
            Turn::Settled if self.member.elector.free_since(now).is_some_and(|since| since + situation.hysteresis <= now) => {
                self.kept_until = Some(now + situation.hysteresis * FALLBACK_KEEPS);
                Decision::Pursue(Goal::Lead)
            }
            Turn::Settled => Decision::Pursue(Goal::Follow),
        }
    }
}

impl Member {
    fn new(elector: Elector) -> Self {
        Self { elector, reads: None, wake: None, has_left: false }
    }

    /// The requests for the goal follow in the same step.
    fn set_goal(&mut self, goal: Goal, now: Time) {
        self.elector.set_goal(goal, now);
    }

    fn step(&mut self, input: elector::Input, now: Time, action: impl FnOnce(Request) -> Action, actions: &mut Vec<Action>) {
        match self.elector.step(input, now) {
            elector::Action::Send(Request::Read) => {
                self.wake = None;
                self.reads = Some(now);
            }
            elector::Action::Send(request) => {
                (self.wake, self.reads) = (None, None);
                actions.push(action(request));
            }
            elector::Action::Wait(until) => (self.wake, self.reads) = (Some(until), None),
            elector::Action::Pending => self.wake = None,
            elector::Action::Left => {
                (self.wake, self.reads) = (None, None);
                self.has_left = true;
            }
        }
    }
}

impl Action {
    fn mount(name: &str, request: Request) -> Self {
        Self::Send { name: name.to_owned(), request, leadable: None }
    }

    fn presence(name: &str, request: Request, leadable: &BTreeSet<String>) -> Self {
        Self::Send { name: name.to_owned(), request, leadable: Some(leadable.clone()) }
    }
}

/// Different seeds, so that mounts do not act in step.
fn seed_of(name: &str) -> u64 {
    name.bytes().fold(0, |seed, byte| splitmix64(seed ^ u64::from(byte)))
}
