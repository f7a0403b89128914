//! The result of a case: steps, failure, and counts of outcomes.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) type Tally = BTreeMap<String, u64>;

/// Receives each step in advance, so that one that hangs is known.
pub(crate) trait Log {
    fn step(&mut self, describe: &dyn Fn() -> String);
}

/// Fails the case with this text unless the law holds.
pub(crate) fn law(holds: bool, describe: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure(describe())) }
}

pub(crate) fn count(tally: &mut Tally, outcome: &str) {
    *tally.entry(outcome.to_owned()).or_default() += 1;
}

pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 1_000;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()),
        None => text.to_owned(),
    }
}
