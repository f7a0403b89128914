//! The result of one reconcile: it decides the retry, the status and the metrics.
//!
//! Each problem has one reason in CamelCase, from [`Problem::reason`] or [`RefusalReason::as_str`].
//! Metric labels and the reasons of conditions and events are these and nothing else.

use std::time::Duration;

use crate::plan::{Refusal, RefusalReason};
use crate::quarantine::{self, Held};
use crate::queue::{Options, RECHECK, Retry, Time};
use crate::response::Failure;
use crate::status::{NextAttempt, Readiness};
use crate::text::cut_owned;

/// The most bytes of a problem's message, for the log. Conditions and Events keep less.
const PROBLEM_TEXT: usize = 4 << 10;

/// The shortest `requeue-after`, unless an operator sets another: 10,000 objects that each ask for
/// a millisecond would take all of the host's time.
pub const REQUEUE_FLOOR: Duration = Duration::from_secs(1);

/// The requested pause, at least `floor`. Zero stays zero: it requests a back-off.
pub fn requeue_after(asked: Option<Duration>, floor: Duration) -> Option<Duration> {
    asked.map(|asked| if asked.is_zero() { asked } else { asked.max(floor) })
}

/// The shortest pause after a call about an object that ended by the plugin's fault.
///
/// Such a call may fill its memory, its answer or its log. Back-off alone would begin with eight
/// calls in the first second, and a retry rarely cures a fault. A change ends the pause.
pub const FAULT_PAUSE: Duration = Duration::from_secs(1);

/// The pause as a multiple of the call: spinning calls take at most a fifth of a processor.
const PAUSE_PER_CALL: u32 = 4;

/// The pause after a call that ended by the plugin's fault: see [`FAULT_PAUSE`].
pub fn pause_after_fault(lasted: Duration) -> Duration {
    FAULT_PAUSE.max(lasted.saturating_mul(PAUSE_PER_CALL))
}

/// How often a parent asks for its turn, in case no notified parent takes its turn.
const DEFERRED_RECHECK: Duration = Duration::from_secs(5);

/// The consecutive failures after which [`ProblemKind::Stale`] is reported. With the default
/// back-off they take 5 s, in which a cache catches up: after that, the 409 has another cause.
pub const STALE_UNREPORTED: u32 = 10;

/// How often the host checks its claim: the interval in which client-go tries to take one
/// (`RetryPeriod` in `k8s.io/component-base/config/v1alpha1/defaults.go`).
pub const CLAIM_RECHECK: Duration = Duration::from_secs(2);

/// How often a parent that waits for the inventory is reconciled. Each time calls the plugin.
pub const INVENTORY_RECHECK: Duration = Duration::from_secs(30);

/// Whether the cluster was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// At least one request changed the cluster.
    Yes,
    /// No request changed the cluster.
    No,
}

/// The result of one reconcile.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The desired state was reached.
    Reconciled {
        /// Whether any request changed the cluster.
        changed: Changed,
        /// When the plugin wants to be called again. Zero requests a retry with back-off.
        requeue_after: Option<Duration>,
    },
    /// Part of the desired state was refused. The rest was reached.
    Refused {
        /// The refusals; at least one.
        refusals: Vec<Refusal>,
        /// Whether any request changed the cluster.
        changed: Changed,
        /// As in [`Self::Reconciled`], but at most [`RECHECK`].
        requeue_after: Option<Duration>,
    },
    /// It did not begin, e.g. because it keeps writing without a change: see [`crate::pace`].
    Postponed {
        /// The time until it may begin.
        after: Duration,
    },
    /// It failed.
    Failed(Problem),
    /// The parent no longer exists, and nothing is left to do.
    Gone,
}

impl Outcome {
    /// The retry of the key in the work queue.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Reconciled { requeue_after, .. } => match requeue_after {
                None => Retry::Forget,
                // controller-runtime's `Requeue: true`. Retrying at once would be a hot loop.
                Some(Duration::ZERO) => Retry::Backoff,
                Some(delay) => Retry::After(*delay),
            },
            Self::Refused { requeue_after, .. } => match requeue_after {
                Some(Duration::ZERO) => Retry::Backoff,
                Some(delay) => Retry::After((*delay).min(RECHECK)),
                None => Retry::After(RECHECK),
            },
            Self::Postponed { after } => Retry::Postpone(*after),
            Self::Failed(problem) => problem.retry(),
            Self::Gone => Retry::Forget,
        }
    }

    /// The label `result` of `controller_runtime_reconcile_total`: `success`, `error`, `requeue` or
    /// `requeue_after` (`reconcileHandler` in `pkg/internal/controller/controller.go`). A terminal
    /// failure is an `error`; a refusal and a deferral are not.
    pub fn result_label(&self) -> &'static str {
        match (self, self.retry()) {
            (Self::Failed(problem), _) if problem.is_failure() => "error",
            (_, Retry::After(_) | Retry::Postpone(_)) => "requeue_after",
            (_, Retry::Backoff | Retry::BackoffAtLeast(_)) => "requeue",
            (_, Retry::Forget | Retry::Never) => "success",
        }
    }
}

/// Why a reconcile failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// A sentence, for people.
    pub message: String,
    /// The shortest back-off, from the plugin or the API server's `Retry-After`.
    pub retry_after: Option<Duration>,
}

/// The kinds of problem, each with its own reason and retry. A rejected child is no problem but a
/// [`Refusal`], and the other children go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The plugin said that it failed.
    PluginTransient,
    /// The plugin said that it failed, and when to try again.
    PluginRetryAfter,
    /// The plugin said that it will fail until an input changes.
    PluginTerminal,
    /// The call ended without a usable answer.
    Sandbox {
        /// The sandbox's reason in CamelCase, e.g. `DeadlineExceeded`.
        reason: &'static str,
        /// The party at fault.
        fault: Fault,
    },
    /// The plugin is quarantined, because calls about such parents keep ending by its fault.
    Quarantined,
    /// The plugin is not called yet: calls that may end by its fault are made one at a time.
    Deferred,
    /// A write was not sent, because the host does not hold the claim.
    NoClaim,
    /// The inventory could not be written, so the parent cannot get its finalizer: a later start
    /// without this mount would not remove it.
    InventoryNotWritten,
    /// A webhook removes the finalizer or the list of children from the parent, so its children
    /// could be left behind.
    MarksRemoved,
    /// Another field manager owns a field that the plugin sets (409 to a server-side apply).
    Conflict,
    /// The cache was late: the object changed or already exists (409 to anything else, or 410).
    Stale,
    /// The API server, a schema or admission rejects the object, whatever the code is.
    Invalid,
    /// The change is to a field that cannot be changed in place (422 that says so).
    Immutable,
    /// The namespace is being deleted, so nothing can be created in it (403).
    NamespaceTerminating,
    /// The host, or the service account that it impersonates, may not do this (403). The whole
    /// reconcile is retried, because the role may be created soon.
    Forbidden,
    /// The API server does not accept the host's credentials (401).
    Unauthorized,
    /// The namespace or the kind is missing (404), or the service account of a Pod.
    NotFound,
    /// The API server asks for fewer requests (429).
    TooManyRequests,
    /// The API server cannot be reached, or cannot answer (5xx, time-outs, broken connections).
    Unavailable,
    /// An answer that cannot be read, or a defect of the host.
    Other,
}

/// The party at fault for a call without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The plugin: it trapped or reached one of its limits. Counts towards its quarantine.
    Plugin,
    /// The host, e.g. because no instance was free. Says nothing about the plugin.
    Host,
}

impl Problem {
    /// A problem without a time to wait. Its message is cut, because it may have megabytes.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: cut_owned(message.into(), PROBLEM_TEXT), retry_after: None }
    }

    /// The plugin is quarantined for `whom`, e.g. `all objects`, until `until`. The message stays
    /// the same, so that a probe does not change the status of a thousand parents.
    pub fn quarantined(held: &Held, whom: &str, until: Time, now: Time) -> Self {
        let message = format!(
            "the plugin is quarantined for {whom}, because its calls keep ending in {}: it is probed periodically, and called again once it answers or changes",
            held.reason
        );
        Self::new(ProblemKind::Quarantined, message).not_before(until.saturating_since(now))
    }

    /// The same problem with this shortest wait.
    #[must_use]
    pub fn not_before(self, retry_after: Duration) -> Self {
        Self { retry_after: Some(retry_after), ..self }
    }

    /// One word in CamelCase: the metric label, and the reason of conditions and events.
    pub fn reason(&self) -> &'static str {
        self.kind.reason()
    }

    /// The retry of the key in the work queue.
    pub fn retry(&self) -> Retry {
        match (self.kind.persistence(), self.retry_after) {
            (Persistence::UntilChanged, _) => Retry::Never,
            (Persistence::Long, retry_after) => Retry::After(retry_after.unwrap_or_default().max(RECHECK)),
            (Persistence::Postponed(delay), retry_after) => Retry::Postpone(retry_after.unwrap_or(delay)),
            (Persistence::Passing, None) => Retry::Backoff,
            (Persistence::Passing, Some(retry_after)) => Retry::BackoffAtLeast(retry_after),
        }
    }

    /// The party at fault if the call ended without an answer, or `None` for any other problem.
    pub fn fault(&self) -> Option<Fault> {
        match self.kind {
            ProblemKind::Sandbox { fault, .. } => Some(fault),
            _ => None,
        }
    }

    /// The readiness for the status, after `failures` consecutive failures. `options` are those of
    /// the mount: they decide whether the key will be parked.
    pub fn readiness(&self, options: &Options, failures: u32) -> Readiness<'_> {
        let retry = self.retry();
        // A quarantined plugin is probed, but people have to mend it.
        let waits_for_people = self.kind == ProblemKind::Quarantined;
        let waits_for_a_change = waits_for_people || retry == Retry::Never || options.parks(retry, failures);
        let next_attempt = if waits_for_a_change { NextAttempt::OnChange } else { NextAttempt::Later };
        Readiness::Failed { reason: self.reason(), message: &self.message, next_attempt }
    }

    /// Returns whether it is not reported after `failures` consecutive failures, because a retry
    /// will see another state. `options` are those of the mount: a parked key is not retried.
    pub fn is_unreported(&self, options: &Options, failures: u32) -> bool {
        match self.kind {
            ProblemKind::NoClaim | ProblemKind::Deferred => true,
            ProblemKind::Stale => failures < STALE_UNREPORTED && !options.parks(self.retry(), failures),
            _ => false,
        }
    }

    /// Returns whether something went wrong. Deferring is no failure.
    pub fn is_failure(&self) -> bool {
        self.kind != ProblemKind::Deferred
    }

    /// Returns whether only a change of an input can help, so that it is not retried.
    pub fn is_terminal(&self) -> bool {
        self.kind.persistence() == Persistence::UntilChanged
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Transient { message } => Self::new(ProblemKind::PluginTransient, message),
            Failure::RetryAfter { message, after } => Self::new(ProblemKind::PluginRetryAfter, message).not_before(after),
            Failure::Terminal { message } => Self::new(ProblemKind::PluginTerminal, message),
        }
    }
}

/// How long a problem lasts if nobody acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Persistence {
    /// A retry may well succeed: back-off.
    Passing,
    /// It says nothing about this parent: retried after a time, and counted as nothing.
    Postponed(Duration),
    /// A retry succeeds only if a cause that the host cannot see is removed: [`RECHECK`].
    Long,
    /// No retry succeeds.
    UntilChanged,
}

impl ProblemKind {
    /// The reason in CamelCase, for metrics, conditions and events; the same as a refusal's.
    pub fn reason(self) -> &'static str {
        match self {
            Self::PluginTransient => "PluginTransient",
            Self::PluginRetryAfter => "PluginRetryAfter",
            Self::PluginTerminal => "PluginTerminal",
            Self::Sandbox { reason, .. } => reason,
            Self::Quarantined => "Quarantined",
            Self::Deferred => "Deferred",
            Self::NoClaim => "NotLeader",
            Self::InventoryNotWritten => "InventoryNotWritten",
            Self::MarksRemoved => RefusalReason::MarksRemoved.as_str(),
            Self::Conflict => RefusalReason::Conflict.as_str(),
            Self::Stale => "Stale",
            Self::Invalid => RefusalReason::Rejected.as_str(),
            Self::Immutable => RefusalReason::ImmutableField.as_str(),
            Self::NamespaceTerminating => RefusalReason::NamespaceTerminating.as_str(),
            Self::Forbidden => "Forbidden",
            Self::Unauthorized => "Unauthorized",
            Self::NotFound => "NotFound",
            Self::TooManyRequests => "TooManyRequests",
            Self::Unavailable => "Unavailable",
            Self::Other => "Other",
        }
    }

    fn persistence(self) -> Persistence {
        match self {
            Self::PluginTerminal => Persistence::UntilChanged,
            // The parent is not the cause, so it must not be parked: no change of it would follow.
            Self::Quarantined => Persistence::Postponed(quarantine::FIRST_PROBE),
            Self::Deferred => Persistence::Postponed(DEFERRED_RECHECK),
            Self::NoClaim => Persistence::Postponed(CLAIM_RECHECK),
            Self::InventoryNotWritten => Persistence::Postponed(INVENTORY_RECHECK),
            // No watch reports the end of the cause. So neither `UntilChanged`, which would keep
            // the object as it is, nor back-off, which would repeat the same rejection.
            Self::MarksRemoved | Self::Conflict | Self::Invalid | Self::Immutable | Self::NamespaceTerminating => {
                Persistence::Long
            }
            // The same inputs would fault again, unless the host's load made the call slow.
            // Back-off tells these apart at little cost.
            Self::Sandbox { .. } => Persistence::Passing,
            // Roles and namespaces are often created moments later: retry soon at first.
            Self::Forbidden | Self::NotFound => Persistence::Passing,
            Self::PluginTransient
            | Self::PluginRetryAfter
            | Self::Stale
            | Self::Unauthorized
            | Self::TooManyRequests
            | Self::Unavailable
            | Self::Other => Persistence::Passing,
        }
    }
}

#[cfg(test)]
mod tests;
