use proptest::prelude::*;

use super::*;

/// An answer, and its meaning. The messages are of kube-apiserver 1.36, if nothing else is said.
type Row = (u16, &'static str, &'static [&'static str], ProblemKind);

const TABLE: &[Row] = &[
    // Authorization.
    (
        403,
        r#"jobs.batch "a" is forbidden: User "u" cannot patch resource "jobs" in API group "batch" in the namespace "n""#,
        &[],
        ProblemKind::Forbidden,
    ),
    (
        403,
        r#"namespaces is forbidden: User "system:serviceaccount:gyre:gyre" cannot create resource "namespaces" in API group "" at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found"#,
        &[],
        ProblemKind::Forbidden,
    ),
    (
        403,
        r#"serviceaccounts "tenant" is forbidden: User "gyre" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "n""#,
        &[],
        ProblemKind::Forbidden,
    ),
    (403, r#"forbidden: User "gyre" cannot get path "/version""#, &[], ProblemKind::Forbidden),
    (
        403,
        "roles.rbac.authorization.k8s.io \"r\" is forbidden: user \"gyre\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}",
        &[],
        ProblemKind::Forbidden,
    ),
    (
        403,
        r#"pods "a" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"#,
        &[],
        ProblemKind::Forbidden,
    ),
    // Words that no authorizer or admission plugin of the API server uses.
    (403, r#"secrets "a" is forbidden: the tenant is suspended"#, &[], ProblemKind::Invalid),
    (403, "access denied", &[], ProblemKind::Invalid),
    // Authentication.
    (401, "Unauthorized", &[], ProblemKind::Unauthorized),
    // Admission plugins of the API server.
    (
        403,
        r#"pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"#,
        &[],
        ProblemKind::Invalid,
    ),
    (403, r#"pods "a" is forbidden: failed quota: q: must specify limits.cpu for: c"#, &[], ProblemKind::Invalid),
    (403, r#"pods "a" is forbidden: maximum cpu usage per Container is 1, but limit is 2"#, &[], ProblemKind::Invalid),
    (
        403,
        r#"pods "a" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)"#,
        &[],
        ProblemKind::Invalid,
    ),
    (403, r#"pods "a" is forbidden: no PriorityClass with name p was found"#, &[], ProblemKind::Invalid),
    (
        403,
        r#"configmaps "a" is forbidden: unable to create new content in namespace n because it is being terminated"#,
        &["NamespaceTerminating"],
        ProblemKind::NamespaceTerminating,
    ),
    // They wait for a controller.
    (
        403,
        r#"pods "a" is forbidden: error looking up service account n/default: serviceaccount "default" not found"#,
        &[],
        ProblemKind::NotFound,
    ),
    (403, r#"pods "a" is forbidden: status unknown for quota: q, resources: pods"#, &[], ProblemKind::Unavailable),
    // They wait for their informers.
    (403, r#"configmaps "a" is forbidden: not yet ready to handle request"#, &[], ProblemKind::Unavailable),
    (
        422,
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed to configure binding: paramKind kind `&ParamKind{APIVersion:v1,Kind:ConfigMap,}` not yet synced to use for admission",
        &[],
        ProblemKind::Unavailable,
    ),
    (
        409,
        r#"Operation cannot be fulfilled on resourcequotas "q": the object has been modified; please apply your changes to the latest version and try again"#,
        &[],
        ProblemKind::Stale,
    ),
    // Policies.
    (
        422,
        "deployments.apps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: replicas are immutable",
        &[],
        ProblemKind::Invalid,
    ),
    (
        401,
        "deployments.apps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
        &[],
        ProblemKind::Invalid,
    ),
    (
        403,
        "deployments.apps \"a\" is forbidden: policy 'p' with binding 'b' denied request: no params found for policy binding with `Deny` parameterNotFoundAction",
        &[],
        ProblemKind::Invalid,
    ),
    // Webhooks deny with any code, and with any words.
    (400, r#"admission webhook "w.example.com" denied the request without explanation"#, &[], ProblemKind::Invalid),
    (401, r#"admission webhook "w.example.com" denied the request: no"#, &[], ProblemKind::Invalid),
    (403, r#"admission webhook "w.example.com" denied the request: no"#, &[], ProblemKind::Invalid),
    (
        403,
        r#"admission webhook "w.example.com" denied the request: forbidden: User "u" cannot create resource "pods""#,
        &[],
        ProblemKind::Invalid,
    ),
    (
        403,
        r#"admission webhook "w.example.com" denied the request: pods "a" is forbidden: not yet ready to handle request"#,
        &[],
        ProblemKind::Invalid,
    ),
    (404, r#"admission webhook "w.example.com" denied the request: no such team"#, &[], ProblemKind::Invalid),
    (409, r#"admission webhook "w.example.com" denied the request: the host is taken"#, &[], ProblemKind::Invalid),
    (410, r#"admission webhook "w.example.com" denied the request: no"#, &[], ProblemKind::Invalid),
    (422, r#"admission webhook "w.example.com" denied the request: the field is immutable"#, &[], ProblemKind::Invalid),
    (429, r#"admission webhook "w.example.com" denied the request: later"#, &[], ProblemKind::TooManyRequests),
    (500, r#"admission webhook "w.example.com" denied the request: no database"#, &[], ProblemKind::Unavailable),
    (
        500,
        r#"Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: Post "https://w.n.svc:443/?timeout=10s": context deadline exceeded"#,
        &[],
        ProblemKind::Unavailable,
    ),
    // OpenShift.
    (
        403,
        r#"pods "a" is forbidden: unable to validate against any security context constraint: [provider "x": Forbidden: not usable by user or serviceaccount]"#,
        &[],
        ProblemKind::Invalid,
    ),
    // Validation, and the state of the object.
    (
        422,
        r#"Job.batch "a" is invalid: spec.template: Invalid value: {}: field is immutable"#,
        &["FieldValueInvalid"],
        ProblemKind::Immutable,
    ),
    (422, r#"Service "a" is invalid: spec.ports: Required value"#, &["FieldValueRequired"], ProblemKind::Invalid),
    (
        500,
        "failed to create typed patch object (default/it; apps/v1, Kind=Deployment): .spec.templat: field not declared in schema",
        &[],
        ProblemKind::Invalid,
    ),
    (
        409,
        "Apply failed with 1 conflict: conflict with \"kubectl\" using apps/v1: .spec.replicas",
        &["FieldManagerConflict"],
        ProblemKind::Conflict,
    ),
    (409, "Precondition failed: UID in precondition: a, UID in object meta: b", &[], ProblemKind::Stale),
    (410, "The provided continue parameter is too old to display a consistent list result.", &[], ProblemKind::Stale),
    (404, r#"namespaces "n" not found"#, &[], ProblemKind::NotFound),
    (404, "the server could not find the requested resource", &[], ProblemKind::NotFound),
    (405, "the server does not allow this method on the requested resource", &[], ProblemKind::Invalid),
    // Too large.
    (413, "Request entity too large: limit is 3145728", &[], ProblemKind::Invalid),
    (500, "etcdserver: request is too large", &[], ProblemKind::Invalid),
    (
        500,
        "rpc error: code = ResourceExhausted desc = trying to send message larger than max (4223000 vs. 2097152)",
        &[],
        ProblemKind::Invalid,
    ),
    // Load and outages.
    (429, "storage is (re)initializing", &[], ProblemKind::TooManyRequests),
    (500, "etcdserver: leader changed", &[], ProblemKind::Unavailable),
    (
        500,
        "failed to create typed live object (default/it; v1, Kind=Pod): .x: field not declared in schema",
        &[],
        ProblemKind::Unavailable,
    ),
    (503, "error trying to reach service: dial tcp: connection refused", &[], ProblemKind::Unavailable),
    (504, "Timeout: request did not complete within the allotted timeout", &[], ProblemKind::Unavailable),
];

/// Answers that no API server wrote.
const OF_GATEWAYS: &[(u16, &str, ProblemKind)] = &[
    (400, "Client sent an HTTP request to an HTTPS server.", ProblemKind::Unavailable),
    (401, "<html><h1>401 Authorization Required</h1></html>", ProblemKind::Unavailable),
    (403, "<html><h1>403 Forbidden</h1></html>", ProblemKind::Unavailable),
    (404, "404 page not found", ProblemKind::NotFound),
    (404, "<html><h1>404 Not Found</h1></html>", ProblemKind::Unavailable),
    (0, "no healthy upstream", ProblemKind::Unavailable),
    (409, "<html></html>", ProblemKind::Unavailable),
    (413, "<html><h1>413 Request Entity Too Large</h1></html>", ProblemKind::Invalid),
    (429, "Too many requests, please try again later.", ProblemKind::TooManyRequests),
    (502, "<html><h1>502 Bad Gateway</h1></html>", ProblemKind::Unavailable),
];

#[test]
fn known_answers_have_their_meaning() {
    for &(code, message, causes, expected) in TABLE {
        let answer = Answer { code, message, author: Author::ApiServer, causes };
        assert_eq!(answer.problem_kind(), expected, "{code} {message}");
        assert_eq!(lacks_permission(message), expected == ProblemKind::Forbidden, "{message}");
    }
    for &(code, message, expected) in OF_GATEWAYS {
        let answer = Answer { code, message, author: Author::Unknown, causes: &[] };
        assert_eq!(answer.problem_kind(), expected, "{code} {message}");
    }
}

proptest! {
    /// Only load and outages may pass, whatever else a webhook says.
    #[test]
    fn what_a_webhook_denies_is_rejected_or_retried(code in 400_u16..600, said in ".*") {
        let message = format!("admission webhook \"w.example.com\" denied the request: {said}");
        let kind = Answer { code, message: &message, author: Author::ApiServer, causes: &[] }.problem_kind();
        let expected = match code {
            429 => ProblemKind::TooManyRequests,
            500.. => ProblemKind::Unavailable,
            _ => ProblemKind::Invalid,
        };
        prop_assert_eq!(kind, expected);
    }

    #[test]
    fn every_answer_has_a_documented_meaning(code in 400_u16..600, message in ".*") {
        for author in [Author::ApiServer, Author::Unknown] {
            let kind = Answer { code, message: &message, author, causes: &[] }.problem_kind();
            prop_assert_ne!(kind, ProblemKind::Other);
        }
    }
}
