//! One call of a plugin: its inputs, its result, and the ways in which it can end.

use std::time::{Duration, SystemTime};

use gyre_core::object::GroupVersionKind;
use gyre_core::response::Failure;

use crate::host_imports::HostImports;

/// The inputs of a call.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The parent, as JSON.
    pub parent: &'a [u8],
    /// The members of a group, as JSON.
    pub members: &'a [&'a [u8]],
    /// The mount's settings, as JSON, `{}` by default.
    pub settings: &'a [u8],
    /// The seed of random numbers: the parent's UID.
    pub seed: &'a str,
    /// The time that the clocks show during the whole call.
    pub now: SystemTime,
}

/// The result of a call.
pub struct Call<T> {
    /// The answer, or the reason why there is none.
    pub result: Result<T, Error>,
    /// The resources that the call used.
    pub usage: Usage,
    /// The imports of the call, which may hold records of it. `<dyn HostImports>::downcast` returns
    /// them as their own type.
    pub imports: Box<dyn HostImports>,
}

/// Whether the plugin read a clock: if not, the answer does not depend on the time of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockUse {
    /// A clock was read.
    Read,
    /// No clock was read.
    #[default]
    NotRead,
}

/// The origin of the instance of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The instance was made for this call.
    #[default]
    Fresh,
    /// The instance has served before.
    Warm,
}

/// The resources that a call used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The largest sum of linear memories and tables, in bytes.
    pub memory_peak_bytes: usize,
    /// Whether a clock was read.
    pub clock: ClockUse,
    /// The origin of the instance.
    pub start: Start,
    /// The wait for a free instance.
    pub waited: Duration,
    /// The time to the answer, with the instantiation, but without the wait.
    pub duration: Duration,
    /// The bytes of JSON and text in the answer.
    pub output_bytes: usize,
    /// The logged bytes.
    pub log_bytes: usize,
    /// The logged lines.
    pub log_lines: usize,
    /// The first undeclared kind that the plugin tried to read.
    pub undeclared_read: Option<GroupVersionKind>,
}

/// The party at fault, which decides whether a call counts toward the quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The plugin broke its limits or its contract.
    Plugin,
    /// The host could not serve.
    Host,
    /// Nobody: the plugin worked, and returned a failure.
    Neither,
}

/// The reason why a call gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The plugin hit a trap: a panic, an exit, an access out of bounds, a broken canonical ABI.
    #[error("the plugin trapped: {message}")]
    Trapped {
        /// The error, and the last output on stderr, if any.
        message: String,
        /// The innermost functions, starting with the innermost.
        backtrace: Vec<String>,
    },
    /// The plugin ran for too long.
    #[error("the plugin did not answer within {deadline:?}")]
    DeadlineExceeded {
        /// [`crate::Limits::deadline`].
        deadline: Duration,
    },
    /// The plugin failed after it was refused memory.
    #[error("the plugin exceeded its memory limit of {limit} bytes")]
    OutOfMemory {
        /// [`crate::Limits::memory_bytes`].
        limit: usize,
    },
    /// The plugin recursed too deep.
    #[error("the plugin exhausted its call stack")]
    StackOverflow,
    /// The answer, or a call to the host, is too large.
    #[error("the plugin's answer is larger than {limit} bytes")]
    OutputTooLarge {
        /// [`crate::Limits::output_bytes`].
        limit: usize,
    },
    /// The JSON of the answer nests too deep.
    #[error("the plugin's answer nests deeper than {limit} levels in {at}")]
    OutputTooDeep {
        /// The part of the answer, e.g. `children[3]`.
        at: String,
        /// [`crate::Limits::output_depth`].
        limit: usize,
    },
    /// The answer has too many children.
    #[error("the plugin returned {count} children, more than {limit}")]
    TooManyChildren {
        /// The number of children.
        count: usize,
        /// [`crate::Limits::children`].
        limit: usize,
    },
    /// The answer has too many conditions.
    #[error("the plugin returned {count} conditions, more than {limit}")]
    TooManyConditions {
        /// The number of conditions.
        count: usize,
        /// [`crate::Limits::conditions`].
        limit: usize,
    },
    /// The answer has too many events.
    #[error("the plugin returned {count} events, more than {limit}")]
    TooManyEvents {
        /// The number of events.
        count: usize,
        /// [`crate::Limits::events`].
        limit: usize,
    },
    /// The plugin read too often.
    #[error("the plugin read more than {limit} times in a call")]
    TooManyReads {
        /// [`crate::Limits::reads`].
        limit: usize,
    },
    /// The plugin's reads name too much in total: kinds, namespaces, names and label selectors.
    #[error("the plugin's reads name more than {limit} bytes in a call: kinds, namespaces, names and label selectors together")]
    ReadsTooLarge {
        /// [`crate::Limits::read_bytes`].
        limit: usize,
    },
    /// The members of a group are too large.
    #[error(
        "the {members} members of the group have {bytes} bytes, more than a quarter of the memory of a call ({limit} bytes): raise limits.memory of the mount, or group by a field with more values"
    )]
    GroupTooLarge {
        /// The number of members.
        members: usize,
        /// Their size.
        bytes: usize,
        /// [`crate::Limits::memory_bytes`].
        limit: usize,
    },
    /// The answer violates the contract.
    #[error("the plugin's answer is not valid in {at}: {message}")]
    InvalidOutput {
        /// The part of the answer, e.g. `children[3]`.
        at: String,
        /// The violation.
        message: String,
    },
    /// The plugin logged too much.
    #[error("the plugin logged more than {bytes} bytes or {lines} lines in a call")]
    LogFlood {
        /// [`crate::Limits::log_bytes`].
        bytes: usize,
        /// [`crate::Limits::log_lines`].
        lines: usize,
    },
    /// The plugin called `cluster` from `describe` or `validate-settings`.
    #[error("the plugin called cluster.{function}, which only reconcile and finalize may do")]
    ClusterNotAllowed {
        /// The function.
        function: &'static str,
    },
    /// No instance became free in time.
    #[error("no plugin instance became free within {waited:?}")]
    PoolSaturated {
        /// The time that the call waited.
        waited: Duration,
    },
    /// The plugin returned a failure.
    #[error("{}", .0.message())]
    Failed(Failure),
    /// Another error in the host.
    #[error("the sandbox failed: {0}")]
    Internal(String),
}

impl Error {
    /// One word in CamelCase: a label of metrics, and a reason of conditions and events.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Trapped { .. } => "Trapped",
            Self::DeadlineExceeded { .. } => "DeadlineExceeded",
            Self::OutOfMemory { .. } => "OutOfMemory",
            Self::StackOverflow => "StackOverflow",
            Self::OutputTooLarge { .. } => "OutputTooLarge",
            Self::OutputTooDeep { .. } => "OutputTooDeep",
            Self::TooManyChildren { .. } => "TooManyChildren",
            Self::TooManyConditions { .. } => "TooManyConditions",
            Self::TooManyEvents { .. } => "TooManyEvents",
            // Both limits of reads have one reason, which is documented.
            Self::TooManyReads { .. } | Self::ReadsTooLarge { .. } => "TooManyReads",
            Self::GroupTooLarge { .. } => "GroupTooLarge",
            Self::InvalidOutput { .. } => "InvalidOutput",
            Self::LogFlood { .. } => "LogFlood",
            Self::ClusterNotAllowed { .. } => "ClusterNotAllowed",
            Self::PoolSaturated { .. } => "PoolSaturated",
            Self::Failed(failure) => failure.reason(),
            Self::Internal(_) => "SandboxFailed",
        }
    }

    /// The party at fault.
    pub fn fault(&self) -> Fault {
        match self {
            Self::PoolSaturated { .. } | Self::GroupTooLarge { .. } | Self::Internal(_) => Fault::Host,
            Self::Failed(_) => Fault::Neither,
            Self::Trapped { .. }
            | Self::DeadlineExceeded { .. }
            | Self::OutOfMemory { .. }
            | Self::StackOverflow
            | Self::OutputTooLarge { .. }
            | Self::OutputTooDeep { .. }
            | Self::TooManyChildren { .. }
            | Self::TooManyConditions { .. }
            | Self::TooManyEvents { .. }
            | Self::TooManyReads { .. }
            | Self::ReadsTooLarge { .. }
            | Self::InvalidOutput { .. }
            | Self::LogFlood { .. }
            | Self::ClusterNotAllowed { .. } => Fault::Plugin,
        }
    }
}
