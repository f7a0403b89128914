//! Reads recordings.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};
use std::sync::Arc;

use gyre_core::text::{displayed, without_control};

use super::format::{CallLine, EndLine, FORMAT, HeadLine, Line, ProgramLine};

/// The longest line. A call sees at most some thousands of objects of a few megabytes.
const LONGEST_LINE: u64 = 1 << 30;
/// The longest description of a bad line, in bytes, because serde quotes the line.
const PROBLEM: usize = 1_024;

/// The reason why a file cannot be read as a recording.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read it")]
    Io(#[source] io::Error),
    /// It is no recording.
    #[error("line 1 is not the beginning of a recording; name a file that `gyre record` wrote")]
    NoRecording,
    /// Another version of gyre wrote it.
    #[error("it has format {0}, and gyre {version} reads format {FORMAT}; use the version of gyre that recorded it", version = env!("CARGO_PKG_VERSION"))]
    Format(u32),
    /// A line is invalid.
    #[error("line {line} is not part of a recording: {message}; it was changed or damaged: remove the line, or record again")]
    Line {
        /// The number of the line, from 1.
        line: u64,
        /// The error in it.
        message: String,
    },
    /// A line is longer than any that is written.
    #[error("line {line} is longer than {LONGEST_LINE} bytes; it was changed or damaged: remove the line, or record again")]
    TooLong {
        /// The number of the line, from 1.
        line: u64,
    },
}

/// The end of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With the last line.
    Whole(EndLine),
    /// The writer was stopped.
    CutOff {
        /// The last line, if it is incomplete and was ignored.
        within: Option<u64>,
    },
}

/// Reads a recording, one call after another.
pub struct Reader<R> {
    input: R,
    line: u64,
    head: HeadLine,
    programs: BTreeMap<u32, Arc<ProgramLine>>,
    ending: Option<Ending>,
}

struct Read {
    bytes: Vec<u8>,
    is_whole: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    ///
    /// If it is not that of a recording.
    pub fn open(mut input: R) -> Result<Self, Error> {
        let first = read_line(&mut input, 1)?;
        // Every format has this field.
        #[derive(serde::Deserialize)]
        struct Any {
            recording: Format,
        }
        #[derive(serde::Deserialize)]
        struct Format {
            format: u32,
        }
        let format = serde_json::from_slice::<Any>(&first.bytes).map_err(|_| Error::NoRecording)?.recording.format;
        if format != FORMAT {
            return Err(Error::Format(format));
        }
        match serde_json::from_slice(&first.bytes) {
            Ok(Line::Recording(head)) => Ok(Self { input, line: 1, head, programs: BTreeMap::new(), ending: None }),
            Ok(_) => Err(Error::NoRecording),
            Err(error) => Err(Error::Line { line: 1, message: in_line(&error) }),
        }
    }

    /// The header.
    pub fn head(&self) -> &HeadLine {
        &self.head
    }

    /// Returns the next call, with its program; `None` at the end.
    ///
    /// # Errors
    ///
    /// If a line cannot be read. The next one may be valid.
    pub fn call(&mut self) -> Result<Option<(Arc<ProgramLine>, CallLine)>, Error> {
        while self.ending.is_none() {
            self.line += 1;
            let Read { bytes, is_whole } = read_line(&mut self.input, self.line)?;
            if bytes.is_empty() {
                self.ending = Some(Ending::CutOff { within: None });
                break;
            }
            let line = match serde_json::from_slice(bytes.trim_ascii_end()) {
                Ok(line) => line,
                Err(_) if !is_whole => {
                    self.ending = Some(Ending::CutOff { within: Some(self.line) });
                    break;
                }
                Err(error) => return Err(self.wrong(in_line(&error))),
            };
            match line {
                Line::Recording(_) => return Err(self.wrong("another recording begins here".to_owned())),
                Line::Program(program) => {
                    self.programs.insert(program.number, Arc::from(program));
                }
                Line::Call(call) => {
                    let program = self.programs.get(&call.program).cloned();
                    let program =
                        program.ok_or_else(|| self.wrong(format!("no line describes the program {}", call.program)))?;
                    return Ok(Some((program, *call)));
                }
                Line::End(end) => self.ending = Some(Ending::Whole(end)),
            }
        }
        Ok(None)
    }

    /// Returns how it ended, once there are no more calls.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn wrong(&self, message: String) -> Error {
        Error::Line { line: self.line, message }
    }
}

fn in_line(error: &serde_json::Error) -> String {
    let text = displayed(error, PROBLEM);
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("{} (column {})", displayed(&*without_control(what), PROBLEM), error.column())
}

fn read_line(input: &mut impl BufRead, line: u64) -> Result<Read, Error> {
    let mut bytes = Vec::new();
    input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes).map_err(Error::Io)?;
    let is_whole = bytes.ends_with(b"\n");
    if !is_whole && bytes.len() as u64 == LONGEST_LINE {
        return Err(Error::TooLong { line });
    }
    Ok(Read { bytes, is_whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"recording":{"format":1,"gyre":"0.1.0","time":"2026-01-01T00:00:00Z","secrets":"redacted"}}"#;

    fn wrong(line: &str) -> String {
        let text = format!("{HEAD}\n{line}\n");
        Reader::open(text.as_bytes()).unwrap().call().unwrap_err().to_string()
    }

    #[test]
    fn an_error_about_a_line_is_one_short_line() {
        for line in [
            r#"{"\u001b[31m\n at line 7":1}"#.to_owned(),
            format!("{{\"{}\":1}}", "x".repeat(100_000)),
            format!("\"{}\"", "x\\n".repeat(100_000)),
        ] {
            let message = wrong(&line);
            assert!(message.len() <= 2 * PROBLEM && !message.contains(char::is_control), "{message}");
            assert!(
                message.starts_with("line 2 is not part of a recording: unknown variant") || message.contains("invalid type"),
                "{message}"
            );
        }
        assert!(
            wrong(r#"{"\u001b[31m\n at line 7":1}"#).contains(r"`\u{1b}[31m\n at line 7`"),
            "nothing of a short message is left out"
        );
    }
}
