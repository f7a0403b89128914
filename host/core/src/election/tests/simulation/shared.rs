//! Several replicas that share mounts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::world::{Call, Effects, LONGEST_DELAY, Network, Process, Rates, RealTime, Reply, SECOND, World};
use crate::election::mounts::{Action, Input, MountElector, Names};
use crate::election::{Timing, assignments};
use crate::queue::Time;

/// An upper bound for the requests of a takeover in a calm network.
const ROUND_TRIPS: RealTime = 300_000;
const DRAINS: RealTime = 2 * SECOND;

struct Replica {
    identity: String,
    elector: MountElector,
    timing: Timing,
    drains: BTreeMap<String, Time>,
    random: u64,
    has_left: bool,
}

impl Replica {
    fn new(identity: &str, timing: Timing, leadable: BTreeSet<String>, seed: u64) -> Self {
        let elector = MountElector::new(Names::new("gyre"), identity.to_owned(), timing, leadable, seed).unwrap();
        let drains = BTreeMap::new();
        Self { identity: identity.to_owned(), elector, timing, drains, random: seed, has_left: false }
    }

    fn act(&mut self, input: Input, now: Time) -> Effects {
        let mut effects = Effects::default();
        for action in self.elector.step(input, now) {
            match action {
                Action::List => effects.calls.push(Call::List),
                Action::Send { name, request, leadable } => {
                    effects.calls.push(Call::Send { name, request, leadable: leadable.unwrap_or_default() });
                }
                Action::Delete { name, resource_version } => effects.calls.push(Call::Delete { name, resource_version }),
                Action::Drain(mount) => {
                    self.random = crate::random::splitmix64(self.random);
                    let takes = Duration::from_micros(1 + self.random % DRAINS);
                    assert!(self.drains.insert(mount, now + takes).is_none(), "told twice");
                }
                Action::Left => self.has_left = true,
            }
        }
        // One that is due waits until the process gets to it.
        let drained = self.drains.values().map(|until| (*until).max(now + Duration::from_micros(1)));
        effects.wake = self.elector.wakeup(now).into_iter().chain(drained).min();
        effects
    }
}

impl Process for Replica {
    fn wake(&mut self, now: Time) -> Effects {
        let drained: Vec<String> =
            self.drains.iter().filter(|(_, until)| **until <= now).map(|(mount, _)| mount.clone()).collect();
        let mut effects = Effects::default();
        for mount in drained {
            self.drains.remove(&mount);
            effects.calls.extend(self.act(Input::Drained(mount), now).calls);
        }
        let last = self.act(Input::Tick, now);
        effects.calls.extend(last.calls);
        Effects { wake: last.wake, ..effects }
    }

    fn answered(&mut self, reply: Reply, now: Time) -> Effects {
        match reply {
            Reply::Answer { name, answer } => self.act(Input::Answered(name, answer), now),
            Reply::Listed(found) => self.act(Input::Listed(found), now),
            Reply::Deleted => self.act(Input::Tick, now),
        }
    }

    fn claims(&self) -> impl Iterator<Item = (&str, Time)> {
        self.elector.claims()
    }

    fn request_timeout(&self) -> Duration {
        self.timing.request_timeout()
    }
}

struct Deployment {
    world: World<Replica>,
    mounts: BTreeSet<String>,
    timing: Timing,
    rates: Rates,
    started: u64,
    seed: u64,
}

impl Deployment {
    fn new(seed: u64, mounts: usize) -> Self {
        let timing = Timing::default();
        let rates = Rates::apart(timing.tolerated_slowness());
        let mounts = (0..mounts).map(|mount| format!("mount-{mount}")).collect();
        Self { world: World::new(seed, rates), mounts, timing, rates, started: 0, seed }
    }

    fn start(&mut self, id: usize, leadable: BTreeSet<String>) {
        self.started += 1;
        let identity = format!("{id}_{}", self.started);
        self.world.start(id, Replica::new(&identity, self.timing, leadable, self.seed ^ self.started));
    }

    fn real(&self, duration: Duration) -> RealTime {
        duration.as_micros() as u64 * 1_000_000 / self.rates.slowest
    }

    fn takeover(&self) -> RealTime {
        self.real(self.timing.lease_duration() + self.timing.retry_period()) + ROUND_TRIPS
    }

    fn input(&mut self, id: usize, input: Input) {
        self.world.step(id, |process, now| process.act(input, now));
    }

    fn chaos(&mut self, replicas: usize, lasts: RealTime) {
        let end = self.world.now + lasts;
        self.world.network = Network::Chaos;
        while self.world.now < end {
            let id = self.world.random.between(0, replicas as u64 - 1) as usize;
            let lasts = self.world.random.between(0, 30 * SECOND);
            match self.world.random.between(0, 99) {
                0..25 => self.world.pause(id, lasts),
                25..50 => self.world.cut_off(id, lasts),
                50..65 => self.world.change_rate(id),
                65..80 => self.world.kill(id),
                80..85 => self.input(id, Input::Leave),
                85..95 => {
                    let mounts = self.some_mounts();
                    self.input(id, Input::Mounts(mounts));
                }
                _ => self.world.touch("gyre.mount-0"),
            }
            let next = self.world.now + self.world.random.between(0, 8 * SECOND);
            self.world.run_until(next);
            for id in 0..replicas {
                if self.is_gone(id) && self.world.random.percent(40) {
                    let mounts = self.some_mounts();
                    self.start(id, mounts);
                }
            }
        }
        self.world.network = Network::Calm;
        self.world.run_until(end + LONGEST_DELAY + 9 * SECOND);
        for id in 0..replicas {
            if self.is_gone(id) {
                self.start(id, self.mounts.clone());
            }
            self.input(id, Input::Mounts(self.mounts.clone()));
        }
    }

    fn some_mounts(&mut self) -> BTreeSet<String> {
        let leaves_out = self.world.random.percent(30);
        let random = &mut self.world.random;
        self.mounts.iter().filter(|_| !leaves_out || random.percent(70)).cloned().collect()
    }

    fn is_gone(&mut self, id: usize) -> bool {
        let is_gone = !self.world.ids().contains(&id) || self.world.process(id).elector.wakeup(Time::default()).is_none();
        if is_gone {
            self.world.kill(id);
        }
        is_gone
    }

    fn run(&mut self, lasts: RealTime, gap: RealTime) {
        let end = self.world.now + lasts;
        let mut last_led: BTreeMap<String, RealTime> =
            self.mounts.iter().map(|mount| (mount.clone(), self.world.now)).collect();
        while self.world.now < end {
            self.world.run_until(self.world.now + 50_000);
            let led = self.world.who_may_write();
            for (mount, last) in &mut last_led {
                if led.contains_key(mount.as_str()) {
                    *last = self.world.now;
                }
                let without = self.world.now - *last;
                assert!(without <= gap, "seed {}: {mount} has no leader for {without} µs at {}", self.seed, self.world.now);
            }
        }
    }

    fn expect_spread(&self) {
        let identities: BTreeMap<usize, String> =
            self.world.ids().into_iter().map(|id| (id, self.world.process(id).identity.clone())).collect();
        let expected = assignments(identities.values().map(|identity| (identity.as_str(), &self.mounts)));
        let mut loads: BTreeMap<usize, usize> = identities.keys().map(|id| (*id, 0)).collect();
        let led = self.world.who_may_write();
        for mount in &self.mounts {
            let [leader] = led.get(mount.as_str()).map_or(&[][..], Vec::as_slice) else {
                panic!("seed {}: {mount} has not one leader: {led:?}", self.seed);
            };
            assert_eq!(identities[leader], expected[mount.as_str()], "seed {}: {mount}", self.seed);
            *loads.get_mut(leader).unwrap() += 1;
        }
        let (least, most) = (loads.values().min().unwrap(), loads.values().max().unwrap());
        assert!(most - least <= 1, "seed {}: {loads:?}", self.seed);
    }

    fn settles(&self) -> RealTime {
        // Until dead replicas expire, new ones are trusted, and current work ends.
        2 * self.takeover() + DRAINS * 1_000_000 / self.rates.slowest
    }

    fn expect_lawful(&self) {
        assert_eq!(self.world.violations, Vec::<String>::new(), "seed {}", self.seed);
    }
}

#[test]
fn no_mount_ever_has_two_leaders_and_after_faults_stop_each_has_the_one_that_it_is_to_have() {
    for seed in 0..500 {
        let mut deployment = Deployment::new(seed, 4);
        let replicas = deployment.world.random.between(2, 3) as usize;
        for id in 0..replicas {
            let mounts = deployment.some_mounts();
            deployment.start(id, mounts);
        }
        let lasts = deployment.world.random.between(30 * SECOND, 90 * SECOND);
        deployment.chaos(replicas, lasts);
        deployment.expect_lawful();
        // Most of the time of the simulation is in the rest.
        if seed % 5 != 0 {
            continue;
        }
        // A mount that was taken as a fallback is kept for a while.
        deployment.world.run_until(deployment.world.now + deployment.real(deployment.timing.lease_duration() * 10));
        deployment.run(deployment.settles(), deployment.takeover());
        deployment.expect_spread();
        deployment.expect_lawful();
    }
}

#[test]
fn mounts_are_spread_evenly_and_none_is_without_a_leader_for_longer_than_the_lease_allows() {
    for seed in 0..20 {
        let mut deployment = Deployment::new(seed, 12);
        for id in 0..3 {
            deployment.start(id, deployment.mounts.clone());
        }
        let retry = deployment.real(deployment.timing.retry_period()) + ROUND_TRIPS;
        deployment.run(deployment.settles(), retry);
        deployment.expect_spread();

        deployment.world.kill(1);
        deployment.run(deployment.settles(), deployment.takeover());
        deployment.expect_spread();

        deployment.start(1, deployment.mounts.clone());
        deployment.run(deployment.settles(), retry);
        deployment.expect_spread();

        deployment.input(2, Input::Leave);
        deployment.run(retry + retry / 2, retry + ROUND_TRIPS);
        assert!(deployment.world.process(2).has_left);
        deployment.world.kill(2);
        deployment.run(deployment.settles(), retry);
        deployment.expect_spread();
        deployment.expect_lawful();
    }
}
