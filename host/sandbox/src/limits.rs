//! How much one call may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The reuse of an instance after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<u32>", into = "Option<u32>")]
pub enum Reuse {
    /// Each call gets a fresh instance: nothing of one call can reach the next.
    Never,
    /// An instance that answered serves up to this many calls. It saves the instantiation, and lets a plugin's own memory
    /// outlive a call: for plugins that are trusted to be pure, or slow to start (JavaScript, Python).
    UpTo(u32),
}

/// The resources that one call may use. All limits are reset for each call, also on a reused instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// The sum of an instance's linear memories and tables, in bytes. Never more than [`crate::Options::max_memory_bytes`].
    pub memory_bytes: usize,
    /// How long the plugin may run, in steps of [`crate::TICK`]. Waiting for a free instance has the same bound, beside it.
    #[serde(rename = "deadlineMs", with = "gyre_core::milliseconds")]
    pub deadline: Duration,
    /// The bytes of JSON and text in one answer.
    pub output_bytes: usize,
    /// The depth to which the JSON of an answer may nest.
    pub output_depth: usize,
    /// The number of children in one answer.
    pub children: usize,
    /// The number of conditions in one answer.
    pub conditions: usize,
    /// The number of events in one answer.
    pub events: usize,
    /// The number of reads in one call. Their questions are kept as long as the parent.
    pub reads: usize,
    /// The bytes that these questions may take: kinds, namespaces, names and label selectors. They are kept as long as the parent.
    pub read_bytes: usize,
    /// The bytes of text that are kept of an answer beside its objects: in conditions, events, and the message of a failure. Texts are cut
    /// where they exceed it.
    pub text_bytes: usize,
    /// The bytes that may be logged in a call, stdout and stderr included.
    pub log_bytes: usize,
    /// The lines that may be logged in a call, stdout and stderr included.
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
            // Thirty times what a parent of etcd's largest size (1.5 MiB) takes as a DOM, and small enough that a handful
            // of hoarding plugins do not push a host out of its container.
            memory_bytes: 64 << 20,
            // A call is counted in microseconds; this is for the slowest interpreter on a throttled CPU.
            deadline: Duration::from_secs(2),
            // etcd takes 1.5 MiB an object: five full ones, or 10,000 of 800 bytes.
            output_bytes: 8 << 20,
            // The API server's own structural schemas stay below 30; serde_json stops at 128.
            output_depth: 64,
            // One parent with more owns more than a namespace can comfortably hold.
            children: 10_000,
            // metav1 conditions are one per type, and people read them.
            conditions: 64,
            // Each may cost an API write.
            events: 64,
            // A `list` is one. Whoever needs more than this should list.
            reads: 1_000,
            // What 1,000 questions take with names of 200 bytes, which are rare.
            read_bytes: 256 << 10,
            // As many events as there may be, each with a message as long as the API server takes (1 KiB).
            text_bytes: 64 << 10,
            // Enough for a stack trace or two; more a call would drown the host's own log.
            log_bytes: 64 << 10,
            log_lines: 1_000,
            reuse: Reuse::Never,
        }
    }
}
