//! Whatever plugins do, the host's memory returns to where it was. Alone in its process, since it measures it.

#[cfg(test)]
mod stage;

use std::time::Duration;

use gyre_sandbox::{Limits, Plugin};

use self::stage::{limits, load, reconcile, sandbox};

/// Rounds until the allocator, the pool and the threads have what they keep.
const WARM_UP: usize = 5;
const ROUNDS: usize = 40;
/// Less than what any of the misbehaviours takes in a single round.
const BOUND: usize = 6 << 20;

macro_rules! paths {
    ($($name:ident)*) => { [$(gyre_artifacts::guests::$name),*] };
}

#[cfg(test)]
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1_024
}

#[test]
fn memory_returns_after_every_misbehaviour() {
    let sandbox = sandbox();
    let limits = Limits { deadline: Duration::from_millis(50), ..limits() };
    let guests =
        paths!(TRAP PANICS ENDLESS_LOOP HUGE_MEMORY DEEP_RECURSION ENDLESS_OUTPUT MALFORMED_OUTPUT MANY_CHILDREN LOG_FLOOD);
    let guests: Vec<Plugin> = guests.iter().map(|path| load(&sandbox, path)).collect();
    let round = || {
        for guest in &guests {
            assert!(reconcile(guest, &limits).result.is_err());
        }
    };
    (0..WARM_UP).for_each(|_| round());
    let before = resident_bytes();
    (0..ROUNDS).for_each(|_| round());
    let after = resident_bytes();
    assert!(after < before + BOUND, "{before} bytes before, {after} after");
}
