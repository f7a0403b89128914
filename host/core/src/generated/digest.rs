//! Digests of values, which plugins and people see in place of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

/// The beginning of each placeholder.
pub const PLACEHOLDER_PREFIX: &str = "gyre-generated:";

/// The key of `data` in the Secret that holds the key of digests.
pub const KEY: &str = "key";

/// The hexadecimal digits of a digest.
const DIGITS: usize = 32;

/// Returns whether a value is a placeholder, with its digest or without one. It says nothing of the
/// value in whose place it is.
pub fn is_placeholder(value: &[u8]) -> bool {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digest = value.strip_prefix(PLACEHOLDER_PREFIX.as_bytes());
    digest.is_some_and(|digest| matches!(digest.len(), 0 | DIGITS) && digest.iter().all(is_digit))
}

/// The key of digests. Without it, nobody can test guesses of a value against its digest.
#[derive(Clone, PartialEq, Eq)]
pub struct DigestKey([u8; 32]);

impl std::fmt::Debug for DigestKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("DigestKey")
    }
}

impl DigestKey {
    /// The key with these random bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads the key from its Secret; `None` if it has none.
    pub fn of_secret(secret: &Value) -> Option<Self> {
        let bytes = STANDARD.decode(secret.get("data")?.get(KEY)?.as_str()?).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The placeholder of a value. Equal values in different places have different ones: otherwise
    /// a person who may edit one Secret could test guesses of a value in another.
    pub fn placeholder(&self, namespace: &str, secret: &str, key: &str, value: &[u8]) -> String {
        format!(
            "{PLACEHOLDER_PREFIX}{}",
            self.mac(&[b"placeholder", namespace.as_bytes(), secret.as_bytes(), key.as_bytes(), value])
        )
    }

    /// Identifies the key, without revealing it.
    pub fn id(&self) -> String {
        self.mac(&[b"id"]).chars().take(8).collect()
    }

    /// The digest of the value from which a hash was made.
    pub(super) fn source(&self, key: &str, value: &[u8]) -> String {
        self.mac(&[b"source", key.as_bytes(), value])
    }

    fn mac(&self, parts: &[&[u8]]) -> String {
        // HMAC takes keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        for part in parts {
            // With the lengths, parts cannot be shifted into each other.
            mac.update(&part.len().to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}
