//! One lease that several processes compete for.

use std::collections::BTreeSet;
use std::time::Duration;

use super::world::{Call, Effects, LONGEST_DELAY, Network, Process, Random, Rates, RealTime, Reply, SECOND, World};
use crate::election::{Action, Elector, Goal, Input, Timing};
use crate::queue::Time;

const NAME: &str = "lease";
/// An upper bound for the requests of a takeover in a calm network.
const ROUND_TRIPS: RealTime = 200_000;

struct Single {
    elector: Elector,
    timing: Timing,
}

impl Single {
    fn new(identity: &str, timing: Timing, seed: u64) -> Self {
        Self { elector: Elector::new(identity.to_owned(), timing, Goal::Lead, seed).unwrap(), timing }
    }

    fn act(&mut self, input: Input, now: Time) -> Effects {
        match self.elector.step(input, now) {
            Action::Send(request) => {
                Effects { calls: vec![Call::Send { name: NAME.to_owned(), request, leadable: BTreeSet::new() }], wake: None }
            }
            Action::Wait(until) => Effects { calls: Vec::new(), wake: Some(until) },
            Action::Pending | Action::Left => Effects::default(),
        }
    }
}

impl Process for Single {
    fn wake(&mut self, now: Time) -> Effects {
        self.act(Input::Tick, now)
    }

    fn answered(&mut self, reply: Reply, now: Time) -> Effects {
        let Reply::Answer { answer, .. } = reply else { return Effects::default() };
        self.act(Input::Answer(answer), now)
    }

    fn claims(&self) -> impl Iterator<Item = (&str, Time)> {
        self.elector.claim().map(|until| (NAME, until)).into_iter()
    }

    fn request_timeout(&self) -> Duration {
        self.timing.request_timeout()
    }
}

struct Election {
    world: World<Single>,
    timings: Vec<Timing>,
    rates: Rates,
    started: u64,
    seed: u64,
}

fn timing(lease: u64, renew: u64, retry: u64) -> Timing {
    let milliseconds = Duration::from_millis;
    Timing::new(milliseconds(lease), milliseconds(renew), milliseconds(retry)).unwrap()
}

impl Election {
    /// `excess` is how much further apart than tolerated the clocks are.
    fn new(seed: u64, excess: f64) -> Self {
        let mut random = Random::new(seed);
        let all = [Timing::default(), timing(4_000, 3_000, 1_000), timing(30_000, 15_000, 5_000)];
        // During a rollout to other times, both are in use.
        let timings: Vec<Timing> = (0..random.between(1, 2)).map(|_| all[random.between(0, 2) as usize]).collect();
        let tolerated = timings.iter().map(Timing::tolerated_slowness).fold(1.0, f64::min);
        let rates = Rates::apart(tolerated + excess);
        Self { world: World::new(seed, rates), timings, rates, started: 0, seed }
    }

    fn start(&mut self, id: usize) {
        let timing = self.timings[id % self.timings.len()];
        self.started += 1;
        let identity = format!("{id}_{}", self.started);
        self.world.start(id, Single::new(&identity, timing, self.seed ^ self.started));
    }

    fn chaos(&mut self, processes: usize, lasts: RealTime) {
        let end = self.world.now + lasts;
        self.world.network = Network::Chaos;
        while self.world.now < end {
            let id = self.world.random.between(0, processes as u64 - 1) as usize;
            let lasts = self.world.random.between(0, 30 * SECOND);
            match self.world.random.between(0, 99) {
                0..25 => self.world.pause(id, lasts),
                25..45 => self.world.cut_off(id, lasts),
                45..60 => self.world.change_rate(id),
                60..75 => self.world.kill(id),
                75..78 => self.world.touch(NAME),
                78..82 => self.give_back(id, Goal::Leave),
                82..88 => self.give_back(id, Goal::Follow),
                _ => self.give_back(id, Goal::Lead),
            }
            let next = self.world.now + self.world.random.between(0, 8 * SECOND);
            self.world.run_until(next);
            for id in 0..processes {
                if !self.world.ids().contains(&id) && self.world.random.percent(40) {
                    self.start(id);
                }
            }
        }
        // In a calm network all processes run, and no old message is on its way.
        self.world.network = Network::Calm;
        self.world.run_until(end + LONGEST_DELAY + 9 * SECOND);
        for id in 0..processes {
            let has_left = |world: &World<Single>| world.process(id).elector.goal() == Goal::Leave;
            if !self.world.ids().contains(&id) || has_left(&self.world) {
                self.start(id);
            }
            self.give_back(id, Goal::Lead);
        }
    }

    fn give_back(&mut self, id: usize, goal: Goal) {
        self.world.step(id, |process, now| process.act(Input::Goal(goal), now));
    }

    fn real(&self, of: impl Fn(&Timing) -> Duration) -> RealTime {
        let longest = self.timings.iter().map(of).max().unwrap();
        longest.as_micros() as u64 * 1_000_000 / self.rates.slowest
    }

    fn holder(&self) -> Option<usize> {
        let holders = self.world.who_may_write().remove(NAME).unwrap_or_default();
        assert!(holders.len() <= 1, "seed {}: {holders:?}", self.seed);
        holders.first().copied()
    }

    fn expect_holder_within(&mut self, limit: RealTime, when: &str) -> usize {
        let end = self.world.now + limit;
        while self.world.now < end {
            self.world.run_until(self.world.now + 10_000);
            if let Some(holder) = self.holder() {
                return holder;
            }
        }
        panic!("seed {}: nobody may write {limit} µs {when}; {:?}", self.seed, self.world.lease(NAME));
    }
}

#[derive(Debug, Default)]
struct Seen {
    violations: Vec<String>,
    transitions: i32,
    writes: u64,
}

fn simulate(seed: u64, excess: f64) -> (Election, Seen) {
    let mut election = Election::new(seed, excess);
    let processes = election.world.random.between(2, 4) as usize;
    for id in 0..processes {
        election.start(id);
    }
    let lasts = election.world.random.between(30 * SECOND, 180 * SECOND);
    election.chaos(processes, lasts);
    let violations = std::mem::take(&mut election.world.violations);
    let transitions = election.world.lease(NAME).map_or(0, |lease| lease.record.transitions);
    let seen = Seen { violations, transitions, writes: election.world.writes };
    (election, seen)
}

fn progresses(election: &mut Election) {
    let takeover = election.real(|timing| timing.lease_duration() + timing.retry_period()) + ROUND_TRIPS;
    let holder = election.expect_holder_within(takeover, "after faults stopped");
    let transitions = election.world.lease(NAME).unwrap().record.transitions;
    for _ in 0..60 {
        election.world.run_until(election.world.now + SECOND);
        assert_eq!(election.holder(), Some(holder), "seed {}: without a fault the claim changes", election.seed);
    }
    assert_eq!(election.world.lease(NAME).unwrap().record.transitions, transitions);

    let retry = election.real(Timing::retry_period) + ROUND_TRIPS;
    election.give_back(holder, Goal::Leave);
    let next = election.expect_holder_within(retry, "after the holder left");
    assert_ne!(next, holder, "who has left does not come back");

    if election.world.ids().len() > 2 {
        election.world.kill(next);
        let last = election.expect_holder_within(takeover, "after the holder was killed");
        assert!(last != next && last != holder);
    }
    assert_eq!(election.world.violations, Vec::<String>::new(), "seed {}", election.seed);
}

#[test]
fn there_are_never_two_valid_claims_and_after_faults_stop_there_is_one() {
    let mut total = Seen::default();
    for seed in 0..1000 {
        let (mut election, seen) = simulate(seed, 0.0);
        assert_eq!(seen.violations, Vec::<String>::new(), "seed {seed}");
        progresses(&mut election);
        total.transitions += seen.transitions;
        total.writes += seen.writes;
    }
    // An election without any claim would keep the law, too.
    assert!(total.transitions > 2_000 && total.writes > 20_000, "{total:?}");
}

/// Shows that the simulation finds violations where the argument does not hold.
#[test]
fn clocks_that_are_further_apart_than_is_tolerated_break_the_law() {
    let breaks = |seed| !simulate(seed, 0.3).1.violations.is_empty();
    let broken = (0..200).filter(|seed| breaks(*seed)).count();
    assert!(broken > 0, "no seed finds a violation");
}

/// Runs an election with restores from backups. At each of them, all processes have seen a newer
/// version of the lease than that of the backup.
fn restores(seed: u64) -> Election {
    let mut election = Election::new(seed, 0.0);
    let processes = election.world.random.between(2, 4) as usize;
    for id in 0..processes {
        election.start(id);
    }
    let mut backups = Vec::new();
    for _ in 0..20 {
        let id = election.world.random.between(0, processes as u64 - 1) as usize;
        let goal = if election.world.random.percent(50) { Goal::Follow } else { Goal::Lead };
        election.give_back(id, goal);
        let next = election.world.now + election.world.random.between(0, 8 * SECOND);
        election.world.run_until(next);
        let newest = election.world.backup(NAME);
        let older: Vec<usize> = backups.iter().copied().filter(|backup| *backup < newest).collect();
        backups.push(newest);
        if election.world.random.percent(20) && !older.is_empty() {
            election.world.run_until(election.world.now + election.real(Timing::retry_period) + ROUND_TRIPS);
            let backup = older[election.world.random.between(0, older.len() as u64 - 1) as usize];
            election.world.restore(NAME, backup);
            backups.retain(|other| *other <= backup);
        }
    }
    for id in 0..processes {
        election.give_back(id, Goal::Lead);
    }
    // The claim of the last holder ends after the last restore.
    election.world.run_until(election.world.now + election.real(Timing::lease_duration));
    election
}

#[test]
fn there_are_never_two_valid_claims_after_a_restore_from_a_backup() {
    for seed in 0..1000 {
        let mut election = restores(seed);
        assert_eq!(election.world.violations, Vec::<String>::new(), "seed {seed}");
        progresses(&mut election);
    }
}

#[test]
fn a_simulation_follows_from_its_seed() {
    let trace = |seed| {
        let (election, seen) = simulate(seed, 0.0);
        (election.world.now, seen.writes, seen.transitions, election.world.lease(NAME).cloned())
    };
    assert_eq!(trace(7), trace(7));
}
