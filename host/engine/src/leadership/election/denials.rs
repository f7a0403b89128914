//! The requests of an election that were forbidden: such a host can neither lead nor take over.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::error::error_chain;

/// How long a denial counts. Requests are repeated every retry period, of seconds.
const KNOWN_FOR: Duration = Duration::from_secs(60);

/// The last denial of each verb.
#[derive(Debug, Default)]
pub struct Denials(Mutex<BTreeMap<&'static str, Denial>>);

#[derive(Debug)]
struct Denial {
    at: Instant,
    error: String,
}

impl Denials {
    pub(super) fn record_result<T>(&self, verb: &'static str, ended: &Result<T, kube::Error>) {
        match ended {
            Err(error @ kube::Error::Api(status)) if status.is_forbidden() => {
                self.denials().insert(verb, Denial { at: Instant::now(), error: error_chain(error) });
            }
            // Not an answer, so the permission is unknown.
            Err(kube::Error::Service(_)) => {}
            _ => drop(self.denials().remove(verb)),
        }
    }

    pub(crate) fn current(&self) -> Option<String> {
        let mut denials = self.denials();
        denials.retain(|_, denial| denial.at.elapsed() < KNOWN_FOR);
        denials.values().next().map(|denial| denial.error.clone())
    }

    fn denials(&self) -> MutexGuard<'_, BTreeMap<&'static str, Denial>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn denied() -> Result<(), kube::Error> {
        Err(kube::Error::Api(Box::new(Status::failure("no", "Forbidden").with_code(403))))
    }

    #[tokio::test(start_paused = true)]
    async fn a_denial_is_known_until_the_request_is_permitted_or_no_longer_made() {
        let denials = Denials::default();
        assert_eq!(denials.current(), None);
        denials.record_result("update", &denied());
        denials.record_result("get", &Ok(()));
        assert_eq!(denials.current().as_deref(), Some("no (403 Forbidden)"));
        denials.record_result("update", &Err::<(), _>(kube::Error::Service("no answer".into())));
        assert!(denials.current().is_some());
        denials.record_result("update", &Ok(()));
        assert_eq!(denials.current(), None);
        denials.record_result("list", &denied());
        tokio::time::advance(KNOWN_FOR).await;
        assert_eq!(denials.current(), None);
    }
}
