//! The report of a case of any target: its steps, its failure, and a tally of what happened.

use std::collections::BTreeMap;
use std::fmt;

/// The description of a failure.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of occurrences of each kind of outcome.
pub(crate) type Tally = BTreeMap<String, u64>;

/// Is told of each step before it is taken: one that does not return can be named then.
pub(crate) trait Log {
    fn step(&mut self, describe: &dyn Fn() -> String);
}

/// Fails the case with this text if the law does not hold.
pub(crate) fn law(holds: bool, describe: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure(describe())) }
}

/// Counts an outcome.
pub(crate) fn count(tally: &mut Tally, outcome: &str) {
    *tally.entry(outcome.to_owned()).or_default() += 1;
}

/// The beginning of a text, for messages.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 1_000;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()),
        None => text.to_owned(),
    }
}
