//! The simulated world of elections.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::election::mounts::ListedLease;
use crate::election::{Lease, Record, Request, RequestResult};
use crate::queue::Time;
use crate::random::splitmix64;

/// Real time in microseconds, which no process knows.
pub(super) type RealTime = u64;

pub(super) const SECOND: RealTime = 1_000_000;
/// No request arrives later than this after it was sent.
pub(super) const LONGEST_DELAY: RealTime = 30 * SECOND;

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(splitmix64(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        splitmix64(self.0)
    }

    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.next() % 100 < chance
    }
}

/// The clock of a process: it starts at any value and runs at its own rate.
#[derive(Clone, Copy, Debug)]
struct Clock {
    real: RealTime,
    shown: u64,
    /// Microseconds per million real ones.
    rate: u64,
}

impl Clock {
    fn at(&self, real: RealTime) -> Time {
        let passed = u128::from(real - self.real) * u128::from(self.rate) / 1_000_000;
        Time::from_duration(Duration::from_micros(self.shown + passed as u64))
    }

    /// The real time at which the clock shows this.
    fn when(&self, time: Time) -> RealTime {
        let shown = time.as_duration().as_nanos().div_ceil(1000);
        let ahead = shown.saturating_sub(u128::from(self.shown));
        self.real + u64::try_from((ahead * 1_000_000).div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX / 2)
    }

    fn set_rate(&mut self, real: RealTime, rate: u64) {
        *self = Self { real, shown: self.at(real).as_duration().as_micros() as u64, rate };
    }
}

#[derive(Clone, Debug)]
pub(super) enum Call {
    Send { name: String, request: Request, leadable: BTreeSet<String> },
    List,
    Delete { name: String, resource_version: String },
}

#[derive(Clone, Debug)]
pub(super) enum Reply {
    Answer { name: String, answer: RequestResult },
    Listed(Option<Vec<ListedLease>>),
    Deleted,
}

#[derive(Default)]
pub(super) struct Effects {
    pub(super) calls: Vec<Call>,
    pub(super) wake: Option<Time>,
}

pub(super) trait Process {
    fn wake(&mut self, now: Time) -> Effects;
    fn answered(&mut self, reply: Reply, now: Time) -> Effects;
    fn claims(&self) -> impl Iterator<Item = (&str, Time)>;
    fn request_timeout(&self) -> Duration;
}

enum Event {
    Wake { process: usize, alarm: u64 },
    Arrives { process: usize, call: u64, what: Call },
    Replied { process: usize, call: u64, reply: Reply },
    TimedOut { process: usize, call: u64, what: Call },
}

struct Running<P> {
    process: P,
    clock: Clock,
    open: BTreeSet<u64>,
    alarm: u64,
    paused_until: RealTime,
    cut_off_until: RealTime,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    Chaos,
    Calm,
}

/// The range of the rates of clocks, in microseconds per million real ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) slowest: u64,
    pub(super) fastest: u64,
}

impl Rates {
    /// Rates whose slowest is slower than the fastest by this fraction.
    pub(super) fn apart(slowness: f64) -> Self {
        let root = (1.0 - slowness).sqrt();
        Self { slowest: (1e6 * root).ceil() as u64, fastest: (1e6 / root).floor() as u64 }
    }
}

pub(super) struct World<P> {
    pub(super) now: RealTime,
    pub(super) random: Random,
    pub(super) network: Network,
    rates: Rates,
    events: BTreeMap<(RealTime, u64), Event>,
    next: u64,
    leases: BTreeMap<String, Vec<Option<ListedLease>>>,
    resource_version: u64,
    running: BTreeMap<usize, Running<P>>,
    pub(super) violations: Vec<String>,
    pub(super) writes: u64,
}

impl<P: Process> World<P> {
    pub(super) fn new(seed: u64, rates: Rates) -> Self {
        Self {
            now: 0,
            random: Random::new(seed),
            network: Network::Calm,
            rates,
            events: BTreeMap::new(),
            next: 0,
            leases: BTreeMap::new(),
            resource_version: 0,
            running: BTreeMap::new(),
            violations: Vec::new(),
            writes: 0,
        }
    }

    pub(super) fn start(&mut self, id: usize, process: P) {
        let clock = Clock {
            real: self.now,
            shown: self.random.between(0, 1_000_000 * SECOND),
            rate: self.random.between(self.rates.slowest, self.rates.fastest),
        };
        let running = Running { process, clock, open: BTreeSet::new(), alarm: 0, paused_until: 0, cut_off_until: 0 };
        self.running.insert(id, running);
        self.step(id, |process, now| process.wake(now));
    }

    /// Its requests may still arrive.
    pub(super) fn kill(&mut self, id: usize) {
        self.running.remove(&id);
    }

    pub(super) fn ids(&self) -> Vec<usize> {
        self.running.keys().copied().collect()
    }

    pub(super) fn pause(&mut self, id: usize, lasts: RealTime) {
        let until = self.now + lasts;
        self.running.entry(id).and_modify(|running| running.paused_until = until);
    }

    pub(super) fn cut_off(&mut self, id: usize, lasts: RealTime) {
        let until = self.now + lasts;
        self.running.entry(id).and_modify(|running| running.cut_off_until = until);
    }

    pub(super) fn change_rate(&mut self, id: usize) {
        let rate = self.random.between(self.rates.slowest, self.rates.fastest);
        let now = self.now;
        self.running.entry(id).and_modify(|running| running.clock.set_rate(now, rate));
        self.push(now, |alarm| Event::Wake { process: id, alarm });
        let alarm = self.next - 1;
        self.running.entry(id).and_modify(|running| running.alarm = alarm);
    }

    pub(super) fn step(&mut self, id: usize, act: impl FnOnce(&mut P, Time) -> Effects) {
        let Some(running) = self.running.get_mut(&id) else { return };
        let now = running.clock.at(self.now);
        let effects = act(&mut running.process, now);
        let clock = running.clock;
        let times_out = clock.when(now + running.process.request_timeout());
        let is_cut_off = self.now < running.cut_off_until;
        self.check(id);
        if let Some(wake) = effects.wake {
            assert!(wake > now, "the process would run without pause");
            self.push(clock.when(wake), |alarm| Event::Wake { process: id, alarm });
            let alarm = self.next - 1;
            self.running.entry(id).and_modify(|running| running.alarm = alarm);
        }
        for what in effects.calls {
            let call = self.next;
            self.next += 1;
            self.running.entry(id).and_modify(|running| {
                running.open.insert(call);
            });
            let copy = what.clone();
            self.push(times_out, |_| Event::TimedOut { process: id, call, what: copy });
            self.send_message(is_cut_off, Event::Arrives { process: id, call, what });
        }
    }

    pub(super) fn run_until(&mut self, end: RealTime) {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= end) {
            let ((now, _), event) = entry.remove_entry();
            self.now = now;
            self.handle_event(event);
        }
        self.now = end;
    }

    pub(super) fn who_may_write(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut held: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (id, running) in &self.running {
            let now = running.clock.at(self.now);
            for (name, _) in running.process.claims().filter(|(_, until)| now < *until) {
                held.entry(name).or_default().push(*id);
            }
        }
        held
    }

    pub(super) fn process(&self, id: usize) -> &P {
        &self.running[&id].process
    }

    pub(super) fn lease(&self, name: &str) -> Option<&Lease> {
        Some(&self.leases.get(name)?.last()?.as_ref()?.lease)
    }

    pub(super) fn touch(&mut self, name: &str) {
        if let Some(found) = self.leases.get(name).and_then(|versions| versions.last()?.clone()) {
            self.write(name, found.lease.record, found.leadable);
        }
    }

    /// Returns the number of versions of a lease, for [`Self::restore`].
    pub(super) fn backup(&self, name: &str) -> usize {
        self.leases.get(name).map_or(0, Vec::len)
    }

    /// Restores a lease as it was at the time of a backup. Versions that are written later differ
    /// from all earlier ones, as in a cluster with many other objects.
    pub(super) fn restore(&mut self, name: &str, backup: usize) {
        self.leases.entry(name.to_owned()).or_default().truncate(backup);
    }

    /// Checks the law. Claims begin only with a step, so it is enough to check this process.
    fn check(&mut self, id: usize) {
        let valid = |running: &Running<P>, until| running.clock.at(self.now) < until;
        let Some(stepped) = self.running.get(&id) else { return };
        for (name, _) in stepped.process.claims().filter(|(_, until)| valid(stepped, *until)) {
            for (other, running) in self.running.iter().filter(|(other, _)| **other != id) {
                if running.process.claims().any(|(claimed, until)| claimed == name && valid(running, until)) {
                    self.violations.push(format!("at {} µs, {id} and {other} both have a claim to {name}", self.now));
                }
            }
        }
    }

    fn push(&mut self, at: RealTime, event: impl FnOnce(u64) -> Event) {
        let number = self.next;
        self.next += 1;
        self.events.insert((at, number), event(number));
    }

    fn send_message(&mut self, is_cut_off: bool, event: Event) {
        let delay = match self.network {
            Network::Calm => self.random.between(500, 20_000),
            Network::Chaos => match self.random.between(0, 99) {
                0..10 => return,
                10..15 => self.random.between(0, LONGEST_DELAY),
                15..30 => self.random.between(0, 3 * SECOND),
                _ => self.random.between(0, 50_000),
            },
        };
        if !is_cut_off {
            self.push(self.now + delay, |_| event);
        }
    }

    fn handle_event(&mut self, event: Event) {
        let (Event::Wake { process: id, .. }
        | Event::Arrives { process: id, .. }
        | Event::Replied { process: id, .. }
        | Event::TimedOut { process: id, .. }) = event;
        if let Event::Arrives { process, call, what } = event {
            let is_cut_off = self.running.get(&process).is_some_and(|running| self.now < running.cut_off_until);
            let reply = self.serve(what);
            self.send_message(is_cut_off, Event::Replied { process, call, reply });
            return;
        }
        let Some(running) = self.running.get_mut(&id) else { return };
        if self.now < running.paused_until {
            // A resumed process sees the events from the meantime in any order.
            let resumes = running.paused_until + self.random.between(0, 3);
            self.push(resumes, |_| event);
            return;
        }
        match event {
            // Pushed events get new numbers, so an alarm is known by its first number.
            Event::Wake { alarm, .. } if alarm == running.alarm => self.step(id, |process, now| process.wake(now)),
            Event::Replied { call, reply, .. } if running.open.remove(&call) => {
                self.step(id, |process, now| process.answered(reply, now));
            }
            Event::TimedOut { call, what, .. } if running.open.remove(&call) => {
                self.step(id, |process, now| process.answered(what.unanswered(), now));
            }
            _ => {}
        }
    }

    fn serve(&mut self, call: Call) -> Reply {
        // An overloaded server fails before or after it does the request.
        let (fails_before, fails_after) = match self.network {
            Network::Calm => (false, false),
            Network::Chaos => (self.random.percent(5), self.random.percent(5)),
        };
        if fails_before {
            return call.unanswered();
        }
        let reply = match &call {
            Call::Send { name, request, leadable } => {
                Reply::Answer { name: name.clone(), answer: self.serve_lease(name, request.clone(), leadable.clone()) }
            }
            Call::List => {
                let names: Vec<String> = self.leases.keys().cloned().collect();
                Reply::Listed(Some(names.iter().filter_map(|name| self.read(name)).collect()))
            }
            Call::Delete { name, resource_version } => {
                if self.lease(name).is_some_and(|lease| lease.resource_version == *resource_version) {
                    self.leases.entry(name.clone()).or_default().push(None);
                }
                Reply::Deleted
            }
        };
        if fails_after { call.unanswered() } else { reply }
    }

    fn serve_lease(&mut self, name: &str, request: Request, leadable: BTreeSet<String>) -> RequestResult {
        match request {
            Request::Read => self.read(name).map_or(RequestResult::NotFound, |found| RequestResult::Lease(found.lease)),
            Request::Create(record) => match self.lease(name) {
                Some(_) => RequestResult::Conflict,
                None => self.write(name, record, leadable),
            },
            Request::Replace { resource_version, record, .. } => match self.lease(name) {
                Some(lease) if lease.resource_version == resource_version => self.write(name, record, leadable),
                Some(_) => RequestResult::Conflict,
                None => RequestResult::NotFound,
            },
        }
    }

    /// Returns an old version at times, because reads need not be of the newest.
    fn read(&mut self, name: &str) -> Option<ListedLease> {
        let versions = self.leases.entry(name.to_owned()).or_default();
        let mut age = 0;
        while self.network == Network::Chaos && age + 1 < versions.len() && self.random.percent(10) {
            age += 1;
        }
        versions.iter().rev().nth(age)?.clone()
    }

    fn write(&mut self, name: &str, record: Record, leadable: BTreeSet<String>) -> RequestResult {
        assert!(record.duration_seconds > 0 && record.transitions >= 0, "the API server refuses {record:?}");
        self.resource_version += 1;
        self.writes += 1;
        let lease = Lease { resource_version: self.resource_version.to_string(), record };
        let found = ListedLease { name: name.to_owned(), lease: lease.clone(), leadable };
        self.leases.entry(name.to_owned()).or_default().push(Some(found));
        RequestResult::Lease(lease)
    }
}

impl Call {
    fn unanswered(&self) -> Reply {
        match self {
            Self::Send { name, .. } => Reply::Answer { name: name.clone(), answer: RequestResult::Unknown },
            Self::List => Reply::Listed(None),
            Self::Delete { .. } => Reply::Deleted,
        }
    }
}
