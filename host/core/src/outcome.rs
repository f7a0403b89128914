//! How one reconcile ended. It decides the retry, the status and the metrics.
//!
//! Everything that can go wrong has one reason, in CamelCase, from [`Problem::reason`] or [`RefusalReason::as_str`]: the metric
//! labels and the reasons of conditions and events are these and nothing else.

use std::time::Duration;

use crate::plan::{Refusal, RefusalReason};
use crate::quarantine::{self, Held};
use crate::queue::{Options, Retry, Time};
use crate::response::Failure;
use crate::status::{NextAttempt, Readiness};
use crate::text::cut_owned;

/// The longest message of a problem, in bytes. It is logged as a whole; conditions and Events have less of it.
const PROBLEM_TEXT: usize = 4 << 10;

/// The soonest that a plugin is called again because it asked for it (`requeue-after`), unless an operator says otherwise. What needs an
/// answer sooner than that is better told by a change; and 10,000 objects that each ask for a millisecond would have the host do nothing else.
pub const REQUEUE_FLOOR: Duration = Duration::from_secs(1);

/// The time after which a plugin is called again that requested `asked`. Zero stays zero, which requests a backoff.
pub fn requeue_after(asked: Option<Duration>, floor: Duration) -> Option<Duration> {
    asked.map(|asked| if asked.is_zero() { asked } else { asked.max(floor) })
}

/// The shortest pause before a plugin is called again about an object whose call ended by the plugin's own fault.
///
/// Such a call is expensive: it may fill its memory, its answer or its log before it is stopped. Back-off alone would begin with eight calls
/// within the first second. A fault is rarely cured by trying again, and a change of the object or of the plugin ends the pause.
pub const FAULT_PAUSE: Duration = Duration::from_secs(1);

/// How many times as long as the call lasted the pause after it is at least: an object whose calls never end takes at most a fifth of a
/// processor.
const PAUSE_PER_CALL: u32 = 4;

/// The pause after a call that ended by the plugin's own fault and lasted at least that long (see [`FAULT_PAUSE`]).
pub fn pause_after_fault(lasted: Duration) -> Duration {
    FAULT_PAUSE.max(lasted.saturating_mul(PAUSE_PER_CALL))
}

/// After how long something is tried again that no retry can cure, but that may be cured without the host seeing it.
///
/// A foreign object in the way is in no cache (the host watches its own objects only), nor are the CRD schemas, admission
/// policies and immutable fields that a write is rejected by. Back-off would begin with dozens of attempts in the first minute,
/// each as futile as the one before; never trying again would leave an object refused that could long have been created. One
/// attempt in 5 minutes is what a person who removed the cause will wait for, and no load.
pub const RECHECK: Duration = Duration::from_secs(5 * 60);

/// How soon a parent asks again that waits for its turn. It is told when it is its turn; this is for one whose turn others let pass, such
/// as parents that went meanwhile.
const DEFERRED_RECHECK: Duration = Duration::from_secs(5);

/// How soon it is looked again whether the host holds the claim: that often client-go, and therefore everyone, tries to take one
/// (`RetryPeriod` in `k8s.io/component-base/config/v1alpha1/defaults.go`).
pub const CLAIM_RECHECK: Duration = Duration::from_secs(2);

/// How soon a parent is looked at again that waits until the inventory can be written: the host itself tries again at least once a minute,
/// and each look is a call of the plugin.
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
    /// The desired state has been reached.
    Reconciled {
        /// Whether anything had to be changed.
        changed: Changed,
        /// The time after which the plugin wants to be called again even if nothing changes. Zero requests a retry with backoff.
        requeue_after: Option<Duration>,
    },
    /// Part of the desired state was refused. The rest has been reached.
    Refused {
        /// The refusals; at least one.
        refusals: Vec<Refusal>,
        /// Whether the rest had to be changed.
        changed: Changed,
        /// As in [`Self::Reconciled`]; it counts if it is sooner than [`RECHECK`].
        requeue_after: Option<Duration>,
    },
    /// It did not begin: the object keeps being written for while nothing but time passes, and is slowed down (see [`crate::pace`]).
    SlowedDown {
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
                // What controller-runtime calls `Requeue: true`. "At once" would be a hot loop.
                Some(Duration::ZERO) => Retry::Backoff,
                Some(delay) => Retry::After(*delay),
            },
            Self::Refused { requeue_after, .. } => match requeue_after {
                Some(Duration::ZERO) => Retry::Backoff,
                Some(delay) => Retry::After((*delay).min(RECHECK)),
                None => Retry::After(RECHECK),
            },
            // Nothing was tried.
            Self::SlowedDown { after } => Retry::Postpone(*after),
            Self::Failed(problem) => problem.retry(),
            Self::Gone => Retry::Forget,
        }
    }

    /// The label `result` of `controller_runtime_reconcile_total`: `success`, `error`, `requeue` or `requeue_after`, as
    /// controller-runtime gives them (`reconcileHandler` in `pkg/internal/controller/controller.go`).
    ///
    /// Every failure is an `error`, a terminal one too. A refusal is none: it is the answer, and the condition says so. Nor is it one that
    /// another call comes first.
    pub fn result_label(&self) -> &'static str {
        match (self, self.retry()) {
            (Self::Failed(problem), _) if problem.is_failure() => "error",
            (_, Retry::After(_) | Retry::Postpone(_)) => "requeue_after",
            (_, Retry::Backoff | Retry::BackoffAtLeast(_)) => "requeue",
            (_, Retry::Forget | Retry::Never) => "success",
        }
    }
}

/// The reason why a reconcile failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// A sentence, for people.
    pub message: String,
    /// Not to be tried again sooner, if the problem is one that is tried again with back-off: what the plugin said, or the API
    /// server's `Retry-After`.
    pub retry_after: Option<Duration>,
}

/// The kinds of problem, each with its own reason and its own way to go on.
///
/// Those of the API are about requests that the whole reconcile depends on, such as that for the status. What is rejected of one
/// child is a [`Refusal`], and the other children go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The plugin said that it failed.
    PluginTransient,
    /// The plugin said that it failed, and when to try again.
    PluginRetryAfter,
    /// The plugin said that it will fail until an input changes.
    PluginTerminal,
    /// The call did not come to an answer that can be used.
    Sandbox {
        /// The sandbox's word for it, in CamelCase, e.g. `DeadlineExceeded`.
        reason: &'static str,
        /// The party at fault.
        fault: Fault,
    },
    /// The plugin was not called, since it is quarantined: calls about this or related parents keep ending by its own fault.
    Quarantined,
    /// The plugin is not called yet: calls that may end by its own fault are made one at a time.
    Deferred,
    /// A write was not sent, since the host does not hold the claim.
    NoClaim,
    /// The parent needs a finalizer, and it cannot be written into the inventory that its mount holds any: without the mount, a later
    /// start of the host would not remove it.
    InventoryNotWritten,
    /// Another field manager owns a field that the plugin sets (409 to a server-side apply).
    Conflict,
    /// The cache was behind: the object is another one by now, or there already (409 to anything else).
    Stale,
    /// The API server, its schemas or its admission policies reject the object (400, 422, or a webhook's denial).
    Invalid,
    /// The change is to a field that cannot be changed in place (422 that says so).
    Immutable,
    /// The host, or the service account that it impersonates, may not do that (403). A child whose write fails so is not refused: the role
    /// may be created soon, so the reconcile is retried with backoff.
    Forbidden,
    /// What is written to is not there: the namespace is missing or terminating, or the kind is not served (404).
    NotFound,
    /// The API server asks for fewer requests (429).
    TooManyRequests,
    /// The API server cannot be reached, or cannot answer (5xx, time-outs, broken connections).
    Unavailable,
    /// The API server said something else.
    Other,
}

/// The party at fault for a call without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The plugin's: it trapped, or was stopped at one of its limits. Counts towards its quarantine.
    Plugin,
    /// The host's: e.g. no instance was free. Says nothing about the plugin.
    Host,
}

impl Problem {
    /// A problem without a time to wait. A long message is cut: what plugins and API servers say may have megabytes.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: cut_owned(message.into(), PROBLEM_TEXT), retry_after: None }
    }

    /// That the plugin is quarantined like this for some objects, e.g. `all objects`, and may be asked for again then.
    ///
    /// The message stays the same for as long as the quarantine and its reason do, so that a thousand parents do not get another status
    /// after each probe.
    pub fn quarantined(held: &Held, whom: &str, until: Time, now: Time) -> Self {
        let message = format!(
            "the plugin is quarantined for {whom}, because its calls keep ending in {}: it is probed periodically, and called again once it answers or changes",
            held.reason
        );
        Self::new(ProblemKind::Quarantined, message).not_before(until.saturating_since(now))
    }

    /// The same problem, not to be tried again sooner than that.
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

    /// Whose fault it was that the call did not come to an answer; none if it did, and the problem is another.
    pub fn fault(&self) -> Option<Fault> {
        match self.kind {
            ProblemKind::Sandbox { fault, .. } => Some(fault),
            _ => None,
        }
    }

    /// What the status of the parent says of this, for a key that had failed `failures` times in a row before. It is written while
    /// the key is in progress, so whether the key will be parked has to be known beforehand. The options are those of the mount
    /// ([`Options::of_mount`]).
    pub fn readiness(&self, options: &Options, failures: u32) -> Readiness<'_> {
        let retry = self.retry();
        // A quarantined plugin is probed, but it takes people to mend it.
        let waits_for_people = self.kind == ProblemKind::Quarantined;
        let waits_for_a_change = waits_for_people || retry == Retry::Never || options.parks(retry, failures);
        let next_attempt = if waits_for_a_change { NextAttempt::OnChange } else { NextAttempt::Later };
        Readiness::Failed { reason: self.reason(), message: &self.message, next_attempt }
    }

    /// Whether something went wrong. It did not if another call comes first.
    pub fn is_failure(&self) -> bool {
        self.kind != ProblemKind::Deferred
    }

    /// Whether nothing but a change of an input can help, so that it is not tried again until then.
    pub fn is_terminal(&self) -> bool {
        self.kind.persistence() == Persistence::UntilChanged
    }
}

/// A failure that the plugin returned.
impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Transient { message } => Self::new(ProblemKind::PluginTransient, message),
            Failure::RetryAfter { message, after } => Self::new(ProblemKind::PluginRetryAfter, message).not_before(after),
            Failure::Terminal { message } => Self::new(ProblemKind::PluginTerminal, message),
        }
    }
}

/// The expected duration of a problem if nobody acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Persistence {
    /// A retry may well succeed: back-off.
    Passing,
    /// It says nothing about this parent, so it counts for nothing: after a time.
    Postponed(Duration),
    /// A retry succeeds only if someone removed a cause that the host cannot see: [`RECHECK`].
    Long,
    /// A retry fails.
    UntilChanged,
}

impl ProblemKind {
    /// One word in CamelCase: the metric label, and the reason of conditions and events. What may also be a refusal bears the same
    /// word as there.
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
            Self::Conflict => RefusalReason::Conflict.as_str(),
            Self::Stale => "Stale",
            Self::Invalid => RefusalReason::Rejected.as_str(),
            Self::Immutable => RefusalReason::ImmutableField.as_str(),
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::TooManyRequests => "TooManyRequests",
            Self::Unavailable => "Unavailable",
            Self::Other => "Other",
        }
    }

    fn persistence(self) -> Persistence {
        match self {
            Self::PluginTerminal => Persistence::UntilChanged,
            // None is the parent's doing, and none may park it: nothing of it changes when the cause is gone.
            Self::Quarantined => Persistence::Postponed(quarantine::FIRST_PROBE),
            Self::Deferred => Persistence::Postponed(DEFERRED_RECHECK),
            Self::NoClaim => Persistence::Postponed(CLAIM_RECHECK),
            Self::InventoryNotWritten => Persistence::Postponed(INVENTORY_RECHECK),
            // A field manager that gives a field back, a schema or a policy that is corrected: no watch of ours tells.
            // Not `UntilChanged`, since the object would stay as it is after the cause is gone; not back-off, since the same
            // request is rejected the same way.
            Self::Conflict | Self::Invalid | Self::Immutable => Persistence::Long,
            // A call is a pure function, and the same inputs would trap or run into the same limit again, unless it was the
            // host's load that made it slow. Back-off tells these apart at little cost, and soon waits for minutes.
            Self::Sandbox { .. } => Persistence::Passing,
            // Roles and namespaces are often created together with what needs them, moments later: soon at first, then rarely.
            Self::Forbidden | Self::NotFound => Persistence::Passing,
            Self::PluginTransient
            | Self::PluginRetryAfter
            | Self::Stale
            | Self::TooManyRequests
            | Self::Unavailable
            | Self::Other => Persistence::Passing,
        }
    }
}

#[cfg(test)]
mod tests;
