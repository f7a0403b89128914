//! Error texts for people.

use gyre_core::text;
use kube::core::Status;

/// The API server's message, with the remedy for missing permissions.
pub(crate) fn said(status: &Status) -> String {
    // The wording of its authorizer; admission plugins also answer 403 to permitted requests.
    let lacks_a_rule = status.is_forbidden() && status.message.contains("User \"") && status.message.contains(" cannot ");
    let remedy = if lacks_a_rule { "; `gyre rbac` prints the rules that the mounts need" } else { "" };
    format!("{}{remedy}", status.message)
}

/// An error with its sources, each once. An answer of the API server has its code and reason.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    text::error_chain_with(error, |error| match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => Some(format!("{} ({} {})", said(status), status.code, status.reason)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_each_thing_once() {
        let status = kube::core::Status::failure("storage is (re)initializing", "TooManyRequests").with_code(429);
        let api = kube::Error::Api(Box::new(status));
        let watch = kube::runtime::watcher::Error::WatchStartFailed(api);
        assert_eq!(error_chain(&watch), "failed to start watching object: storage is (re)initializing (429 TooManyRequests)");
        let denied =
            r#"jobs.batch "a" is forbidden: User "u" cannot patch resource "jobs" in API group "batch" in the namespace "n""#;
        let forbidden = |message: &str| Status::failure(message, "Forbidden").with_code(403);
        let denied = error_chain(&kube::Error::Api(Box::new(forbidden(denied))));
        assert!(denied.ends_with("; `gyre rbac` prints the rules that the mounts need (403 Forbidden)"), "{denied}");
        let quota = r#"pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"#;
        assert_eq!(said(&forbidden(quota)), quota, "more rules would not help");
        let io = std::io::Error::other("connection refused");
        assert_eq!(error_chain(&kube::Error::Service(Box::new(io))), "ServiceError: connection refused");
    }
}
