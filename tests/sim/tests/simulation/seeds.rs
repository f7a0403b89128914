//! Tries many seeds on all cores.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

type Counts = Vec<(&'static str, u64)>;

#[derive(Default)]
pub(crate) struct Tried {
    pub(crate) wrongs: Vec<String>,
    pub(crate) counts: Counts,
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

pub(crate) fn try_seeds(name: &str, seeds: u64, attempt: impl Fn(u64) -> Tried + Sync) {
    match number("GYRE_SIM_SEED") {
        Some(only) => try_each(name, only..=only, attempt),
        None => try_each(name, 0..=(seeds * number("GYRE_SIM_SEEDS").unwrap_or(1)).saturating_sub(1), attempt),
    }
}

/// Fails if a seed has violations, or if a counter stays 0, because then nothing was tested.
pub(crate) fn try_each(name: &str, seeds: RangeInclusive<u64>, attempt: impl Fn(u64) -> Tried + Sync) {
    let (next, last) = (AtomicU64::new(*seeds.start()), *seeds.end());
    let all = last + 1 - seeds.start();
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let tried: Mutex<(Counts, Vec<String>)> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > last {
                        return;
                    }
                    let Tried { wrongs, counts } = attempt(seed);
                    let mut tried = tried.lock();
                    for (what, count) in counts {
                        match tried.0.iter_mut().find(|(known, _)| *known == what) {
                            Some((_, sum)) => *sum += count,
                            None => tried.0.push((what, count)),
                        }
                    }
                    if !wrongs.is_empty() {
                        tried.1.push(format!("{seed}:\n  {}", wrongs.join("\n  ")));
                    }
                }
            });
        }
    });
    let (counts, failures) = tried.into_inner();
    let told: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    eprintln!("{name}: {all} tried, {}", told.join(", "));
    assert!(failures.is_empty(), "{name}: {} of {all} failed\n{}", failures.len(), failures.join("\n"));
    for (what, count) in counts {
        assert_ne!(count, 0, "{name}: {what}");
    }
}
