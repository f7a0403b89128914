//! Writes recordings: redaction, lines, limits.

use std::sync::Arc;

use jiff::Timestamp;

use super::call_inputs::CallInputs;
use super::call_record::CallRecord;
use super::format::{AnswerLine, Because, CallLine, EndLine, FORMAT, HeadLine, Line, ProgramLine, Secrets};
use super::redact::{self, Key, Redactor};
use super::text::to_line;
use crate::program::Program;

/// The limits of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of calls.
    pub calls: u64,
    /// The maximum number of bytes, without the last line.
    pub bytes: u64,
}

/// Makes the lines of one recording.
///
/// # Guarantees
///
/// Never exceeds its limits. Each line has exactly one line break. Without [`Secrets::Kept`], lines
/// contain no value of a Secret that was seen, except very short ones.
pub struct Writer {
    bounds: Bounds,
    secrets: Secrets,
    redactor: Option<Redactor>,
    programs: Vec<(Arc<Program>, ProgramLine)>,
    calls: u64,
    bytes: u64,
    dropped: u64,
}

impl Writer {
    /// A writer with these limits.
    pub fn new(bounds: Bounds, secrets: Secrets) -> Self {
        let redactor = match secrets {
            Secrets::Kept => None,
            Secrets::Redacted => Some(Redactor::new(Key::random())),
        };
        Self { bounds, secrets, redactor, programs: Vec::new(), calls: 0, bytes: 0, dropped: 0 }
    }

    /// Redacts the values of a Secret from now on, unless half of the room is used. Other objects
    /// are ignored.
    pub fn learn_before(&mut self, object: &[u8]) {
        if let Some(redactor) = self.redactor.as_mut().filter(|redactor| !redactor.is_half_full()) {
            // An unreadable object is never recorded; missing room ends the recording later.
            let _ = redactor.learn(object);
        }
    }

    /// The first line.
    pub fn head(&mut self, now: Timestamp) -> Vec<u8> {
        let gyre = env!("CARGO_PKG_VERSION").to_owned();
        let line = line(&Line::Recording(HeadLine { format: FORMAT, gyre, time: now, secrets: self.secrets }));
        self.bytes += line.len() as u64;
        line
    }

    /// Returns the lines of a call. Blocks while the plugin runs, if its answer must be redacted.
    ///
    /// # Errors
    ///
    /// The reason why the recording is at its end, without this call.
    pub fn call(&mut self, record: &CallRecord) -> Result<Vec<u8>, Because> {
        if self.calls >= self.bounds.calls {
            return Err(Because::Calls);
        }
        let inputs = CallInputs::of(record);
        if let Some(redactor) =
            self.redactor.as_mut().filter(|_| !self.programs.iter().any(|(known, _)| Arc::ptr_eq(known, &record.program)))
        {
            let schema = record.program.manifest().settings_schema.as_ref();
            redactor.learn_settings(schema, &record.program.settings).map_err(|_| Because::Secrets)?;
        }
        let redacted = match self.redactor.as_mut().map(|redactor| redactor.redact(&inputs)) {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(redacted))) => Some(redacted),
            Some(Err(redact::Error::TooMany)) => return Err(Because::Secrets),
            Some(Err(redact::Error::NotJson(_))) => {
                self.dropped += 1;
                return Ok(Vec::new());
            }
        };
        let answer = AnswerLine::of(&record.answer, record.usage.clock);
        let number = self.calls + 1;
        let settings = redacted.as_ref().map_or(&inputs.settings, |redacted| &redacted.settings);
        let (program, mut lines) = self.program(&record.program, settings);
        let call = match &redacted {
            None => CallLine::of((number, program), &inputs, &inputs.reads, answer, None),
            Some(redacted) => {
                let made = redacted.make(&record.program.plugin);
                let outcome = answer.outcome().to_owned();
                let answer = AnswerLine::of(&made.answer, made.usage.clock);
                CallLine::of((number, program), redacted, &made.reads, answer, Some(outcome))
            }
        };
        lines.extend(line(&Line::Call(Box::new(call))));
        let bytes = self.bytes.saturating_add(lines.len() as u64);
        if bytes > self.bounds.bytes {
            return Err(Because::Bytes);
        }
        self.calls = number;
        self.bytes = bytes;
        Ok(lines)
    }

    /// Counts calls that came too fast to be recorded.
    pub fn drop_calls(&mut self, calls: u64) {
        self.dropped += calls;
    }

    /// The last line.
    pub fn end(&self, because: Because) -> Vec<u8> {
        line(&Line::End(EndLine { calls: self.calls, dropped: self.dropped, because }))
    }

    /// Returns whether the maximum number of calls is reached.
    pub fn is_full(&self) -> bool {
        self.calls >= self.bounds.calls
    }

    /// The number of recorded calls.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    fn program(&mut self, program: &Arc<Program>, settings: &Arc<[u8]>) -> (u32, Vec<u8>) {
        let known = self.programs.iter().rev();
        let same = known.clone().find(|(known, line)| Arc::ptr_eq(known, program) && line.settings.0 == *settings);
        if let Some((_, line)) = same {
            return (line.number, Vec::new());
        }
        let number = u32::try_from(self.programs.len()).unwrap_or(u32::MAX);
        let own = Program { settings: Arc::clone(settings), ..Program::clone(program) };
        let made = ProgramLine::of(&own, number);
        let text = line(&Line::Program(Box::new(made.clone())));
        self.programs.push((Arc::clone(program), made));
        (number, text)
    }
}

/// Failure would be a defect of this module; the reader would report an empty line.
fn line(line: &Line) -> Vec<u8> {
    to_line(line).unwrap_or_else(|_| b"\n".to_vec())
}
