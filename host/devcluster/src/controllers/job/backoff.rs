use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::controllers::json::{condition, integer, list, text, time};
use crate::object;

/// The wait after the first failure. Each further failure doubles it, up to `LAST`.
const FIRST: SignedDuration = SignedDuration::from_secs(10);
const LAST: SignedDuration = SignedDuration::from_secs(600);

/// The failures of a Job's Pods since the last success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::controllers) struct Backoff {
    failures: usize,
    last: Option<Timestamp>,
}

impl Backoff {
    pub(super) fn with(self, succeeded: &[&Value], failed: &[&Value]) -> Self {
        let success = succeeded.iter().filter_map(|pod| ended(pod)).max();
        let failures = failed.iter().filter_map(|pod| ended(pod));
        let failures: Vec<Timestamp> = failures.filter(|time| success.is_none_or(|success| *time > success)).collect();
        let before = if succeeded.is_empty() { self } else { Self::default() };
        Self { failures: before.failures.saturating_add(failures.len()), last: before.last.max(failures.into_iter().max()) }
    }

    pub(super) fn until(&self) -> Option<Timestamp> {
        let doublings = u32::try_from(self.failures.checked_sub(1)?).unwrap_or(u32::MAX).min(16);
        let wait = FIRST.checked_mul(1_i32.checked_shl(doublings).unwrap_or(i32::MAX)).unwrap_or(LAST).min(LAST);
        self.last?.checked_add(wait).ok()
    }
}

/// Returns when a Pod ended, by its containers, readiness, deletion, or else its creation.
fn ended(pod: &Value) -> Option<Timestamp> {
    let containers = list(pod, "/status/containerStatuses").iter();
    let finished: Option<Vec<Timestamp>> = containers.map(|status| time(status, "/state/terminated/finishedAt")).collect();
    let not_ready = condition(pod, "Ready").filter(|ready| object::text(ready, "status") == "False");
    let grace = integer(pod, "/metadata/deletionGracePeriodSeconds").unwrap_or_default();
    let deleted = time(pod, "/metadata/deletionTimestamp");
    finished
        .and_then(|finished| finished.into_iter().max())
        .or_else(|| text(not_ready?, "/lastTransitionTime").parse().ok())
        .or_else(|| deleted?.checked_sub(SignedDuration::from_secs(grace)).ok())
        .or_else(|| time(pod, "/metadata/creationTimestamp"))
}
