//! Runs simulations in parallel, each on its own thread, because each has its own clock.

use std::sync::atomic::{AtomicUsize, Ordering};

use gyre_engine::telemetry::progress::Progress;
use parking_lot::Mutex;

/// The results in the order of the inputs, computed in parallel. Shows the progress on a terminal.
pub fn each<T: Sync, R: Send>(items: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(items.len());
    let progress = Progress::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(number) else { return };
                    let result = run(item);
                    let mut results = results.lock();
                    results.push((number, result));
                    progress.say(format_args!("{} of {}", results.len(), items.len()));
                }
            });
        }
    });
    let mut results = results.into_inner();
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
