//! The host converges whatever goes wrong between it and the cluster, and then rests.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicU64, Ordering};

use gyre_devcluster::faults::Plan;
use gyre_sim::{Plugins, Run, run};

/// How many seeds are tried: more with `GYRE_SIM_SEEDS`, and a single one with `GYRE_SIM_SEED`.
const SEEDS: u64 = 200;
/// The probability of each fault, for each request or event.
const PROBABILITY: f64 = 0.02;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// What is wrong with a run.
fn wrongs(run: &Run, without_faults: &Run) -> Vec<String> {
    let mut wrongs = run.wrongs.clone();
    wrongs.extend(run.afterwards.iter().map(|sent| format!("afterwards the host sent {sent:?}")));
    if run.end != without_faults.end {
        wrongs.push(format!("the end differs from that without faults: {:?} and {:?}", run.end, without_faults.end));
    }
    wrongs
}

#[test]
fn the_host_converges_under_faults_and_then_rests() {
    let plugins = Plugins::load();
    let first = number("GYRE_SIM_SEED");
    let seeds = if first.is_some() { 1 } else { number("GYRE_SIM_SEEDS").unwrap_or(SEEDS) };
    let (first, next) = (first.unwrap_or(0), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let tried = std::sync::Mutex::new((0, 0, Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = first + next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        return;
                    }
                    let calm = run(&plugins, seed, Plan::default());
                    let stormy = run(&plugins, seed, Plan::everything(PROBABILITY));
                    let found = wrongs(&stormy, &calm);
                    let mut tried = tried.lock().expect("nobody panicked");
                    tried.0 += stormy.faults;
                    tried.1 += stormy.trace.len();
                    if !found.is_empty() {
                        tried.2.push(format!("seed {seed} (GYRE_SIM_SEED={seed} runs it alone):\n  {}", found.join("\n  ")));
                    }
                }
            });
        }
    });
    let (faults, requests, failures) = tried.into_inner().expect("nobody panicked");
    eprintln!("{seeds} seeds, {requests} requests of the host, {faults} faults");
    assert!(faults > 0, "there were no faults");
    assert!(failures.is_empty(), "{} of {seeds} seeds failed\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_seed_decides_everything() {
    let plugins = Plugins::load();
    for seed in [1, 7, 42] {
        let [first, second] = [(); 2].map(|()| run(&plugins, seed, Plan::everything(PROBABILITY)));
        let difference = first.trace.iter().zip(&second.trace).position(|(first, second)| first != second);
        if let Some(index) = difference {
            panic!(
                "seed {seed}: request {index} is {:?} the one time and {:?} the other",
                first.trace[index], second.trace[index]
            );
        }
        assert_eq!(first.trace.len(), second.trace.len(), "seed {seed}");
        assert_eq!(first.faults, second.faults, "seed {seed}");
        assert_ne!(first.faults, 0, "seed {seed}");
    }
}
