//! The options of a control plane.

use std::time::Duration;

/// The level of the audit log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditLevel {
    /// User, verb, object, time and result; for Leases also the body of the request.
    #[default]
    Metadata,
    /// The body of the request as well.
    Request,
    /// The bodies of request and response as well.
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

/// Selects whether kube-controller-manager runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controllers {
    /// It runs: garbage collection, Jobs and namespaces work.
    #[default]
    Run,
    /// It does not run, as with envtest: the start is faster, and only the test changes objects.
    Absent,
}

/// The options of a control plane.
#[derive(Clone, Debug)]
pub struct Options {
    /// The level of the audit log.
    pub audit_level: AuditLevel,
    /// Selects whether kube-controller-manager runs.
    pub controllers: Controllers,
    /// More arguments for kube-apiserver; the last value of a flag wins.
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
            // An idle machine needs about two seconds, a busy one many times that.
            start_timeout: Duration::from_secs(90),
        }
    }
}
