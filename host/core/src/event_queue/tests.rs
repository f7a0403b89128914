use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::object::{GroupVersionKind, ObjectKey};
use crate::response::Severity;

type Queue = EventQueue<&'static str, u64>;

fn seconds(seconds: u64) -> Time {
    Time::from_duration(Duration::from_secs(seconds))
}

fn subject(namespace: &str, name: &str) -> Subject {
    let object =
        ObjectRef { kind: GroupVersionKind::new("example.com", "v1", "Echo"), key: ObjectKey::new(Some(namespace), name) };
    Subject { object, uid: format!("{namespace}/{name}"), resource_version: "1".to_owned() }
}

fn event(reason: &str, message: &str) -> Event {
    Event { severity: Severity::Normal, reason: reason.to_owned(), message: message.to_owned() }
}

fn publish(queue: &mut Queue, now: Time) -> Vec<Publication<&'static str, u64>> {
    let mut published = Vec::new();
    while let Some(publication) = queue.take(MountLimit::Enforced, now, |_| true) {
        queue.done(&publication, Some(format!("event-{}", publication.ticket)));
        published.push(publication);
    }
    published
}

fn add(queue: &mut Queue, event: Event, at: u64) -> AddResult {
    queue.add(&"mount", subject("default", "a"), event, at, seconds(at))
}

const WAITS: AddResult = AddResult::Waits { displaced: 0 };

#[test]
fn the_same_event_again_is_a_series_of_the_first() {
    let mut queue = Queue::default();
    let created = || event("Created", "created it");
    assert_eq!(add(&mut queue, created(), 0), WAITS);
    assert_eq!(add(&mut queue, created(), 1), AddResult::Merged, "the first one still waits");
    let first = publish(&mut queue, seconds(1));
    assert_eq!(
        first.iter().map(|one| (one.count, one.first, one.last, one.name.clone())).collect::<Vec<_>>(),
        [(2, 0, 1, None)]
    );
    assert_eq!(add(&mut queue, created(), 2), WAITS);
    let [again] = publish(&mut queue, seconds(2)).try_into().unwrap();
    assert_eq!((again.count, again.first, again.last, again.name.as_deref()), (3, 0, 2, Some("event-1")));
    let later = 2 + SERIES_END.as_secs();
    assert_eq!(add(&mut queue, created(), later), WAITS);
    let [new] = publish(&mut queue, seconds(later)).try_into().unwrap();
    assert_eq!((new.count, new.first, new.name), (1, later, None), "the series has ended");
}

#[test]
fn an_event_that_was_not_published_is_created_when_it_happens_again() {
    let mut queue = Queue::default();
    add(&mut queue, event("Created", ""), 0);
    let failed = queue.take(MountLimit::Enforced, seconds(0), |_| true).unwrap();
    queue.done(&failed, None);
    add(&mut queue, event("Created", ""), 1);
    assert_eq!(queue.take(MountLimit::Enforced, seconds(1), |mount| *mount != "mount"), None, "it is held back");
    let [again] = publish(&mut queue, seconds(1)).try_into().unwrap();
    assert_eq!((again.count, again.first, again.name), (2, 0, None));
}

#[test]
fn many_events_that_differ_only_in_their_message_become_one_series() {
    let mut queue = Queue::default();
    for number in 0..20 {
        add(&mut queue, event("Failed", &format!("attempt {number}")), number);
    }
    add(&mut queue, event("Created", "another reason"), 20);
    let published = publish(&mut queue, seconds(20));
    let messages: Vec<(&str, u32)> = published.iter().map(|one| (one.event.message.as_str(), one.count)).collect();
    let single: Vec<String> = (0..10).map(|number| format!("attempt {number}")).collect();
    let mut expected: Vec<(&str, u32)> = single.iter().map(|message| (message.as_str(), 1)).collect();
    expected.push(("(combined from similar events): attempt 10", 10));
    expected.push(("another reason", 1));
    assert_eq!(messages, expected);
}

#[test]
fn an_object_publishes_25_events_and_then_one_in_five_minutes() {
    let mut queue = Queue::default();
    // A series each, with its own reason.
    let added: Vec<AddResult> = (0..30).map(|number| add(&mut queue, event(&format!("Reason{number}"), ""), 0)).collect();
    assert_eq!(added.iter().filter(|added| **added == WAITS).count(), 25);
    assert_eq!(added.iter().filter(|added| **added == AddResult::ObjectLimit).count(), 5);
    assert_eq!(publish(&mut queue, seconds(0)).len(), 25);
    assert_eq!(add(&mut queue, event("Reason0", ""), 299), AddResult::Merged, "it is counted, and published with a later one");
    assert_eq!(add(&mut queue, event("Reason0", ""), 300), WAITS);
    let [published] = publish(&mut queue, seconds(300)).try_into().unwrap();
    assert_eq!((published.count, published.name.as_deref()), (3, Some("event-1")));
}

#[test]
fn a_mount_publishes_1000_events_and_then_20_a_second() {
    let mut queue = Queue::default();
    for number in 0..2_000 {
        let subject = subject("default", &format!("{number}"));
        assert_eq!(queue.add(&"mount", subject, event("Created", ""), 0, seconds(0)), WAITS);
    }
    assert_eq!(publish(&mut queue, seconds(0)).len(), 1_000);
    let (_, next) = queue.ready_at(seconds(0)).next().unwrap();
    assert_eq!(next.as_duration(), Duration::from_millis(50));
    assert_eq!(publish(&mut queue, seconds(1)).len(), 20);
    let rest = std::iter::from_fn(|| {
        let publication = queue.take(MountLimit::Ignored, seconds(1), |_| true)?;
        queue.done(&publication, None);
        Some(())
    });
    assert_eq!(rest.count(), 980, "when the host stops");
}

#[test]
fn namespaces_and_mounts_take_turns() {
    let mut queue = Queue::default();
    let names: Vec<String> = (0..5).map(|number| number.to_string()).collect();
    for name in &names {
        queue.add(&"one", subject("loud", name), event("Created", ""), 0, seconds(0));
    }
    queue.add(&"one", subject("quiet", "q"), event("Created", ""), 0, seconds(0));
    queue.add(&"two", subject("other", "o"), event("Created", ""), 0, seconds(0));
    let order: Vec<String> = publish(&mut queue, seconds(0)).iter().map(|one| one.subject.uid.clone()).collect();
    assert_eq!(order, ["loud/0", "other/o", "quiet/q", "loud/1", "loud/2", "loud/3", "loud/4"]);
}

#[test]
fn when_the_queue_is_full_the_largest_namespace_loses_its_newest_event() {
    let mut queue = Queue::default();
    let long = "x".repeat(1_000);
    let mut loud = 0;
    while queue.add(&"mount", subject("loud", &format!("{loud:05}")), event("Created", &long), 0, seconds(0)) == WAITS {
        loud += 1;
    }
    assert!(loud > 1_000, "{loud}");
    let quiet = queue.add(&"mount", subject("quiet", "q"), event("Created", &long), 0, seconds(0));
    assert_eq!(quiet, AddResult::Waits { displaced: 1 });
    assert_eq!(queue.waiting(), loud);
    let other = queue.add(&"other", subject("loud", "o"), event("Created", &long), 0, seconds(0));
    assert_eq!(other, WAITS, "each mount has a limit of its own");
    let last = format!("loud/{:05}", loud - 1);
    let published = std::iter::from_fn(|| {
        let publication = queue.take(MountLimit::Ignored, seconds(0), |_| true)?;
        queue.done(&publication, None);
        Some(publication.subject.uid)
    });
    assert!(!published.collect::<Vec<_>>().contains(&last), "it was displaced");
}

#[test]
fn retain_drops_waiting_events_by_their_time() {
    let mut queue = Queue::default();
    for at in 0..4 {
        queue.add(&"mount", subject("default", &at.to_string()), event("Created", ""), at, seconds(at));
    }
    let taken = queue.take(MountLimit::Enforced, seconds(4), |_| true).unwrap();
    assert_eq!(queue.retain(&"mount", |added| added >= 3), 2);
    queue.done(&taken, None);
    assert_eq!(publish(&mut queue, seconds(4)).iter().map(|one| one.added).collect::<Vec<_>>(), [3]);
    queue.add(&"mount", subject("default", "a"), event("Created", ""), 5, seconds(5));
    assert_eq!(queue.remove_mount(&"mount"), 1);
    assert_eq!(queue.waiting(), 0);
}

#[test]
fn done_is_ignored_after_the_mount_was_replaced() {
    let mut queue = Queue::default();
    add(&mut queue, event("Created", ""), 0);
    let before = queue.take(MountLimit::Enforced, seconds(0), |_| true).unwrap();
    queue.remove_mount(&"mount");
    add(&mut queue, event("Created", "a"), 0);
    add(&mut queue, event("Created", "b"), 0);
    let now = queue.take(MountLimit::Enforced, seconds(0), |_| true).unwrap();
    queue.done(&before, Some("before".to_owned()));
    assert_eq!(queue.take(MountLimit::Enforced, seconds(0), |_| true), None, "one of a mount at once");
    queue.done(&now, None);
    assert_eq!(publish(&mut queue, seconds(0)).len(), 1);
}

#[derive(Clone, Debug)]
enum Step {
    Add { mount: usize, namespace: usize, object: usize, reason: usize, message: usize },
    Take,
    Done { index: usize, is_published: bool },
    Wait(u64),
    DropBefore { mount: usize, age: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let add = (0..2_usize, 0..3_usize, 0..3_usize, 0..3_usize, 0..15_usize)
        .prop_map(|(mount, namespace, object, reason, message)| Step::Add { mount, namespace, object, reason, message });
    let step = prop_oneof![
        8 => add,
        4 => Just(Step::Take),
        4 => (0..4_usize, any::<bool>()).prop_map(|(index, is_published)| Step::Done { index, is_published }),
        1 => (0..400_u64).prop_map(Step::Wait),
        1 => (0..2_usize, 0..100_u64).prop_map(|(mount, age)| Step::DropBefore { mount, age }),
    ];
    prop::collection::vec(step, 1..400)
}

proptest! {
    /// Checks limits, order, one publication per mount, the counts, and an empty queue at the end.
    #[test]
    fn limits_and_order_hold_for_any_sequence_of_steps(steps in steps()) {
        let (mounts, mut queue, mut now) = (["one", "two"], Queue::default(), 0_u64);
        let mut taken: Vec<Publication<&str, u64>> = Vec::new();
        let mut published: BTreeMap<(&str, String), Vec<(u64, u64)>> = BTreeMap::new();
        let mut happened: BTreeMap<(&str, String, String), u32> = BTreeMap::new();
        let mut waiting = 0;
        for step in steps {
            match step {
                Step::Add { mount, namespace, object, reason, message } => {
                    let subject = subject(&format!("namespace-{namespace}"), &object.to_string());
                    let event = event(&format!("Reason{reason}"), &format!("message {message}"));
                    *happened.entry((mounts[mount], subject.uid.clone(), event.reason.clone())).or_default() += 1;
                    let added = queue.add(&mounts[mount], subject, event, now, seconds(now));
                    waiting += usize::from(added == WAITS);
                    prop_assert!(!matches!(added, AddResult::QueueFull { .. }), "so few fit");
                }
                Step::Take => {
                    if let Some(publication) = queue.take(MountLimit::Enforced, seconds(now), |_| true) {
                        waiting -= 1;
                        let so_far = happened[&(publication.mount, publication.subject.uid.clone(), publication.event.reason.clone())];
                        prop_assert!(publication.count >= 1 && publication.count <= so_far);
                        prop_assert!(publication.first <= publication.last && publication.first <= publication.added);
                        prop_assert!(taken.iter().all(|other| other.mount != publication.mount));
                        let of_object = published.entry((publication.mount, publication.subject.uid.clone())).or_default();
                        prop_assert!(of_object.last().is_none_or(|(added, _)| *added <= publication.added), "the order of an object");
                        of_object.push((publication.added, now));
                        taken.push(publication);
                    }
                }
                Step::Done { index, is_published } => {
                    if index < taken.len() {
                        let publication = taken.remove(index);
                        queue.done(&publication, is_published.then(|| "name".to_owned()));
                    }
                }
                Step::Wait(seconds) => now += seconds,
                Step::DropBefore { mount, age } => {
                    waiting -= queue.retain(&mounts[mount], |added| added + age >= now);
                }
            }
            prop_assert_eq!(queue.waiting(), waiting);
        }
        for times in published.values() {
            for (index, (from, _)) in times.iter().enumerate() {
                // Tokens are spent when Events are added.
                let last = times.last().map_or(*from, |(added, _)| *added);
                let intervals = (last - from) / OBJECT_LIMIT.interval.as_secs() + 1;
                prop_assert!((times.len() - index) as u64 <= u64::from(OBJECT_LIMIT.burst) + intervals);
            }
        }
        for publication in taken.drain(..) {
            queue.done(&publication, None);
        }
        let mut rest = 0;
        while let Some(publication) = queue.take(MountLimit::Ignored, seconds(now), |_| true) {
            queue.done(&publication, None);
            rest += 1;
        }
        prop_assert_eq!(rest, waiting, "none is lost");
        prop_assert_eq!(queue.ready_at(seconds(now)).next(), None);
    }
}
