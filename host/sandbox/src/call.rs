//! One invocation of a plugin: what goes in, what comes out, and how it can end.

use std::time::{Duration, SystemTime};

use gyre_core::object::GroupVersionKind;
use gyre_core::response::Failure;

use crate::host_imports::HostImports;

/// The inputs of a call.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The parent, as JSON.
    pub parent: &'a [u8],
    /// The mount's settings, as JSON; `{}` if there are none.
    pub settings: &'a [u8],
    /// The seed of random numbers: the parent's UID.
    pub seed: &'a str,
    /// The time that the clocks show, throughout the call.
    pub now: SystemTime,
}

/// The result of a call.
pub struct Call<T> {
    /// The answer, or why there is none.
    pub result: Result<T, Error>,
    /// The resources that it used.
    pub usage: Usage,
    /// The host's imports for the call, with whatever they recorded. See `<dyn HostImports>::downcast`.
    pub imports: Box<dyn HostImports>,
}

/// Whether the plugin looked at the clock: if not, the answer does not depend on when it was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockUse {
    /// Some clock was read.
    Read,
    /// None was.
    #[default]
    NotRead,
}

/// The origin of the instance of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Made for this call.
    #[default]
    Fresh,
    /// It had served before.
    Warm,
}

/// The resources that a call used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The most that linear memories and tables together held, in bytes.
    pub memory_peak_bytes: usize,
    /// Whether a clock was read.
    pub clock: ClockUse,
    /// The origin of the instance.
    pub start: Start,
    /// The wait for a free instance.
    pub waited: Duration,
    /// From then to the answer, instantiation included.
    pub duration: Duration,
    /// The bytes of JSON and text in the answer.
    pub output_bytes: usize,
    /// The bytes that were logged.
    pub log_bytes: usize,
    /// The lines that were logged.
    pub log_lines: usize,
    /// The first kind that the plugin tried to read without declaring it.
    pub undeclared_read: Option<GroupVersionKind>,
}

/// The party at fault: it decides whether a call counts toward the quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The plugin broke its limits or its contract.
    Plugin,
    /// The host could not serve.
    Host,
    /// Nobody: the plugin did its work and said no.
    Neither,
}

/// The reason why a call gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The plugin hit a trap: a panic, an exit, an access out of bounds, a broken canonical ABI.
    #[error("the plugin trapped: {message}")]
    Trapped {
        /// The error, with the plugin's last words on stderr, if there are any.
        message: String,
        /// The innermost functions, innermost first.
        backtrace: Vec<String>,
    },
    /// It ran for longer than it may.
    #[error("the plugin did not answer within {deadline:?}")]
    DeadlineExceeded {
        /// [`crate::Limits::deadline`].
        deadline: Duration,
    },
    /// It wanted more memory than it may have, and failed for it.
    #[error("the plugin exceeded its memory limit of {limit} bytes")]
    OutOfMemory {
        /// [`crate::Limits::memory_bytes`].
        limit: usize,
    },
    /// It recursed too deep.
    #[error("the plugin exhausted its call stack")]
    StackOverflow,
    /// Its answer, or one of its calls to the host, is too large.
    #[error("the plugin's answer is larger than {limit} bytes")]
    OutputTooLarge {
        /// [`crate::Limits::output_bytes`].
        limit: usize,
    },
    /// The JSON of its answer nests too deep.
    #[error("the plugin's answer nests deeper than {limit} levels in {at}")]
    OutputTooDeep {
        /// The part of the answer, e.g. `children[3]`.
        at: String,
        /// [`crate::Limits::output_depth`].
        limit: usize,
    },
    /// Its answer names too many children.
    #[error("the plugin returned {count} children, more than {limit}")]
    TooManyChildren {
        /// The number of children.
        count: usize,
        /// [`crate::Limits::children`].
        limit: usize,
    },
    /// Its answer sets too many conditions.
    #[error("the plugin returned {count} conditions, more than {limit}")]
    TooManyConditions {
        /// The number of conditions.
        count: usize,
        /// [`crate::Limits::conditions`].
        limit: usize,
    },
    /// Its answer emits too many events.
    #[error("the plugin returned {count} events, more than {limit}")]
    TooManyEvents {
        /// The number of events.
        count: usize,
        /// [`crate::Limits::events`].
        limit: usize,
    },
    /// It asked too much of the cluster.
    #[error("the plugin read more than {limit} times in a call")]
    TooManyReads {
        /// [`crate::Limits::reads`].
        limit: usize,
    },
    /// What it asked of the cluster takes too much room.
    #[error("the plugin's reads name more than {limit} bytes in a call: kinds, namespaces, names and label selectors together")]
    ReadsTooLarge {
        /// [`crate::Limits::read_bytes`].
        limit: usize,
    },
    /// Its answer is not what the contract says.
    #[error("the plugin's answer is not valid in {at}: {message}")]
    InvalidOutput {
        /// The part of the answer, e.g. `children[3]`.
        at: String,
        /// The error in it.
        message: String,
    },
    /// It logged more than it may.
    #[error("the plugin logged more than {bytes} bytes or {lines} lines in a call")]
    LogFlood {
        /// [`crate::Limits::log_bytes`].
        bytes: usize,
        /// [`crate::Limits::log_lines`].
        lines: usize,
    },
    /// It called `cluster` from `describe` or `validate-settings`.
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
    /// The plugin answered with a failure of its own.
    #[error("{}", .0.message())]
    Failed(Failure),
    /// Something else in the host.
    #[error("the sandbox failed: {0}")]
    Internal(String),
}

impl Error {
    /// One word in CamelCase: the label of metrics, the reason of conditions and events.
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
            Self::TooManyReads { .. } | Self::ReadsTooLarge { .. } => "TooManyReads",
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
            Self::PoolSaturated { .. } | Self::Internal(_) => Fault::Host,
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
