//! JSON to the author's types and back, small and fast in a component.
//!
//! ```text
//!   bytes ──▶ Parser (not generic) ──▶ reader: serde's Deserializer, thin ──▶ T
//!   T ──▶ writer: serde's Serializer, thin ──▶ Text (not generic) ──▶ bytes
//! ```
//!
//! `serde_json` does the same, and brings more: it is copied into the code of every type that is read, and draws in the parsing
//! and printing of floating-point numbers for what its errors say. That was 32 of 161 KB of the echo plugin. Here the generic
//! parts only call others, and numbers with fractions cost something only where a type has them.
//!
//! Two differences show. A struct is read from an object only, never from an array of its fields. And what no field takes is
//! skipped with its strings, numbers and brackets looked at, but not their order: objects come from the API server through a
//! host that has parsed them.

mod error;
mod parser;
mod reader;
mod text;
mod writer;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use self::error::Error;
use self::parser::Parser;
use self::text::Text;

/// The name under which `serde_json::value::RawValue` asks for JSON as it stands, in both directions.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// # Errors
///
/// What does not fit, and where.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    let mut parser = Parser::new(json)?;
    match T::deserialize(&mut parser) {
        Ok(value) => match parser.end() {
            Ok(()) => Ok(value),
            Err(error) => Err(parser.locate(error)),
        },
        Err(error) => Err(parser.locate(error)),
    }
}

/// # Errors
///
/// If the value has a map whose keys are no strings, or its own `Serialize` fails.
pub(crate) fn write(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let mut text = Text::default();
    value.serialize(&mut text)?;
    Ok(text.into_bytes())
}

/// How many bytes at the start of a string stand for themselves: all but `"`, `\` and control characters. Eight at a time.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH_BITS: u64 = ONES << 7;
    /// Sets the high bit of the first byte that is below `limit`, and maybe of some after it.
    fn below(word: u64, limit: u8) -> u64 {
        word.wrapping_sub(ONES * u64::from(limit)) & !word
    }
    let (words, rest) = bytes.as_chunks::<8>();
    let mut length = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let quotes = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslashes = below(word ^ (ONES * u64::from(b'\\')), 1);
        let stops = (below(word, b' ') | quotes | backslashes) & HIGH_BITS;
        if stops != 0 {
            return length + (stops.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let is_stop = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ');
    length + rest.iter().position(is_stop).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
