//! The digests that name manifests and blobs.

use std::fmt;
use std::str::FromStr;

use gyre_core::text::{cut, without_control};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const PREFIX: &str = "sha256:";
const LONGEST_QUOTE: usize = 100;

/// A SHA-256, written as `sha256:` and 64 hexadecimal digits in lower case.
///
/// Registries may also have SHA-512, which no tool for Wasm writes, so it is refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The 64 hexadecimal digits, without `sha256:`.
    pub fn hex(&self) -> String {
        let text = self.to_string();
        text.strip_prefix(PREFIX).unwrap_or_default().to_owned()
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The digest of bytes that come in pieces.
pub(crate) struct Hasher(Sha256);

impl Hasher {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// An error about the text of a digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not begin with `sha256:`.
    #[error("{0:?} is no digest with sha256")]
    Algorithm(String),
    /// It does not have 64 hexadecimal digits in lower case.
    #[error("{0:?} does not have 64 hexadecimal digits in lower case after \"sha256:\"")]
    Digits(String),
}

impl Error {
    /// The remedy, for people.
    pub fn remedy(&self) -> &'static str {
        "write a digest as sha256: and 64 hexadecimal digits, as gyre push prints it"
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let quoted = || cut(&without_control(text), LONGEST_QUOTE);
        let digits = text.strip_prefix(PREFIX).ok_or_else(|| Error::Algorithm(quoted()))?;
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(Error::Digits(quoted()));
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let mut value = 0;
            for digit in pair {
                value = (value << 4) | value_of(*digit).ok_or_else(|| Error::Digits(quoted()))?;
            }
            *byte = value;
        }
        Ok(Self(bytes))
    }
}

fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl TryFrom<String> for Digest {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_one_that_everybody_knows() {
        let expected = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), expected);
        assert_eq!(Hasher::new().finish(), Digest::of(b""));
        assert_eq!(expected.parse(), Ok(Digest::of(b"")));
        assert_eq!(format!("sha256:{}", Digest::of(b"").hex()), expected);
    }

    #[test]
    fn other_spellings_are_refused() {
        let hex = Digest::of(b"").hex();
        for text in [
            String::new(),
            hex.clone(),
            format!("sha512:{hex}{hex}"),
            format!("SHA256:{hex}"),
            format!("sha256:{}", hex.to_uppercase()),
            format!("sha256:{hex}0"),
            format!("sha256:+{}", &hex[1..]),
            format!("sha256: {}", &hex[1..]),
            format!("sha256:{}ä", &hex[2..]),
            "sha256:".to_owned(),
        ] {
            assert!(text.parse::<Digest>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_digest_is_read_as_it_is_written(bytes: Vec<u8>, cut_at in 0..64_usize) {
            let digest = Digest::of(&bytes);
            prop_assert_eq!(digest.to_string().parse(), Ok(digest));
            let json = serde_json::to_string(&digest).unwrap();
            prop_assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
            let mut hasher = Hasher::new();
            let (first, second) = bytes.split_at(cut_at.min(bytes.len()));
            hasher.update(first);
            hasher.update(second);
            prop_assert_eq!(hasher.finish(), digest);
        }

        #[test]
        fn a_text_that_is_read_is_written_the_same(text in "(sha256:)?[0-9a-fA-F:]{0,70}|.{0,80}") {
            if let Ok(digest) = text.parse::<Digest>() {
                prop_assert_eq!(digest.to_string(), text);
            }
        }
    }
}
