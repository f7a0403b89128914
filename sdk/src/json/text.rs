//! JSON that is being written, without a word of what it is written from.

use super::error::Error;
use super::parser::Parser;
use super::plain_length;

/// Enough for most objects, so that writing one rarely moves its bytes.
const OBJECT_CAPACITY: usize = 1024;

/// As many as `u64::MAX` has.
const DIGITS: usize = 20;

const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";

pub(super) struct Text(Vec<u8>);

impl Default for Text {
    fn default() -> Self {
        Self(Vec::with_capacity(OBJECT_CAPACITY))
    }
}

impl Text {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    #[inline(never)]
    pub(super) fn push(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    #[inline(never)]
    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    #[inline(never)]
    pub(super) fn unsigned(&mut self, mut number: u64) {
        let mut digits = [0; DIGITS];
        let mut length = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
            length += 1;
            if number == 0 {
                break;
            }
        }
        self.0.extend_from_slice(digits.get(DIGITS - length..).unwrap_or_default());
    }

    pub(super) fn signed(&mut self, number: i64) {
        if number < 0 {
            self.byte(b'-');
        }
        self.unsigned(number.unsigned_abs());
    }

    #[inline(never)]
    pub(super) fn string(&mut self, string: &str) {
        self.0.push(b'"');
        let mut rest = string.as_bytes();
        loop {
            let (plain, other) = rest.split_at_checked(plain_length(rest)).unwrap_or((rest, &[]));
            self.0.extend_from_slice(plain);
            let Some((&byte, after)) = other.split_first() else { break };
            self.escape(byte);
            rest = after;
        }
        self.0.push(b'"');
    }

    fn escape(&mut self, byte: u8) {
        let letter = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x8 => b'b',
            0xc => b'f',
            _ => b'u',
        };
        self.0.extend_from_slice(&[b'\\', letter]);
        if letter == b'u' {
            self.0.extend_from_slice(b"00");
            for digit in [byte >> 4, byte & 0xf] {
                self.0.extend(HEXADECIMAL.get(usize::from(digit)));
            }
        }
    }

    /// Opens an array or object.
    pub(super) fn open(&mut self, opening: u8) -> First {
        self.byte(opening);
        First(true)
    }

    /// Before an element.
    #[inline(never)]
    pub(super) fn separate(&mut self, first: &mut First) {
        if !std::mem::replace(&mut first.0, false) {
            self.0.push(b',');
        }
    }

    /// A key that is a string, and what follows it.
    #[inline(never)]
    pub(super) fn field(&mut self, first: &mut First, key: &str) {
        self.separate(first);
        self.string(key);
        self.0.push(b':');
    }

    pub(super) fn length(&self) -> usize {
        self.0.len()
    }

    /// What has been written since then becomes a key.
    ///
    /// # Errors
    ///
    /// If it is neither a string nor a number nor a Boolean.
    #[inline(never)]
    pub(super) fn end_key(&mut self, start: usize) -> Result<(), Error> {
        match self.0.get(start) {
            Some(b'"') => {}
            Some(b'-' | b'0'..=b'9' | b't' | b'f') => {
                self.0.insert(start, b'"');
                self.0.push(b'"');
            }
            _ => return Err(Error::new(format_args!("key must be a string"))),
        }
        self.0.push(b':');
        Ok(())
    }

    /// What has been written since then is a string, of which the content is wanted as it stands.
    #[inline(never)]
    pub(super) fn unquote(&mut self, start: usize) -> Result<(), Error> {
        let quoted = self.0.split_off(start);
        if let Some(content) = Parser::new(&quoted)?.string_value()? {
            self.push(content);
        }
        Ok(())
    }
}

/// Whether the next element is the first of its array or object.
#[derive(Clone, Copy, Default)]
pub(super) struct First(bool);
