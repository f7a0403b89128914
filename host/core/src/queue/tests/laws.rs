//! Laws that hold for the queue after any operations.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::model::{Key, Model, MountName};
use crate::queue::*;

const MOUNTS: MountName = 3;
const KEYS: Key = 4;
const START: Time = Time::from_duration(Duration::ZERO);

#[derive(Clone, Debug)]
enum Operation {
    Add(MountName, Key, Priority),
    AddAfter(MountName, Key, Duration),
    Take,
    /// Ends the run of one of the keys in progress or, with an index past them, of any key.
    Done(usize, Retry),
    Pass(Duration),
    AddMount(MountName, MountOptions),
    RemoveMount(MountName),
    Remove(MountName, Key),
    RetainOnly(MountName, Key),
}

fn milliseconds(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

fn priority() -> impl Strategy<Value = Priority> {
    prop_oneof![Just(Priority::Normal), Just(Priority::Low)]
}

fn retry() -> impl Strategy<Value = Retry> {
    prop_oneof![
        3 => Just(Retry::Forget),
        2 => milliseconds(0..30).prop_map(Retry::After),
        2 => milliseconds(0..30).prop_map(Retry::Postpone),
        4 => Just(Retry::Backoff),
        2 => milliseconds(0..60).prop_map(Retry::BackoffAtLeast),
        1 => Just(Retry::Never),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        10 => (0..MOUNTS, 0..KEYS, priority()).prop_map(|(mount, key, priority)| Operation::Add(mount, key, priority)),
        4 => (0..MOUNTS, 0..KEYS, milliseconds(0..30)).prop_map(|(mount, key, delay)| Operation::AddAfter(mount, key, delay)),
        12 => Just(Operation::Take),
        10 => (0..6_usize, retry()).prop_map(|(index, retry)| Operation::Done(index, retry)),
        5 => milliseconds(0..20).prop_map(Operation::Pass),
        1 => (0..MOUNTS, 0..3_usize, proptest::option::of(0..4_u32))
            .prop_map(|(mount, workers, max_retries)| Operation::AddMount(mount, MountOptions { workers, max_retries })),
        1 => (0..MOUNTS).prop_map(Operation::RemoveMount),
        2 => (0..MOUNTS, 0..KEYS).prop_map(|(mount, key)| Operation::Remove(mount, key)),
        1 => (0..MOUNTS, 0..KEYS).prop_map(|(mount, key)| Operation::RetainOnly(mount, key)),
    ]
}

/// Small delays, so that back-off reaches its cap within a test.
fn options() -> impl Strategy<Value = Options> {
    (proptest::option::of(0..4_u32), any::<u64>()).prop_map(|(max_retries, seed)| Options {
        base_delay: Duration::from_millis(2),
        max_delay: Duration::from_millis(40),
        max_retries,
        seed,
    })
}

struct World {
    queue: Queue<MountName, Key>,
    in_progress: Vec<(MountName, Key)>,
    workers: BTreeMap<MountName, usize>,
    now: Time,
}

#[derive(Debug)]
enum Effect {
    Added(MountName, Key, Added),
    Scheduled(MountName, Key, Scheduled),
    Taken(Option<Taken<MountName, Key>>),
    Done(MountName, Key, Next),
    Removed(bool),
    Nothing,
}

impl World {
    fn new(options: Options) -> Self {
        let mut world = Self { queue: Queue::new(options), in_progress: Vec::new(), workers: BTreeMap::new(), now: START };
        for mount in 0..MOUNTS {
            world.apply(&Operation::AddMount(mount, MountOptions::workers(usize::from(mount) + 1)));
        }
        world
    }

    fn apply(&mut self, operation: &Operation) -> Effect {
        match *operation {
            Operation::Add(mount, key, priority) => Effect::Added(mount, key, self.queue.add(&mount, key, priority, self.now)),
            Operation::AddAfter(mount, key, delay) => {
                Effect::Scheduled(mount, key, self.queue.add_after(&mount, key, delay, self.now))
            }
            Operation::Take => {
                let taken = self.queue.take(self.now);
                self.in_progress.extend(taken.as_ref().map(|taken| (taken.mount, taken.key)));
                Effect::Taken(taken)
            }
            Operation::Done(index, retry) => {
                let (mount, key) = if index < self.in_progress.len() { self.in_progress.remove(index) } else { (0, 0) };
                self.in_progress.retain(|running| *running != (mount, key));
                Effect::Done(mount, key, self.queue.done(&mount, &key, retry, self.now))
            }
            Operation::Pass(duration) => {
                self.now = self.now + duration;
                Effect::Nothing
            }
            Operation::AddMount(mount, options) => {
                self.workers.insert(mount, options.workers);
                self.queue.add_mount(mount, options);
                Effect::Nothing
            }
            Operation::RemoveMount(mount) => {
                self.queue.remove_mount(&mount);
                Effect::Nothing
            }
            Operation::Remove(mount, key) => Effect::Removed(self.queue.remove(&mount, &key)),
            Operation::RetainOnly(mount, key) => {
                self.queue.retain(&mount, |other| *other == key);
                Effect::Nothing
            }
        }
    }

    /// Stops all changes and lets every run succeed; returns the keys taken until none is left.
    fn settle(&mut self) -> Vec<(MountName, Key)> {
        let mut taken = Vec::new();
        for mount in 0..MOUNTS {
            if self.workers[&mount] == 0 {
                self.apply(&Operation::AddMount(mount, MountOptions::workers(1)));
            }
        }
        // Many more rounds than keys, so that a queue that never becomes idle fails.
        for _ in 0..1000 {
            while !self.in_progress.is_empty() {
                self.apply(&Operation::Done(0, Retry::Forget));
            }
            if let Effect::Taken(Some(next)) = self.apply(&Operation::Take) {
                taken.push((next.mount, next.key));
            } else if let Some(wakeup) = self.queue.next_wakeup(self.now) {
                self.now = wakeup;
            } else {
                return taken;
            }
        }
        panic!("the queue does not come to rest");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn the_queue_does_what_the_naive_model_does(options in options(), operations in vec(operation(), 1..120)) {
        let mut model = Model::new(options.clone());
        let mut world = World::new(options);
        for mount in 0..MOUNTS {
            model.add_mount(mount, MountOptions::workers(usize::from(mount) + 1));
        }
        for operation in operations {
            let effect = world.apply(&operation);
            let now = world.now;
            match (operation, effect) {
                (Operation::Add(_, _, priority), Effect::Added(mount, key, added)) => {
                    prop_assert_eq!(model.add(mount, key, priority, now), added);
                }
                (Operation::AddAfter(_, _, delay), Effect::Scheduled(mount, key, scheduled)) => {
                    prop_assert_eq!(model.add_after(mount, key, delay, now), scheduled);
                }
                (Operation::Take, Effect::Taken(taken)) => model.took(taken.as_ref(), now),
                (Operation::Done(_, retry), Effect::Done(mount, key, next)) => {
                    prop_assert_eq!(model.done(mount, key, retry, now), next);
                }
                (Operation::AddMount(mount, options), _) => model.add_mount(mount, options),
                (Operation::RemoveMount(mount), _) => model.remove_mount(mount),
                (Operation::Remove(mount, key), Effect::Removed(was_there)) => {
                    prop_assert_eq!(model.remove(mount, key), was_there);
                }
                (Operation::RetainOnly(mount, key), _) => {
                    for other in (0..KEYS).filter(|other| *other != key) {
                        model.remove(mount, other);
                    }
                }
                _ => {}
            }
            let queue = &world.queue;
            for priority in [Priority::Normal, Priority::Low] {
                prop_assert_eq!(queue.depth(priority), model.depth(priority));
            }
            prop_assert_eq!(queue.delayed(), model.delayed());
            prop_assert_eq!(queue.processing(), model.running().len());
            prop_assert_eq!(queue.in_progress(now), model.in_progress(now));
            prop_assert_eq!(queue.next_wakeup(now), model.next_wakeup(now));
            prop_assert_eq!(queue.is_ready(now), model.is_ready(now));
            for mount in 0..MOUNTS {
                let parked: Vec<(Key, u32)> = queue.parked(&mount).map(|(key, failures)| (*key, failures)).collect();
                prop_assert_eq!(parked, model.parked(mount));
                prop_assert_eq!(queue.entries_of(&mount), model.entries(mount));
            }
        }
    }

    #[test]
    fn a_key_is_never_processed_twice_at_once(options in options(), operations in vec(operation(), 1..120)) {
        let mut world = World::new(options);
        for operation in operations {
            let before: BTreeSet<(MountName, Key)> = world.in_progress.iter().copied().collect();
            if let Effect::Taken(Some(taken)) = world.apply(&operation) {
                prop_assert!(!before.contains(&(taken.mount, taken.key)), "{:?} is in progress already", taken);
            }
        }
    }

    #[test]
    fn no_change_is_lost(options in options(), operations in vec(operation(), 1..120)) {
        let mut world = World::new(options);
        let mut unseen = BTreeSet::new();
        for operation in operations {
            match world.apply(&operation) {
                Effect::Added(_, _, Added::UnknownMount) => {}
                Effect::Added(mount, key, _) => {
                    unseen.insert((mount, key));
                }
                Effect::Taken(Some(taken)) => {
                    unseen.remove(&(taken.mount, taken.key));
                }
                _ => {}
            }
            match operation {
                Operation::RemoveMount(removed) => unseen.retain(|(mount, _)| *mount != removed),
                Operation::Remove(mount, key) => _ = unseen.remove(&(mount, key)),
                Operation::RetainOnly(removed, kept) => unseen.retain(|(mount, key)| *mount != removed || *key == kept),
                _ => {}
            }
        }
        let seen: BTreeSet<(MountName, Key)> = world.settle().into_iter().collect();
        prop_assert!(unseen.is_subset(&seen), "{:?} changed, and only {:?} were run since", unseen, seen);
    }

    #[test]
    fn a_change_during_a_run_causes_exactly_one_more(changes in vec(priority(), 1..6), retry in retry(), options in options()) {
        let mut world = World::new(options);
        world.apply(&Operation::Add(0, 0, Priority::Normal));
        world.apply(&Operation::Take);
        for priority in changes {
            world.apply(&Operation::Add(0, 0, priority));
        }
        let Effect::Done(_, _, next) = world.apply(&Operation::Done(0, retry)) else { panic!() };
        prop_assert_eq!(next, Next::Queued);
        prop_assert_eq!(world.settle(), [(0, 0)]);
    }

    #[test]
    fn a_removed_key_leaves_no_entry_once_its_run_is_done(
        options in options(),
        operations in vec(operation(), 1..120),
        mount in 0..MOUNTS,
        key in 0..KEYS,
    ) {
        let mut world = World::new(options);
        for operation in operations {
            world.apply(&operation);
        }
        world.apply(&Operation::Remove(mount, key));
        prop_assert!(!world.queue.parked(&mount).any(|(parked, _)| *parked == key));
        while let Some(index) = world.in_progress.iter().position(|running| *running == (mount, key)) {
            let Effect::Done(_, _, next) = world.apply(&Operation::Done(index, Retry::Backoff)) else { panic!() };
            prop_assert_eq!(next, Next::Idle);
        }
        prop_assert!(!world.settle().contains(&(mount, key)));
    }

    #[test]
    fn there_is_one_entry_per_key(added in vec((0..MOUNTS, 0..KEYS, priority()), 1..60)) {
        let mut world = World::new(Options::default());
        for (mount, key, priority) in &added {
            world.apply(&Operation::Add(*mount, *key, *priority));
        }
        let distinct: BTreeSet<(MountName, Key)> = added.iter().map(|(mount, key, _)| (*mount, *key)).collect();
        let mut taken = world.settle();
        taken.sort_unstable();
        prop_assert_eq!(taken, distinct.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_mount_never_exceeds_its_workers(options in options(), operations in vec(operation(), 1..120)) {
        let mut world = World::new(options);
        for operation in operations {
            if let Effect::Taken(Some(taken)) = world.apply(&operation) {
                let running = world.in_progress.iter().filter(|(mount, _)| *mount == taken.mount).count();
                prop_assert!(running <= world.workers[&taken.mount], "{} are in progress", running);
            }
        }
    }

    #[test]
    fn mounts_share_fairly(backlogs in vec(20..200_u32, 1..8), takes in 1..100_usize, priority in priority()) {
        let mut queue = Queue::new(Options::default());
        for (mount, backlog) in backlogs.iter().enumerate() {
            queue.add_mount(mount, MountOptions::workers(1000));
            for key in 0..*backlog {
                queue.add(&mount, key, priority, START);
            }
        }
        let mut turns = vec![0; backlogs.len()];
        for _ in 0..takes.min(20 * backlogs.len()) {
            turns[queue.take(START).unwrap().mount] += 1;
        }
        let (fewest, most) = (turns.iter().min().unwrap(), turns.iter().max().unwrap());
        prop_assert!(most - fewest <= 1, "{:?}", turns);
    }

    #[test]
    fn back_off_grows_to_the_cap_and_jitter_stays_in_its_band(
        base_delay in milliseconds(1..100),
        max_delay in milliseconds(100..1_000_000),
        seed: u64,
        key: String,
    ) {
        let options = Options { base_delay, max_delay, seed, max_retries: None };
        let mut queue = Queue::new(options.clone());
        queue.add_mount((), MountOptions::workers(1));
        queue.add(&(), key.clone(), Priority::Normal, START);
        let (mut now, mut limit, mut before) = (START, base_delay, Duration::ZERO);
        for failures in 0..30 {
            let taken = queue.take(now).unwrap();
            prop_assert_eq!(taken.failures, failures);
            let Next::At(until) = queue.done(&(), &key, Retry::Backoff, now) else { panic!() };
            let delay = until.saturating_since(now);
            prop_assert!(limit / 2 <= delay && delay <= limit, "{:?} is not in the upper half of {:?}", delay, limit);
            prop_assert!(delay >= before || limit == max_delay, "{:?} after {:?}", delay, before);
            (now, before) = (until, delay);
            limit = (limit * 2).min(max_delay);
        }
        prop_assert_eq!(limit, max_delay);
    }

    #[test]
    fn parked_keys_stay_visible_until_they_change(
        failing in btree_set(any::<u16>(), 1..20),
        max_retries in 0..4_u32,
        changing in any::<u16>(),
    ) {
        let mut queue = Queue::new(Options { max_retries: Some(max_retries), ..Options::default() });
        queue.add_mount((), MountOptions::workers(2));
        for key in &failing {
            queue.add(&(), *key, Priority::Normal, START);
        }
        let mut now = START;
        while queue.depth(Priority::Normal) + queue.delayed() > 0 {
            match queue.take(now) {
                Some(taken) => { queue.done(&(), &taken.key, Retry::Backoff, now); }
                None => now = queue.next_wakeup(now).unwrap(),
            }
        }
        let parked: Vec<(u16, u32)> = queue.parked(&()).map(|(key, failures)| (*key, failures)).collect();
        prop_assert_eq!(parked, failing.iter().map(|key| (*key, max_retries + 1)).collect::<Vec<_>>());

        let (changed, unchanged): (Vec<u16>, Vec<u16>) = failing.iter().partition(|key| **key < changing);
        for key in &changed {
            prop_assert_eq!(queue.add(&(), *key, Priority::Normal, now), Added::Queued);
        }
        prop_assert_eq!(queue.parked(&()).map(|(key, _)| *key).collect::<Vec<_>>(), unchanged);
        for key in changed {
            let taken = queue.take(now).unwrap();
            prop_assert_eq!((taken.key, taken.failures), (key, 0));
            queue.done(&(), &key, Retry::Forget, now);
        }
    }

    #[test]
    fn delayed_keys_become_ready_exactly_when_due(delays in btree_map(any::<u16>(), milliseconds(1..50), 1..20)) {
        let mut queue = Queue::new(Options::default());
        queue.add_mount((), MountOptions::workers(100));
        for (key, delay) in &delays {
            queue.add_after(&(), *key, *delay, START);
        }
        let mut now = START;
        let mut ready = BTreeMap::new();
        while let Some(wakeup) = queue.next_wakeup(now) {
            let just_before = Time::from_duration(wakeup.as_duration() - Duration::from_nanos(1));
            prop_assert_eq!(queue.take(just_before), None);
            now = wakeup;
            while let Some(taken) = queue.take(now) {
                prop_assert_eq!(taken.waited, Duration::ZERO);
                ready.insert(taken.key, now.as_duration());
            }
        }
        prop_assert_eq!(ready, delays);
    }
}

#[test]
fn a_fresh_change_overtakes_a_relist_of_100_000() {
    const FRESH: u32 = u32::MAX;
    let mut queue = Queue::new(Options::default());
    for mount in 0..MOUNTS {
        queue.add_mount(mount, MountOptions::workers(usize::MAX));
    }
    for key in 0..100_000 {
        for mount in 0..MOUNTS {
            queue.add(&mount, key, Priority::Low, START);
        }
    }
    let mut most_overtaken_by = 0;
    for change in 0..1000_usize {
        let mount = MountName::try_from(change % 7 % usize::from(MOUNTS)).unwrap();
        for _ in 0..change % 11 {
            queue.take(START);
        }
        queue.add(&mount, FRESH, Priority::Normal, START);
        let overtaken_by = std::iter::from_fn(|| queue.take(START)).take_while(|taken| taken.key != FRESH).count();
        queue.done(&mount, &FRESH, Retry::Forget, START);
        most_overtaken_by = most_overtaken_by.max(overtaken_by);
    }
    assert!(most_overtaken_by <= usize::from(MOUNTS), "{most_overtaken_by} low keys went before a fresh change");
    assert!(queue.depth(Priority::Low) > 200_000, "the relist is not over");
}
