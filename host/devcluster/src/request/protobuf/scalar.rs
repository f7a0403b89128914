//! Single values of the wire format.

use super::reader::{BYTES, Error, Reader, Tag, VARINT};

/// Text as Go writes it in JSON: U+FFFD for each byte that is not UTF-8.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

pub(super) fn bytes<'a>(tag: Tag, reader: &mut Reader<'a>) -> Result<&'a [u8], Error> {
    expect(tag, BYTES)?;
    reader.bytes()
}

pub(super) fn varint(tag: Tag, reader: &mut Reader<'_>) -> Result<u64, Error> {
    expect(tag, VARINT)?;
    reader.varint()
}

pub(super) fn expect(tag: Tag, wire_type: u8) -> Result<(), Error> {
    if tag.wire_type == wire_type { Ok(()) } else { Err(Error("wrong wire type")) }
}
