//! Lines of bounded length in, and whole lines out.

use std::io::{self, BufRead, Write};

use parking_lot::Mutex;
use serde::Serialize;

/// The longest request. Objects have at most 1.5 MB in a cluster, and a component 20 MB in base64.
pub(super) const LONGEST_LINE: usize = 64 << 20;

/// The next line of a reader.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(Vec<u8>),
    /// More than [`LONGEST_LINE`] bytes, which are skipped.
    TooLong,
    End,
}

/// Reads a line. It keeps at most `longest` bytes in memory.
pub(super) fn read_line(input: &mut impl BufRead, longest: usize) -> io::Result<Line> {
    let (mut line, mut length) = (Vec::new(), 0_usize);
    loop {
        let read = match input.fill_buf() {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = read.iter().position(|byte| *byte == b'\n');
        let (part, is_last) = (end.map_or(read, |end| read.split_at(end).0), end.is_some() || read.is_empty());
        length = length.saturating_add(part.len());
        if length <= longest {
            line.extend_from_slice(part);
        } else {
            line = Vec::new();
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if is_last {
            return Ok(match length {
                0 if end.is_none() => Line::End,
                _ if length > longest => Line::TooLong,
                _ => Line::Text(line),
            });
        }
    }
}

/// The standard output, which all worlds share. A reader that stops reading stops them: nothing is
/// kept in memory for it.
pub(super) struct Output(Mutex<Box<dyn Write + Send>>);

impl Output {
    pub(super) fn new(output: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Box::new(output)))
    }

    pub(super) fn write(&self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        let mut output = self.0.lock();
        output.write_all(&line)?;
        output.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_are_read_whole_and_those_that_are_too_long_are_skipped() {
        for buffer in [1, 2, 3, 100] {
            let mut input = BufReader::with_capacity(buffer, &b"one\n\nfour\nlonger\nfive\nend"[..]);
            let mut lines = Vec::new();
            loop {
                match read_line(&mut input, 5).unwrap() {
                    Line::End => break,
                    Line::TooLong => lines.push("(too long)".to_owned()),
                    Line::Text(line) => lines.push(String::from_utf8(line).unwrap()),
                }
            }
            assert_eq!(lines, ["one", "", "four", "(too long)", "five", "end"], "{buffer}");
        }
    }
}
