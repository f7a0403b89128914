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

/// One call: everything that its answer depends on, and the answer. The texts are unchanged.
#[derive(Clone)]
pub struct CallRecord {
    /// The plugin, its settings and limits.
    pub program: Arc<Program>,
    /// The function that was called.
    pub ask: Ask,
    /// The parent.
    pub parent: Bytes,
    /// The members of the group, if the parent is one.
    pub members: Vec<Bytes>,
    /// The seed of random numbers.
    pub seed: Arc<str>,
    /// The time that the clocks showed.
    pub now: SystemTime,
    /// The children that it could see, by served kind.
    pub children: BTreeMap<GroupVersionKind, Vec<Bytes>>,
    /// Its reads, each once, and their answers.
    pub reads: BTreeMap<Question, Reply>,
    /// The answer.
    pub answer: CallAnswer,
    /// The resources that it used, and whether it read a clock.
    pub usage: Usage,
}

/// A read, as the plugin requested it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Question {
    /// The children of a kind that is not served; the others are in [`CallRecord::children`].
    Children {
        /// The kind.
        #[serde(with = "kind_text")]
        kind: GroupVersionKind,
    },
    /// One object.
    Get {
        /// The kind.
        #[serde(with = "kind_text")]
        kind: GroupVersionKind,
        /// The namespace; the parent's if `None`.
        namespace: Option<String>,
        /// The name.
        name: String,
    },
    /// All objects that match.
    List {
        /// The kind.
        #[serde(with = "kind_text")]
        kind: GroupVersionKind,
        /// The namespace; all granted ones if `None`.
        namespace: Option<String>,
        /// The label selector, unparsed.
        label_selector: Option<String>,
    },
}

/// The answer to a read; a [`Question::Get`] has at most one object.
pub type Reply = Result<Vec<Bytes>, ReadError>;

/// E.g. `get ConfigMap.v1 team-a/settings`, `list Secret.v1 in team-a with app=web`.
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
    /// The JSON that the plugin wrote: each child that it applies, in order, and the status.
    pub texts: Vec<Vec<u8>>,
    /// The lines that it logged.
    pub log: Vec<LogLine>,
}

#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) reads: BTreeMap<Question, Reply>,
    pub(crate) texts: Vec<Vec<u8>>,
    pub(crate) log: Vec<LogLine>,
}

impl Transcript {
    pub(crate) fn read(&mut self, question: Question, reply: impl FnOnce() -> Reply) {
        self.reads.entry(question).or_insert_with(reply);
    }

    pub(crate) fn answered(&mut self, texts: &[&[u8]]) {
        self.texts = texts.iter().map(|text| text.to_vec()).collect();
    }
}
