use super::reader::{BYTES, Error, Reader, Tag, VARINT};

/// Converts text as Go does, with U+FFFD for each invalid byte.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

pub(super) fn bytes<'a>(tag: Tag, reader: &mut Reader<'a>, field: &str) -> Result<&'a [u8], Error> {
    expect(tag, BYTES, field)?;
    reader.bytes()
}

pub(super) fn varint(tag: Tag, reader: &mut Reader<'_>, field: &str) -> Result<u64, Error> {
    expect(tag, VARINT, field)?;
    reader.varint()
}

pub(super) fn expect(tag: Tag, wire_type: u8, field: &str) -> Result<(), Error> {
    if tag.wire_type == wire_type {
        return Ok(());
    }
    Err(Error::WrongWireType { wire_type: tag.wire_type, field: field.to_owned() })
}
