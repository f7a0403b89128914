//! The wire format: tags, and the values that follow them.

/// The reason why bytes are no message. The texts are those of the API server's generated code.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Error {
    /// It ends too early.
    #[error("unexpected EOF")]
    UnexpectedEof,
    /// A number of more than 64 bits.
    #[error("proto: integer overflow")]
    IntegerOverflow,
    /// A length that is negative.
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    /// A wire type that there is not.
    #[error("proto: illegal wireType {0}")]
    IllegalWireType(u8),
    /// A known field that is written as another type.
    #[error("proto: wrong wireType = {wire_type} for field {field}")]
    WrongWireType {
        /// Its wire type.
        wire_type: u8,
        /// Its name in Go.
        field: String,
    },
    /// The end of a group where none began.
    #[error("proto: {message}: wiretype end group for non-group")]
    EndOfNoGroup {
        /// The message's name in Go.
        message: String,
    },
    /// A number that no field can have.
    #[error("proto: {message}: illegal tag {number} (wire type {tag})")]
    IllegalTag {
        /// The message's name in Go.
        message: String,
        /// The number.
        number: i32,
        /// Number and type.
        tag: u64,
    },
    /// Messages in messages, more than are read.
    #[error("proto: messages are nested too deeply")]
    TooDeep,
    /// Raw JSON that is none.
    #[error("proto: raw JSON of field {field}: {error}")]
    NoJson {
        /// The name in Go of the field.
        field: String,
        /// The path and the reason.
        error: String,
    },
    /// A time beyond those that can be written.
    #[error("proto: the time of field {field} is out of range")]
    TimeOutOfRange {
        /// The name in Go of the field.
        field: String,
    },
    /// Neither a number nor a string.
    #[error("impossible IntOrString.Type")]
    NeitherIntNorString,
}

/// The number of a field, and how its value is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    pub(crate) number: u32,
    pub(crate) wire_type: u8,
}

/// The wire types of values.
pub(crate) const VARINT: u8 = 0;
pub(crate) const FIXED64: u8 = 1;
pub(crate) const BYTES: u8 = 2;
const START_OF_GROUP: u8 = 3;
const END_OF_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// Reads a message from its beginning.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next tag, if there is more. `message` is the name of what is read.
    pub(crate) fn tag(&mut self, message: &str) -> Result<Option<Tag>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let (number, wire_type) = ((tag >> 3) as u32 as i32, (tag & 7) as u8);
        // Names of definitions have packages before them.
        let message = || message.rsplit('.').next().unwrap_or_default().to_owned();
        if wire_type == END_OF_GROUP {
            return Err(Error::EndOfNoGroup { message: message() });
        }
        match u32::try_from(number) {
            Ok(number) if number > 0 => Ok(Some(Tag { number, wire_type })),
            _ => Err(Error::IllegalTag { message: message(), number, tag }),
        }
    }

    /// A number. Bits beyond the 64th are lost, as long as it has no more than ten bytes.
    pub(crate) fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(Error::UnexpectedEof)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::IntegerOverflow)
    }

    pub(crate) fn fixed64(&mut self) -> Result<u64, Error> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Error::UnexpectedEof)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// Bytes behind their length.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let length = i64::try_from(self.varint()?).map_err(|_| Error::NegativeLength)?;
        self.take(usize::try_from(length).map_err(|_| Error::NegativeLength)?)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Error::UnexpectedEof)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Skips the value of a field that nobody knows.
    pub(crate) fn skip(&mut self, tag: Tag) -> Result<(), Error> {
        let (mut wire_type, mut depth) = (tag.wire_type, 0_usize);
        loop {
            match wire_type {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                BYTES => drop(self.bytes()?),
                START_OF_GROUP => depth += 1,
                // No field begins with the end of a group, so one has begun.
                END_OF_GROUP => depth = depth.saturating_sub(1),
                FIXED32 => drop(self.take(4)?),
                other => return Err(Error::IllegalWireType(other)),
            }
            if depth == 0 {
                return Ok(());
            }
            wire_type = (self.varint()? & 7) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(bytes: &[u8]) -> Result<usize, Error> {
        let mut reader = Reader::new(bytes);
        let Some(tag) = reader.tag("a.b.Pod")? else { return Ok(0) };
        reader.skip(tag)?;
        Ok(reader.rest.len())
    }

    #[test]
    fn values_of_every_wire_type_are_skipped() {
        assert_eq!(skipped(&[0x08, 0xff, 0x01, 7]), Ok(1));
        assert_eq!(skipped(&[0x09, 1, 2, 3, 4, 5, 6, 7, 8, 7]), Ok(1));
        assert_eq!(skipped(&[0x0a, 2, 1, 2, 7]), Ok(1));
        assert_eq!(skipped(&[0x0d, 1, 2, 3, 4, 7]), Ok(1));
        // A group with a number, and a group in it.
        assert_eq!(skipped(&[0x0b, 0x08, 1, 0x13, 0x14, 0x0c, 7]), Ok(1));
    }

    #[test]
    fn what_is_no_message_is_said_as_the_server_says_it() {
        let table: [(&[u8], &str); 9] = [
            (&[0x80], "unexpected EOF"),
            (&[0xff; 11], "proto: integer overflow"),
            (&[0x08, 0x80], "unexpected EOF"),
            (
                &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
                "proto: negative length found during unmarshaling",
            ),
            (&[0x0a, 3, 1, 2], "unexpected EOF"),
            (&[0x0b, 0x08, 1], "unexpected EOF"),
            (&[0x0c], "proto: Pod: wiretype end group for non-group"),
            (&[0x00, 0x01], "proto: Pod: illegal tag 0 (wire type 0)"),
            (&[0x0e], "proto: illegal wireType 6"),
        ];
        for (bytes, expected) in table {
            assert_eq!(skipped(bytes).unwrap_err().to_string(), expected, "{bytes:?}");
        }
    }
}
