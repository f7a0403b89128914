//! What a plugin says, and how much of it.

use crate::call::Error;
use crate::limits::Limits;
use crate::world::{LogLevel, LogLine, LogSource, World};

/// How much of stderr is kept for the message of a trap. A Rust panic takes some 100 bytes.
const LAST_WORDS: usize = 1_024;

/// One of the two streams that a program writes text to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// Turns streams into lines, and counts.
#[derive(Debug, Default)]
pub(crate) struct Console {
    max_bytes: usize,
    max_lines: usize,
    bytes: usize,
    lines: usize,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    last_words: String,
}

impl Console {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { max_bytes: limits.log_bytes, max_lines: limits.log_lines, ..Self::default() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    /// What was last written to stderr.
    pub(crate) fn last_words(&self) -> &str {
        self.last_words.trim_end()
    }

    /// How much more may be written before it is a flood.
    pub(crate) fn room(&self) -> usize {
        self.max_bytes.saturating_sub(self.bytes)
    }

    /// Takes a structured line.
    pub(crate) fn line(&mut self, line: LogLine, world: Option<&mut dyn World>) -> Result<(), Error> {
        // As text, `key=value ` each: fields cost something even when they are empty.
        let fields: usize = line.fields.iter().map(|(key, value)| key.len() + value.len() + 2).sum();
        self.count_bytes(line.message.len() + fields)?;
        self.emit(line, world)
    }

    /// Takes bytes of a stream; complete lines go on.
    pub(crate) fn write(&mut self, stream: Stream, bytes: &[u8], mut world: Option<&mut dyn World>) -> Result<(), Error> {
        self.count_bytes(bytes.len())?;
        let mut pending = std::mem::take(self.buffer(stream));
        let mut result = Ok(());
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            pending.extend_from_slice(part);
            if part.last() == Some(&b'\n') && result.is_ok() {
                result = self.emit_text(stream, &pending, world.as_deref_mut());
                pending.clear();
            }
        }
        *self.buffer(stream) = pending;
        result
    }

    /// Ends a call: what was written without a newline becomes a line, as far as the limit allows.
    pub(crate) fn flush(&mut self, mut world: Option<&mut dyn World>) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let pending = std::mem::take(self.buffer(stream));
            if !pending.is_empty() {
                // Over the limit only here, it is dropped: the call is over.
                let _ = self.emit_text(stream, &pending, world.as_deref_mut());
            }
        }
    }

    fn buffer(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn emit_text(&mut self, stream: Stream, bytes: &[u8], world: Option<&mut dyn World>) -> Result<(), Error> {
        let message = String::from_utf8_lossy(bytes).trim_end_matches(['\n', '\r']).to_owned();
        let (source, level) = match stream {
            Stream::Stdout => (LogSource::Stdout, LogLevel::Info),
            Stream::Stderr => (LogSource::Stderr, LogLevel::Warn),
        };
        if stream == Stream::Stderr && self.last_words.len() + message.len() < LAST_WORDS {
            self.last_words.push_str(&message);
            self.last_words.push('\n');
        }
        self.emit(LogLine { source, level, message, fields: Vec::new() }, world)
    }

    fn emit(&mut self, line: LogLine, world: Option<&mut dyn World>) -> Result<(), Error> {
        if self.lines >= self.max_lines {
            return Err(self.flood());
        }
        self.lines += 1;
        match world {
            Some(world) => world.log(line),
            // Outside of a call about an object there is nobody but the operator to tell.
            None => tracing::debug!(source = ?line.source, level = ?line.level, "plugin: {}", line.message),
        }
        Ok(())
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        if bytes > self.room() {
            return Err(self.flood());
        }
        self.bytes += bytes;
        Ok(())
    }

    fn flood(&self) -> Error {
        Error::LogFlood { bytes: self.max_bytes, lines: self.max_lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn console(log_bytes: usize, log_lines: usize) -> Console {
        Console::new(&Limits { log_bytes, log_lines, ..Limits::default() })
    }

    #[test]
    fn lines_are_put_together_from_pieces() {
        let mut console = console(100, 10);
        console.write(Stream::Stderr, b"one\ntw", None).unwrap();
        assert_eq!(console.lines(), 1);
        console.write(Stream::Stderr, b"o\nthree", None).unwrap();
        assert_eq!(console.lines(), 2);
        console.flush(None);
        assert_eq!((console.lines(), console.last_words()), (3, "one\ntwo\nthree"));
    }

    #[test]
    fn bytes_and_lines_are_bounded_apart() {
        assert!(console(4, 10).write(Stream::Stdout, b"12345", None).is_err());
        assert!(console(100, 2).write(Stream::Stdout, b"\n\n\n", None).is_err());
        assert!(console(100, 2).write(Stream::Stdout, b"\n\n", None).is_ok());
    }
}
