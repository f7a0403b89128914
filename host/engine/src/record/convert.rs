//! Converts calls to lines of a recording, and back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use gyre_sandbox::{Bytes, ClockUse, Limits, Reuse, call};
use jiff::Timestamp;

use super::call_inputs::CallInputs;
use super::call_record::{CallAnswer, Question, Reply};
use super::format::{AnswerLine, CallLine, ChildrenLine, ProgramLine, ReadLine, ResultLine, Text};
use crate::program::{Program, bounds};

impl ProgramLine {
    /// The line of a program, with this number.
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
            limits: program.policy.limits.clone(),
        }
    }

    /// The limits of a repeated call, which gets a fresh instance.
    fn limits(&self) -> Limits {
        Limits {
            // The file may contain any value.
            deadline: self.limits.deadline.min(*bounds::DEADLINE.end()),
            reuse: Reuse::Never,
            ..self.limits.clone()
        }
    }
}

impl CallLine {
    /// The line of a call.
    pub fn of(
        (number, program): (u64, u32),
        inputs: &CallInputs,
        reads: &BTreeMap<Question, Reply>,
        answer: AnswerLine,
        redacted: Option<String>,
    ) -> Self {
        let texts = |objects: &[Bytes]| objects.iter().cloned().map(Text).collect();
        let children = inputs.children.iter();
        Self {
            number,
            program,
            ask: inputs.ask,
            time: Timestamp::try_from(inputs.now).unwrap_or(Timestamp::UNIX_EPOCH),
            seed: inputs.seed.to_string(),
            parent: Text(Arc::clone(&inputs.parent)),
            members: texts(&inputs.members),
            children: children.map(|(kind, objects)| ChildrenLine { kind: kind.clone(), objects: texts(objects) }).collect(),
            reads: reads.iter().map(|(question, reply)| ReadLine::of(question, reply)).collect(),
            answer,
            redacted,
        }
    }

    /// The inputs of the call.
    pub fn inputs(&self, program: &ProgramLine) -> CallInputs {
        let objects = |texts: &[Text]| texts.iter().map(|text| Arc::clone(&text.0)).collect::<Vec<_>>();
        CallInputs {
            ask: self.ask,
            parent: Arc::clone(&self.parent.0),
            members: objects(&self.members),
            settings: Arc::clone(&program.settings.0),
            limits: program.limits(),
            seed: self.seed.as_str().into(),
            now: SystemTime::from(self.time),
            children: self.children.iter().map(|of| (of.kind.clone(), objects(&of.objects))).collect(),
            reads: self.reads.iter().map(|read| (read.question.clone(), read.reply())).collect(),
        }
    }
}

impl ReadLine {
    fn of(question: &Question, reply: &Reply) -> Self {
        let (found, error) = match reply {
            Ok(objects) => (Some(objects.iter().cloned().map(Text).collect()), None),
            Err(error) => (None, Some(error.clone())),
        };
        Self { question: question.clone(), found, error }
    }

    fn reply(&self) -> Reply {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(self.found.iter().flatten().map(|text| Arc::clone(&text.0)).collect()),
        }
    }
}

impl AnswerLine {
    /// The line of an answer.
    pub fn of(answer: &CallAnswer, clock: ClockUse) -> Self {
        Self {
            read_clock: clock == ClockUse::Read,
            log: answer.log.clone(),
            result: match &answer.result {
                Ok(response) => {
                    let mut texts = answer.texts.iter().map(|bytes| text(bytes));
                    ResultLine::Response(response.map(|_| texts.next().unwrap_or_else(|| text(&[]))))
                }
                Err(call::Error::Failed(failure)) => ResultLine::Failure(failure.clone()),
                Err(error) => ResultLine::Error {
                    reason: error.reason().to_owned(),
                    message: error.to_string(),
                    texts: answer.texts.iter().map(|bytes| text(bytes)).collect(),
                },
            },
        }
    }

    /// Returns whether the plugin was called; otherwise a fault of the host prevented it.
    pub fn is_of_the_plugin(&self) -> bool {
        // As in `call::Error::fault`.
        !matches!(&self.result, ResultLine::Error { reason, .. } if ["PoolSaturated", "SandboxFailed"].contains(&reason.as_str()))
    }

    /// Returns `Success`, or the reason why there is no response.
    pub fn outcome(&self) -> &str {
        match &self.result {
            ResultLine::Response(_) => "Success",
            ResultLine::Failure(failure) => failure.reason(),
            ResultLine::Error { reason, .. } => reason,
        }
    }
}

fn text(bytes: &[u8]) -> Text {
    Text(Arc::from(bytes))
}
