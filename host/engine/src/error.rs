//! Error texts for people.

use kube::core::Status;

/// The API server's message, with the remedy for missing permissions.
pub(crate) fn said(status: &Status) -> String {
    // The wording of its authorizer; admission plugins also answer 403 to permitted requests.
    let lacks_a_rule = status.is_forbidden() && status.message.contains("User \"") && status.message.contains(" cannot ");
    let remedy = if lacks_a_rule { "; `gyre rbac` prints the rules that the mounts need" } else { "" };
    format!("{}{remedy}", status.message)
}

/// An error with its sources, each once: kube's errors repeat their source.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let (own, rest) = match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => (format!("{} ({} {})", said(status), status.code, status.reason), None),
            _ => (error.to_string(), error.source()),
        };
        let own = without_code(&without_source(&own, rest), error);
        if !own.is_empty() && !text.contains(&own) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&own);
        }
        next = rest;
    }
    text
}

fn without_source(text: &str, source: Option<&(dyn std::error::Error + 'static)>) -> String {
    let source = source.map(ToString::to_string).unwrap_or_default();
    match text.split_once(&source) {
        Some((before, _)) if !source.is_empty() => before.trim_end_matches([' ', ':', '(']).to_owned(),
        _ => text.to_owned(),
    }
}

fn without_code(text: &str, error: &(dyn std::error::Error + 'static)) -> String {
    let code = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
    code.map_or_else(|| text.to_owned(), |code| text.replace(&format!(" (os error {code})"), ""))
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
