//! Calls to lines and back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gyre_core::response::{Child, Condition, Event, Failure, Response, Severity, Teardown};
use gyre_sandbox::{Bytes, ClockUse, Limits, LogLevel, LogLine, LogSource, ReadError, Reuse, call};
use jiff::Timestamp;

use super::call_record::{Answer, Question, Reply};
use super::format::{
    AnswerLine, AskLine, CallLine, ChildLine, ChildrenLine, ConditionLine, EventLine, KindText, LimitsLine, LogText,
    ProgramLine, QuestionLine, ReadErrorLine, ReadLine, ResultLine, Text,
};
use super::given::Given;
use crate::call::Ask;
use crate::program::{Program, bounds};

impl ProgramLine {
    /// A program, under that number.
    pub fn of(program: &Program, number: u32) -> Self {
        let manifest = program.manifest();
        Self {
            number,
            mount: program.name.to_string(),
            plugin: manifest.name.clone(),
            version: manifest.version.clone(),
            digest: program.plugin.digest().to_string(),
            contract: program.plugin.contract().to_owned(),
            settings: Text(Arc::clone(&program.settings)),
            limits: LimitsLine::from(&program.limits),
        }
    }
}

impl Default for LimitsLine {
    fn default() -> Self {
        Self::from(&Limits::default())
    }
}

impl From<&Limits> for LimitsLine {
    fn from(limits: &Limits) -> Self {
        // Named one by one, so that a new limit is not forgotten.
        let &Limits {
            memory_bytes,
            deadline,
            output_bytes,
            output_depth,
            children,
            conditions,
            events,
            reads,
            read_bytes,
            text_bytes,
            log_bytes,
            log_lines,
            reuse,
        } = limits;
        Self {
            memory_bytes,
            deadline_ms: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX),
            output_bytes,
            output_depth,
            children,
            conditions,
            events,
            reads,
            read_bytes,
            text_bytes,
            log_bytes,
            log_lines,
            reuse: match reuse {
                Reuse::Never => None,
                Reuse::UpTo(calls) => Some(calls),
            },
        }
    }
}

impl From<&LimitsLine> for Limits {
    /// The same, but that each call gets a fresh instance: what it answers may depend on nothing else.
    fn from(line: &LimitsLine) -> Self {
        Self {
            memory_bytes: line.memory_bytes,
            // No mount has a longer one, but a file can say anything.
            deadline: Duration::from_millis(line.deadline_ms).min(*bounds::DEADLINE.end()),
            output_bytes: line.output_bytes,
            output_depth: line.output_depth,
            children: line.children,
            conditions: line.conditions,
            events: line.events,
            reads: line.reads,
            read_bytes: line.read_bytes,
            text_bytes: line.text_bytes,
            log_bytes: line.log_bytes,
            log_lines: line.log_lines,
            reuse: Reuse::Never,
        }
    }
}

impl CallLine {
    /// A call that was given this, asked this of the caches, and answered this.
    pub fn of(
        (number, program): (u64, u32),
        given: &Given,
        reads: &BTreeMap<Question, Reply>,
        answer: AnswerLine,
        redacted: Option<String>,
    ) -> Self {
        let texts = |objects: &[Bytes]| objects.iter().cloned().map(Text).collect();
        let children = given.children.iter();
        Self {
            number,
            program,
            ask: match given.ask {
                Ask::Reconcile => AskLine::Reconcile,
                Ask::Finalize => AskLine::Finalize,
            },
            // Plugins never get a time before 1970, and no host runs then.
            time: Timestamp::try_from(given.now).unwrap_or(Timestamp::UNIX_EPOCH),
            seed: given.seed.to_string(),
            parent: Text(Arc::clone(&given.parent)),
            children: children
                .map(|(kind, objects)| ChildrenLine { kind: KindText(kind.clone()), objects: texts(objects) })
                .collect(),
            reads: reads.iter().map(|(question, reply)| ReadLine::of(question, reply)).collect(),
            answer,
            redacted,
        }
    }

    /// What the call is given.
    pub fn given(&self, program: &ProgramLine) -> Given {
        let objects = |texts: &[Text]| texts.iter().map(|text| Arc::clone(&text.0)).collect::<Vec<_>>();
        Given {
            ask: match self.ask {
                AskLine::Reconcile => Ask::Reconcile,
                AskLine::Finalize => Ask::Finalize,
            },
            parent: Arc::clone(&self.parent.0),
            settings: Arc::clone(&program.settings.0),
            limits: Limits::from(&program.limits),
            seed: self.seed.as_str().into(),
            now: SystemTime::from(self.time),
            children: self.children.iter().map(|of| (of.kind.0.clone(), objects(&of.objects))).collect(),
            reads: self.reads.iter().map(|read| (Question::from(&read.question), read.reply())).collect(),
        }
    }
}

impl ReadLine {
    fn of(question: &Question, reply: &Reply) -> Self {
        let question = match question.clone() {
            Question::Children { kind } => QuestionLine::Children { kind: KindText(kind) },
            Question::Get { kind, namespace, name } => QuestionLine::Get { kind: KindText(kind), namespace, name },
            Question::List { kind, namespace, label_selector } => {
                QuestionLine::List { kind: KindText(kind), namespace, label_selector }
            }
        };
        let (found, error) = match reply {
            Ok(objects) => (Some(objects.iter().cloned().map(Text).collect()), None),
            Err(error) => (None, Some(ReadErrorLine::from(error))),
        };
        Self { question, found, error }
    }

    fn reply(&self) -> Reply {
        match &self.error {
            Some(error) => Err(ReadError::from(error)),
            None => Ok(self.found.iter().flatten().map(|text| Arc::clone(&text.0)).collect()),
        }
    }
}

impl From<&QuestionLine> for Question {
    fn from(line: &QuestionLine) -> Self {
        match line.clone() {
            QuestionLine::Children { kind } => Self::Children { kind: kind.0 },
            QuestionLine::Get { kind, namespace, name } => Self::Get { kind: kind.0, namespace, name },
            QuestionLine::List { kind, namespace, label_selector } => Self::List { kind: kind.0, namespace, label_selector },
        }
    }
}

impl From<&ReadError> for ReadErrorLine {
    fn from(error: &ReadError) -> Self {
        match error {
            ReadError::NotDeclared => Self::NotDeclared,
            ReadError::NotGranted => Self::NotGranted,
            ReadError::NotServed => Self::NotServed,
            ReadError::InvalidSelector(message) => Self::InvalidSelector(message.clone()),
        }
    }
}

impl From<&ReadErrorLine> for ReadError {
    fn from(line: &ReadErrorLine) -> Self {
        match line {
            ReadErrorLine::NotDeclared => Self::NotDeclared,
            ReadErrorLine::NotGranted => Self::NotGranted,
            ReadErrorLine::NotServed => Self::NotServed,
            ReadErrorLine::InvalidSelector(message) => Self::InvalidSelector(message.clone()),
        }
    }
}

impl AnswerLine {
    /// An answer, and whether the plugin read a clock.
    pub fn of(answer: &Answer, clock: ClockUse) -> Self {
        Self {
            read_clock: clock == ClockUse::Read,
            log: answer.log.iter().map(LogText::from).collect(),
            result: match &answer.result {
                Ok(Teardown { response, done }) => response_line(response, *done, &answer.texts),
                Err(call::Error::Failed(failure)) => failure_line(failure),
                Err(error) => ResultLine::Error {
                    reason: error.reason().to_owned(),
                    message: error.to_string(),
                    texts: answer.texts.iter().cloned().map(text).collect(),
                },
            },
        }
    }

    /// Whether the plugin answered at all: if not, it was the host that could not ask.
    pub fn is_of_the_plugin(&self) -> bool {
        // As `call::Error::fault` has it.
        !matches!(&self.result, ResultLine::Error { reason, .. } if ["PoolSaturated", "SandboxFailed"].contains(&reason.as_str()))
    }

    /// `Success`, or the reason why there is no response.
    pub fn outcome(&self) -> &str {
        match &self.result {
            ResultLine::Response { .. } => "Success",
            ResultLine::Failure { reason, .. } | ResultLine::Error { reason, .. } => reason,
        }
    }
}

fn text(bytes: Vec<u8>) -> Text {
    Text(Arc::from(bytes))
}

fn response_line(response: &Response, done: bool, texts: &[Vec<u8>]) -> ResultLine {
    let mut texts = texts.iter().cloned();
    let mut child = |child: &Child| match child {
        // There is a text for each.
        Child::Apply(_) => ChildLine::Apply(text(texts.next().unwrap_or_default())),
        Child::Keep(reference) => ChildLine::Keep {
            kind: KindText(reference.kind.clone()),
            namespace: reference.key.namespace.clone(),
            name: reference.key.name.clone(),
        },
    };
    let children = response.children.as_ref().map(|children| children.iter().map(&mut child).collect());
    ResultLine::Response {
        children,
        status: response.status.as_ref().map(|_| text(texts.next().unwrap_or_default())),
        conditions: response.conditions.iter().map(ConditionLine::from).collect(),
        events: response.events.iter().map(EventLine::from).collect(),
        requeue_after_ms: response.requeue_after.map(milliseconds),
        done,
    }
}

fn failure_line(failure: &Failure) -> ResultLine {
    let (message, after_ms) = match failure {
        Failure::Transient(message) | Failure::Terminal(message) => (message, None),
        Failure::RetryAfter(delay, message) => (message, Some(milliseconds(*delay))),
    };
    let reason = call::Error::Failed(failure.clone()).reason().to_owned();
    ResultLine::Failure { reason, message: message.clone(), after_ms }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl From<&LogLine> for LogText {
    fn from(line: &LogLine) -> Self {
        let source = match line.source {
            LogSource::Log => "log",
            LogSource::Stdout => "stdout",
            LogSource::Stderr => "stderr",
        };
        let level = match line.level {
            LogLevel::Trace => "trace",
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warn => "warn",
            LogLevel::Error => "error",
        };
        Self { source: source.to_owned(), level: level.to_owned(), message: line.message.clone(), fields: line.fields.clone() }
    }
}

impl From<&Condition> for ConditionLine {
    fn from(condition: &Condition) -> Self {
        let Condition { kind, status, reason, message } = condition.clone();
        Self { kind, status: status.as_str().to_owned(), reason, message }
    }
}

impl From<&Event> for EventLine {
    fn from(event: &Event) -> Self {
        let severity = match event.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        Self { severity: severity.to_owned(), reason: event.reason.clone(), message: event.message.clone() }
    }
}
