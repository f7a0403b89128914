//! The inputs of a call, as they are recorded, and the repetition of a recorded call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use gyre_core::object::GroupVersionKind;
use gyre_sandbox::{Bytes, Call, HostImports, Input, Limits, LogLine, Plugin, ReadError, Usage};

use super::call_record::{CallAnswer, CallRecord, Question, Reply, Transcript};
use crate::call::{self, Ask};

/// The inputs of a call: everything that its answer depends on, except the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallInputs {
    /// The function that is called.
    pub ask: Ask,
    /// The parent.
    pub parent: Bytes,
    /// The members of the group, if the parent is one.
    pub members: Vec<Bytes>,
    /// The settings.
    pub settings: Bytes,
    /// The limits of the call.
    pub limits: Limits,
    /// The seed of random numbers.
    pub seed: Arc<str>,
    /// The time that the clocks show.
    pub now: SystemTime,
    /// The children that it can see, by served kind.
    pub children: BTreeMap<GroupVersionKind, Vec<Bytes>>,
    /// The answers to its reads.
    pub reads: BTreeMap<Question, Reply>,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct CallResult {
    /// The answer.
    pub answer: CallAnswer,
    /// The reads, and their answers.
    pub reads: BTreeMap<Question, Reply>,
    /// Reads that are not in [`CallInputs::reads`]. The plugin was told that their kinds are not
    /// served.
    pub unanswered: BTreeSet<Question>,
    /// The resources that it used.
    pub usage: Usage,
}

impl CallInputs {
    /// The inputs of a recorded call.
    pub fn of(record: &CallRecord) -> Self {
        Self {
            ask: record.ask,
            parent: Arc::clone(&record.parent),
            members: record.members.clone(),
            settings: Arc::clone(&record.program.settings),
            limits: record.program.policy.limits.clone(),
            seed: Arc::clone(&record.seed),
            now: record.now,
            children: record.children.clone(),
            reads: record.reads.clone(),
        }
    }

    /// Makes the call in this thread, which blocks as long as the plugin runs.
    pub fn make(&self, plugin: &Plugin) -> CallResult {
        let imports = Recorded {
            children: self.children.clone(),
            reads: self.reads.clone(),
            unanswered: BTreeSet::new(),
            transcript: Transcript::default(),
        };
        let members: Vec<&[u8]> = self.members.iter().map(|member| &**member).collect();
        let input =
            Input { parent: &self.parent, members: &members, settings: &self.settings, seed: &self.seed, now: self.now };
        let Call { result, usage, imports } = call::make(plugin, self.ask, &input, &self.limits, Box::new(imports));
        let (transcript, unanswered) =
            imports.downcast::<Recorded>().map(|imports| (imports.transcript, imports.unanswered)).unwrap_or_default();
        let Transcript { reads, texts, log } = transcript;
        CallResult { answer: CallAnswer { result, texts, log }, reads, unanswered, usage }
    }
}

struct Recorded {
    children: BTreeMap<GroupVersionKind, Vec<Bytes>>,
    reads: BTreeMap<Question, Reply>,
    unanswered: BTreeSet<Question>,
    transcript: Transcript,
}

impl Recorded {
    fn ask(&mut self, question: Question) -> Reply {
        let reply = self.reads.get(&question).cloned().unwrap_or_else(|| {
            self.unanswered.insert(question.clone());
            Err(ReadError::NotServed)
        });
        self.transcript.read(question, || reply.clone());
        reply
    }
}

impl HostImports for Recorded {
    fn children(&mut self, kind: &GroupVersionKind) -> Reply {
        match self.children.get(kind) {
            Some(children) => Ok(children.clone()),
            None => self.ask(Question::Children { kind: kind.clone() }),
        }
    }

    fn get(&mut self, kind: &GroupVersionKind, namespace: Option<&str>, name: &str) -> Result<Option<Bytes>, ReadError> {
        let namespace = namespace.map(str::to_owned);
        let found = self.ask(Question::Get { kind: kind.clone(), namespace, name: name.to_owned() })?;
        Ok(found.into_iter().next())
    }

    fn list(&mut self, kind: &GroupVersionKind, namespace: Option<&str>, label_selector: Option<&str>) -> Reply {
        let [namespace, label_selector] = [namespace, label_selector].map(|text| text.map(str::to_owned));
        self.ask(Question::List { kind: kind.clone(), namespace, label_selector })
    }

    fn log(&mut self, line: LogLine) {
        self.transcript.log.push(line);
    }

    fn answered(&mut self, texts: &[&[u8]]) {
        self.transcript.answered(texts);
    }
}
