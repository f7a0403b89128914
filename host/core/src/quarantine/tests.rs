mod simulation;

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const TRAP: CallEnd = CallEnd::PluginFault { reason: "Trapped" };
const HOUR: Duration = Duration::from_secs(3600);
/// After 30 s, 1, 2, 4, 8 minutes and then every 10: the ninth comes after 55.5 minutes.
const PROBES_AN_HOUR: usize = 9;

fn at(seconds: u64) -> Time {
    Time::from_duration(Duration::from_secs(seconds))
}

fn object(scope: u8, number: u8) -> ObjectKey {
    if scope == 0 {
        ObjectKey::new(None::<String>, format!("cluster-{number}"))
    } else {
        namespaced(&format!("team-{scope}"), number)
    }
}

fn namespaced(namespace: &str, number: u8) -> ObjectKey {
    ObjectKey::new(Some(namespace), format!("it-{number}"))
}

#[derive(Clone, Debug)]
enum Operation {
    Ask { scope: u8, number: u8 },
    End { index: usize, end: CallEnd },
    Forget { scope: u8, number: u8 },
    PassTime(Duration),
}

fn ends() -> impl Strategy<Value = CallEnd> {
    prop_oneof![
        2 => Just(CallEnd::Answered),
        5 => Just(TRAP),
        2 => Just(CallEnd::PluginFault { reason: "DeadlineExceeded" }),
        1 => Just(CallEnd::HostFault),
    ]
}

fn operations() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (0..4_u8, 0..4_u8).prop_map(|(scope, number)| Operation::Ask { scope, number }),
        6 => (0..8_usize, ends()).prop_map(|(index, end)| Operation::End { index, end }),
        1 => (0..4_u8, 0..4_u8).prop_map(|(scope, number)| Operation::Forget { scope, number }),
        2 => (0..400_u64).prop_map(|seconds| Operation::PassTime(Duration::from_secs(seconds))),
    ]
}

/// Values for [`Quarantine::new`].
fn limits() -> impl Strategy<Value = Option<u32>> {
    proptest::option::weighted(0.9, 0..5_u32)
}

#[derive(Clone, Copy, Debug, Default)]
struct Past {
    faults: usize,
    answers: usize,
}

/// A quarantine, and what the laws need to know about the calls.
struct World {
    quarantine: Quarantine,
    /// The calls in progress.
    calls: Vec<(ObjectKey, Admission)>,
    past: BTreeMap<QuarantineScope, Past>,
    /// The objects whose last call answered.
    answered: BTreeSet<ObjectKey>,
    /// The scopes in which such an object has faulted since the last answer.
    relapsed: BTreeSet<QuarantineScope>,
    now: Time,
}

impl World {
    fn new(limit: Option<u32>) -> Self {
        Self {
            quarantine: Quarantine::new(limit),
            calls: Vec::new(),
            past: BTreeMap::new(),
            answered: BTreeSet::new(),
            relapsed: BTreeSet::new(),
            now: at(0),
        }
    }

    /// Asks for a call, and begins it if it is admitted.
    fn ask(&mut self, object: &ObjectKey) -> Admission {
        let admission = self.quarantine.admit(object, self.now);
        if matches!(admission, Admission::Call(_) | Admission::Probe(_)) {
            self.calls.push((object.clone(), admission));
        }
        admission
    }

    /// Ends one of the calls in progress.
    fn end(&mut self, index: usize, end: CallEnd) -> Option<(ObjectKey, Ended)> {
        let index = (!self.calls.is_empty()).then(|| index % self.calls.len())?;
        let (object, admission) = self.calls.remove(index);
        let past = self.past.entry(QuarantineScope::of(&object)).or_default();
        match end {
            CallEnd::Answered => {
                past.answers += 1;
                self.answered.insert(object.clone());
                self.relapsed.remove(&QuarantineScope::of(&object));
            }
            CallEnd::PluginFault { .. } => {
                past.faults += 1;
                if self.answered.remove(&object) {
                    self.relapsed.insert(QuarantineScope::of(&object));
                }
            }
            CallEnd::HostFault => {}
        }
        let ended = self.quarantine.ended(&object, admission, end, self.now);
        Some((object, ended))
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Ask { scope, number } => {
                // The queue processes no object twice at once.
                let object = object(*scope, *number);
                if !self.calls.iter().any(|(other, _)| *other == object) {
                    self.ask(&object);
                }
            }
            Operation::End { index, end } => _ = self.end(*index, *end),
            Operation::Forget { scope, number } => {
                let object = object(*scope, *number);
                if !self.calls.iter().any(|(other, _)| *other == object) {
                    self.quarantine.forget(&object, self.now);
                    self.answered.remove(&object);
                }
            }
            Operation::PassTime(duration) => self.now = self.now + *duration,
        }
    }

    fn after_operations(limit: Option<u32>, operations: &[Operation]) -> Self {
        let mut world = Self::new(limit);
        operations.iter().for_each(|operation| world.apply(operation));
        world
    }

    fn past_of_scope(&self, object: &ObjectKey) -> Past {
        self.past.get(&QuarantineScope::of(object)).copied().unwrap_or_default()
    }

    /// Makes a whole call, which must be admitted.
    fn call(&mut self, object: &ObjectKey, end: CallEnd) -> Ended {
        let admission = self.quarantine.admit(object, self.now);
        assert!(matches!(admission, Admission::Call(_) | Admission::Probe(_)), "{object}: {admission:?}");
        self.quarantine.ended(object, admission, end, self.now)
    }
}

fn is_of_suspects(admission: Admission) -> bool {
    matches!(admission, Admission::Call(Lane::Suspects) | Admission::Probe(_))
}

fn objects() -> impl Iterator<Item = ObjectKey> {
    (0..4).flat_map(|scope| (0..4).map(move |number| object(scope, number)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn there_is_never_more_than_one_call_of_suspects(limit in limits(), operations in vec(operations(), 1..150)) {
        let mut world = World::new(limit);
        for operation in operations {
            world.apply(&operation);
            prop_assert!(world.calls.iter().filter(|(_, admission)| is_of_suspects(*admission)).count() <= 1);
            prop_assert_eq!(world.quarantine.held_scope_count(), world.quarantine.held_scopes().count());
        }
    }

    #[test]
    fn nobody_is_held_back_by_the_faults_of_another_scope(limit in limits(), operations in vec(operations(), 1..150)) {
        let world = World::after_operations(limit, &operations);
        for object in objects() {
            let past = world.past_of_scope(&object);
            let admission = world.quarantine.clone().admit(&object, world.now);
            if past.faults == 0 {
                prop_assert!(!matches!(admission, Admission::Held { .. }), "{} {:?}", object, admission);
            }
            if past.faults == 0 && past.answers > 0 && !world.quarantine.is_empty() {
                let is_forgotten = !world.quarantine.scopes.contains_key(&QuarantineScope::of(&object));
                prop_assert!(is_forgotten || admission == Admission::Call(Lane::Usual), "{} {:?}", object, admission);
            }
        }
    }

    #[test]
    fn a_new_object_in_a_scope_does_not_hold_back_objects_that_were_answered(
        limit in limits(),
        operations in vec(operations(), 1..150),
    ) {
        let world = World::after_operations(limit, &operations);
        for object in world.answered.iter().filter(|object| !world.relapsed.contains(&QuarantineScope::of(object))) {
            prop_assert_eq!(world.quarantine.holds(object), None, "{}", object);
        }
    }

    #[test]
    fn an_object_that_answered_last_is_held_only_with_the_mount(limit in limits(), operations in vec(operations(), 1..150)) {
        let world = World::after_operations(limit, &operations);
        for object in objects() {
            let history = world.quarantine.scopes.get(&QuarantineScope::of(&object));
            let last_call = history.and_then(|history| history.last_call(scope::id(&object)));
            let held = world.quarantine.holds(&object).map(|(extent, _)| extent);
            prop_assert!(last_call != Some(LastCall::Answered) || held != Some(Extent::Scope));
        }
    }

    #[test]
    fn one_answer_recovers_its_scope_and_the_mount(
        limit in limits(),
        operations in vec(operations(), 1..100),
        index in 0..8_usize,
    ) {
        let mut world = World::after_operations(limit, &operations);
        let was_held = world.quarantine.view().is_some();
        if let Some((object, ended)) = world.end(index, CallEnd::Answered) {
            prop_assert_eq!(ended.changes.contains(&Change::Recovered(Extent::Mount)), was_held);
            prop_assert_eq!((world.quarantine.view(), world.quarantine.holds(&object)), (None, None));
            let held: BTreeSet<&QuarantineScope> = world.quarantine.held_objects.keys().collect();
            let scopes: BTreeSet<&QuarantineScope> = world.quarantine.held_scopes().map(|(scope, _)| scope).collect();
            prop_assert!(held.is_subset(&scopes), "{:?} still wait, and only {:?} are held", held, scopes);
        }
    }

    #[test]
    fn nobody_is_held_for_ever(limit in limits(), operations in vec(operations(), 1..100), ends in vec(ends(), 100)) {
        let mut world = World::after_operations(limit, &operations);
        for end in ends.into_iter().take(world.calls.len()) {
            world.end(0, end);
        }
        for object in objects() {
            let mut quarantine = world.quarantine.clone();
            if let Admission::Held { until, extent } = quarantine.admit(&object, world.now) {
                prop_assert!(until > world.now && until <= world.now + LONGEST_WAIT + PREFERENCE);
                // Until then the lane may be reserved for an object that needs no call any more.
                let until = until.max(world.now + RESERVED_FOR);
                prop_assert_eq!(quarantine.admit(&object, until), Admission::Probe(extent));
            }
        }
    }

    #[test]
    fn host_faults_change_nothing(limit in limits(), operations in vec(operations(), 1..100)) {
        let mut world = World::after_operations(limit, &operations);
        let state = |world: &World| {
            let quarantine = &world.quarantine;
            let holds: Vec<_> = objects().map(|object| quarantine.holds(&object)).collect();
            (quarantine.view(), holds, quarantine.len(), quarantine.suspects.clone(), quarantine.has_answered)
        };
        let before = state(&world);
        while let Some((_, ended)) = world.end(0, CallEnd::HostFault) {
            prop_assert!(ended.changes.is_empty() && ended.released.is_empty());
        }
        prop_assert_eq!(state(&world), before);
    }

    #[test]
    fn deleted_objects_are_forgotten_once_their_past_does_not_count(
        limit in limits(),
        operations in vec(operations(), 1..150),
        ends in vec(ends(), 150),
    ) {
        let mut world = World::after_operations(limit, &operations);
        for end in ends.into_iter().take(world.calls.len()) {
            world.end(0, end);
        }
        for object in objects() {
            world.quarantine.forget(&object, world.now);
        }
        let (objects, _scopes) = world.quarantine.len();
        prop_assert_eq!((objects, world.quarantine.objects().count()), (0, 0));
        let later = world.now + LONGEST_WAIT * 3;
        world.quarantine.forget(&object(1, 1), later);
        prop_assert!(world.quarantine.is_empty() && world.quarantine.empty.is_empty() && world.quarantine.suspects.is_empty());
    }

    #[test]
    fn a_scope_is_held_after_the_configured_number_of_consecutive_faults(limit in limits(), ends in vec(ends(), 1..30)) {
        let mut quarantine = Quarantine::new(limit);
        let mut in_a_row = 0;
        // Another namespace answers, so that the mount is never held.
        let other = namespaced("other", 0);
        for (number, end) in (0..).zip(ends) {
            let answered = quarantine.admit(&other, at(0));
            quarantine.ended(&other, answered, CallEnd::Answered, at(0));
            let object = namespaced("team", number);
            let admission = quarantine.admit(&object, at(0));
            let changes = quarantine.ended(&object, admission, end, at(0)).changes;
            match end {
                CallEnd::Answered => in_a_row = 0,
                CallEnd::PluginFault { .. } => in_a_row += 1,
                CallEnd::HostFault => {}
            }
            let enough = limit.is_some_and(|limit| in_a_row >= limit.max(1));
            prop_assert_eq!(changes.contains(&Change::Quarantined(Extent::Scope)), enough);
            prop_assert_eq!(quarantine.holds(&object).is_some(), enough);
            prop_assert_eq!(quarantine.view(), None);
            if enough {
                break;
            }
        }
    }
}

#[test]
fn a_plugin_that_is_broken_for_everyone_is_called_a_few_times_an_hour() {
    for (limit, scopes, answered) in [(1, 1, 0), (2, 3, 0), (4, 5, 2), (3, 2, 1)] {
        let mut world = World::new(Some(limit));
        let objects: Vec<ObjectKey> = (0..scopes).flat_map(|scope| (0..6).map(move |number| object(scope, number))).collect();
        for object in objects.iter().take(answered) {
            world.call(object, CallEnd::Answered);
        }
        // All ask all the time, without back-off.
        let mut calls = Vec::new();
        for second in (0..4 * 3600).step_by(2) {
            world.now = at(second);
            for object in &objects {
                if matches!(world.ask(object), Admission::Call(_) | Admission::Probe(_)) {
                    calls.push(world.now);
                    world.end(0, TRAP);
                }
            }
        }
        assert!(world.quarantine.view().is_some());
        // Until the last answer no longer counts, each scope has its own quarantine.
        let until = at(0) + SUSPECT_FOR + Duration::from_secs(60);
        let calls: Vec<Time> = calls.into_iter().filter(|call| *call > until).collect();
        for (index, first) in calls.iter().enumerate() {
            let within_the_hour = calls.iter().skip(index).take_while(|call| call.saturating_since(*first) < HOUR).count();
            assert!(within_the_hour <= PROBES_AN_HOUR, "{limit} {scopes} {answered}: {calls:?}");
        }
    }
}

#[test]
fn probes_come_after_30_seconds_and_then_ever_more_seldom() {
    let mut world = World::new(Some(1));
    let object = namespaced("team", 0);
    world.call(&object, TRAP);
    let mut waits = Vec::new();
    for _ in 0..8 {
        let Admission::Held { until, extent } = world.ask(&object) else { panic!("not held at {:?}", world.now) };
        assert_eq!(extent, Extent::Mount);
        waits.push(until.saturating_since(world.now).as_secs());
        world.now = until;
        world.call(&object, TRAP);
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600, 600]);
}

#[test]
fn the_view_shows_the_start_and_the_reason() {
    let mut world = World::new(Some(2));
    world.now = at(5);
    world.call(&namespaced("team", 0), TRAP);
    assert_eq!(world.quarantine.view(), None);
    world.now = at(10);
    let changes = world.call(&namespaced("team", 1), TRAP).changes;
    assert_eq!(changes, [Change::Quarantined(Extent::Scope), Change::Quarantined(Extent::Mount)]);
    assert_eq!(world.quarantine.view(), Some(Held { since: at(10), faults: 2, reason: "Trapped", until: at(40) }));
    world.now = at(40);
    let deadline = CallEnd::PluginFault { reason: "DeadlineExceeded" };
    world.call(&namespaced("team", 0), deadline);
    assert_eq!(world.quarantine.view(), Some(Held { since: at(10), faults: 3, reason: "DeadlineExceeded", until: at(100) }));
}

#[test]
fn a_namespace_that_was_not_asked_about_ends_a_quarantine_of_the_mount() {
    let mut world = World::new(Some(5));
    for number in 0..5 {
        world.call(&namespaced("attacker", number), TRAP);
    }
    assert!(world.quarantine.view().is_some(), "nobody else is known");
    let admission = world.ask(&namespaced("quiet", 0));
    assert_eq!(admission, Admission::Call(Lane::Suspects));
    let (_, ended) = world.end(0, CallEnd::Answered).unwrap();
    assert_eq!(ended.changes, [Change::Recovered(Extent::Mount)]);
    assert!(matches!(world.ask(&namespaced("attacker", 0)), Admission::Held { extent: Extent::Scope, .. }));
    assert_eq!(world.ask(&namespaced("quiet", 1)), Admission::Call(Lane::Usual));
}

#[test]
fn an_object_that_answered_before_is_the_probe_of_a_mount() {
    let mut world = World::new(Some(2));
    let (good, bad) = (namespaced("team", 0), namespaced("team", 1));
    world.call(&good, CallEnd::Answered);
    world.call(&bad, TRAP);
    world.call(&namespaced("team", 2), TRAP);
    assert_eq!(world.quarantine.view(), None, "what is new in the namespace may be to blame");
    world.call(&good, TRAP);
    let until = world.quarantine.view().expect("a quarantine").until;
    world.now = until;
    assert!(matches!(world.ask(&bad), Admission::Held { extent: Extent::Mount, .. }));
    assert_eq!(world.ask(&good), Admission::Probe(Extent::Mount));
    assert_eq!(world.ask(&bad), Admission::Held { until: until + PREFERENCE, extent: Extent::Mount });
}

#[test]
fn a_namespace_with_one_bad_object_is_not_held_because_of_the_faults_of_another() {
    let mut world = World::new(Some(5));
    for number in 0..10 {
        world.call(&namespaced("quiet", number), CallEnd::Answered);
    }
    world.call(&namespaced("quiet", 10), TRAP);
    world.now = world.now + SUSPECT_FOR * 2;
    for number in 0..4 {
        world.call(&namespaced("attacker", number), TRAP);
    }
    assert!(world.quarantine.view().is_some());
    for number in 0..10 {
        assert_eq!(world.ask(&namespaced("quiet", number)), Admission::Call(Lane::Usual));
    }
}

#[test]
fn scopes_take_turns_in_the_lane_of_suspects() {
    let mut world = World::new(None);
    assert_eq!(world.ask(&namespaced("attacker", 0)), Admission::Call(Lane::Suspects));
    for number in 1..50 {
        assert_eq!(world.ask(&namespaced("attacker", number)), Admission::Wait);
    }
    assert_eq!(world.ask(&namespaced("quiet", 0)), Admission::Wait);
    let (_, ended) = world.end(0, TRAP).unwrap();
    assert!(ended.next.contains(&namespaced("quiet", 0)) && ended.next.len() <= 4, "{:?}", ended.next);
    assert_eq!(world.ask(&namespaced("quiet", 0)), Admission::Call(Lane::Suspects));
    let (_, ended) = world.end(0, CallEnd::Answered).unwrap();
    assert!(ended.released.len() + ended.next.len() >= 46, "the plugin has answered: all may ask");
}

#[test]
fn flooding_the_queue_does_not_take_the_turn_of_another() {
    let mut world = World::new(None);
    assert_eq!(world.ask(&namespaced("attacker", 0)), Admission::Call(Lane::Suspects));
    assert_eq!(world.ask(&namespaced("quiet", 0)), Admission::Wait);
    world.end(0, TRAP).unwrap();
    for number in 1..50 {
        assert_eq!(world.ask(&namespaced("attacker", number)), Admission::Wait, "they ask before the one whose turn it is");
    }
    assert_eq!(world.ask(&namespaced("quiet", 0)), Admission::Call(Lane::Suspects));
    world.end(0, TRAP).unwrap();
    // An object that needs no call any more does not delay others.
    world.now = world.now + RESERVED_FOR;
    assert_eq!(world.ask(&namespaced("attacker", 60)), Admission::Call(Lane::Suspects));
}

#[test]
fn removing_what_provoked_faults_does_not_restore_trust_at_once() {
    let mut world = World::new(None);
    world.call(&namespaced("quiet", 0), CallEnd::Answered);
    for number in 0..2 {
        world.call(&namespaced("attacker", number), TRAP);
    }
    for number in 0..2 {
        world.call(&namespaced("attacker", number), CallEnd::Answered);
        world.quarantine.forget(&namespaced("attacker", number), world.now);
    }
    assert_eq!(world.quarantine.clone().admit(&namespaced("attacker", 9), world.now), Admission::Call(Lane::Suspects));
    world.now = world.now + FIRST_PROBE;
    assert_eq!(world.quarantine.clone().admit(&namespaced("attacker", 9), world.now), Admission::Call(Lane::Usual));
    for number in 0..2 {
        world.call(&namespaced("attacker", number), TRAP);
    }
    world.now = world.now + FIRST_PROBE;
    assert_eq!(
        world.quarantine.admit(&namespaced("attacker", 9), world.now),
        Admission::Call(Lane::Suspects),
        "longer each time"
    );
}

#[test]
fn a_tenant_with_several_namespaces_does_not_get_the_workers_of_others() {
    let mut world = World::new(Some(5));
    world.call(&namespaced("quiet", 0), CallEnd::Answered);
    for namespace in ["attacker-1", "attacker-2"] {
        for number in 0..2 {
            world.call(&namespaced(namespace, number), TRAP);
        }
    }
    assert_eq!(world.quarantine.clone().admit(&namespaced("attacker-3", 0), world.now), Admission::Call(Lane::Suspects));
    assert_eq!(world.ask(&namespaced("quiet", 1)), Admission::Call(Lane::Usual));
}

#[test]
fn a_namespace_that_answers_keeps_the_mount_from_being_held_until_that_is_long_ago() {
    let mut world = World::new(Some(2));
    world.call(&namespaced("quiet", 0), CallEnd::Answered);
    let bad = [0, 1].map(|number| namespaced("team", number));
    for object in &bad {
        world.call(object, TRAP);
    }
    assert_eq!(world.quarantine.view(), None);
    assert!(matches!(world.ask(&bad[0]), Admission::Held { extent: Extent::Scope, .. }));
    world.now = world.now + SUSPECT_FOR;
    assert_eq!(world.call(&bad[0], TRAP).changes, [Change::Quarantined(Extent::Mount)]);
    assert_eq!(world.ask(&namespaced("quiet", 0)), Admission::Call(Lane::Usual), "it has never ended in a fault");
}

#[test]
fn a_cluster_scoped_object_is_held_back_by_its_own_faults_only() {
    let mut world = World::new(Some(2));
    world.call(&object(0, 0), CallEnd::Answered);
    for number in 1..4 {
        world.call(&object(0, number), TRAP);
    }
    assert_eq!((world.quarantine.view(), world.quarantine.held_scopes().count()), (None, 0));
    assert_eq!(world.ask(&object(0, 0)), Admission::Call(Lane::Usual));
    assert_eq!(world.ask(&object(0, 1)), Admission::Call(Lane::Suspects), "it is not held: its back-off delays it");
    assert_eq!(world.ask(&object(0, 9)), Admission::Wait, "a new one is suspect while others are");
    let (_, ended) = world.end(1, TRAP).unwrap();
    assert_eq!(ended.changes, [Change::Quarantined(Extent::Scope)], "two of its calls in a row have faulted");
    assert!(matches!(world.ask(&object(0, 1)), Admission::Held { extent: Extent::Scope, .. }));
}

#[test]
fn the_number_of_kept_scopes_without_objects_is_bounded() {
    let mut world = World::new(Some(1));
    world.call(&namespaced("quiet", 0), CallEnd::Answered);
    for number in 0..3 * MOST_EMPTY {
        let object = ObjectKey::new(None::<String>, format!("it-{number}"));
        world.call(&object, TRAP);
        world.quarantine.forget(&object, world.now);
    }
    assert_eq!(world.quarantine.len(), (1, MOST_EMPTY + 1));
    assert_eq!((world.quarantine.held_scope_count(), world.quarantine.suspects.len()), (MOST_EMPTY, MOST_EMPTY));
}

#[test]
fn an_object_that_waits_is_no_longer_ahead_once_its_scope_faults() {
    let mut world = World::new(None);
    let attacker = |number| namespaced("attacker", number);
    assert_eq!(world.ask(&attacker(0)), Admission::Call(Lane::Suspects));
    for object in [attacker(1), attacker(2), namespaced("quiet", 0)] {
        assert_eq!(world.ask(&object), Admission::Wait);
    }
    world.now = at(2);
    let (_, ended) = world.end(0, TRAP).unwrap();
    assert_eq!(ended.next.first(), Some(&namespaced("quiet", 0)), "{:?}", ended.next);
}

#[test]
fn a_probe_that_does_not_come_to_its_end_is_repeated() {
    let mut world = World::new(Some(1));
    world.call(&namespaced("team", 0), TRAP);
    world.now = at(30);
    for turn in 0..4 {
        assert_eq!(world.ask(&namespaced("team", turn % 2)), Admission::Probe(Extent::Mount));
        assert_eq!(world.ask(&namespaced("team", (turn + 1) % 2)), Admission::Wait);
        world.end(0, CallEnd::HostFault);
    }
}
