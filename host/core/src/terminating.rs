//! Namespaces that are being deleted, in which nothing can be created until they are gone.
//!
//! The host does not watch Namespaces. So it remembers a refusal, and sends single creations as
//! probes, with growing intervals. A new object in the namespace shows that it was created again.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::queue::{RECHECK, Time};

/// The first interval of probes; each is twice as long as the one before, up to [`RECHECK`].
pub const FIRST_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    due: Time,
    interval: Duration,
}

/// The namespaces in which a creation was refused, with the next probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminatingNamespaces(BTreeMap<String, Probe>);

impl TerminatingNamespaces {
    /// Records that the API server refused a creation, because the namespace is being deleted.
    /// Returns the time until the next probe.
    pub fn record(&mut self, namespace: &str, now: Time) -> Duration {
        // A namespace that nobody has probed for long is gone, or nobody wants anything in it.
        self.0.retain(|_, probe| probe.due + RECHECK > now);
        let first = Probe { due: now + FIRST_INTERVAL, interval: FIRST_INTERVAL };
        let probe = self.0.entry(namespace.to_owned()).or_insert(first);
        probe.due.saturating_since(now)
    }

    /// Decides whether a creation may be sent.
    ///
    /// # Errors
    ///
    /// The time until the next probe.
    pub fn admit(&mut self, namespace: &str, now: Time) -> Result<(), Duration> {
        let Some(probe) = self.0.get_mut(namespace) else { return Ok(()) };
        if probe.due > now {
            return Err(probe.due.saturating_since(now));
        }
        let interval = (probe.interval * 2).min(RECHECK);
        *probe = Probe { due: now + interval, interval };
        Ok(())
    }

    /// Returns whether the namespace is known to be terminating.
    pub fn contains(&self, namespace: &str) -> bool {
        self.0.contains_key(namespace)
    }

    /// Records that something was created in the namespace.
    pub fn forget(&mut self, namespace: &str) {
        self.0.remove(namespace);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn few_creations_are_sent_into_a_terminating_namespace(
            pauses in proptest::collection::vec(0..10_000_u64, 1..300),
        ) {
            let (mut namespaces, mut now) = (TerminatingNamespaces::default(), Duration::ZERO);
            let mut sent = Vec::new();
            for pause in pauses {
                now += Duration::from_millis(pause);
                let time = Time::from_duration(now);
                prop_assert_eq!(namespaces.admit("other", time), Ok(()));
                match namespaces.admit("it", time) {
                    Ok(()) => {
                        sent.push(now);
                        let wait = namespaces.record("it", time);
                        prop_assert_eq!(namespaces.admit("it", time), Err(wait));
                    }
                    Err(wait) => prop_assert!(wait <= RECHECK && !wait.is_zero()),
                }
            }
            let pauses: Vec<Duration> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let mut least = FIRST_INTERVAL;
            for pause in pauses {
                prop_assert!(pause >= least);
                least = (2 * least).min(RECHECK);
            }
        }
    }

    #[test]
    fn a_namespace_that_was_created_again_is_not_held() {
        let mut namespaces = TerminatingNamespaces::default();
        let at = |seconds| Time::from_duration(Duration::from_secs(seconds));
        namespaces.record("it", at(0));
        assert_eq!(namespaces.admit("it", at(5)), Err(Duration::from_secs(5)));
        namespaces.forget("it");
        assert_eq!(namespaces.admit("it", at(10)), Ok(()));
        namespaces.record("it", at(10));
        namespaces.record("another", at(1000));
        assert!(!namespaces.contains("it"), "it is forgotten some time after its last refusal");
    }
}
