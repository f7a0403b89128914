//! Single cases and laws of an elector.

mod simulation;

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::queue::Time;

fn at(milliseconds: u64) -> Time {
    Time::from_duration(Duration::from_millis(milliseconds))
}

fn lease(version: u32, holder: &str, transitions: i32) -> Lease {
    let record = Record { holder: holder.to_owned(), duration_seconds: 15, transitions };
    Lease { resource_version: version.to_string(), record }
}

fn replace(version: u32, holder: &str, transitions: i32, term: Term) -> Action {
    let record = lease(version, holder, transitions).record;
    Action::Send(Request::Replace { resource_version: version.to_string(), record, term })
}

fn released(version: u32, transitions: i32) -> Action {
    let record = Record { holder: String::new(), duration_seconds: 1, transitions };
    Action::Send(Request::Replace { resource_version: version.to_string(), record, term: Term::Begins })
}

const READ: Action = Action::Send(Request::Read);

struct ElectorTest(Elector);

impl ElectorTest {
    fn new(goal: Goal) -> Self {
        Self(Elector::new("me".to_owned(), Timing::default(), goal, 1).unwrap())
    }

    /// Has held the lease at version 1 since the first second.
    fn holder() -> Self {
        let mut test = Self::new(Goal::Lead);
        test.check(1000, Input::Tick, READ);
        test.check(1000, Input::Answer(RequestResult::NotFound), Action::Send(Request::Create(lease(0, "me", 0).record)));
        test.waits(1010, Input::Answer(RequestResult::Lease(lease(1, "me", 0))));
        assert_eq!(test.0.claim(), Some(at(11_000)), "from when it was sent");
        test
    }

    fn check(&mut self, now: u64, input: Input, expected: Action) {
        assert_eq!(self.0.step(input, at(now)), expected, "at {now} ms");
    }

    /// The time of the next round, in milliseconds.
    fn waits(&mut self, now: u64, input: Input) -> u64 {
        let Action::Wait(until) = self.0.step(input, at(now)) else { panic!("does not wait") };
        u64::try_from(until.as_duration().as_millis()).unwrap() + 1
    }
}

#[test]
fn a_candidate_creates_a_missing_lease_and_renews_it() {
    let mut test = ElectorTest::holder();
    test.check(2900, Input::Tick, replace(1, "me", 0, Term::GoesOn));
    let due = test.waits(2950, Input::Answer(RequestResult::Lease(lease(2, "me", 0))));
    assert_eq!(test.0.claim(), Some(at(12_900)));
    assert!((4300..=4701).contains(&due), "0.7 to 0.9 retry periods after it was sent: {due}");
}

#[test]
fn a_candidate_waits_until_the_holder_has_not_renewed_for_the_duration_of_its_lease() {
    let mut test = ElectorTest::new(Goal::Lead);
    test.check(0, Input::Tick, READ);
    let mut now = test.waits(100, Input::Answer(RequestResult::Lease(lease(7, "other", 3))));
    let mut reads = 0;
    loop {
        match test.0.step(Input::Tick, at(now)) {
            READ => {
                reads += 1;
                now = test.waits(now + 5, Input::Answer(RequestResult::Lease(lease(7, "other", 3))));
            }
            action => {
                assert_eq!(action, replace(7, "me", 4, Term::Begins));
                break;
            }
        }
    }
    assert!((15_100..=15_101).contains(&now), "15 s after the answer that showed it: {now}");
    assert!((8..=11).contains(&reads), "{reads}");
    assert_eq!((test.0.claim(), test.0.holder()), (None, Some("other")));
}

#[test]
fn a_released_lease_is_taken_at_once() {
    let mut test = ElectorTest::new(Goal::Lead);
    test.check(0, Input::Tick, READ);
    test.check(5, Input::Answer(RequestResult::Lease(lease(7, "", 3))), replace(7, "me", 4, Term::Begins));
}

#[test]
fn after_a_lost_answer_the_lease_is_read_and_renewed_again() {
    for found in [1, 2] {
        let mut test = ElectorTest::holder();
        test.check(2900, Input::Tick, replace(1, "me", 0, Term::GoesOn));
        test.check(7900, Input::Answer(RequestResult::Unknown), READ);
        assert_eq!(test.0.claim(), Some(at(11_000)), "as it was");
        test.check(7910, Input::Answer(RequestResult::Lease(lease(found, "me", 0))), replace(found, "me", 0, Term::GoesOn));
        test.waits(7920, Input::Answer(RequestResult::Lease(lease(3, "me", 0))));
        assert_eq!(test.0.claim(), Some(at(17_910)));
    }
}

#[test]
fn an_answer_after_the_renew_deadline_grants_no_claim() {
    let mut test = ElectorTest::holder();
    test.check(2900, Input::Tick, replace(1, "me", 0, Term::GoesOn));
    let renews = replace(2, "me", 0, Term::GoesOn);
    test.check(12_900, Input::Answer(RequestResult::Lease(lease(2, "me", 0))), renews);
    assert_eq!(test.0.claim(), None);
}

#[test]
fn a_leader_that_cannot_renew_loses_the_claim_and_remains_a_candidate() {
    let mut test = ElectorTest::holder();
    test.check(2900, Input::Tick, replace(1, "me", 0, Term::GoesOn));
    test.check(7900, Input::Answer(RequestResult::Unknown), READ);
    test.waits(12_900, Input::Answer(RequestResult::Unknown));
    assert_eq!(test.0.claim(), None);
    test.check(15_000, Input::Tick, READ);
    test.waits(15_010, Input::Answer(RequestResult::Lease(lease(9, "other", 1))));
    assert_eq!(test.0.holder(), Some("other"));
}

#[test]
fn a_deleted_lease_is_respected_for_its_duration() {
    let mut test = ElectorTest::new(Goal::Lead);
    test.check(0, Input::Tick, READ);
    let due = test.waits(100, Input::Answer(RequestResult::Lease(lease(7, "other", 3))));
    test.check(due, Input::Tick, READ);
    test.waits(due, Input::Answer(RequestResult::NotFound));
    assert_eq!(test.0.holder(), None);
    test.check(15_200, Input::Tick, READ);
    test.check(15_201, Input::Answer(RequestResult::NotFound), Action::Send(Request::Create(lease(0, "me", 0).record)));
}

#[test]
fn the_holder_creates_a_lease_again_that_was_deleted() {
    let mut test = ElectorTest::holder();
    test.check(2900, Input::Tick, replace(1, "me", 0, Term::GoesOn));
    test.check(2901, Input::Answer(RequestResult::NotFound), READ);
    test.check(2902, Input::Answer(RequestResult::NotFound), Action::Send(Request::Create(lease(0, "me", 0).record)));
}

#[test]
fn repeated_conflicts_are_not_retried_without_a_pause() {
    let mut test = ElectorTest::holder();
    test.check(2900, Input::Tick, replace(1, "me", 0, Term::GoesOn));
    test.check(2901, Input::Answer(RequestResult::Conflict), READ);
    test.check(2902, Input::Answer(RequestResult::Lease(lease(5, "me", 0))), replace(5, "me", 0, Term::GoesOn));
    let due = test.waits(2903, Input::Answer(RequestResult::Conflict));
    assert!(due > 4000);
    test.check(due, Input::Tick, READ);
}

#[test]
fn a_leader_that_leaves_releases_the_lease() {
    let mut test = ElectorTest::holder();
    test.check(1500, Input::Goal(Goal::Leave), released(1, 0));
    assert_eq!(test.0.claim(), None, "before it is sent");
    test.check(1510, Input::Answer(RequestResult::Lease(lease(2, "", 0))), Action::Left);
    test.check(9999, Input::Goal(Goal::Lead), Action::Left);
}

#[test]
fn leaving_during_a_renewal_releases_the_lease_that_the_renewal_acquires() {
    let renewing = || {
        let mut test = ElectorTest::holder();
        test.check(2900, Input::Tick, replace(1, "me", 0, Term::GoesOn));
        test.check(2901, Input::Goal(Goal::Leave), Action::Pending);
        test
    };
    renewing().check(2902, Input::Answer(RequestResult::Lease(lease(2, "me", 0))), released(2, 0));

    let mut test = renewing();
    let due = test.waits(2902, Input::Answer(RequestResult::Unknown));
    test.check(due, Input::Tick, READ);
    test.check(due, Input::Answer(RequestResult::Lease(lease(2, "me", 0))), released(2, 0));

    let mut test = renewing();
    test.check(7900, Input::Answer(RequestResult::Unknown), READ);
    test.check(12_902, Input::Answer(RequestResult::Unknown), Action::Left);
}

#[test]
fn leaving_after_an_unanswered_takeover_reads_the_lease_first() {
    let mut test = ElectorTest::new(Goal::Lead);
    test.check(0, Input::Tick, READ);
    test.check(5, Input::Answer(RequestResult::Lease(lease(7, "", 3))), replace(7, "me", 4, Term::Begins));
    test.waits(6, Input::Answer(RequestResult::Unknown));
    assert!(test.0.may_hold());
    test.check(7, Input::Goal(Goal::Leave), READ);
    test.check(8, Input::Answer(RequestResult::Lease(lease(8, "me", 4))), released(8, 4));
}

#[test]
fn a_candidate_without_a_lease_leaves_at_once() {
    ElectorTest::new(Goal::Lead).check(0, Input::Goal(Goal::Leave), Action::Left);
    let mut test = ElectorTest::new(Goal::Lead);
    test.check(0, Input::Tick, READ);
    test.waits(5, Input::Answer(RequestResult::Unknown));
    test.check(6, Input::Goal(Goal::Leave), Action::Left);
}

#[test]
fn a_follower_takes_no_lease_and_releases_its_own() {
    let mut test = ElectorTest::new(Goal::Follow);
    test.check(0, Input::Tick, READ);
    let due = test.waits(5, Input::Answer(RequestResult::Lease(lease(7, "", 3))));
    assert_eq!(test.0.free_since(at(due)), Some(at(5)));
    test.check(due, Input::Goal(Goal::Lead), READ);
    test.check(due + 1, Input::Answer(RequestResult::Lease(lease(7, "", 3))), replace(7, "me", 4, Term::Begins));
    test.waits(due + 2, Input::Answer(RequestResult::Lease(lease(8, "me", 4))));
    test.check(due + 3, Input::Goal(Goal::Follow), released(8, 4));
}

#[test]
fn a_lease_that_others_have_read_is_not_read_again_unless_outdated() {
    let mut test = ElectorTest::new(Goal::Lead);
    test.check(0, Input::Tick, READ);
    test.check(5, Input::Answer(RequestResult::Lease(lease(7, "", 3))), replace(7, "me", 4, Term::Begins));
    test.check(6, Input::Seen(at(5), Some(lease(7, "", 3))), Action::Pending);
    test.waits(10, Input::Answer(RequestResult::Lease(lease(8, "me", 4))));
    test.waits(11, Input::Seen(at(5), Some(lease(7, "", 3))));
    assert_eq!(test.0.claim(), Some(at(10_005)), "what was asked before the answer says nothing");
    test.waits(12, Input::Seen(at(11), Some(lease(9, "other", 5))));
    assert_eq!(test.0.claim(), None, "written by hand");

    let mut test = ElectorTest::new(Goal::Lead);
    test.check(0, Input::Tick, READ);
    test.check(1, Input::Seen(at(0), Some(lease(7, "", 3))), replace(7, "me", 4, Term::Begins));
}

#[test]
fn a_lease_without_a_duration_has_the_configured_duration() {
    let mut test = ElectorTest::new(Goal::Lead);
    test.check(0, Input::Tick, READ);
    let mut other = lease(7, "other", i32::MAX);
    other.record.duration_seconds = 0;
    test.waits(0, Input::Answer(RequestResult::Lease(other.clone())));
    test.check(15_000, Input::Tick, READ);
    test.check(15_000, Input::Answer(RequestResult::Lease(other)), replace(7, "me", i32::MAX, Term::Begins));
}

/// The claim of the last holder may be as long as any of the known durations.
#[test]
fn a_lease_of_a_backup_is_taken_after_the_longest_known_duration() {
    for (before, in_backup, expected) in [(10, 1, 15_000), (60, 1, 60_000), (10, 60, 60_000)] {
        let of = |version: u32, holder: &str, duration_seconds: i32| {
            let mut lease = lease(version, holder, 3);
            lease.record.duration_seconds = duration_seconds;
            RequestResult::Lease(lease)
        };
        let mut test = ElectorTest::new(Goal::Lead);
        test.check(0, Input::Tick, READ);
        let restored = test.waits(0, Input::Answer(of(9, "other", before)));
        let (mut now, mut input) = (restored, Input::Tick);
        let taken = loop {
            (now, input) = match test.0.step(input, at(now)) {
                READ => (now, Input::Answer(of(7, "", in_backup))),
                Action::Wait(until) => (u64::try_from(until.as_duration().as_millis()).unwrap() + 1, Input::Tick),
                action => break action,
            };
        };
        assert_eq!(taken, replace(7, "me", 4, Term::Begins));
        assert!((expected..=expected + 1).contains(&(now - restored)), "{before}, {in_backup}: {} ms", now - restored);
    }
}

#[test]
fn an_elector_needs_an_identity() {
    assert_eq!(Elector::new(String::new(), Timing::default(), Goal::Lead, 0).unwrap_err(), NoIdentity);
}

fn any_lease() -> impl Strategy<Value = Lease> {
    let holder = prop_oneof![Just("me"), Just("other"), Just("")];
    (0..4_u32, holder, any::<i32>(), any::<i32>()).prop_map(|(version, holder, transitions, duration_seconds)| Lease {
        resource_version: version.to_string(),
        record: Record { holder: holder.to_owned(), duration_seconds, transitions },
    })
}

fn any_input() -> impl Strategy<Value = Input> {
    let answer = prop_oneof![
        3 => any_lease().prop_map(RequestResult::Lease),
        1 => Just(RequestResult::NotFound),
        1 => Just(RequestResult::Conflict),
        1 => Just(RequestResult::Unknown)
    ];
    let goal = prop_oneof![8 => Just(Goal::Lead), 4 => Just(Goal::Follow), 1 => Just(Goal::Leave)];
    prop_oneof![
        2 => Just(Input::Tick),
        10 => answer.prop_map(Input::Answer),
        1 => goal.prop_map(Input::Goal),
        1 => (0..100_000_u64, proptest::option::of(any_lease())).prop_map(|(asked, lease)| Input::Seen(at(asked), lease)),
    ]
}

proptest! {
    #[test]
    fn an_elector_waits_for_the_future_writes_valid_records_and_claims_only_by_its_own_renewals(
        inputs in vec((0..3_000_u64, any_input()), 1..60)
    ) {
        let mut test = ElectorTest::new(Goal::Lead);
        let (mut now, mut sent) = (0, None);
        for (passed, input) in inputs {
            now += passed;
            let before = test.0.claim();
            let says_so = |input: &Input| matches!(input, Input::Answer(RequestResult::Lease(lease)) if lease.record.holder == "me");
            let is_renewed = says_so(&input) && sent.is_some();
            let action = test.0.step(input, at(now));
            if let Some(until) = test.0.claim() {
                prop_assert!(at(now) < until);
                prop_assert!(before == Some(until) || (is_renewed && Some(until) == sent.map(|sent| at(sent + 10_000))));
                prop_assert_eq!(test.0.goal(), Goal::Lead);
            }
            match action {
                Action::Wait(until) => prop_assert!(until > at(now)),
                Action::Send(Request::Create(record) | Request::Replace { record, .. }) => {
                    prop_assert!(record.duration_seconds > 0 && record.transitions >= 0);
                    sent = (record.holder == "me").then_some(now);
                }
                Action::Send(Request::Read) => sent = None,
                Action::Pending | Action::Left => {}
            }
        }
    }

    /// Three of the requests are for a lease that expires within the round. A lease lasts at least
    /// a second and the shortest round 1.4 seconds, so no second one expires.
    #[test]
    fn it_sends_no_more_than_seven_requests_in_a_round(answers in vec(any_input(), 1..60)) {
        let mut test = ElectorTest::new(Goal::Lead);
        let (mut now, mut requests) = (at(0), Vec::new());
        let mut action = test.0.step(Input::Tick, now);
        for input in answers {
            let Input::Answer(answer) = input else { continue };
            let input = match action {
                Action::Wait(until) => {
                    now = until;
                    Input::Tick
                }
                _ => {
                    requests.push(now);
                    Input::Answer(answer)
                }
            };
            action = test.0.step(input, now);
        }
        for (first, eighth) in requests.iter().zip(requests.iter().skip(7)) {
            prop_assert!(eighth.saturating_since(*first) >= Duration::from_millis(1400), "{:?}", requests);
        }
    }
}
