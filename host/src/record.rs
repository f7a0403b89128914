//! Recording calls: what a plugin was given and what it answered, so that the call can be made again elsewhere.
//!
//! A call is a pure function of its input and of what it read. A [`CallRecord`] has both, and the answer.
//!
//! ```text
//!   call ──▶ world (Transcript) ──▶ CallRecord ──▶ Recordings ──▶ session (bounded) ──▶ Writer ──▶ lines ──▶ serve ──▶ `gyre record`
//!                                                      └──▶ whoever else listens          └ redact: no values of Secrets
//!   file ──▶ Reader ──▶ Given ──▶ the call, once more (`replay`)
//! ```
//!
//! Without a listener nothing is kept. A host writes no recording to a disk: it may have none, and who records wants the file elsewhere.

pub(crate) mod command;
mod convert;
pub mod format;
mod given;
mod reader;
mod redact;
pub(crate) mod serve;
mod session;
mod strings;
mod text;
mod writer;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use gyre_core::object::GroupVersionKind;
use gyre_core::response::Teardown;
use gyre_sandbox::{Bytes, LogLine, ReadError, Usage, call};

pub use self::given::{Given, Made};
pub use self::reader::{Ending, Error, Reader};
pub(crate) use self::redact::Redaction;
pub use self::writer::{Bounds, Writer};
use crate::program::Program;
pub use crate::reconcile::call::Ask;

/// One call: all that its answer depends on, and the answer. The texts are those that crossed, byte for byte.
#[derive(Clone)]
pub struct CallRecord {
    /// The plugin, its settings and limits.
    pub program: Arc<Program>,
    /// What was asked of it.
    pub ask: Ask,
    /// The parent.
    pub parent: Bytes,
    /// What random numbers were derived from.
    pub seed: Arc<str>,
    /// What the clocks showed.
    pub now: SystemTime,
    /// The children that it could see, whether or not it looked, of each kind that is served.
    pub children: BTreeMap<GroupVersionKind, Vec<Bytes>>,
    /// What it asked of the caches, and what it was told. A question that was asked twice is there once.
    pub reads: BTreeMap<Question, Reply>,
    /// What it answered.
    pub answer: Answer,
    /// What the call took, and whether a clock was read.
    pub usage: Usage,
}

/// What a plugin asked of the caches, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// The children of a kind that is not served: the others are in [`CallRecord::children`].
    Children {
        /// Their kind.
        kind: GroupVersionKind,
    },
    /// One object.
    Get {
        /// Its kind.
        kind: GroupVersionKind,
        /// Its namespace; none: that of the parent.
        namespace: Option<String>,
        /// Its name.
        name: String,
    },
    /// All that match.
    List {
        /// Their kind.
        kind: GroupVersionKind,
        /// Their namespace; none: all that are granted.
        namespace: Option<String>,
        /// What their labels match, unread.
        label_selector: Option<String>,
    },
}

/// What a plugin was told: the objects, of which a [`Question::Get`] has one or none.
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

/// What a plugin answered, and said meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What came of it. A reconcile's response is that of a teardown which is not done.
    pub result: Result<Teardown, call::Error>,
    /// The JSON as the plugin wrote it: that of each child that it applies, in order, then that of the status.
    pub texts: Vec<Vec<u8>>,
    /// What it logged.
    pub log: Vec<LogLine>,
}

/// What a world notes down of a call.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) reads: BTreeMap<Question, Reply>,
    pub(crate) texts: Vec<Vec<u8>>,
    pub(crate) log: Vec<LogLine>,
}

impl Transcript {
    /// What was asked and told.
    pub(crate) fn read(&mut self, question: Question, reply: impl FnOnce() -> Reply) {
        self.reads.entry(question).or_insert_with(reply);
    }

    /// As [`gyre_sandbox::World::answered`] has it.
    pub(crate) fn answered(&mut self, texts: &[&[u8]]) {
        self.texts = texts.iter().map(|text| text.to_vec()).collect();
    }
}

/// Who listens to the calls of a host. Clones are the same.
#[derive(Clone, Default)]
pub struct Recordings(Arc<RwLock<BTreeMap<u64, Listener>>>);

struct Listener {
    /// None: all.
    mount: Option<Arc<str>>,
    take: Arc<Take>,
    stay: Stay,
}

/// How long somebody listens, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    UntilDropped,
    UntilHostEnds,
}

/// Takes a record.
type Take = dyn Fn(&Arc<CallRecord>) + Send + Sync;

/// Ends the listening when it is dropped.
#[must_use = "it listens for as long as this is kept"]
pub struct Listening {
    recordings: Recordings,
    id: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.recordings.0.write().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

impl Recordings {
    /// From now on `take` gets each call of that mount, or of all, as it ends. It is called where the reconcile runs, so it must not block.
    pub fn listen(&self, mount: Option<&str>, take: impl Fn(&Arc<CallRecord>) + Send + Sync + 'static) -> Listening {
        self.add(Listener { mount: mount.map(Arc::from), take: Arc::new(take), stay: Stay::UntilDropped })
    }

    /// As [`Recordings::listen`], until the host ends.
    fn listen_to_host(&self, mount: &str, take: impl Fn(&Arc<CallRecord>) + Send + Sync + 'static) -> Listening {
        self.add(Listener { mount: Some(mount.into()), take: Arc::new(take), stay: Stay::UntilHostEnds })
    }

    fn add(&self, listener: Listener) -> Listening {
        static IDS: AtomicU64 = AtomicU64::new(0);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, listener);
        Listening { recordings: self.clone(), id }
    }

    /// How many listen until the host ends.
    fn sessions(&self) -> usize {
        let listeners = self.0.read().unwrap_or_else(PoisonError::into_inner);
        listeners.values().filter(|listener| listener.stay == Stay::UntilHostEnds).count()
    }

    /// The host ends; whether anybody listened until then.
    pub(crate) fn end(&self) -> bool {
        let mut listeners = self.0.write().unwrap_or_else(PoisonError::into_inner);
        listeners.extract_if(.., |_, listener| listener.stay == Stay::UntilHostEnds).count() > 0
    }

    /// Whether anybody listens to that mount.
    pub(crate) fn wants(&self, mount: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().any(|listener| listener.wants(mount))
    }

    /// A call has ended.
    pub(crate) fn take(&self, record: CallRecord) {
        let record = Arc::new(record);
        let listeners = self.0.read().unwrap_or_else(PoisonError::into_inner);
        // Outside of the lock, since a listener may end by what it is told.
        let wanting: Vec<_> = listeners
            .values()
            .filter(|listener| listener.wants(&record.program.name))
            .map(|listener| Arc::clone(&listener.take))
            .collect();
        drop(listeners);
        wanting.iter().for_each(|take| take(&record));
    }
}

impl Listener {
    fn wants(&self, mount: &str) -> bool {
        self.mount.as_ref().is_none_or(|wanted| **wanted == *mount)
    }
}
