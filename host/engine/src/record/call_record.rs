//! One call, as it is recorded.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use gyre_core::object::{GroupVersionKind, kind_text};
use gyre_core::response::Response;
use gyre_sandbox::{Bytes, LogLine, ReadError, Usage, call};
use serde::{Deserialize, Serialize};

use crate::call::Ask;
use crate::program::Program;

/// One call: all that its answer depends on, and the answer. The texts are those that crossed, byte for byte.
#[derive(Clone)]
pub struct CallRecord {
    /// The plugin, its settings and limits.
    pub program: Arc<Program>,
    /// The function that was called.
    pub ask: Ask,
    /// The parent.
    pub parent: Bytes,
    /// The seed of random numbers.
    pub seed: Arc<str>,
    /// The time that the clocks showed.
    pub now: SystemTime,
    /// The children that it could see, whether or not it looked, of each kind that is served.
    pub children: BTreeMap<GroupVersionKind, Vec<Bytes>>,
    /// What it asked of the caches, and what it was told. A question that was asked twice is there once.
    pub reads: BTreeMap<Question, Reply>,
    /// The answer.
    pub answer: CallAnswer,
    /// What the call took, and whether a clock was read.
    pub usage: Usage,
}

/// A read of a plugin, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Question {
    /// The children of a kind that is not served: the others are in [`CallRecord::children`].
    Children {
        /// Their kind.
        #[serde(with = "kind_text")]
        kind: GroupVersionKind,
    },
    /// One object.
    Get {
        /// Its kind.
        #[serde(with = "kind_text")]
        kind: GroupVersionKind,
        /// Its namespace; none: that of the parent.
        namespace: Option<String>,
        /// Its name.
        name: String,
    },
    /// All that match.
    List {
        /// Their kind.
        #[serde(with = "kind_text")]
        kind: GroupVersionKind,
        /// Their namespace; none: all that are granted.
        namespace: Option<String>,
        /// What their labels match, unread.
        label_selector: Option<String>,
    },
}

/// The answer to a read: the objects, of which a [`Question::Get`] has one or none.
pub type Reply = Result<Vec<Bytes>, ReadError>;

/// `get ConfigMap.v1 team-a/settings`, `list Secret.v1 in team-a with app=web`.
impl fmt::Display for Question {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Children { kind } => write!(formatter, "children {kind}"),
            Self::Get { kind, namespace: Some(namespace), name } => write!(formatter, "get {kind} {namespace}/{name}"),
            Self::Get { kind, namespace: None, name } => write!(formatter, "get {kind} {name}"),
            Self::List { kind, namespace, label_selector } => {
                write!(formatter, "list {kind}")?;
                if let Some(namespace) = namespace {
                    write!(formatter, " in {namespace}")?;
                }
                label_selector.as_ref().map_or(Ok(()), |selector| write!(formatter, " with {selector}"))
            }
        }
    }
}

/// The answer of a plugin, and the lines that it logged.
#[derive(Clone, Debug, PartialEq)]
pub struct CallAnswer {
    /// The response, or the reason why there is none.
    pub result: Result<Response, call::Error>,
    /// The JSON as the plugin wrote it: that of each child that it applies, in order, then that of the status.
    pub texts: Vec<Vec<u8>>,
    /// The lines that it logged.
    pub log: Vec<LogLine>,
}

/// The reads, texts and log lines of a call.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) reads: BTreeMap<Question, Reply>,
    pub(crate) texts: Vec<Vec<u8>>,
    pub(crate) log: Vec<LogLine>,
}

impl Transcript {
    /// Adds a read and its answer.
    pub(crate) fn read(&mut self, question: Question, reply: impl FnOnce() -> Reply) {
        self.reads.entry(question).or_insert_with(reply);
    }

    /// As [`gyre_sandbox::HostImports::answered`] has it.
    pub(crate) fn answered(&mut self, texts: &[&[u8]]) {
        self.texts = texts.iter().map(|text| text.to_vec()).collect();
    }
}
