//! What JSON is made of (RFC 8259), without a word of what it is read into.

use serde::de::{Error as _, Expected, Unexpected};

use super::error::Error;
use super::plain_length;

/// How deep what is read may nest, as in `serde_json`: each level takes stack. What is skipped may nest as it likes.
const DEPTH_LIMIT: u8 = 128;

/// A JSON text, and how far it is read.
pub(super) struct Parser<'t> {
    text: &'t str,
    index: usize,
    depth: u8,
    /// A string that had escapes, without them.
    unescaped: String,
}

/// A number as it stands in the text.
pub(super) enum Number<'t> {
    Unsigned(u64),
    /// Below zero.
    Signed(i64),
    /// With a fraction or an exponent, or beyond 64 bits.
    Other(&'t str),
}

/// How far an array or object is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Opened,
    Within,
    Closed,
}

impl<'t> Parser<'t> {
    pub(super) fn new(json: &'t [u8]) -> Result<Self, Error> {
        match std::str::from_utf8(json) {
            Ok(text) => Ok(Self::of(text)),
            Err(error) => Err(Error::new(format_args!("not UTF-8 from byte {} on", error.valid_up_to()))),
        }
    }

    pub(super) fn of(text: &'t str) -> Self {
        Self { text, index: 0, depth: 0, unescaped: String::new() }
    }

    /// Says where it happened: both count from 1, columns in bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn locate(&self, error: Error) -> Error {
        let before = self.text.as_bytes().get(..self.index).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
        Error::new(format_args!("{error} at line {line} column {column}"))
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        match self.next_byte() {
            None => Ok(()),
            Some(_) => Err(Error::new(format_args!("trailing characters"))),
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.index).copied()
    }

    /// The next byte that is no white space; it stays the next.
    pub(super) fn next_byte(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.index += 1,
                byte => return byte,
            }
        }
    }

    fn slice(&self, start: usize) -> Result<&'t str, Error> {
        // It starts and ends beside ASCII characters, so there is something.
        self.text.get(start..self.index).ok_or_else(|| self.syntax_error())
    }

    /// That something else should stand here.
    #[cold]
    #[inline(never)]
    fn syntax_error(&self) -> Error {
        match self.byte() {
            None => Error::new(format_args!("EOF while parsing")),
            Some(byte) => Error::new(format_args!("unexpected `{}`", byte.escape_ascii())),
        }
    }

    /// That the value which starts here is of another type than expected.
    #[cold]
    #[inline(never)]
    pub(super) fn type_error(&mut self, expected: &dyn Expected) -> Error {
        let found = match self.next_byte() {
            Some(b'n') => self.literal("null").map(|()| Unexpected::Unit),
            Some(b't') => self.literal("true").map(|()| Unexpected::Bool(true)),
            Some(b'f') => self.literal("false").map(|()| Unexpected::Bool(false)),
            Some(b'"') => self.string().map(Unexpected::Str),
            Some(b'[') => Ok(Unexpected::Seq),
            Some(b'{') => Ok(Unexpected::Map),
            _ => self.number().map(|number| match number {
                Number::Unsigned(number) => Unexpected::Unsigned(number),
                Number::Signed(number) => Unexpected::Signed(number),
                Number::Other(_) => Unexpected::Float(0.0),
            }),
        };
        match found {
            Ok(found) => Error::invalid_type(found, expected),
            Err(error) => error,
        }
    }

    #[inline(never)]
    pub(super) fn literal(&mut self, literal: &str) -> Result<(), Error> {
        match self.text.as_bytes().get(self.index..) {
            Some(rest) if rest.starts_with(literal.as_bytes()) => {
                self.index += literal.len();
                Ok(())
            }
            _ => Err(Error::new(format_args!("expected `{literal}`"))),
        }
    }

    /// Whether the value is `null`, which then is read.
    #[inline(never)]
    pub(super) fn null(&mut self) -> Result<bool, Error> {
        match self.next_byte() {
            Some(b'n') => self.literal("null").map(|()| true),
            _ => Ok(false),
        }
    }

    /// None if the value is no Boolean.
    #[inline(never)]
    pub(super) fn boolean(&mut self) -> Result<Option<bool>, Error> {
        match self.next_byte() {
            Some(b't') => self.literal("true").map(|()| Some(true)),
            Some(b'f') => self.literal("false").map(|()| Some(false)),
            _ => Ok(None),
        }
    }

    /// None if the value is no number.
    #[inline(never)]
    pub(super) fn number_value(&mut self) -> Result<Option<Number<'t>>, Error> {
        match self.next_byte() {
            Some(b'-' | b'0'..=b'9') => self.number().map(Some),
            _ => Ok(None),
        }
    }

    #[inline(never)]
    fn number(&mut self) -> Result<Number<'t>, Error> {
        let text = self.number_text()?;
        Ok(if let Ok(number) = text.parse() {
            Number::Unsigned(number)
        } else if let Ok(number) = text.parse() {
            Number::Signed(number)
        } else {
            Number::Other(text)
        })
    }

    #[inline(never)]
    pub(super) fn number_text(&mut self) -> Result<&'t str, Error> {
        let start = self.index;
        if self.byte() == Some(b'-') {
            self.index += 1;
        }
        if self.byte() == Some(b'0') {
            self.index += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.index += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.index += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.index += 1;
            }
            self.digits()?;
        }
        self.slice(start)
    }

    /// One or more.
    #[inline(never)]
    fn digits(&mut self) -> Result<(), Error> {
        let start = self.index;
        while let Some(b'0'..=b'9') = self.byte() {
            self.index += 1;
        }
        if self.index == start { Err(self.syntax_error()) } else { Ok(()) }
    }

    /// None if the value is no string.
    #[inline(never)]
    pub(super) fn string_value(&mut self) -> Result<Option<&str>, Error> {
        match self.next_byte() {
            Some(b'"') => self.string().map(Some),
            _ => Ok(None),
        }
    }

    /// From its first quotation mark, which is next.
    #[inline(never)]
    fn string(&mut self) -> Result<&str, Error> {
        self.index += 1;
        let start = self.index;
        self.skip_plain();
        if self.byte() != Some(b'"') {
            return self.string_with_escapes(start);
        }
        let string = self.slice(start)?;
        self.index += 1;
        Ok(string)
    }

    fn skip_plain(&mut self) {
        self.index += plain_length(self.text.as_bytes().get(self.index..).unwrap_or_default());
    }

    #[inline(never)]
    fn string_with_escapes(&mut self, mut start: usize) -> Result<&str, Error> {
        self.unescaped.clear();
        loop {
            let plain = self.slice(start)?;
            self.unescaped.push_str(plain);
            match self.byte() {
                Some(b'"') => {
                    self.index += 1;
                    return Ok(&self.unescaped);
                }
                Some(b'\\') => {
                    self.index += 1;
                    let character = self.escape()?;
                    self.unescaped.push(character);
                }
                _ => return Err(self.syntax_error()),
            }
            start = self.index;
            self.skip_plain();
        }
    }

    /// What stands for a character after a backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let byte = self.byte();
        self.index += 1;
        Ok(match byte {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(invalid_escape()),
        })
    }

    /// After `\u`: one UTF-16 code unit, or two that belong together.
    fn unicode_escape(&mut self) -> Result<char, Error> {
        let mut code = self.code_unit()?;
        if let 0xd800..0xdc00 = code {
            self.literal("\\u")?;
            let low = self.code_unit()?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(invalid_escape());
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        char::from_u32(code).ok_or_else(invalid_escape)
    }

    #[inline(never)]
    fn code_unit(&mut self) -> Result<u32, Error> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(invalid_escape)?;
            self.index += 1;
        }
        Ok(code)
    }

    /// Whether the value is an array or object that opens with this byte; it is then open.
    #[inline(never)]
    pub(super) fn open(&mut self, opening: u8) -> Result<bool, Error> {
        if self.next_byte() != Some(opening) {
            return Ok(false);
        }
        if self.depth == DEPTH_LIMIT {
            return Err(Error::new(format_args!("recursion limit exceeded")));
        }
        self.index += 1;
        self.depth += 1;
        Ok(true)
    }

    /// Whether there is another element before this closing byte.
    #[inline(never)]
    pub(super) fn next_element(&mut self, closing: u8, progress: &mut Progress) -> Result<bool, Error> {
        match (*progress, self.next_byte()) {
            (Progress::Closed, _) => return Ok(false),
            (_, Some(byte)) if byte == closing => {
                self.index += 1;
                self.depth -= 1;
                *progress = Progress::Closed;
                return Ok(false);
            }
            (Progress::Opened, Some(_)) => *progress = Progress::Within,
            (Progress::Within, Some(b',')) => self.index += 1,
            (_, _) => return Err(self.syntax_error()),
        }
        Ok(true)
    }

    /// The next key of an object, of which the value is next.
    #[inline(never)]
    pub(super) fn next_key(&mut self, progress: &mut Progress) -> Result<Option<&str>, Error> {
        if !self.next_element(b'}', progress)? {
            return Ok(None);
        }
        match self.next_byte() {
            Some(b'"') => self.string().map(Some),
            _ => Err(Error::new(format_args!("key must be a string"))),
        }
    }

    /// Between a key and its value.
    #[inline(never)]
    pub(super) fn colon(&mut self) -> Result<(), Error> {
        if self.next_byte() != Some(b':') {
            return Err(self.syntax_error());
        }
        self.index += 1;
        Ok(())
    }

    /// Nothing may be left of an array or object that has been read.
    #[inline(never)]
    pub(super) fn close(&mut self, closing: u8, progress: &mut Progress) -> Result<(), Error> {
        if self.next_element(closing, progress)? { Err(Error::new(format_args!("trailing characters"))) } else { Ok(()) }
    }

    /// Passes over a value, and returns it as it stands.
    #[inline(never)]
    pub(super) fn skip(&mut self) -> Result<&'t str, Error> {
        let mut depth: usize = 0;
        self.next_byte();
        let start = self.index;
        loop {
            match self.next_byte() {
                Some(b'"') => self.skip_string()?,
                Some(b'{' | b'[') => {
                    self.index += 1;
                    depth += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    self.index += 1;
                    depth -= 1;
                }
                Some(b',' | b':') if depth > 0 => self.index += 1,
                Some(b'n') => self.literal("null")?,
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                _ => self.number_text().map(|_| ())?,
            }
            if depth == 0 {
                return self.slice(start);
            }
        }
    }

    fn skip_string(&mut self) -> Result<(), Error> {
        self.index += 1;
        loop {
            self.skip_plain();
            match self.byte() {
                Some(b'"') => {
                    self.index += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.index += 1;
                    self.escape()?;
                }
                _ => return Err(self.syntax_error()),
            }
        }
    }
}

#[cold]
fn invalid_escape() -> Error {
    Error::new(format_args!("invalid escape"))
}
