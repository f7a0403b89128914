//! The meaning of an answer with which the API server, or something before it, declines a request.
//!
//! The code alone does not tell: authorization and admission both answer 403, a webhook denies with
//! any code, and a gateway answers HTML. So the message decides where its wording is known.

mod violations;

pub use self::violations::schema_violations;

use crate::outcome::ProblemKind;

/// An answer with a code of at least 400.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The HTTP status.
    pub code: u16,
    /// The message of the `Status`, or the whole body of another answer.
    pub message: &'a str,
    /// The author of the body.
    pub author: Author,
    /// The `reason` of each cause in `details`.
    pub causes: &'a [&'a str],
}

/// The author of an answer, as far as its form shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// An API server, because the body is a `Status`.
    ApiServer,
    /// Perhaps a proxy or a gateway: the body is HTML or other text.
    Unknown,
}

impl Answer<'_> {
    /// Returns what the answer means for a reconcile.
    pub fn problem_kind(&self) -> ProblemKind {
        let has_cause = |reason| self.causes.contains(&reason);
        if is_admission_starting(self.message) {
            return ProblemKind::Unavailable;
        }
        if is_denied_by_admission(self.message) {
            return match self.code {
                429 => ProblemKind::TooManyRequests,
                // The webhook itself failed, and may recover.
                500.. => ProblemKind::Unavailable,
                _ => ProblemKind::Invalid,
            };
        }
        if schema_violations(self.message).is_some() || is_too_large(self.message) {
            return ProblemKind::Invalid;
        }
        if has_cause("NamespaceTerminating") {
            return ProblemKind::NamespaceTerminating;
        }
        match (self.code, self.author) {
            (401, Author::ApiServer) => ProblemKind::Unauthorized,
            (403, Author::ApiServer) if lacks_permission(self.message) => ProblemKind::Forbidden,
            (403, Author::ApiServer) => awaited_by_admission(self.message).unwrap_or(ProblemKind::Invalid),
            (404, Author::ApiServer) => ProblemKind::NotFound,
            // The API server's own answer about a group that it does not serve is plain text.
            (404, Author::Unknown) if self.message == "404 page not found" => ProblemKind::NotFound,
            (409, _) if has_cause("FieldManagerConflict") => ProblemKind::Conflict,
            // 410: the version that was asked for is too old.
            (409 | 410, Author::ApiServer) => ProblemKind::Stale,
            (422, Author::ApiServer) if self.message.contains("immutable") => ProblemKind::Immutable,
            (413, _) => ProblemKind::Invalid,
            (429, _) => ProblemKind::TooManyRequests,
            (408 | 500.., _) | (_, Author::Unknown) => ProblemKind::Unavailable,
            (_, Author::ApiServer) => ProblemKind::Invalid,
        }
    }
}

/// Returns whether an authorizer, or a check of permissions in an admission plugin, denied it.
///
/// The wordings are of `forbiddenMessage` in `pkg/endpoints/handlers/responsewriters/errors.go`,
/// of `ConfirmNoEscalation` in `pkg/registry/rbac/validation/rule.go`, and of
/// `plugin/pkg/admission/gc/gc_admission.go`.
pub fn lacks_permission(message: &str) -> bool {
    let Some((_, why)) = message.split_once("forbidden: ") else { return false };
    !is_denied_by_admission(message)
        && (why.starts_with("User \"") && why.contains(" cannot ")
            || why.starts_with("user \"") && why.contains(" is attempting to grant RBAC permissions not currently held")
            || why.starts_with("cannot set blockOwnerDeletion ")
            || why.starts_with("cannot set an ownerRef on a resource you can't delete"))
}

/// Returns whether a webhook or a policy denied the request, whatever its code is.
///
/// The wordings are of `ToStatusErr` in
/// `k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go`, and of
/// `pkg/admission/plugin/policy` (`validating/dispatcher.go`, `generic/policy_dispatcher.go`).
pub fn is_denied_by_admission(message: &str) -> bool {
    let of_webhook = message.strip_prefix("admission webhook \"").is_some_and(|rest| rest.contains("\" denied the request"));
    let of_policy = || {
        let (_, why) = message.split_once(" is forbidden: ")?;
        let is_policy = ["ValidatingAdmissionPolicy ", "policy "].iter().any(|word| why.starts_with(word));
        Some(is_policy && why.contains(" denied request"))
    };
    of_webhook || of_policy().unwrap_or(false)
}

/// Returns whether an admission plugin declined it because its informers have not synced yet.
///
/// The wordings are of the plugins that call `WaitForReady` (`pkg/admission/handler.go`), and of
/// `CollectParams` in `pkg/admission/plugin/policy/generic/policy_dispatcher.go`.
fn is_admission_starting(message: &str) -> bool {
    let Some((object, why)) = message.split_once(" is forbidden: ") else { return false };
    let lacks_parameters = why.contains(" denied request: failed to configure binding: paramKind kind ")
        && why.ends_with(" not yet synced to use for admission");
    // A webhook may say the same words, for its own reasons.
    !object.starts_with("admission webhook ") && (why == "not yet ready to handle request" || lacks_parameters)
}

/// The admission plugins that wait for a controller, which needs seconds: of service accounts in a
/// new namespace, and of new quotas.
fn awaited_by_admission(message: &str) -> Option<ProblemKind> {
    let (_, why) = message.split_once(" is forbidden: ")?;
    if why.starts_with("error looking up service account ") {
        return Some(ProblemKind::NotFound);
    }
    why.starts_with("status unknown for quota: ").then_some(ProblemKind::Unavailable)
}

/// The limits of etcd and of its client. Depending on the request, the code is 413 or 500.
fn is_too_large(message: &str) -> bool {
    message.contains("etcdserver: request is too large") || message.contains("trying to send message larger than max (")
}

#[cfg(test)]
mod tests;
