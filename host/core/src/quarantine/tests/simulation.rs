//! Simulates a mount and its tenants, and measures how long harmless tenants wait.

use std::collections::BTreeMap;

use crate::quarantine::*;
use crate::queue::{MountOptions, Options, Priority, Queue, Retry, Taken};

const MOUNT: u8 = 0;
const WORKERS: usize = 4;
const ANSWER: Duration = Duration::from_millis(2);
const DEADLINE: Duration = Duration::from_secs(2);
const WAITS: Duration = Duration::from_secs(5);
/// The longest wait in a namespace without faults.
const BOUND: Duration = Duration::from_millis(2_500);

struct Call {
    object: ObjectKey,
    admission: Admission,
    is_bad: bool,
    end: Time,
}

struct World {
    queue: Queue<u8, ObjectKey>,
    quarantine: Quarantine,
    calls: Vec<Call>,
    now: Time,
    since: BTreeMap<ObjectKey, Time>,
    longest: BTreeMap<String, Duration>,
    faults: usize,
    turns: Time,
}

impl World {
    fn new() -> Self {
        let mut queue = Queue::new(Options::default());
        queue.add_mount(MOUNT, MountOptions::workers(WORKERS));
        Self {
            queue,
            quarantine: Quarantine::new(Some(5)),
            calls: Vec::new(),
            now: Time::default(),
            since: BTreeMap::new(),
            longest: BTreeMap::new(),
            faults: 0,
            turns: Time::from_duration(Duration::MAX / 2),
        }
    }

    fn change(&mut self, namespace: &str, name: &str) {
        let object = ObjectKey::new(Some(namespace), name);
        self.since.entry(object.clone()).or_insert(self.now);
        self.queue.add(&MOUNT, object, Priority::Normal, self.now);
    }

    fn is_bad(&self, object: &ObjectKey) -> bool {
        object.name.starts_with("bad") || object.name.starts_with("turns") && self.turns <= self.now
    }

    fn run_until(&mut self, until: Time) {
        loop {
            while let Some(Taken { key, .. }) = self.queue.take(self.now) {
                self.begin(key);
            }
            let next = self.calls.iter().map(|call| call.end).chain(self.queue.next_wakeup(self.now)).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.now = next.max(self.now);
            while let Some(index) = self.calls.iter().position(|call| call.end <= self.now) {
                let call = self.calls.remove(index);
                self.end(call);
            }
        }
        self.now = until;
    }

    fn begin(&mut self, object: ObjectKey) {
        let retry = match self.quarantine.admit(&object, self.now) {
            admission @ (Admission::Call(_) | Admission::Probe(_)) => {
                let is_bad = self.is_bad(&object);
                let took = if is_bad { DEADLINE } else { ANSWER };
                return self.calls.push(Call { object, admission, is_bad, end: self.now + took });
            }
            Admission::Wait => Retry::Postpone(WAITS),
            Admission::Held { until, .. } => Retry::Postpone(until.saturating_since(self.now)),
        };
        self.queue.done(&MOUNT, &object, retry, self.now);
    }

    fn end(&mut self, Call { object, admission, is_bad, .. }: Call) {
        let (end, retry) = if is_bad {
            self.faults += 1;
            (CallEnd::PluginFault { reason: "DeadlineExceeded" }, Retry::Backoff)
        } else {
            let waited = self.since.remove(&object).map(|since| self.now.saturating_since(since)).unwrap_or_default();
            let longest = self.longest.entry(object.namespace.clone().unwrap_or_default()).or_default();
            *longest = waited.max(*longest);
            (CallEnd::Answered, Retry::Forget)
        };
        let ended = self.quarantine.ended(&object, admission, end, self.now);
        self.queue.done(&MOUNT, &object, retry, self.now);
        for object in ended.next.into_iter().chain(ended.released) {
            self.queue.add(&MOUNT, object, Priority::Normal, self.now);
        }
    }

    fn pass(&mut self, duration: Duration) {
        self.run_until(self.now + duration);
    }

    fn waited(&mut self, namespace: &str) -> Duration {
        self.longest.remove(namespace).unwrap_or_else(|| panic!("nothing was answered in {namespace}"))
    }
}

/// A tenant changes spinning objects in several namespaces all the time.
fn attack(world: &mut World, round: usize, namespaces: usize, objects: usize) {
    for namespace in 0..namespaces {
        for number in 0..objects {
            world.change(&format!("attacker-{namespace}"), &format!("bad-{number}"));
            // Some are new each time.
            world.change(&format!("attacker-{namespace}"), &format!("bad-{round}-{number}"));
        }
    }
}

#[test]
fn quiet_tenants_do_not_wait_for_one_whose_objects_spin_whatever_it_does() {
    for namespaces in [1, 3, 10] {
        let mut world = World::new();
        for quiet in 0..3 {
            world.change(&format!("quiet-{quiet}"), "it");
        }
        world.pass(Duration::from_secs(1));
        for round in 0..300 {
            attack(&mut world, round, namespaces, 6);
            world.change("quiet-0", "it");
            world.change("quiet-1", &format!("new-{round}"));
            world.pass(Duration::from_millis(500));
            if round == 100 {
                // The first calls of the attack took all free workers.
                let first = [world.waited("quiet-0"), world.waited("quiet-1")];
                assert!(first.iter().all(|waited| *waited <= DEADLINE * 3), "{first:?} at first");
            }
        }
        world.pass(Duration::from_secs(10));
        let waited = [world.waited("quiet-0"), world.waited("quiet-1")];
        assert!(waited.iter().all(|waited| *waited <= ANSWER * 10), "{namespaces} namespaces: {waited:?}");
        assert!(world.quarantine.view().is_none(), "the mount is not held");
    }
}

/// The longest wait in new namespaces, two of which are added per second of the attack.
fn new_namespaces_wait(world: &mut World, mut attack: impl FnMut(&mut World, usize)) -> Duration {
    for round in 0..400 {
        attack(world, round);
        // At first the calls take all workers. Then the attacker's namespaces are as new as others
        // and share their turns: 20 s for ten of them, and as much again for the turns of suspects.
        if round >= 120 {
            world.change(&format!("new-{round}"), "it");
        }
        world.pass(Duration::from_millis(500));
    }
    world.pass(Duration::from_secs(60));
    let waited: Vec<_> = world.longest.iter().filter(|(namespace, _)| namespace.starts_with("new")).collect();
    assert_eq!(waited.len(), 280, "all were answered");
    waited.into_iter().map(|(_, longest)| *longest).max().unwrap_or_default()
}

#[test]
fn a_new_namespace_waits_for_one_call_of_the_suspects_at_most() {
    for namespaces in [1, 2, 10] {
        let mut world = World::new();
        world.change("quiet", "it");
        world.pass(Duration::from_secs(1));
        let longest = new_namespaces_wait(&mut world, |world, round| attack(world, round, namespaces, 6));
        assert!(longest <= BOUND, "{namespaces} namespaces: {longest:?}");
    }
}

#[test]
fn a_new_namespace_does_not_wait_for_all_objects_that_answered_before_and_spin_now() {
    for namespaces in [1, 2, 10] {
        let mut world = World::new();
        let change_all = |world: &mut World| {
            for (namespace, number) in (0..namespaces).flat_map(|namespace| (0..4).map(move |number| (namespace, number))) {
                world.change(&format!("attacker-{namespace}"), &format!("turns-{number}"));
            }
        };
        change_all(&mut world);
        world.pass(Duration::from_secs(10));
        world.turns = world.now;
        let longest = new_namespaces_wait(&mut world, |world, _| change_all(world));
        assert!(longest <= BOUND, "{namespaces} namespaces: {longest:?}");
    }
}

#[test]
fn after_a_takeover_an_attack_that_comes_first_delays_others_by_its_turns() {
    let mut world = World::new();
    attack(&mut world, 0, 1, 6);
    for quiet in 0..20 {
        world.change(&format!("quiet-{quiet}"), "it");
    }
    world.pass(Duration::from_secs(60));
    let longest = (0..20).map(|quiet| world.waited(&format!("quiet-{quiet}"))).max();
    assert!(longest.is_some_and(|longest| longest <= DEADLINE * 3), "{longest:?}");
}

#[test]
fn spinning_objects_take_one_worker_and_come_to_rest() {
    let mut world = World::new();
    world.change("quiet", "it");
    world.pass(Duration::from_secs(1));
    for number in 0..100 {
        world.change("attacker", &format!("bad-{number}"));
    }
    world.pass(Duration::from_secs(3600));
    // The faults before the hold, calls in progress, and the probes of an hour.
    assert!(world.faults <= 5 + WORKERS + 9, "{} calls", world.faults);
}
