use std::sync::atomic::{AtomicU64, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const TRAP: End = End::PluginFault { reason: "Trapped" };
const HOUR: Duration = Duration::from_secs(3600);
/// After 30 s, 1, 2, 4, 8 minutes and then every 10: the ninth comes after 55 minutes and a half, the tenth 10 minutes later.
const PROBES_AN_HOUR: usize = 9;

/// An object that nobody has seen before.
fn another() -> u64 {
    static OBJECTS: AtomicU64 = AtomicU64::new(0);
    OBJECTS.fetch_add(1, Ordering::Relaxed)
}

fn at(seconds: u64) -> Time {
    Time::from_duration(Duration::from_secs(seconds))
}

#[derive(Clone, Debug)]
enum Operation {
    Admit,
    /// One of the calls in progress ends.
    End(usize, End),
    Pass(Duration),
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![
        1 => Just(End::Answered),
        5 => Just(TRAP),
        2 => Just(End::PluginFault { reason: "DeadlineExceeded" }),
        1 => Just(End::HostFault),
    ]
}

fn operations() -> impl Strategy<Value = Operation> {
    prop_oneof![
        5 => Just(Operation::Admit),
        5 => (0..8_usize, ends()).prop_map(|(index, end)| Operation::End(index, end)),
        2 => (0..400_u64).prop_map(|seconds| Operation::Pass(Duration::from_secs(seconds))),
    ]
}

fn limits() -> impl Strategy<Value = Option<u32>> {
    proptest::option::weighted(0.9, 0..5_u32)
}

/// A quarantine, the calls that it admitted and that have not ended, and the time.
struct World {
    quarantine: Quarantine<u64>,
    calls: Vec<Admission>,
    now: Time,
}

impl World {
    fn new(after: Option<u32>) -> Self {
        Self { quarantine: Quarantine::new(after), calls: Vec::new(), now: Time::default() }
    }

    fn admit(&mut self) -> Admission {
        let admission = self.quarantine.admit(self.now);
        if !matches!(admission, Admission::Held { .. }) {
            self.calls.push(admission);
        }
        admission
    }

    fn end(&mut self, index: usize, end: End) -> Option<(Admission, Change)> {
        let index = (!self.calls.is_empty()).then(|| index % self.calls.len())?;
        let admission = self.calls.remove(index);
        Some((admission, self.quarantine.ended(&another(), admission, end, self.now)))
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Admit => _ = self.admit(),
            Operation::End(index, end) => _ = self.end(*index, *end),
            Operation::Pass(duration) => self.now = self.now + *duration,
        }
    }

    fn after(after: Option<u32>, operations: &[Operation]) -> Self {
        let mut world = Self::new(after);
        operations.iter().for_each(|operation| world.apply(operation));
        world
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn there_is_never_more_than_one_probe(after in limits(), operations in vec(operations(), 1..150)) {
        let mut world = World::new(after);
        for operation in operations {
            world.apply(&operation);
            prop_assert!(world.calls.iter().filter(|call| **call == Admission::Probe).count() <= 1);
        }
    }

    #[test]
    fn so_many_faults_in_a_row_hold_a_plugin_and_fewer_do_not(after in limits(), ends in vec(ends(), 1..30)) {
        let mut quarantine = Quarantine::new(after);
        let (mut in_a_row, mut has_answered) = (0, false);
        prop_assert_eq!(quarantine.share(), Share::One);
        for end in ends {
            prop_assert_eq!(quarantine.admit(at(0)), Admission::Call);
            let change = quarantine.ended(&another(),Admission::Call, end, at(0));
            match end {
                End::Answered => (in_a_row, has_answered) = (0, true),
                End::PluginFault { .. } => in_a_row += 1,
                End::HostFault => {}
            }
            let enough = after.is_some_and(|after| in_a_row >= after.max(1));
            prop_assert_eq!(change == Change::Quarantined, enough);
            prop_assert_eq!(quarantine.view().is_some(), enough);
            prop_assert_eq!(quarantine.share() == Share::One, !has_answered || enough || in_a_row >= 2);
            if enough {
                break;
            }
        }
    }

    #[test]
    fn a_held_plugin_is_called_but_a_few_times_an_hour(
        after in 0..5_u32,
        stragglers in 0..5_usize,
        steps in vec((0..120_u64, 0..40_u64, any::<bool>()), 200..400),
    ) {
        let mut world = World::new(Some(after));
        for _ in 0..stragglers {
            world.admit();
        }
        while world.quarantine.view().is_none() {
            let call = world.quarantine.admit(world.now);
            world.quarantine.ended(&another(),call, TRAP, world.now);
        }
        let mut calls: Vec<Time> = Vec::new();
        for (pause, duration, straggler_ends) in steps {
            world.now = world.now + Duration::from_secs(pause);
            if straggler_ends && world.calls.pop().is_some() {
                world.quarantine.ended(&another(),Admission::Call, TRAP, world.now);
            }
            let admission = world.quarantine.admit(world.now);
            if !matches!(admission, Admission::Held { .. }) {
                calls.push(world.now);
                world.now = world.now + Duration::from_secs(duration);
                prop_assert_eq!(world.quarantine.ended(&another(),admission, TRAP, world.now), Change::None);
            }
        }
        for (index, first) in calls.iter().enumerate() {
            let within_the_hour = calls.iter().skip(index).take_while(|call| call.saturating_since(*first) < HOUR).count();
            prop_assert!(within_the_hour <= PROBES_AN_HOUR, "{:?}", calls);
        }
        let faults = world.quarantine.view().map(|held| held.faults);
        prop_assert_eq!(faults, u32::try_from(calls.len()).ok().map(|calls| calls + after.max(1)));
    }

    #[test]
    fn one_answer_recovers(after in limits(), operations in vec(operations(), 1..100), index in 0..8_usize) {
        let mut world = World::after(after, &operations);
        let was_held = world.quarantine.view().is_some();
        if let Some((_, change)) = world.end(index, End::Answered) {
            prop_assert_eq!(change, if was_held { Change::Recovered } else { Change::None });
            prop_assert_eq!(world.quarantine.view(), None);
            prop_assert_eq!(world.quarantine.share(), Share::Full);
            prop_assert_eq!(world.admit(), Admission::Call);
        }
    }

    #[test]
    fn no_plugin_is_held_for_ever(after in limits(), operations in vec(operations(), 1..100), ends in vec(ends(), 100)) {
        let mut world = World::after(after, &operations);
        for end in ends.into_iter().take(world.calls.len()) {
            world.end(0, end);
        }
        if let Admission::Held { until } = world.admit() {
            prop_assert!(until > world.now && until <= world.now + LONGEST_WAIT);
            world.now = until;
            prop_assert_eq!(world.admit(), Admission::Probe);
        }
    }

    #[test]
    fn what_the_host_is_to_blame_for_changes_nothing(after in limits(), operations in vec(operations(), 1..100)) {
        let mut world = World::after(after, &operations);
        let state = |world: &World| (world.quarantine.view(), world.quarantine.share(), world.quarantine.faults);
        let before = state(&world);
        while let Some((_, change)) = world.end(0, End::HostFault) {
            prop_assert_eq!(change, Change::None);
        }
        prop_assert_eq!(state(&world), before);
        if before.0.is_some_and(|held| held.until <= world.now) {
            prop_assert_eq!(world.admit(), Admission::Probe, "a probe that did not come to its end is repeated");
        }
    }

    #[test]
    fn what_was_not_admitted_changes_nothing(after in limits(), operations in vec(operations(), 1..100), end in ends()) {
        let mut world = World::after(after, &operations);
        let before = format!("{:?}", world.quarantine);
        let now = world.now;
        prop_assert_eq!(world.quarantine.ended(&another(),Admission::Held { until: now }, end, now), Change::None);
        prop_assert_eq!(format!("{:?}", world.quarantine), before);
    }
}

#[test]
fn probes_come_after_30_seconds_and_then_ever_more_seldom() {
    let mut quarantine = Quarantine::new(Some(1));
    quarantine.ended(&another(), Admission::Call, TRAP, at(0));
    let mut now = at(0);
    let mut waits = Vec::new();
    for _ in 0..8 {
        let Admission::Held { until } = quarantine.admit(now) else { panic!("not held at {now:?}") };
        waits.push(until.saturating_since(now).as_secs());
        now = until;
        assert_eq!(quarantine.admit(now), Admission::Probe);
        quarantine.ended(&another(), Admission::Probe, TRAP, now);
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600, 600]);
}

#[test]
fn the_view_says_since_when_and_why() {
    let mut quarantine = Quarantine::new(Some(2));
    quarantine.ended(&another(), Admission::Call, TRAP, at(5));
    assert_eq!(quarantine.view(), None);
    assert_eq!(quarantine.ended(&another(), Admission::Call, TRAP, at(10)), Change::Quarantined);
    assert_eq!(quarantine.view(), Some(Held { since: at(10), faults: 2, reason: "Trapped", until: at(40) }));
    assert_eq!(quarantine.admit(at(40)), Admission::Probe);
    quarantine.ended(&another(), Admission::Probe, End::PluginFault { reason: "DeadlineExceeded" }, at(50));
    assert_eq!(quarantine.view(), Some(Held { since: at(10), faults: 3, reason: "DeadlineExceeded", until: at(110) }));
}

#[test]
fn a_probe_that_outlasts_its_quarantine_is_still_the_only_one() {
    let mut quarantine = Quarantine::new(Some(1));
    assert_eq!(quarantine.admit(at(0)), Admission::Call);
    quarantine.ended(&another(), Admission::Call, TRAP, at(0));
    assert_eq!(quarantine.admit(at(30)), Admission::Probe);
    // A call from before answers, and the next one fails.
    assert_eq!(quarantine.ended(&another(), Admission::Call, End::Answered, at(31)), Change::Recovered);
    assert_eq!(quarantine.ended(&another(), Admission::Call, TRAP, at(32)), Change::Quarantined);
    assert!(matches!(quarantine.admit(at(100)), Admission::Held { .. }));
    quarantine.ended(&another(), Admission::Probe, End::HostFault, at(101));
    assert_eq!(quarantine.admit(at(101)), Admission::Probe);
}

#[test]
fn objects_that_are_fewer_than_it_takes_never_hold_a_plugin() {
    let mut quarantine = Quarantine::new(Some(3));
    for fault in 0..1000 {
        assert_eq!(quarantine.ended(&(fault % 2), Admission::Call, TRAP, at(fault)), Change::None);
    }
    assert_eq!(quarantine.share(), Share::One, "it is a suspect all the same");
    assert_eq!(quarantine.ended(&2, Admission::Call, TRAP, at(1000)), Change::Quarantined);
}
