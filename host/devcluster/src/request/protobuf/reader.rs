//! The wire format: tags and values.

/// An error in a message, in the words of the API server's generated code.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Error {
    #[error("unexpected EOF")]
    UnexpectedEof,
    #[error("proto: integer overflow")]
    IntegerOverflow,
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    #[error("proto: illegal wireType {0}")]
    IllegalWireType(u8),
    #[error("proto: wrong wireType = {wire_type} for field {field}")]
    WrongWireType { wire_type: u8, field: String },
    #[error("proto: {message}: wiretype end group for non-group")]
    EndOfNoGroup { message: String },
    #[error("proto: {message}: illegal tag {number} (wire type {tag})")]
    IllegalTag { message: String, number: i32, tag: u64 },
    #[error("proto: messages are nested too deeply")]
    TooDeep,
    #[error("proto: raw JSON of field {field}: {error}")]
    NoJson { field: String, error: String },
    #[error("proto: the time of field {field} is out of range")]
    TimeOutOfRange { field: String },
    #[error("impossible IntOrString.Type")]
    NeitherIntNorString,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    pub(crate) number: u32,
    pub(crate) wire_type: u8,
}

pub(crate) const VARINT: u8 = 0;
pub(crate) const FIXED64: u8 = 1;
pub(crate) const BYTES: u8 = 2;
const START_OF_GROUP: u8 = 3;
const END_OF_GROUP: u8 = 4;
const FIXED32: u8 = 5;

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

    /// Returns the next tag. `message` is the type of the message in errors.
    pub(crate) fn tag(&mut self, message: &str) -> Result<Option<Tag>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let (number, wire_type) = ((tag >> 3) as u32 as i32, (tag & 7) as u8);
        // Errors omit the package of the type.
        let message = || message.rsplit('.').next().unwrap_or_default().to_owned();
        if wire_type == END_OF_GROUP {
            return Err(Error::EndOfNoGroup { message: message() });
        }
        match u32::try_from(number) {
            Ok(number) if number > 0 => Ok(Some(Tag { number, wire_type })),
            _ => Err(Error::IllegalTag { message: message(), number, tag }),
        }
    }

    /// Reads at most ten bytes; bits beyond the 64th are lost.
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

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let length = i64::try_from(self.varint()?).map_err(|_| Error::NegativeLength)?;
        self.take(usize::try_from(length).map_err(|_| Error::NegativeLength)?)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Error::UnexpectedEof)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn skip(&mut self, tag: Tag) -> Result<(), Error> {
        let (mut wire_type, mut depth) = (tag.wire_type, 0_usize);
        loop {
            match wire_type {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                BYTES => drop(self.bytes()?),
                START_OF_GROUP => depth += 1,
                // A group cannot begin with its end, so the depth is at least 1.
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
        // A group with a number and a group.
        assert_eq!(skipped(&[0x0b, 0x08, 1, 0x13, 0x14, 0x0c, 7]), Ok(1));
    }

    #[test]
    fn invalid_messages_have_the_errors_of_the_server() {
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
