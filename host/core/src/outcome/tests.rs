use std::collections::BTreeSet;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const TRAP: ProblemKind = ProblemKind::Sandbox { reason: "Trap", fault: Fault::Plugin };
const POOL_SATURATED: ProblemKind = ProblemKind::Sandbox { reason: "PoolSaturated", fault: Fault::Host };

/// A kind, its reason, its retry, and its retry if it must wait for a minute.
type Row = (ProblemKind, &'static str, Retry, Retry);

const TABLE: [Row; 21] = [
    (ProblemKind::PluginTransient, "PluginTransient", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
    (ProblemKind::PluginRetryAfter, "PluginRetryAfter", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
    (ProblemKind::PluginTerminal, "PluginTerminal", Retry::Never, Retry::Never),
    (TRAP, "Trap", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
    (POOL_SATURATED, "PoolSaturated", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
    (ProblemKind::Quarantined, "Quarantined", Retry::Postpone(quarantine::FIRST_PROBE), Retry::Postpone(MINUTE)),
    (ProblemKind::Deferred, "Deferred", Retry::Postpone(DEFERRED_RECHECK), Retry::Postpone(MINUTE)),
    (ProblemKind::NoClaim, "NotLeader", Retry::Postpone(CLAIM_RECHECK), Retry::Postpone(MINUTE)),
    (ProblemKind::InventoryNotWritten, "InventoryNotWritten", Retry::Postpone(INVENTORY_RECHECK), Retry::Postpone(MINUTE)),
    (ProblemKind::MarksRemoved, "MarksRemoved", Retry::After(RECHECK), Retry::After(RECHECK)),
    (ProblemKind::Conflict, "Conflict", Retry::After(RECHECK), Retry::After(RECHECK)),
    (ProblemKind::Stale, "Stale", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
    (ProblemKind::Invalid, "Rejected", Retry::After(RECHECK), Retry::After(RECHECK)),
    (ProblemKind::Immutable, "ImmutableField", Retry::After(RECHECK), Retry::After(RECHECK)),
    (ProblemKind::NamespaceTerminating, "NamespaceTerminating", Retry::After(RECHECK), Retry::After(RECHECK)),
    (ProblemKind::Unauthorized, "Unauthorized", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
    (ProblemKind::Forbidden, "Forbidden", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
    (ProblemKind::NotFound, "NotFound", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
    (ProblemKind::TooManyRequests, "TooManyRequests", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
    (ProblemKind::Unavailable, "Unavailable", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
    (ProblemKind::Other, "Other", Retry::Backoff, Retry::BackoffAtLeast(MINUTE)),
];

/// A new kind must be added here and to the table.
fn rows_of(kind: ProblemKind) -> usize {
    match kind {
        ProblemKind::Sandbox { .. } => 2,
        ProblemKind::PluginTransient
        | ProblemKind::PluginRetryAfter
        | ProblemKind::PluginTerminal
        | ProblemKind::Quarantined
        | ProblemKind::Deferred
        | ProblemKind::NoClaim
        | ProblemKind::InventoryNotWritten
        | ProblemKind::MarksRemoved
        | ProblemKind::Conflict
        | ProblemKind::Stale
        | ProblemKind::Invalid
        | ProblemKind::Immutable
        | ProblemKind::NamespaceTerminating
        | ProblemKind::Unauthorized
        | ProblemKind::Forbidden
        | ProblemKind::NotFound
        | ProblemKind::TooManyRequests
        | ProblemKind::Unavailable
        | ProblemKind::Other => 1,
    }
}

fn refused(requeue_after: Option<Duration>) -> Outcome {
    let refusal = Refusal { child: None, reason: RefusalReason::ForeignObject, message: "Not ours.".to_owned() };
    Outcome::Refused { refusals: vec![refusal], changed: Changed::No, requeue_after }
}

fn reconciled(requeue_after: Option<Duration>) -> Outcome {
    Outcome::Reconciled { changed: Changed::Yes, requeue_after }
}

fn failed(kind: ProblemKind) -> Outcome {
    Outcome::Failed(Problem::new(kind, "It failed."))
}

fn is_camel_case(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase()) && word.chars().all(|letter| letter.is_ascii_alphanumeric())
}

#[test]
fn the_table_has_every_kind() {
    for (kind, ..) in TABLE {
        let rows = TABLE.iter().filter(|(other, ..)| std::mem::discriminant(other) == std::mem::discriminant(&kind)).count();
        assert_eq!(rows, rows_of(kind), "{kind:?}");
    }
}

#[test]
fn every_problem_is_retried_as_the_table_specifies() {
    for (kind, reason, retry, retry_not_before) in TABLE {
        let problem = Problem::new(kind, "It failed.");
        assert_eq!(problem.reason(), reason);
        assert_eq!(problem.retry(), retry, "{reason}");
        assert_eq!(problem.is_terminal(), retry == Retry::Never, "{reason}");
        assert_eq!(problem.to_string(), "It failed.");
        assert_eq!(Outcome::Failed(problem.clone()).retry(), retry, "{reason}");
        assert_eq!(problem.not_before(MINUTE).retry(), retry_not_before, "{reason}");
    }
}

#[test]
fn every_reason_is_unique_and_in_camel_case() {
    let reasons: BTreeSet<&str> = TABLE.iter().map(|(kind, ..)| kind.reason()).collect();
    assert_eq!(reasons.len(), TABLE.len());
    for reason in reasons {
        assert!(is_camel_case(reason), "{reason}");
    }
}

#[test]
fn only_problems_of_the_sandbox_have_a_fault() {
    for (kind, reason, ..) in TABLE {
        let expected = match reason {
            "Trap" => Some(Fault::Plugin),
            "PoolSaturated" => Some(Fault::Host),
            _ => None,
        };
        assert_eq!(Problem::new(kind, "").fault(), expected, "{reason}");
    }
}

#[test]
fn a_longer_time_to_wait_outweighs_the_recheck() {
    let problem = Problem::new(ProblemKind::Invalid, "").not_before(HOUR);
    assert_eq!(problem.retry(), Retry::After(HOUR));
}

#[test]
fn the_message_of_the_plugin_is_kept() {
    let cases = [
        (Failure::Transient { message: "a".to_owned() }, Problem::new(ProblemKind::PluginTransient, "a")),
        (
            Failure::RetryAfter { message: "b".to_owned(), after: MINUTE },
            Problem::new(ProblemKind::PluginRetryAfter, "b").not_before(MINUTE),
        ),
        (Failure::Terminal { message: "c".to_owned() }, Problem::new(ProblemKind::PluginTerminal, "c")),
    ];
    for (failure, problem) in cases {
        assert_eq!(Problem::from(failure), problem);
    }
}

#[test]
fn every_outcome_has_its_retry_and_its_label() {
    let cases = [
        (reconciled(None), Retry::Forget, "success"),
        (reconciled(Some(MINUTE)), Retry::After(MINUTE), "requeue_after"),
        (reconciled(Some(Duration::ZERO)), Retry::Backoff, "requeue"),
        (refused(None), Retry::After(RECHECK), "requeue_after"),
        (refused(Some(MINUTE)), Retry::After(MINUTE), "requeue_after"),
        (refused(Some(HOUR)), Retry::After(RECHECK), "requeue_after"),
        (refused(Some(Duration::ZERO)), Retry::Backoff, "requeue"),
        (failed(ProblemKind::PluginTransient), Retry::Backoff, "error"),
        (failed(ProblemKind::Deferred), Retry::Postpone(DEFERRED_RECHECK), "requeue_after"),
        (failed(ProblemKind::PluginTerminal), Retry::Never, "error"),
        (failed(ProblemKind::Invalid), Retry::After(RECHECK), "error"),
        (Outcome::Postponed { after: MINUTE }, Retry::Postpone(MINUTE), "requeue_after"),
        (Outcome::Gone, Retry::Forget, "success"),
    ];
    for (outcome, retry, label) in cases {
        assert_eq!((outcome.retry(), outcome.result_label()), (retry, label), "{outcome:?}");
    }
}

#[test]
fn a_requested_requeue_has_a_floor() {
    for (asked, expected) in [
        (None, None),
        // It requests a back-off.
        (Some(Duration::ZERO), Some(Duration::ZERO)),
        (Some(Duration::from_nanos(1)), Some(REQUEUE_FLOOR)),
        (Some(REQUEUE_FLOOR), Some(REQUEUE_FLOOR)),
        (Some(HOUR), Some(HOUR)),
    ] {
        assert_eq!(requeue_after(asked, REQUEUE_FLOOR), expected, "{asked:?}");
    }
    assert_eq!(requeue_after(Some(Duration::from_millis(5)), Duration::ZERO), Some(Duration::from_millis(5)));
}

#[test]
fn a_message_of_megabytes_is_cut() {
    for message in
        [Problem::new(ProblemKind::Invalid, "x".repeat(8 << 20)), Failure::Terminal { message: "x".repeat(8 << 20) }.into()]
    {
        assert_eq!(message.message.len(), PROBLEM_TEXT);
    }
}

#[test]
fn the_status_shows_whether_a_failure_is_retried() {
    let for_ever = Options::default();
    let twice = Options { max_retries: Some(2), ..Options::default() };
    let cases = [
        (ProblemKind::PluginTransient, &for_ever, u32::MAX, NextAttempt::Later),
        (ProblemKind::PluginTransient, &twice, 1, NextAttempt::Later),
        (ProblemKind::PluginTransient, &twice, 2, NextAttempt::OnChange),
        (ProblemKind::PluginTerminal, &for_ever, 0, NextAttempt::OnChange),
        (ProblemKind::Invalid, &twice, 2, NextAttempt::Later),
        (ProblemKind::NoClaim, &twice, 2, NextAttempt::Later),
        (ProblemKind::Quarantined, &for_ever, 0, NextAttempt::OnChange),
    ];
    for (kind, options, failures, expected) in cases {
        let problem = Problem::new(kind, "It failed.");
        let Readiness::Failed { reason, message, next_attempt } = problem.readiness(options, failures) else {
            panic!("{kind:?}")
        };
        assert_eq!(
            (reason, message, next_attempt),
            (kind.reason(), "It failed.", expected),
            "{kind:?} after {failures} failures"
        );
    }
}

#[test]
fn the_message_of_a_quarantine_does_not_change_between_probes() {
    let at = |seconds| Time::from_duration(Duration::from_secs(seconds));
    let held = |faults, until| Held { since: at(10), faults, reason: "Trap", until };
    let first = Problem::quarantined(&held(5, at(40)), "all objects", at(40), at(30));
    let second = Problem::quarantined(&held(6, at(100)), "all objects", at(110), at(50));
    assert_eq!((first.retry(), second.retry()), (Retry::Postpone(Duration::from_secs(10)), Retry::Postpone(MINUTE)));
    assert_eq!(first.message, second.message);
    assert!(first.message.contains("Trap") && first.message.contains("for all objects"));
}

#[test]
fn a_problem_that_passes_by_itself_is_reported_once_it_has_not() {
    // The most retries, and the failures after which `Stale` is reported: at the latest when
    // parked.
    for (max_retries, stale) in [(None, STALE_UNREPORTED), (Some(0), 0), (Some(2), 2), (Some(50), STALE_UNREPORTED)] {
        let options = Options { max_retries, ..Options::default() };
        for (kind, reason, ..) in TABLE {
            let problem = Problem::new(kind, "It failed.");
            let first_reported = (0..100).find(|failures| !problem.is_unreported(&options, *failures));
            let expected = match kind {
                ProblemKind::Stale => Some(stale),
                // Nothing was tried.
                ProblemKind::NoClaim | ProblemKind::Deferred => None,
                _ => Some(0),
            };
            assert_eq!(first_reported, expected, "{reason} with {max_retries:?} retries");
        }
    }
}
