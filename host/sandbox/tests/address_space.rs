//! Without address space for a pool, limits hold. Its own process, whose address space it limits.

#[cfg(test)]
mod stage;

use rustix::process::{Resource, Rlimit, setrlimit};

use self::stage::{limits, load, reconcile, sandbox, short_limits};

#[test]
fn limits_hold_without_a_pool() {
    let bound = Some(4 << 30);
    setrlimit(Resource::As, Rlimit { current: bound, maximum: bound }).unwrap();
    let sandbox = sandbox();
    let echo = load(&sandbox, gyre_artifacts::ECHO);
    let before = reconcile(&echo, &limits()).result.unwrap();
    let guests = [
        (gyre_artifacts::guests::HUGE_MEMORY, "OutOfMemory"),
        (gyre_artifacts::guests::DEEP_RECURSION, "StackOverflow"),
        (gyre_artifacts::guests::ENDLESS_LOOP, "DeadlineExceeded"),
        (gyre_artifacts::guests::TRAP, "Trapped"),
    ];
    for (guest, reason) in guests {
        let limits = if reason == "DeadlineExceeded" { short_limits() } else { limits() };
        let error = reconcile(&load(&sandbox, guest), &limits).result.unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
    }
    assert_eq!(reconcile(&echo, &limits()).result.unwrap(), before);
}
