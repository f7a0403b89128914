//! The wire format: tags and values.

/// The reason why bytes are not a message.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("proto: {0}")]
pub(crate) struct Error(pub(super) &'static str);

const ENDS_TOO_EARLY: Error = Error("unexpected end");
const NEGATIVE_LENGTH: Error = Error("negative length");

/// The number of a field, and the wire type of its value.
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

    /// The next tag, or `None` at the end.
    pub(crate) fn tag(&mut self) -> Result<Option<Tag>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let (number, wire_type) = ((tag >> 3) as u32, (tag & 7) as u8);
        match i32::try_from(number) {
            _ if wire_type == END_OF_GROUP => Err(Error("end of a group without its beginning")),
            Ok(1..) => Ok(Some(Tag { number, wire_type })),
            _ => Err(Error("illegal field number")),
        }
    }

    /// Reads at most ten bytes; bits beyond the 64th are lost.
    pub(crate) fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(ENDS_TOO_EARLY)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error("integer overflow"))
    }

    pub(crate) fn fixed64(&mut self) -> Result<u64, Error> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(ENDS_TOO_EARLY)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let length = i64::try_from(self.varint()?).map_err(|_| NEGATIVE_LENGTH)?;
        self.take(usize::try_from(length).map_err(|_| NEGATIVE_LENGTH)?)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(ENDS_TOO_EARLY)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Skips the value of an unknown field.
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
                _ => return Err(Error("illegal wire type")),
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
        let Some(tag) = reader.tag()? else { return Ok(0) };
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
    fn other_bytes_are_refused() {
        let table: [(&[u8], Error); 9] = [
            (&[0x80], ENDS_TOO_EARLY),
            (&[0xff; 11], Error("integer overflow")),
            (&[0x08, 0x80], ENDS_TOO_EARLY),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], NEGATIVE_LENGTH),
            (&[0x0a, 3, 1, 2], ENDS_TOO_EARLY),
            (&[0x0b, 0x08, 1], ENDS_TOO_EARLY),
            (&[0x0c], Error("end of a group without its beginning")),
            (&[0x00, 0x01], Error("illegal field number")),
            (&[0x0e], Error("illegal wire type")),
        ];
        for (bytes, expected) in table {
            assert_eq!(skipped(bytes), Err(expected), "{bytes:?}");
        }
    }
}
