//! Texts of plugins and API servers, without a loss of bytes, and as JSON where possible.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_sandbox::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// An unchanged text. It is serialized as
///
/// - a JSON object: that text;
/// - a string: a text that is no object, or has line breaks;
/// - a list of one string: invalid UTF-8, in base64.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(pub Bytes);

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl Text {
    fn plain(&self) -> Option<&RawValue> {
        let text = str::from_utf8(&self.0).ok()?;
        if !text.starts_with('{') || text.contains(['\n', '\r']) {
            return None;
        }
        // Surrounding white space would be lost.
        serde_json::from_str::<&RawValue>(text).ok().filter(|value| value.get().len() == text.len())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(plain) = self.plain() {
            return plain.serialize(serializer);
        }
        match str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => [STANDARD.encode(&self.0)].serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        let bytes = match text.bytes().next() {
            Some(b'{') => text.as_bytes().to_vec(),
            Some(b'"') => serde_json::from_str::<String>(text).map_err(D::Error::custom)?.into_bytes(),
            Some(b'[') => {
                let [encoded]: [String; 1] = serde_json::from_str(text).map_err(D::Error::custom)?;
                STANDARD.decode(encoded).map_err(D::Error::custom)?
            }
            _ => return Err(D::Error::custom("expected an object, a string, or a list of one string in base64")),
        };
        Ok(Self(Arc::from(bytes)))
    }
}

/// A value on one line: [`Text`] excludes other line breaks.
pub(super) fn to_line(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_survives_and_is_one_line() {
        let texts: [&[u8]; 12] = [
            b"{}",
            br#"{"b":1.0,"a":[1e3, 2] , "b":"\u00e9"}"#,
            b" {}",
            b"{} ",
            b"{\n}",
            b"{\r}",
            b"[]",
            b"\"a\"",
            b"",
            b"{\"a\":\xff}",
            b"{",
            "{\"a\":\"\u{2028}\u{0}\"}".as_bytes(),
        ];
        for bytes in texts {
            let text = Text(Arc::from(bytes));
            let line = to_line(&text).unwrap();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "{text:?}");
            assert_eq!(serde_json::from_slice::<Text>(&line).unwrap(), text);
        }
        assert_eq!(to_line(&Text(Arc::from(texts[1]))).unwrap(), [texts[1], b"\n"].concat(), "readable as it stands");
    }
}
