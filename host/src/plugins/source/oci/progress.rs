//! How far a transfer is, for people.

use std::sync::atomic::{AtomicU64, Ordering};

use gyre_engine::telemetry::progress::Progress;
use gyre_registry::Reference;
use tracing::info;

/// The smallest transfer that is shown, in bytes. Smaller ones take about a second.
const LARGE: u64 = 2 << 20;
/// The step between two texts.
const STEP: u64 = 256 << 10;

/// Shows a large transfer: in the log, or else as a line on a terminal until this value is dropped.
pub(crate) struct Transfer<'a> {
    verb: &'static str,
    reference: &'a Reference,
    line: Progress,
    total: AtomicU64,
    shown: AtomicU64,
}

impl<'a> Transfer<'a> {
    /// The verb says what is done, such as `pulling`.
    pub(crate) fn new(verb: &'static str, reference: &'a Reference) -> Self {
        Self { verb, reference, line: Progress::default(), total: AtomicU64::new(0), shown: AtomicU64::new(0) }
    }
}

impl gyre_registry::Progress for Transfer<'_> {
    fn begin(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.shown.store(0, Ordering::Relaxed);
        if total >= LARGE && tracing::dispatcher::has_been_set() {
            info!(plugin = %self.reference, "{} {:.1} MB", self.verb, megabytes(total));
        }
    }

    fn advance(&self, done: u64) {
        let total = self.total.load(Ordering::Relaxed);
        if total < LARGE || done < self.shown.load(Ordering::Relaxed) + STEP || tracing::dispatcher::has_been_set() {
            return;
        }
        self.shown.store(done, Ordering::Relaxed);
        let (verb, reference) = (self.verb, self.reference);
        self.line.say(format_args!("{verb} {reference}: {:.1} of {:.1} MB", megabytes(done), megabytes(total)));
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
