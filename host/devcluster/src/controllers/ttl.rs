//! Deletes Jobs some time after they finished.

use jiff::Timestamp;
use serde_json::Value;

use super::json::{condition, integer, later, time};
use super::{Intent, JOBS, Propagation, Step};
use crate::object;
use crate::store::{Key, Store};

pub(super) fn sync(store: &Store, key: &Key, now: Timestamp) -> Step {
    let Some(stored) = store.get(&JOBS, key) else { return Step::default() };
    let job = &stored.value;
    match expiry(job) {
        Some(expiry) if expiry <= now => Step::of(vec![Intent::delete(&JOBS, job, Some(Propagation::Foreground))]),
        again => Step { again, ..Step::default() },
    }
}

/// Returns when it is deleted; `None` if it runs, has no such time, or is being deleted.
fn expiry(job: &Value) -> Option<Timestamp> {
    let seconds = integer(job, "/spec/ttlSecondsAfterFinished").filter(|_| !object::is_deleting(job))?;
    let is_true = |condition: &&Value| object::text(condition, "status") == "True";
    let finished = ["Complete", "Failed"].into_iter().find_map(|kind| condition(job, kind).filter(is_true))?;
    Some(later(time(finished, "/lastTransitionTime")?, seconds))
}
