//! Bytes by key: the data of Secrets, which Kubernetes stores in base64.

use serde_json::Value;

use crate::labels::{Labels, LabelsView};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes by key, to be set. Base64 is the business of this type: give it the plain bytes or texts.
///
/// ```
/// use gyre_sdk::k8s::Secret;
///
/// let secret = Secret::new("login").with_data([("password", "hunter2")]);
/// assert_eq!(secret.as_json()["data"]["password"], "aHVudGVyMg==");
/// assert_eq!(secret.data().get("password").as_deref(), Some("hunter2"));
/// let copy = Secret::new("copy").with_data(secret.data());
/// assert_eq!(copy.data().bytes("password"), Some(b"hunter2".to_vec()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    encoded: Labels,
}

impl Bytes {
    /// Returns these bytes with those of one more key.
    pub fn with(mut self, key: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        self.encoded.insert(key, encode(bytes.as_ref()));
        self
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.encoded.is_empty()
    }

    /// Returns the texts in base64.
    pub fn encoded(&self) -> &Labels {
        &self.encoded
    }
}

impl<K: Into<String>, V: AsRef<[u8]>> FromIterator<(K, V)> for Bytes {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        entries.into_iter().fold(Self::default(), |bytes, (key, value)| bytes.with(key, value))
    }
}

impl<K: Into<String>, V: AsRef<[u8]>, const N: usize> From<[(K, V); N]> for Bytes {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Into<String>, V: AsRef<[u8]>> From<Vec<(K, V)>> for Bytes {
    fn from(entries: Vec<(K, V)>) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Into<String>, V: AsRef<[u8]>> From<std::collections::BTreeMap<K, V>> for Bytes {
    fn from(entries: std::collections::BTreeMap<K, V>) -> Self {
        entries.into_iter().collect()
    }
}

impl From<BytesView<'_>> for Bytes {
    fn from(bytes: BytesView<'_>) -> Self {
        bytes.to_owned()
    }
}

/// Reads bytes by key in an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BytesView<'a>(LabelsView<'a>);

impl<'a> BytesView<'a> {
    /// Returns the text of this key, `None` also if the bytes are not UTF-8.
    #[doc(alias = "decoded")]
    #[doc(alias = "string_data")]
    pub fn get(self, key: &str) -> Option<String> {
        String::from_utf8(self.bytes(key)?).ok()
    }

    /// Returns the bytes of this key.
    pub fn bytes(self, key: &str) -> Option<Vec<u8>> {
        decode(self.0.get(key)?.as_bytes())
    }

    /// Returns whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys, sorted.
    pub fn keys(self) -> impl Iterator<Item = &'a str> {
        self.0.iter().map(|(key, _)| key)
    }

    /// Returns the texts in base64, as they are stored.
    pub fn encoded(self) -> LabelsView<'a> {
        self.0
    }

    /// Returns a copy, to be changed.
    pub fn to_owned(self) -> Bytes {
        Bytes { encoded: self.0.to_owned() }
    }
}

impl<'a> From<&'a Value> for BytesView<'a> {
    fn from(value: &'a Value) -> Self {
        Self(value.into())
    }
}

/// Encodes in base64 with padding (RFC 4648, section 4).
fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let padded = chunk.iter().chain([&0; 2]).take(3);
        let bits = padded.fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            let letter = ALPHABET.get(index as usize).filter(|_| digit as usize <= chunk.len());
            text.push(letter.map_or('=', |letter| char::from(*letter)));
        }
    }
    text
}

/// Decodes base64 with padding. Line ends are ignored, as the API server does.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let letters = text.iter().filter(|letter| !matches!(letter, b'\n' | b'\r'));
    let (mut bits, mut digits, mut padding) = (0_u32, 0, 0);
    for letter in letters {
        let digit = match letter {
            b'=' if digits >= 2 => {
                padding += 1;
                0
            }
            _ if padding > 0 => return None,
            letter => value_of(*letter)?,
        };
        bits = bits << 6 | digit;
        digits += 1;
        if digits == 4 {
            let [_, decoded @ ..] = bits.to_be_bytes();
            bytes.extend(decoded.iter().take(3 - padding));
            (bits, digits) = (0, 0);
        }
    }
    (digits == 0).then_some(bytes)
}

fn value_of(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_base64_is_no_value() {
        for text in ["a", "ab", "abc", "=", "====", "ab=c", "abc=d", "a===", "ab==ab==", "ab_-", "ab==="] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
        assert_eq!(decode(b"aGVs\r\nbG8=\n"), Some(b"hello".to_vec()));
    }

    #[test]
    fn bytes_that_are_no_text_are_read_as_bytes_alone() {
        let value = serde_json::json!({ "key": encode(&[0xff, 0]) });
        let view = BytesView::from(&value);
        assert_eq!(view.get("key"), None);
        assert_eq!(view.bytes("key"), Some(vec![0xff, 0]));
        assert_eq!(view.bytes("absent"), None);
    }

    proptest! {
        #[test]
        fn bytes_are_written_as_others_do_and_read_again(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let text = encode(&bytes);
            prop_assert_eq!(&text, &STANDARD.encode(&bytes));
            prop_assert_eq!(decode(text.as_bytes()), Some(bytes));
        }

        #[test]
        fn what_is_read_is_what_others_read(text in "[A-Za-z0-9+/=]{0,24}") {
            // Others refuse bits after the last byte, the API server and this reader do not.
            if let Ok(bytes) = STANDARD.decode(&text) {
                prop_assert_eq!(decode(text.as_bytes()), Some(bytes));
            }
        }
    }
}
