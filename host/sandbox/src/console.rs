//! The log of a plugin, and its limits.

use crate::call::Error;
use crate::host_imports::{HostImports, LogLevel, LogLine, LogSource};
use crate::limits::Limits;

/// The bytes of stderr that are kept for the message of a trap. A Rust panic takes about 100.
pub(crate) const LAST_WORDS: usize = 1_024;

const ADVICE: &str = "note: run with `RUST_BACKTRACE=1`";

/// Returns the place in a line such as `thread 'main' (1) panicked at src/lib.rs:5:36:`.
fn place_of_panic(line: &str) -> Option<&str> {
    let (thread, place) = line.split_once(" panicked at ")?;
    thread.starts_with("thread '").then(|| place.trim_end_matches(':'))
}

/// Returns the reason in a line such as `panic: no` or `fatal error: all goroutines are asleep`,
/// with which the Go runtime begins its report.
fn go_report(line: &str) -> Option<&str> {
    line.strip_prefix("panic: ").or_else(|| line.strip_prefix("fatal error: "))
}

/// Returns the place in a line such as `\tgreeter/plugin.go:5 +0x2f` of a report of the Go runtime;
/// `None` if the line is about the runtime itself.
fn place_in_go(line: &str) -> Option<&str> {
    let frame = line.strip_prefix('\t')?;
    let place = frame.split_once(" +0x").map_or(frame, |(place, _)| place);
    let is_of_runtime = place.starts_with("runtime/") || place.contains("/src/runtime/");
    (!is_of_runtime).then_some(place)
}

/// Blank lines, e.g. before a panic, and advice about variables, which plugins do not have.
fn says_nothing(line: &str) -> bool {
    line.is_empty() || line.starts_with(ADVICE)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

#[derive(Debug, Default)]
pub(crate) struct Console {
    max_bytes: usize,
    max_lines: usize,
    bytes: usize,
    lines: usize,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// The last output on stderr; of a panic or a report of the Go runtime, the beginning.
    last_words: String,
    is_panicking: bool,
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

    /// Returns the end of the call: the place and first line of a panic, or the last line of
    /// stderr.
    pub(crate) fn last_words(&self) -> Option<String> {
        let mut lines = self.last_words.lines().filter(|line| !line.trim().is_empty());
        if let Some(reason) = lines.clone().next().and_then(go_report).filter(|_| self.is_panicking) {
            let place = lines.find_map(place_in_go).map(|place| format!(" at {place}"));
            return Some(format!("it panicked{}: {reason}", place.unwrap_or_default()));
        }
        let panicked = lines.clone().find_map(place_of_panic).filter(|_| self.is_panicking);
        match (panicked, lines.nth(1)) {
            (Some(place), Some(why)) if !why.starts_with(ADVICE) => Some(format!("it panicked at {place}: {why}")),
            (Some(place), _) => Some(format!("it panicked at {place}")),
            // Tracebacks of scripts are indented, and their error is not.
            (None, _) => {
                let lines = || self.last_words.lines().filter(|line| !line.trim().is_empty());
                let is_said = |line: &&str| !line.starts_with([' ', '\t']);
                lines().rfind(is_said).or_else(|| lines().next_back()).map(|line| format!("it last wrote: {}", line.trim()))
            }
        }
    }

    pub(crate) fn room(&self) -> usize {
        self.max_bytes.saturating_sub(self.bytes)
    }

    pub(crate) fn line(&mut self, line: LogLine, imports: Option<&mut dyn HostImports>) -> Result<(), Error> {
        // Like the text `key=value `: even empty fields cost something.
        let fields: usize = line.fields.iter().map(|(key, value)| key.len() + value.len() + 2).sum();
        self.count_bytes(line.message.len() + fields)?;
        self.emit(line, imports)
    }

    pub(crate) fn write(
        &mut self,
        stream: Stream,
        bytes: &[u8],
        mut imports: Option<&mut dyn HostImports>,
    ) -> Result<(), Error> {
        self.count_bytes(bytes.len())?;
        let mut pending = std::mem::take(self.buffer(stream));
        let mut result = Ok(());
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            pending.extend_from_slice(part);
            if part.last() == Some(&b'\n') && result.is_ok() {
                result = self.emit_text(stream, &pending, imports.as_deref_mut());
                pending.clear();
            }
        }
        *self.buffer(stream) = pending;
        result
    }

    /// Ends a call: the rest of each stream becomes a line, if the limit allows it.
    pub(crate) fn flush(&mut self, mut imports: Option<&mut dyn HostImports>) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let pending = std::mem::take(self.buffer(stream));
            if !pending.is_empty() {
                // Too much is dropped: the call is over.
                let _ = self.emit_text(stream, &pending, imports.as_deref_mut());
            }
        }
    }

    fn buffer(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn emit_text(&mut self, stream: Stream, bytes: &[u8], imports: Option<&mut dyn HostImports>) -> Result<(), Error> {
        let message = String::from_utf8_lossy(bytes).trim_end_matches(['\n', '\r']).to_owned();
        if stream == Stream::Stderr {
            self.remember(&message);
        }
        let (source, level) = match stream {
            Stream::Stdout => (LogSource::Stdout, LogLevel::Info),
            // The error of the call reports the panic.
            Stream::Stderr if self.is_panicking => (LogSource::Stderr, LogLevel::Debug),
            Stream::Stderr => (LogSource::Stderr, LogLevel::Warn),
        };
        self.emit(LogLine { source, level, message, fields: Vec::new() }, imports)
    }

    fn remember(&mut self, line: &str) {
        let begins_panic = !self.is_panicking && (place_of_panic(line).is_some() || go_report(line).is_some());
        self.is_panicking |= begins_panic;
        if begins_panic || (!self.is_panicking && self.last_words.len() + line.len() >= LAST_WORDS) {
            self.last_words.clear();
        }
        let room = LAST_WORDS.saturating_sub(self.last_words.len() + 1);
        if room > 0 {
            self.last_words.push_str(line.get(..line.floor_char_boundary(room)).unwrap_or(line));
            self.last_words.push('\n');
        }
    }

    fn emit(&mut self, line: LogLine, imports: Option<&mut dyn HostImports>) -> Result<(), Error> {
        if self.lines >= self.max_lines {
            return Err(self.flood());
        }
        self.lines += 1;
        if line.source == LogSource::Stderr && says_nothing(&line.message) {
            return Ok(());
        }
        match imports {
            Some(imports) => imports.log(line),
            // Without an object, only the operator can be told.
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
        assert_eq!((console.lines(), console.last_words().as_deref()), (3, Some("it last wrote: three")));
    }

    fn last_words(written: &str) -> Option<String> {
        let mut console = console(100_000, 10_000);
        console.write(Stream::Stderr, written.as_bytes(), None).unwrap();
        console.flush(None);
        console.last_words()
    }

    #[test]
    fn last_words_are_a_line() {
        let panic = "\nthread '<unnamed>' (1) panicked at src/lib.rs:5:36:\nit gives up\nfor a reason\nnote: run with `RUST_BACKTRACE=1`\n";
        let told = "it panicked at src/lib.rs:5:36: it gives up";
        assert_eq!(last_words(panic).as_deref(), Some(told));
        // The panic is found after, or before, other output.
        assert_eq!(last_words(&("so it goes\n".repeat(500) + panic)).as_deref(), Some(told));
        assert_eq!(last_words(&(panic.to_owned() + &"and on\n".repeat(500))).as_deref(), Some(told));
        let long = last_words(&panic.replace("gives", &"ü".repeat(5_000))).unwrap();
        assert!(long.starts_with("it panicked at src/lib.rs:5:36: it ü") && long.len() <= LAST_WORDS, "{long}");
        let mute = "thread 'main' panicked at src/lib.rs:5:36:\n\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_eq!(last_words(mute).as_deref(), Some("it panicked at src/lib.rs:5:36"));

        let go = "panic: no\n\ngoroutine 18 [running]:\nmain.work()\n\tgreeter/plugin.go:5 +0x2f\ncreated by main.run\n\tgreeter/plugin.go:3 +0x1\n";
        assert_eq!(last_words(go).as_deref(), Some("it panicked at greeter/plugin.go:5: no"));
        let deadlock = "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select (no cases)]:\n\truntime/proc.go:1\nmain.work()\n\tgreeter/plugin.go:5\n";
        let told = "it panicked at greeter/plugin.go:5: all goroutines are asleep - deadlock!";
        assert_eq!(last_words(deadlock).as_deref(), Some(told));
        assert_eq!(last_words("panic: no\n").as_deref(), Some("it panicked: no"));

        let python = "Traceback (most recent call last):\n  File \"app.py\", line 3\nValueError: no\n";
        assert_eq!(last_words(python).as_deref(), Some("it last wrote: ValueError: no"));
        let javascript = "Error: no\n    at reconcile (app.js:3)\n";
        assert_eq!(last_words(javascript).as_deref(), Some("it last wrote: Error: no"));
        assert_eq!(last_words(&("so it goes\n".repeat(500) + "the end")).as_deref(), Some("it last wrote: the end"));
        assert_eq!(last_words("\n \n"), None);
    }

    #[test]
    fn bytes_and_lines_are_bounded_apart() {
        assert!(console(4, 10).write(Stream::Stdout, b"12345", None).is_err());
        assert!(console(100, 2).write(Stream::Stdout, b"\n\n\n", None).is_err());
        assert!(console(100, 2).write(Stream::Stdout, b"\n\n", None).is_ok());
    }
}
