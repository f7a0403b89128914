//! Single cases of the queue.

mod laws;
mod model;

use super::*;

const NOW: Time = Time::from_duration(Duration::ZERO);

fn at(milliseconds: u64) -> Time {
    Time::from_duration(milliseconds_of(milliseconds))
}

fn milliseconds_of(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn queue() -> Queue<&'static str, u32> {
    queue_with(Options::default())
}

fn queue_with(options: Options) -> Queue<&'static str, u32> {
    let mut queue = Queue::new(options);
    queue.add_mount("m", MountOptions::workers(1000));
    queue
}

fn retries(max_retries: u32) -> Options {
    Options { max_retries: Some(max_retries), ..Options::default() }
}

fn take_key(queue: &mut Queue<&'static str, u32>, now: Time) -> Option<u32> {
    queue.take(now).map(|taken| taken.key)
}

fn drain(queue: &mut Queue<&'static str, u32>, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| {
        let taken = queue.take(now)?;
        queue.done(&taken.mount, &taken.key, Retry::Forget, now);
        Some(taken.key)
    })
    .collect()
}

fn parked(queue: &Queue<&'static str, u32>) -> Vec<(u32, u32)> {
    queue.parked(&"m").map(|(key, failures)| (*key, failures)).collect()
}

#[test]
fn keys_are_taken_in_the_order_in_which_they_came() {
    let mut queue = queue();
    for key in [3, 1, 2, 1] {
        queue.add(&"m", key, Priority::Normal, NOW);
    }
    assert_eq!(drain(&mut queue, NOW), [3, 1, 2]);
}

#[test]
fn adding_returns_what_it_did() {
    let mut queue = queue();
    assert_eq!(queue.add(&"m", 1, Priority::Low, NOW), Added::Queued);
    assert_eq!(queue.add(&"m", 1, Priority::Normal, NOW), Added::AlreadyQueued);
    queue.take(NOW);
    assert_eq!(queue.add(&"m", 1, Priority::Low, NOW), Added::WhileProcessing);
    assert_eq!(queue.add(&"absent", 1, Priority::Low, NOW), Added::UnknownMount);
    assert_eq!(queue.add_after(&"absent", 1, Duration::ZERO, NOW), Scheduled::UnknownMount);
}

#[test]
fn normal_comes_before_low() {
    let mut queue = queue();
    queue.add(&"m", 1, Priority::Low, NOW);
    queue.add(&"m", 2, Priority::Normal, NOW);
    assert_eq!(drain(&mut queue, NOW), [2, 1]);
}

#[test]
fn a_change_lifts_a_low_key_and_a_relist_does_not_lower_a_normal_one() {
    let mut queue = queue();
    queue.add(&"m", 1, Priority::Low, NOW);
    queue.add(&"m", 2, Priority::Low, NOW);
    queue.add(&"m", 3, Priority::Normal, NOW);
    queue.add(&"m", 2, Priority::Normal, at(5));
    queue.add(&"m", 3, Priority::Low, at(5));
    assert_eq!((queue.depth(Priority::Normal), queue.depth(Priority::Low)), (2, 1));
    assert_eq!(take_key(&mut queue, at(7)), Some(3));
    let lifted = queue.take(at(7)).unwrap();
    assert_eq!(lifted, Taken { mount: "m", key: 2, priority: Priority::Normal, waited: milliseconds_of(7), failures: 0 });
    assert_eq!(take_key(&mut queue, at(7)), Some(1));
}

#[test]
fn a_low_key_is_passed_over_eight_times_at_most() {
    let mut queue = queue();
    queue.add(&"m", 100, Priority::Low, NOW);
    queue.add(&"m", 101, Priority::Low, NOW);
    for key in 0..20 {
        queue.add(&"m", key, Priority::Normal, NOW);
    }
    assert_eq!(drain(&mut queue, NOW), [0, 1, 2, 3, 4, 5, 6, 7, 100, 8, 9, 10, 11, 12, 13, 14, 15, 101, 16, 17, 18, 19]);
}

#[test]
fn a_mount_with_low_keys_only_is_not_starved_by_one_that_never_rests() {
    let mut queue = queue();
    queue.add_mount("relisted", MountOptions::workers(1000));
    queue.add(&"relisted", 1, Priority::Low, NOW);
    let turns = (0..100).take_while(|_| {
        queue.add(&"m", 0, Priority::Normal, NOW);
        let taken = queue.take(NOW).unwrap();
        queue.done(&taken.mount, &taken.key, Retry::Forget, NOW);
        taken.mount == "m"
    });
    assert_eq!(turns.count(), PASSED_OVER_LIMIT as usize);
}

#[test]
fn a_mount_that_comes_back_has_not_been_passed_over() {
    let mut queue = queue();
    queue.add(&"m", 100, Priority::Low, NOW);
    for key in 0..PASSED_OVER_LIMIT {
        queue.add(&"m", key, Priority::Normal, NOW);
        queue.take(NOW);
    }
    queue.remove_mount(&"m");
    queue.add_mount("m", MountOptions::workers(1000));
    queue.add(&"m", 100, Priority::Low, NOW);
    queue.add(&"m", 200, Priority::Normal, NOW);
    assert_eq!(take_key(&mut queue, NOW), Some(200));
}

#[test]
fn mounts_take_turns_in_each_priority() {
    let mut queue = Queue::new(Options::default());
    for mount in ["a", "b", "c"] {
        queue.add_mount(mount, MountOptions::workers(1000));
        for key in 0..3 {
            queue.add(&mount, key, Priority::Low, NOW);
        }
    }
    for key in 10..13 {
        queue.add(&"b", key, Priority::Normal, NOW);
        queue.add(&"c", key, Priority::Normal, NOW);
    }
    let mounts: Vec<&str> = std::iter::from_fn(|| queue.take(NOW)).map(|taken| taken.mount).collect();
    assert_eq!(mounts, ["b", "c", "b", "c", "b", "c", "a", "b", "c", "a", "b", "c", "a", "b", "c"]);
}

#[test]
fn a_mount_whose_workers_are_busy_is_skipped() {
    let mut queue = Queue::new(Options::default());
    queue.add_mount("busy", MountOptions::workers(1));
    queue.add_mount("paused", MountOptions::workers(0));
    for mount in ["busy", "paused"] {
        queue.add(&mount, 1, Priority::Normal, NOW);
        queue.add(&mount, 2, Priority::Normal, NOW);
    }
    assert_eq!(take_key(&mut queue, NOW), Some(1));
    assert!(!queue.is_ready(NOW));
    assert_eq!(queue.take(NOW), None);
    queue.done(&"busy", &1, Retry::Forget, NOW);
    assert!(queue.is_ready(NOW));
    assert_eq!(take_key(&mut queue, NOW), Some(2));
    assert_eq!(queue.depth_of(&"paused"), 2);
    queue.add_mount("paused", MountOptions::workers(1));
    assert_eq!(queue.take(NOW).map(|taken| taken.mount), Some("paused"));
}

#[test]
fn a_key_that_changed_during_its_run_is_queued_whatever_the_outcome() {
    let every = [
        Retry::Forget,
        Retry::After(milliseconds_of(9)),
        Retry::Postpone(milliseconds_of(9)),
        Retry::Backoff,
        Retry::BackoffAtLeast(milliseconds_of(9)),
        Retry::Never,
    ];
    for retry in every {
        for options in [Options::default(), retries(0)] {
            let mut queue = queue_with(options);
            queue.add(&"m", 1, Priority::Normal, NOW);
            queue.take(NOW);
            queue.add(&"m", 1, Priority::Normal, NOW);
            assert_eq!(queue.done(&"m", &1, retry, NOW), Next::Queued, "{retry:?}");
            assert_eq!(drain(&mut queue, NOW), [1], "{retry:?}");
            assert_eq!((queue.delayed(), parked(&queue)), (0, vec![]), "{retry:?}");
        }
    }
}

#[test]
fn waiting_counts_from_the_change_even_if_it_came_during_a_run() {
    let mut queue = queue();
    queue.add(&"m", 1, Priority::Normal, NOW);
    queue.take(NOW);
    queue.add(&"m", 1, Priority::Low, at(10));
    queue.add(&"m", 1, Priority::Normal, at(20));
    queue.done(&"m", &1, Retry::Forget, at(30));
    let taken = queue.take(at(40)).unwrap();
    assert_eq!((taken.priority, taken.waited), (Priority::Normal, milliseconds_of(30)));
}

#[test]
fn success_forgets_failures_and_a_change_does_not() {
    let mut queue = queue();
    queue.add(&"m", 1, Priority::Normal, NOW);
    for failures in 0..5 {
        assert_eq!(queue.take(NOW).map(|taken| taken.failures), Some(failures));
        assert!(matches!(queue.done(&"m", &1, Retry::Backoff, NOW), Next::At(_)));
        assert_eq!(queue.add(&"m", 1, Priority::Normal, NOW), Added::Queued);
        assert_eq!(queue.delayed(), 0);
    }
    for retry in [Retry::Forget, Retry::Never, Retry::After(Duration::ZERO)] {
        queue.take(NOW);
        queue.done(&"m", &1, Retry::Backoff, NOW);
        queue.add(&"m", 1, Priority::Normal, NOW);
        queue.take(NOW);
        queue.done(&"m", &1, retry, NOW);
        queue.add(&"m", 1, Priority::Normal, NOW);
        assert_eq!(queue.take(NOW).map(|taken| taken.failures), Some(0), "{retry:?}");
        queue.done(&"m", &1, Retry::Forget, NOW);
        queue.add(&"m", 1, Priority::Normal, NOW);
    }
}

#[test]
fn a_postponed_run_neither_adds_a_failure_nor_forgets_failures() {
    let mut queue = queue_with(retries(1));
    queue.add(&"m", 1, Priority::Normal, NOW);
    queue.take(NOW);
    queue.done(&"m", &1, Retry::Backoff, NOW);
    for turn in 1..10 {
        let now = at(turn * 100);
        assert_eq!(queue.take(now).map(|taken| taken.failures), Some(1));
        assert_eq!(queue.done(&"m", &1, Retry::Postpone(milliseconds_of(100)), now), Next::At(at((turn + 1) * 100)));
    }
    queue.take(at(1000));
    assert_eq!(queue.done(&"m", &1, Retry::Backoff, at(1000)), Next::Parked { failures: 2 });
}

#[test]
fn the_limit_of_a_mount_overrules_the_hosts() {
    let mut queue = queue_with(retries(1));
    for (mount, max_retries, expected) in [("as-host", None, 1), ("fewer", Some(0), 0), ("more", Some(3), 3)] {
        queue.add_mount(mount, MountOptions { workers: 1, max_retries });
        queue.add(&mount, 1, Priority::Normal, NOW);
        let mut now = NOW;
        let mut retries = 0;
        loop {
            queue.take(now);
            match queue.done(&mount, &1, Retry::Backoff, now) {
                Next::At(until) => (now, retries) = (until, retries + 1),
                next => break assert_eq!(next, Next::Parked { failures: expected + 1 }),
            }
        }
        assert_eq!(retries, expected, "{mount}");
    }
}

#[test]
fn fewer_workers_take_effect_as_runs_end() {
    let mut queue = queue();
    queue.add_mount("m", MountOptions::workers(3));
    for key in 0..6 {
        queue.add(&"m", key, Priority::Normal, NOW);
    }
    for key in 0..3 {
        assert_eq!(take_key(&mut queue, NOW), Some(key));
    }
    queue.add_mount("m", MountOptions::workers(1));
    assert_eq!(queue.processing(), 3);
    for key in 0..2 {
        queue.done(&"m", &key, Retry::Forget, NOW);
        assert!(!queue.is_ready(NOW));
    }
    queue.done(&"m", &2, Retry::Forget, NOW);
    assert_eq!(take_key(&mut queue, NOW), Some(3));
    assert_eq!(take_key(&mut queue, NOW), None);
    queue.add_mount("m", MountOptions::workers(2));
    assert_eq!(take_key(&mut queue, NOW), Some(4));
}

#[test]
fn a_dump_of_delayed_keys_is_ordered_by_due_time() {
    let mut queue = queue_with(Options { base_delay: Duration::from_secs(10), ..Options::default() });
    queue.add_after(&"m", 1, milliseconds_of(30), NOW);
    queue.add_after(&"m", 2, milliseconds_of(20), NOW);
    queue.add(&"m", 3, Priority::Normal, NOW);
    queue.take(NOW);
    let Next::At(retried) = queue.done(&"m", &3, Retry::Backoff, NOW) else { panic!() };
    let expected = [
        (2, Delayed { failures: 0, until: at(20) }),
        (1, Delayed { failures: 0, until: at(30) }),
        (3, Delayed { failures: 1, until: retried }),
    ];
    for limit in 0..5 {
        let delayed: Vec<_> = queue.delayed_keys(&"m", limit).map(|(key, delayed)| (*key, delayed)).collect();
        assert_eq!(delayed, expected[..limit.min(3)]);
    }
    assert_eq!(queue.delayed_keys(&"absent", 9).count(), 0);
}

#[test]
fn delayed_keys_whose_last_run_did_not_succeed_are_counted() {
    let long = Duration::from_secs(60);
    let mut queue = queue_with(Options { base_delay: long, ..Options::default() });
    queue.add_after(&"m", 0, long, NOW);
    let retries = [
        (Retry::Forget, 0),
        (Retry::After(long), 0),
        (Retry::Never, 0),
        (Retry::Backoff, 1),
        (Retry::BackoffAtLeast(long), 2),
        (Retry::Postpone(long), 3),
    ];
    for (key, (retry, expected)) in (1..).zip(retries) {
        queue.add(&"m", key, Priority::Normal, NOW);
        queue.take(NOW);
        queue.done(&"m", &key, retry, NOW);
        assert_eq!(queue.retries_of(&"m"), expected, "{retry:?}");
    }
    // An earlier request does not make it a success; a change queues the key.
    queue.add_after(&"m", 4, milliseconds_of(1), NOW);
    assert_eq!(queue.retries_of(&"m"), 3);
    queue.add(&"m", 5, Priority::Normal, NOW);
    assert_eq!(queue.retries_of(&"m"), 2);
    assert_eq!(take_key(&mut queue, at(1)), Some(5));
    assert_eq!((take_key(&mut queue, at(1)), queue.retries_of(&"m")), (Some(4), 1), "it was due");
    queue.remove(&"m", &6);
    assert_eq!((queue.retries_of(&"m"), queue.retries_of(&"absent")), (0, 0));
}

#[test]
fn retry_after_is_honoured_and_does_not_shorten_the_backoff() {
    let mut queue = queue_with(Options { base_delay: Duration::from_secs(10), ..Options::default() });
    queue.add(&"m", 1, Priority::Normal, NOW);
    queue.take(NOW);
    assert_eq!(queue.done(&"m", &1, Retry::BackoffAtLeast(Duration::from_secs(60)), NOW), Next::At(at(60_000)));
    queue.add(&"m", 1, Priority::Normal, NOW);
    assert_eq!(queue.take(NOW).map(|taken| taken.failures), Some(1));
    let Next::At(until) = queue.done(&"m", &1, Retry::BackoffAtLeast(Duration::from_secs(1)), NOW) else { panic!() };
    assert!((at(10_000)..=at(20_000)).contains(&until), "{until:?}");
}

#[test]
fn a_key_is_parked_after_its_last_retry() {
    for max_retries in [0, 1, 5] {
        let options = retries(max_retries);
        let mut queue = queue_with(options.clone());
        queue.add(&"m", 1, Priority::Normal, NOW);
        let mut now = NOW;
        let mut runs = 0;
        while let Some(taken) = queue.take(now) {
            runs += 1;
            let parks = options.parks(Retry::Backoff, taken.failures);
            let next = queue.done(&"m", &1, Retry::Backoff, now);
            assert_eq!(parks, matches!(next, Next::Parked { .. }));
            now = queue.next_wakeup(now).unwrap_or(now);
        }
        assert_eq!(runs, 1 + max_retries);
        assert_eq!(parked(&queue), [(1, 1 + max_retries)]);
        assert_eq!(queue.add_after(&"m", 1, Duration::ZERO, now), Scheduled::Parked);
        assert_eq!((queue.take(now), queue.next_wakeup(now)), (None, None));

        assert_eq!(queue.add(&"m", 1, Priority::Low, now), Added::Queued);
        assert!(parked(&queue).is_empty());
        assert_eq!(queue.take(now).map(|taken| taken.failures), Some(0));
    }
}

#[test]
fn only_failures_park() {
    let options = retries(0);
    for retry in [Retry::Forget, Retry::Never, Retry::After(Duration::ZERO), Retry::Postpone(Duration::ZERO)] {
        assert!(!options.parks(retry, u32::MAX), "{retry:?}");
    }
    assert!(!Options::default().parks(Retry::Backoff, u32::MAX));
}

#[test]
fn a_time_asked_for_during_a_run_counts_if_it_is_the_earliest() {
    let cases = [
        (Retry::Forget, Next::At(at(10))),
        (Retry::Never, Next::At(at(10))),
        (Retry::After(milliseconds_of(5)), Next::At(at(5))),
        (Retry::After(milliseconds_of(50)), Next::At(at(10))),
    ];
    for (retry, next) in cases {
        let mut queue = queue();
        queue.add(&"m", 1, Priority::Normal, NOW);
        queue.take(NOW);
        for delay in [30, 10, 20] {
            assert_eq!(queue.add_after(&"m", 1, milliseconds_of(delay), NOW), Scheduled::WhileProcessing);
        }
        assert_eq!(queue.done(&"m", &1, retry, NOW), next, "{retry:?}");
    }
}

#[test]
fn the_earlier_of_two_times_counts() {
    let mut queue = queue();
    assert_eq!(queue.add_after(&"m", 1, milliseconds_of(20), NOW), Scheduled::At(at(20)));
    assert_eq!(queue.add_after(&"m", 1, milliseconds_of(10), NOW), Scheduled::At(at(10)));
    assert_eq!(queue.add_after(&"m", 1, milliseconds_of(30), NOW), Scheduled::At(at(10)));
    assert_eq!(queue.delayed(), 1);
    assert_eq!(queue.add(&"m", 1, Priority::Normal, NOW), Added::Queued);
    assert_eq!(queue.add_after(&"m", 1, milliseconds_of(5), NOW), Scheduled::AlreadyQueued);
    assert_eq!(drain(&mut queue, NOW), [1]);
    assert!(drain(&mut queue, at(1000)).is_empty());
}

#[test]
fn a_delayed_key_is_ready_when_due_and_not_before() {
    let mut queue = queue();
    queue.add_after(&"m", 1, milliseconds_of(10), NOW);
    let just_before = Time::from_duration(milliseconds_of(10) - Duration::from_nanos(1));
    assert_eq!(queue.next_wakeup(just_before), Some(at(10)));
    assert!(!queue.is_ready(just_before));
    assert_eq!(queue.take(just_before), None);
    assert!(queue.is_ready(at(10)));
    assert_eq!(queue.next_wakeup(at(15)), Some(at(15)));
    assert_eq!(queue.take(at(15)).map(|taken| taken.waited), Some(milliseconds_of(5)));
    assert_eq!(queue.next_wakeup(at(15)), None);
}

#[test]
fn a_delayed_key_has_its_place_from_when_it_is_due() {
    let mut queue = queue();
    queue.add_after(&"m", 1, milliseconds_of(10), NOW);
    queue.add_after(&"m", 2, milliseconds_of(5), NOW);
    queue.add(&"m", 3, Priority::Normal, at(7));
    queue.add(&"m", 4, Priority::Normal, at(12));
    assert_eq!(drain(&mut queue, at(20)), [2, 3, 1, 4]);
}

#[test]
fn a_moment_that_cannot_be_represented_never_comes() {
    let mut queue = queue();
    queue.add(&"m", 1, Priority::Normal, at(1));
    queue.take(at(1));
    let next = queue.done(&"m", &1, Retry::After(Duration::MAX), at(1));
    assert_eq!(next, Next::At(Time::from_duration(Duration::MAX)));
}

#[test]
fn retries_of_a_relist_stay_behind_fresh_changes() {
    let mut queue = queue();
    for retry in [Retry::Backoff, Retry::After(milliseconds_of(1))] {
        queue.add(&"m", 1, Priority::Low, NOW);
        queue.take(NOW);
        queue.done(&"m", &1, retry, NOW);
        queue.add(&"m", 2, Priority::Normal, at(100));
        assert_eq!(drain(&mut queue, at(100)), [2, 1], "{retry:?}");
    }
}

#[test]
fn a_relist_does_not_lift_delayed_keys_into_the_way_of_fresh_changes() {
    let mut queue = queue();
    queue.add_after(&"m", 1, milliseconds_of(1000), NOW);
    queue.add(&"m", 1, Priority::Low, NOW);
    queue.add(&"m", 2, Priority::Normal, NOW);
    assert_eq!(drain(&mut queue, NOW), [2, 1]);
}

#[test]
fn a_removed_mount_takes_its_keys_with_it_and_its_runs_may_still_end() {
    let mut queue = queue_with(retries(0));
    for key in 0..5 {
        queue.add(&"m", key, Priority::Normal, NOW);
    }
    queue.add_after(&"m", 10, Duration::ZERO, at(1));
    assert_eq!(take_key(&mut queue, NOW), Some(0));
    assert_eq!(take_key(&mut queue, NOW), Some(1));
    queue.done(&"m", &0, Retry::Backoff, NOW);
    queue.remove_mount(&"m");
    assert_eq!((queue.depth_of(&"m"), queue.delayed(), parked(&queue), queue.processing()), (0, 0, vec![], 1));
    assert_eq!(queue.add(&"m", 7, Priority::Normal, NOW), Added::UnknownMount);
    assert_eq!((queue.take(at(9)), queue.next_wakeup(at(9))), (None, None));
    assert_eq!(queue.done(&"m", &1, Retry::Backoff, NOW), Next::Idle);
    assert_eq!(queue.done(&"m", &1, Retry::Backoff, NOW), Next::Idle);
    assert_eq!(queue.processing(), 0);
    assert!(queue.mounts.is_empty());
}

#[test]
fn a_mount_that_comes_back_does_not_run_a_key_that_is_still_in_progress_from_before() {
    let mut queue = queue_with(retries(0));
    queue.add(&"m", 1, Priority::Normal, NOW);
    queue.take(NOW);
    queue.remove_mount(&"m");
    queue.add_mount("m", MountOptions::workers(1));
    assert_eq!(queue.add(&"m", 1, Priority::Low, NOW), Added::WhileProcessing);
    assert_eq!(queue.add(&"m", 2, Priority::Normal, NOW), Added::Queued);
    assert_eq!(queue.take(NOW), None, "the run from before still occupies the worker");
    assert_eq!(queue.done(&"m", &1, Retry::Backoff, NOW), Next::Queued);
    assert_eq!(drain(&mut queue, NOW), [2, 1]);
}

#[test]
fn the_result_of_an_earlier_run_does_not_affect_a_mount_that_was_added_again() {
    for retry in [Retry::Backoff, Retry::After(Duration::ZERO)] {
        let mut queue = queue_with(retries(0));
        queue.add(&"m", 1, Priority::Normal, NOW);
        queue.take(NOW);
        queue.remove_mount(&"m");
        queue.add_mount("m", MountOptions::workers(1));
        assert_eq!(queue.done(&"m", &1, retry, NOW), Next::Idle);
        assert_eq!((queue.delayed(), parked(&queue)), (0, vec![]));
    }
}

#[test]
fn done_for_a_key_that_is_not_in_progress_does_nothing() {
    let mut queue = queue();
    assert_eq!(queue.done(&"absent", &1, Retry::Backoff, NOW), Next::Idle);
    assert_eq!(queue.done(&"m", &1, Retry::Backoff, NOW), Next::Idle);
    queue.add(&"m", 1, Priority::Normal, NOW);
    assert_eq!(queue.done(&"m", &1, Retry::Never, NOW), Next::Idle);
    assert_eq!(drain(&mut queue, NOW), [1]);
}

#[test]
fn runs_in_progress_are_measured() {
    let mut queue = queue();
    queue.add_mount("other", MountOptions::workers(1));
    assert_eq!(queue.in_progress(NOW), InProgress::default());
    assert_eq!(queue.oldest_processing_since(), None);
    queue.add(&"m", 1, Priority::Normal, NOW);
    queue.add(&"m", 2, Priority::Normal, NOW);
    queue.add(&"other", 1, Priority::Normal, NOW);
    for moment in [10, 20, 40] {
        queue.take(at(moment));
    }
    assert_eq!(queue.oldest_processing_since(), Some(at(10)));
    assert_eq!(
        queue.in_progress(at(100)),
        InProgress { count: 3, total: milliseconds_of(90 + 80 + 60), longest: milliseconds_of(90) }
    );
    assert_eq!(
        queue.in_progress_of(&"other", at(100)),
        InProgress { count: 1, total: milliseconds_of(80), longest: milliseconds_of(80) }
    );
}

#[test]
fn a_queue_at_rest_holds_nothing() {
    let entries = |queue: &Queue<&'static str, u32>| format!("{queue:?}").matches("Entry {").count();
    let mut queue = queue();
    for key in 0..100 {
        queue.add(&"m", key, Priority::Normal, NOW);
    }
    assert_eq!(entries(&queue), 100);
    drain(&mut queue, NOW);
    assert_eq!(entries(&queue), 0);
}
