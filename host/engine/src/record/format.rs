//! The file format of recordings: JSON, one value a line.
//!
//! ```text
//! {"recording": {"format": 1, "gyre": "0.1.0", "time": …, "secrets": "redacted"}}      the first line
//! {"program": {"number": 0, "mount": …, "plugin": …, "digest": …, "settings": …, …}}   before the first of its calls
//! {"call": {"number": 1, "program": 0, "ask": "reconcile", "parent": …, "answer": …}}
//! …
//! {"end": {"calls": 1000, "dropped": 0, "because": "calls"}}                           the last line, unless it was cut off
//! ```
//!
//! Objects are [`Text`]s: they stand there as they crossed, byte for byte. A reader ignores keys that it does not know; what it could not
//! ignore comes with another `format`.

use gyre_core::object::GroupVersionKind;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use super::text::Text;

/// The `format` that is written here, and the only one that is read.
pub const FORMAT: u32 = 1;

/// A line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    /// The first one.
    Recording(Head),
    /// What calls are made of.
    Program(ProgramLine),
    /// A call.
    Call(Box<CallLine>),
    /// The last one.
    End(End),
}

/// What holds for a whole recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// See [`FORMAT`].
    pub format: u32,
    /// The version of gyre that recorded it.
    pub gyre: String,
    /// When it began.
    pub time: Timestamp,
    /// Whether values of Secrets are in it.
    pub secrets: Secrets,
}

/// Whether a recording holds values of Secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Secrets {
    /// Others stand for them, and calls that saw any are recorded as the plugin answers to those.
    Redacted,
    /// It does.
    Kept,
}

/// A plugin with what its mount says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramLine {
    /// What calls name it by.
    pub number: u32,
    /// The mount.
    pub mount: String,
    /// The plugin's name.
    pub plugin: String,
    /// Its version, for people.
    pub version: String,
    /// The SHA-256 of its component.
    pub digest: String,
    /// The version of the contract that it was called by.
    pub contract: String,
    /// The settings.
    pub settings: Text,
    /// What a call may take.
    #[serde(default)]
    pub limits: LimitsLine,
}

/// [`gyre_sandbox::Limits`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are those of Limits")]
pub struct LimitsLine {
    pub memory_bytes: usize,
    pub deadline_ms: u64,
    pub output_bytes: usize,
    pub output_depth: usize,
    pub children: usize,
    pub conditions: usize,
    pub events: usize,
    pub reads: usize,
    pub read_bytes: usize,
    pub text_bytes: usize,
    pub log_bytes: usize,
    pub log_lines: usize,
    /// None: never.
    pub reuse: Option<u32>,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallLine {
    /// From 1 on, in the order in which they ended.
    pub number: u64,
    /// [`ProgramLine::number`].
    pub program: u32,
    /// What was asked.
    pub ask: AskLine,
    /// What the clocks showed.
    pub time: Timestamp,
    /// What random numbers were derived from.
    pub seed: String,
    /// The parent.
    pub parent: Text,
    /// The children that the plugin could see, of each kind that is served.
    pub children: Vec<ChildrenLine>,
    /// What it asked, and was told.
    pub reads: Vec<ReadLine>,
    /// What it answered.
    pub answer: AnswerLine,
    /// How the call had ended before values of Secrets were redacted: `Success` or a reason. None: nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<String>,
}

/// [`super::Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "as Ask")]
pub enum AskLine {
    Reconcile,
    Finalize,
}

/// The children of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildrenLine {
    /// Their kind.
    pub kind: KindText,
    /// The children.
    pub objects: Vec<Text>,
}

/// A kind, as `Job.v1.batch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindText(pub GroupVersionKind);

/// What was asked, and told: one of `found` and `error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLine {
    /// The question.
    pub question: QuestionLine,
    /// The objects, of which a `get` has one or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Vec<Text>>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ReadErrorLine>,
}

/// [`super::Question`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "as Question")]
pub enum QuestionLine {
    Children { kind: KindText },
    Get { kind: KindText, namespace: Option<String>, name: String },
    List { kind: KindText, namespace: Option<String>, label_selector: Option<String> },
}

/// [`gyre_sandbox::ReadError`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "as ReadError")]
pub enum ReadErrorLine {
    NotDeclared,
    NotGranted,
    NotServed,
    InvalidSelector(String),
}

/// What a plugin answered. Two calls answered the same if these are, byte for byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerLine {
    /// Whether it read a clock.
    pub read_clock: bool,
    /// What it logged.
    pub log: Vec<LogText>,
    /// What came of it.
    pub result: ResultLine,
}

/// A log line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogText {
    /// `log`, `stdout` or `stderr`.
    pub source: String,
    /// `trace` to `error`.
    pub level: String,
    /// What it says.
    pub message: String,
    /// Keys and values beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(String, String)>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ResultLine {
    /// An answer.
    Response {
        /// None: they are left as they are.
        children: Option<Vec<ChildLine>>,
        /// None: it is left as it is.
        status: Option<Text>,
        /// Those to set.
        conditions: Vec<ConditionLine>,
        /// Those that hold.
        events: Vec<EventLine>,
        /// When to call again at the latest.
        requeue_after_ms: Option<u64>,
        /// Of a finalize: whether nothing is left to do.
        done: bool,
    },
    /// The plugin said no.
    Failure {
        /// `TransientFailure`, `RetryAfter` or `TerminalFailure`.
        reason: String,
        /// In its words.
        message: String,
        /// When to call again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_ms: Option<u64>,
    },
    /// There is no answer.
    Error {
        /// In one word.
        reason: String,
        /// In a sentence.
        message: String,
        /// What it wrote that could not be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        texts: Vec<Text>,
    },
}

/// [`gyre_core::response::Child`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "as Child")]
pub enum ChildLine {
    Apply(Text),
    Keep { kind: KindText, namespace: Option<String>, name: String },
}

/// [`gyre_core::response::Condition`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as Condition")]
pub struct ConditionLine {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub reason: String,
    pub message: String,
}

/// [`gyre_core::response::Event`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as Event")]
pub struct EventLine {
    #[serde(rename = "type")]
    pub severity: String,
    pub reason: String,
    pub message: String,
}

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// How many calls are in it.
    pub calls: u64,
    /// How many came too fast, or could not be written.
    pub dropped: u64,
    /// Why it ended.
    pub because: Because,
}

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Because {
    /// It had as many calls as were wanted,
    Calls,
    /// or as many bytes,
    Bytes,
    /// or lasted as long.
    Time,
    /// The host ended.
    Stopped,
    /// There were more values of Secrets than can be looked for.
    Secrets,
}

impl Serialize for KindText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for KindText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut parts = text.splitn(3, '.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(kind), Some(version), group) => Ok(Self(GroupVersionKind::new(group.unwrap_or_default(), version, kind))),
            _ => Err(serde::de::Error::custom(format!("expected a kind such as Job.v1.batch, not {text:?}"))),
        }
    }
}
