//! The limits of one call.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The reuse of an instance for later calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<u32>", into = "Option<u32>")]
pub enum Reuse {
    /// Each call gets a fresh instance, so nothing passes from one call to the next.
    Never,
    /// An instance serves at most this many calls. This saves instantiations, but state may
    /// persist: for plugins that are trusted to be pure, or slow to start (JavaScript, Python).
    UpTo(u32),
}

/// The limits of one call. They are reset for each call, also on a reused instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// The bytes of memories and tables, at most [`crate::Options::max_memory_bytes`].
    pub memory_bytes: usize,
    /// The time to run, in steps of [`crate::TICK`]. The wait for an instance has the same limit.
    #[serde(rename = "deadlineMs", with = "gyre_core::milliseconds")]
    pub deadline: Duration,
    /// The bytes of JSON and text in an answer.
    pub output_bytes: usize,
    /// The depth of the JSON in an answer.
    pub output_depth: usize,
    /// The number of children in an answer.
    pub children: usize,
    /// The number of conditions in an answer.
    pub conditions: usize,
    /// The number of events in an answer.
    pub events: usize,
    /// The number of reads in a call. Their questions are kept as long as the parent.
    pub reads: usize,
    /// The bytes of these questions: kinds, namespaces, names and label selectors.
    pub read_bytes: usize,
    /// The bytes of texts in conditions, events and failures. Longer texts are cut.
    pub text_bytes: usize,
    /// The logged bytes in a call, with stdout and stderr.
    pub log_bytes: usize,
    /// The logged lines in a call, with stdout and stderr.
    pub log_lines: usize,
    /// Whether instances serve more than one call.
    pub reuse: Reuse,
}

impl From<Option<u32>> for Reuse {
    fn from(calls: Option<u32>) -> Self {
        calls.map_or(Self::Never, Self::UpTo)
    }
}

impl From<Reuse> for Option<u32> {
    fn from(reuse: Reuse) -> Self {
        match reuse {
            Reuse::Never => None,
            Reuse::UpTo(calls) => Some(calls),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Thirty times the DOM of the largest object in etcd (1.5 MiB), and so small that a
            // handful of such plugins fits into a host's container.
            memory_bytes: 64 << 20,
            // A call takes microseconds; this is for the slowest interpreter on a throttled CPU.
            deadline: Duration::from_secs(2),
            // etcd stores at most 1.5 MiB per object: five of those, or 10,000 of 800 bytes.
            output_bytes: 8 << 20,
            // The API server's own schemas are less than 30 deep; serde_json stops at 128.
            output_depth: 64,
            // A namespace cannot comfortably contain more.
            children: 10_000,
            // There is one metav1 condition per type, and people read them.
            conditions: 64,
            // Each may cost an API request.
            events: 64,
            // A `list` counts once: a plugin that needs more should list.
            reads: 1_000,
            // 1,000 questions with names of 200 bytes, which are rare.
            read_bytes: 256 << 10,
            // All events, each with the longest message of the API server (1 KiB).
            text_bytes: 64 << 10,
            // A stack trace or two. More per call would flood the host's own log.
            log_bytes: 64 << 10,
            log_lines: 1_000,
            reuse: Reuse::Never,
        }
    }
}
