//! The reasons why no signature of a manifest is accepted: a sentence for each.

use std::fmt;

/// Longer texts of others, e.g. the types of statements, are cut in messages.
const LONGEST_TEXT: usize = 300;

/// A refusal names at most this many signatures; a manifest may have a hundred.
const MOST_NAMED: usize = 3;

/// The reason why a signature is not accepted. Reads as a noun: "it is a signature by …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Found {
    /// It cannot be read.
    #[error("a malformed signature: {why}")]
    Malformed {
        /// The reason.
        why: String,
    },
    /// A bundle signs bytes, as `cosign sign-blob` does.
    #[error("a signature of bytes, as cosign sign-blob makes it, not of a manifest")]
    Bytes,
    /// It signs a statement of another type, e.g. provenance.
    #[error("a statement of the type {found}, not a signature ({required})")]
    OtherType {
        /// The type that it has.
        found: String,
        /// The type of signatures.
        required: &'static str,
    },
    /// It is by a key that is not accepted.
    #[error("a signature by {}, not by an accepted key", key_or_another(.found.as_deref()))]
    OtherKey {
        /// The key that it names, if it names one. Nothing authenticates the name.
        found: Option<String>,
    },
    /// The payload or the signature was changed, although it names an accepted key.
    #[error("a signature by {by} that does not match what it signs")]
    Changed {
        /// The key or certificate.
        by: String,
    },
    /// It signs another manifest.
    #[error("a signature of {found}, not of {required}")]
    OtherDigest {
        /// The digest that it signs.
        found: String,
        /// The digest of the manifest.
        required: String,
    },
    /// It is by an accepted key, but has no entry in a log.
    #[error("a signature by the key {key} without an entry in a transparency log, which is required")]
    KeyWithoutLog {
        /// The key.
        key: String,
    },
    /// It is keyless, and has no entry in a log.
    #[error("a keyless signature without an entry in a transparency log, so nothing shows when it was made")]
    KeylessWithoutLog,
    /// It is keyless, and only keys are accepted.
    #[error("a keyless signature by {claimed}, and only signatures by keys are accepted")]
    Keyless {
        /// The identity in its certificate, which was not verified.
        claimed: String,
    },
    /// It is by a key, and only keyless signatures are accepted.
    #[error("a signature by {}, and only keyless signatures are accepted", key_or_another(.found.as_deref()))]
    Key {
        /// The key that it names, if it names one.
        found: Option<String>,
    },
    /// It is keyless, by an identity that is not accepted.
    #[error("a keyless signature by {found}, not by an accepted identity")]
    OtherIdentity {
        /// The identity, which was verified.
        found: String,
    },
    /// It is keyless, and its certificate is not trusted.
    #[error("a keyless signature whose certificate is not trusted: {why}")]
    Certificate {
        /// The reason.
        why: String,
    },
    /// Its entry in the log is not one of a trusted log, or of another signature.
    #[error("a signature whose entry in the transparency log is not valid: {why}")]
    Log {
        /// The reason.
        why: String,
    },
    /// No trusted time shows when it was made.
    #[error("a signature whose time is not known: {why}")]
    Time {
        /// The reason.
        why: String,
    },
    /// A required annotation is absent, or has another value.
    #[error("a signature {} the annotation {key}={required}, which is required", with_or_without(.found.as_deref()))]
    Annotation {
        /// The key of the annotation.
        key: String,
        /// The value that it has, if it is there.
        found: Option<String>,
        /// The required value.
        required: String,
    },
    /// It is of a kind that this program cannot check.
    #[error("a signature that cannot be checked: {why}")]
    Unsupported {
        /// The reason.
        why: String,
    },
}

impl Found {
    /// The remedy, for the person who signs or configures.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "sign the manifest again, and look who else writes to the repository",
            Self::Bytes | Self::OtherType { .. } => "sign the manifest, with gyre sign or cosign sign",
            Self::OtherKey { .. } | Self::Key { .. } => "sign it with an accepted key, or accept the key that signed it",
            Self::Changed { .. } => {
                "sign the manifest again (cosign signs with Ed25519ph if the key is Ed25519, which is not supported), \
                 and look who else writes to the repository"
            }
            Self::OtherDigest { .. } => "sign this manifest: a signature does not follow a tag that is moved",
            Self::KeyWithoutLog { .. } => "sign it with cosign and a log, or set log: ignored",
            Self::KeylessWithoutLog => "sign it with cosign and a log",
            Self::Keyless { .. } | Self::OtherIdentity { .. } => {
                "accept the issuer and subject of its certificate, or sign it as one that is accepted"
            }
            Self::Certificate { .. } | Self::Log { .. } | Self::Time { .. } => {
                "compare the trusted root with the Sigstore that it was signed with"
            }
            Self::Annotation { .. } => "sign it with the annotation, e.g. cosign sign -a KEY=VALUE",
            Self::Unsupported { .. } => "sign it with ECDSA on P-256, the default of cosign and gyre",
        }
    }

    /// Returns how much of a signature was accepted before this was found.
    fn accepted(&self) -> u8 {
        match self {
            Self::Annotation { .. } => 6,
            Self::OtherDigest { .. } => 5,
            Self::KeyWithoutLog { .. } | Self::KeylessWithoutLog | Self::Log { .. } | Self::Time { .. } => 4,
            Self::OtherIdentity { .. } | Self::Certificate { .. } | Self::Changed { .. } => 3,
            Self::OtherKey { .. } | Self::Key { .. } | Self::Keyless { .. } => 2,
            Self::Malformed { .. } | Self::Unsupported { .. } => 1,
            Self::Bytes | Self::OtherType { .. } => 0,
        }
    }
}

fn key_or_another(found: Option<&str>) -> String {
    found.map_or_else(|| "another key".to_owned(), |key| format!("the key {key}"))
}

fn with_or_without(found: Option<&str>) -> String {
    found.map_or_else(|| "without".to_owned(), |value| format!("with the value {value:?} instead of"))
}

/// Makes a text of others fit for a line of a message.
pub(crate) fn brief(text: impl fmt::Display) -> String {
    let text = text.to_string();
    let line: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(LONGEST_TEXT).collect();
    if text.chars().nth(LONGEST_TEXT).is_some() { format!("{line}…") } else { line }
}

/// No signature of a manifest is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    digest: String,
    required: String,
    found: Vec<(String, Found)>,
}

impl Refusal {
    /// `required` says what is accepted, and `found` names each signature with what it is.
    pub(crate) fn new(digest: &str, required: String, mut found: Vec<(String, Found)>) -> Self {
        found.sort_by_key(|(_, found)| std::cmp::Reverse(found.accepted()));
        Self { digest: brief(digest), required, found }
    }

    /// The signatures with what each is, the nearest to an accepted one first.
    pub fn found(&self) -> &[(String, Found)] {
        &self.found
    }

    /// Returns whether the manifest has no signature at all.
    pub fn is_unsigned(&self) -> bool {
        self.found.is_empty()
    }

    /// The remedy for the first of [`Refusal::found`].
    pub fn remedy(&self) -> &'static str {
        let nearest = self.found.first().map(|(_, found)| found.remedy());
        nearest.unwrap_or("sign the manifest, with gyre sign or cosign sign")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { digest, required, found } = self;
        if found.is_empty() {
            return write!(f, "{digest} is not signed, and a signature by {required} is required");
        }
        write!(f, "{digest} has no signature by {required}: ")?;
        for (index, (name, found)) in found.iter().take(MOST_NAMED).enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{name} is {found}")?;
        }
        match found.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_signature_is_named_first_and_many_are_counted() {
        let other_type = || Found::OtherType { found: "t".to_owned(), required: "s" };
        let mut found: Vec<_> = (0..4).map(|index| (format!("sha256:{index}"), other_type())).collect();
        found.push(("sha256:near".to_owned(), Found::KeylessWithoutLog));
        let refusal = Refusal::new("sha256:it", "the key k".to_owned(), found);
        assert_eq!(
            refusal.to_string(),
            "sha256:it has no signature by the key k: sha256:near is a keyless signature without an entry in a \
             transparency log, so nothing shows when it was made; sha256:0 is a statement of the type t, not a signature (s); \
             sha256:1 is a statement of the type t, not a signature (s); and 2 more"
        );
        assert_eq!(refusal.remedy(), Found::KeylessWithoutLog.remedy());
    }

    #[test]
    fn texts_of_others_are_one_short_line() {
        assert_eq!(brief("a\nb"), "a b");
        assert_eq!(brief("é".repeat(1_000)).chars().count(), LONGEST_TEXT + 1);
        assert_eq!(brief("é".repeat(LONGEST_TEXT)).chars().count(), LONGEST_TEXT);
    }
}
