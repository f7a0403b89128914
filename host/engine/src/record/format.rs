//! The file format of recordings: JSON, one value per line.
//!
//! ```text
//! {"recording": {"format": 1, "gyre": "0.1.0", "time": …, "secrets": "redacted"}}
//! {"program": {"number": 0, "mount": …, "plugin": …, "digest": …, …}}   before its first call
//! {"call": {"number": 1, "program": 0, "ask": "reconcile", "parent": …, "answer": …}}
//! …
//! {"end": {"calls": 1000, "dropped": 0, "because": "calls"}}            unless it was cut off
//! ```
//!
//! Objects are unchanged [`Text`]s. A reader ignores unknown keys; incompatible changes get another
//! `format`. Responses are as in `gyre_core::response`, limits as in the sandbox.

use gyre_core::object::{GroupVersionKind, kind_text};
use gyre_core::response::{Failure, Response};
use gyre_sandbox::{Limits, LogLine, ReadError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::call_record::Question;
pub use super::text::Text;
use crate::call::Ask;

/// The only `format` that is written and read.
pub const FORMAT: u32 = 1;

/// A line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    /// The first line.
    Recording(HeadLine),
    /// A program, before its first call.
    Program(Box<ProgramLine>),
    /// A call.
    Call(Box<CallLine>),
    /// The last line.
    End(EndLine),
}

/// The header of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeadLine {
    /// See [`FORMAT`].
    pub format: u32,
    /// The version of gyre that recorded it.
    pub gyre: String,
    /// When it began.
    pub time: Timestamp,
    /// Whether it contains values of Secrets.
    pub secrets: Secrets,
}

/// Whether a recording contains values of Secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Secrets {
    /// No: values are replaced, and calls that saw any are repeated with the replacements.
    Redacted,
    /// Yes.
    Kept,
}

/// A plugin and its mount's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramLine {
    /// The number by which calls refer to it.
    pub number: u32,
    /// The mount.
    pub mount: String,
    /// The plugin's name.
    pub plugin: String,
    /// Its version, for people.
    pub version: String,
    /// The SHA-256 of its component.
    pub digest: String,
    /// The version of the contract that it uses.
    pub contract: String,
    /// The settings.
    pub settings: Text,
    /// The limits of calls.
    #[serde(default)]
    pub limits: Limits,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallLine {
    /// The number, from 1, in the order in which calls ended.
    pub number: u64,
    /// See [`ProgramLine::number`].
    pub program: u32,
    /// The function that was called.
    pub ask: Ask,
    /// The time that the clocks showed.
    pub time: Timestamp,
    /// The seed of random numbers.
    pub seed: String,
    /// The parent.
    pub parent: Text,
    /// The members of the group, if the parent is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Text>,
    /// The children that the plugin could see, by served kind.
    pub children: Vec<ChildrenLine>,
    /// The reads, and their answers.
    pub reads: Vec<ReadLine>,
    /// The answer.
    pub answer: AnswerLine,
    /// The outcome before redaction, `Success` or a reason, if something was redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<String>,
}

/// The children of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildrenLine {
    /// Their kind.
    #[serde(with = "kind_text")]
    pub kind: GroupVersionKind,
    /// The children.
    pub objects: Vec<Text>,
}

/// A read, and its answer: either `found` or `error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLine {
    /// The question.
    pub question: Question,
    /// The objects; a `get` has at most one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Vec<Text>>,
    /// The reason why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ReadError>,
}

/// The answer of a plugin. Equal answers are equal byte for byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerLine {
    /// Whether it read a clock.
    pub read_clock: bool,
    /// The lines that it logged.
    pub log: Vec<LogLine>,
    /// The result.
    pub result: ResultLine,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ResultLine {
    /// The plugin returned a response.
    Response(Response<Text>),
    /// The plugin returned a failure.
    Failure(Failure),
    /// There is no answer.
    Error {
        /// The reason, in one word.
        reason: String,
        /// The message, in a sentence.
        message: String,
        /// The texts that could not be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        texts: Vec<Text>,
    },
}

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndLine {
    /// The number of calls in it.
    pub calls: u64,
    /// The number of calls that came too fast, or could not be written.
    pub dropped: u64,
    /// The reason.
    pub because: Because,
}

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Because {
    /// The requested number of calls was reached.
    Calls,
    /// The requested number of bytes was reached.
    Bytes,
    /// The requested time was over.
    Time,
    /// The host ended.
    Stopped,
    /// There were too many values of Secrets to redact all.
    Secrets,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_of_this_format_are_read_and_written_unchanged() {
        let call = |result: &str| {
            format!(
                r#"{{"call":{{"number":1,"program":0,"ask":"finalize","time":"2026-01-01T00:00:00Z","seed":"uid","parent":{{"a": 1}},"children":[{{"kind":"Job.v1.batch","objects":[{{"b":[1.0]}}]}}],"reads":[{{"question":{{"children":{{"kind":"Pod.v1"}}}},"error":"notServed"}},{{"question":{{"get":{{"kind":"Gateway.v1.app.example.com","namespace":null,"name":"a"}}}},"found":[]}},{{"question":{{"list":{{"kind":"Secret.v1","namespace":"b","labelSelector":"x="}}}},"error":{{"invalidSelector":"no"}}}}],"answer":{{"readClock":true,"log":[{{"source":"stderr","level":"warn","message":"m"}},{{"source":"log","level":"info","message":"m","fields":[["k","v"]]}}],"result":{result}}}}}}}"#
            )
        };
        let program = r#"{"program":{"number":0,"mount":"echo","plugin":"echo","version":"0.1.0","digest":"00ff","contract":"0.1.0","settings":{},"limits":{"memoryBytes":1,"deadlineMs":2000,"outputBytes":3,"outputDepth":4,"children":5,"conditions":6,"events":7,"reads":8,"readBytes":9,"textBytes":10,"logBytes":11,"logLines":12,"reuse":null}}}"#;
        let lines = [
            program.to_owned(),
            program.replace(r#""reuse":null"#, r#""reuse":3"#),
            call(
                r#"{"response":{"children":[{"apply":{"object":{"c" : 1}}},{"apply":{"object":"{","strategy":"create-only"}},{"keep":{"kind":"Job.v1.batch","namespace":"default","name":"x"}}],"status":{"d":2},"conditions":[{"type":"Ready","status":"Unknown","reason":"R","message":"m"}],"events":[{"type":"Warning","reason":"R","message":"m"}],"requeueAfterMs":1500,"done":true}}"#,
            ),
            call(
                r#"{"response":{"children":null,"status":null,"conditions":[],"events":[],"requeueAfterMs":null,"done":false}}"#,
            ),
            call(r#"{"failure":{"reason":"TransientFailure","message":"m"}}"#),
            call(r#"{"failure":{"reason":"RetryAfter","message":"m","afterMs":7}}"#),
            call(r#"{"failure":{"reason":"TerminalFailure","message":"m"}}"#),
            call(r#"{"error":{"reason":"InvalidOutput","message":"m","texts":["{"]}}"#),
        ];
        for line in lines {
            let read: Line = serde_json::from_str(&line).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), line);
        }
    }
}
