//! How a control plane is started.

use std::time::Duration;

/// What the audit log records of each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditLevel {
    /// Who, what, when and the result; of Leases the body of the request too.
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

/// Whether kube-controller-manager runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controllers {
    /// It does: Jobs get Pods, dependents of deleted objects are deleted, namespaces empty themselves.
    #[default]
    Run,
    /// It does not, as with envtest: starts faster, and nobody but the test changes anything.
    Absent,
}

/// How a control plane is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the audit log records.
    pub audit_level: AuditLevel,
    /// Whether kube-controller-manager runs.
    pub controllers: Controllers,
    /// More arguments for kube-apiserver; the last of a flag wins.
    pub apiserver_args: Vec<String>,
    /// How long each component may take to become ready.
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
