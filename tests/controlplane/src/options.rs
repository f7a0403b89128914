//! The options of a control plane.

use std::time::Duration;

/// The content of the audit log for each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditLevel {
    /// User, verb, object, time and result; for Leases also the body of the request.
    #[default]
    Metadata,
    /// The body of the request too.
    Request,
    /// The bodies of request and response too.
    RequestResponse,
}

impl AuditLevel {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Metadata => "Metadata",
            Self::Request => "Request",
            Self::RequestResponse => "RequestResponse",
        }
    }
}

/// Decides if kube-controller-manager runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controllers {
    /// It does: Jobs get Pods, dependents of deleted objects are deleted, namespaces empty themselves.
    #[default]
    Run,
    /// It does not, as with envtest: starts faster, and nobody but the test changes anything.
    Absent,
}

/// The options of a control plane.
#[derive(Clone, Debug)]
pub struct Options {
    /// The content of the audit log.
    pub audit_level: AuditLevel,
    /// Decides if kube-controller-manager runs.
    pub controllers: Controllers,
    /// More arguments for kube-apiserver; the last of a flag wins.
    pub apiserver_args: Vec<String>,
    /// The timeout for each component to become ready.
    pub start_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            audit_level: AuditLevel::default(),
            controllers: Controllers::default(),
            apiserver_args: Vec::new(),
            // Two seconds or so on an idle machine; a busy one with two cores needs many times that.
            start_timeout: Duration::from_secs(90),
        }
    }
}
