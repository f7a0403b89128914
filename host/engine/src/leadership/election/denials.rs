//! The requests of an election that were denied: such a host can neither lead nor take over.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_core::outcome::ProblemKind;
use kube::core::Status;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::error::{error_chain, problem_kind};

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
            Err(error @ kube::Error::Api(status)) if is_denied(status) => {
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

/// Returns whether credentials, permissions or admission are in the way.
fn is_denied(status: &Status) -> bool {
    matches!(problem_kind(status), ProblemKind::Unauthorized | ProblemKind::Forbidden | ProblemKind::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(code: u16, message: &str) -> Result<(), kube::Error> {
        Err(kube::Error::Api(Box::new(Status::failure(message, "Reason").with_code(code))))
    }

    fn denied() -> Result<(), kube::Error> {
        answered(403, "no")
    }

    #[test]
    fn credentials_permissions_and_admission_deny_and_nothing_else_does() {
        let by_webhook = r#"admission webhook "w" denied the request: no"#;
        let by_authorizer = r#"leases.coordination.k8s.io "a" is forbidden: User "u" cannot update resource "leases""#;
        for (code, message, is_denied) in [
            (401, "Unauthorized", true),
            (403, by_authorizer, true),
            (403, by_webhook, true),
            (409, by_webhook, true),
            (409, "the object has been modified", false),
            (404, "not found", false),
            (503, "unavailable", false),
        ] {
            let denials = Denials::default();
            denials.record_result("update", &answered(code, message));
            assert_eq!(denials.current().is_some(), is_denied, "{code} {message}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_denial_is_known_until_the_request_is_permitted_or_no_longer_made() {
        let denials = Denials::default();
        assert_eq!(denials.current(), None);
        denials.record_result("update", &denied());
        denials.record_result("get", &Ok(()));
        assert_eq!(denials.current().as_deref(), Some("no (403 Reason)"));
        denials.record_result("update", &Err::<(), _>(kube::Error::Service("no answer".into())));
        assert!(denials.current().is_some());
        denials.record_result("update", &Ok(()));
        assert_eq!(denials.current(), None);
        denials.record_result("list", &denied());
        tokio::time::advance(KNOWN_FOR).await;
        assert_eq!(denials.current(), None);
    }
}
