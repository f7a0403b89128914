//! Error texts for people.

use gyre_core::answer::{Answer, Author};
use gyre_core::outcome::ProblemKind;
use gyre_core::text;
use kube::core::Status;

/// The reason of a `Status` that kube makes of a text (`handle_api_errors` in kube-client).
const OF_TEXT: &str = "Failed to parse error data";
/// A page of a gateway is cut after this many bytes: its title is enough.
const PAGE_TEXT: usize = 256;

/// The meaning of an answer for a reconcile.
pub(crate) fn problem_kind(status: &Status) -> ProblemKind {
    let causes: Vec<&str> =
        status.details.iter().flat_map(|details| &details.causes).map(|cause| cause.reason.as_str()).collect();
    let author = if is_of_api_server(status) { Author::ApiServer } else { Author::Unknown };
    Answer { code: status.code, message: &status.message, author, causes: &causes }.problem_kind()
}

/// Returns whether an API server wrote the answer, and not, for example, a gateway.
pub(crate) fn is_of_api_server(status: &Status) -> bool {
    // kube reads every JSON object as a `Status`, but only the API server's have a code.
    status.reason != OF_TEXT && status.code != 0
}

/// Returns whether the object, or its kind, does not exist. Webhooks and gateways may answer 404,
/// too.
pub(crate) fn is_gone(status: &Status) -> bool {
    status.code == 404 && problem_kind(status) == ProblemKind::NotFound
}

/// Returns whether an authorizer denied the request. Admission answers 403, too.
pub(crate) fn is_forbidden(status: &Status) -> bool {
    problem_kind(status) == ProblemKind::Forbidden
}

/// Returns whether the object has changed meanwhile, so that a retry sees another state.
pub(crate) fn is_stale(status: &Status) -> bool {
    problem_kind(status) == ProblemKind::Stale
}

/// Returns whether a write that failed so may have been carried out.
pub(crate) fn may_have_arrived(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code >= 500 || !is_of_api_server(status),
        _ => true,
    }
}

/// The API server's message, with the remedy for missing permissions.
pub(crate) fn said(status: &Status) -> String {
    if !is_of_api_server(status) {
        let code = if status.code == 0 { String::new() } else { format!(" {}", status.code) };
        return format!("an answer{code} that is not of an API server: {}", text::cut(&status.message, PAGE_TEXT));
    }
    let remedy = if is_forbidden(status) { "; `gyre rbac` prints the rules that the mounts need" } else { "" };
    format!("{}{remedy}", status.message)
}

/// An error with its sources, each once. An answer of the API server has its code and reason.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    text::error_chain_with(error, |error| match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => {
            let code = format!("{} {}", status.code, status.reason);
            Some(format!("{} ({})", said(status), code.trim_end()))
        }
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
        let without_reason = kube::core::Status::failure("resourceVersion should not be set", "").with_code(500);
        assert_eq!(error_chain(&kube::Error::Api(Box::new(without_reason))), "resourceVersion should not be set (500)");
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
