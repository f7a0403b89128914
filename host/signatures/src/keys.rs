//! Public keys by which signatures are accepted.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};
use sigstore_verify::crypto::{KeyAlgorithm, SigningScheme, VerificationKey, validate_raw_public_key};
use sigstore_verify::types::{DerPublicKey, Sha256Hash, SignatureBytes};

use crate::refusal::brief;

/// Errors of a file with a public key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text has no block `PUBLIC KEY` in PEM.
    #[error("{name} has no public key: {found}")]
    Absent {
        /// The name of the key, e.g. its file.
        name: String,
        /// The label of the text.
        found: String,
    },
    /// The text has several blocks.
    #[error("{name} has {count} blocks in PEM, and a key has one")]
    Several {
        /// The name of the key.
        name: String,
        /// The number of blocks.
        count: usize,
    },
    /// The algorithm or the size is not supported.
    #[error("the key in {name} is not supported: {why}")]
    Unsupported {
        /// The name of the key.
        name: String,
        /// The reason.
        why: String,
    },
}

impl Error {
    /// The remedy.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Absent { .. } => "write the public key in PEM (-----BEGIN PUBLIC KEY-----), as cosign and openssl do",
            Self::Several { .. } => "write each key into a file of its own",
            Self::Unsupported { .. } => {
                "use a key of ECDSA with P-256 (which cosign and gyre make) or P-384, Ed25519, or RSA with 2048 bits or more"
            }
        }
    }
}

/// A public key by which a signature is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    name: String,
    der: DerPublicKey,
    /// Old clients of P-384 signed with SHA-256; all other keys have one scheme.
    schemes: &'static [SigningScheme],
    fingerprint: Sha256Hash,
}

impl PublicKey {
    /// Reads a public key in PEM. The name is for messages, e.g. the name of its file.
    ///
    /// # Errors
    ///
    /// If it is not exactly one key, or its algorithm is not supported.
    pub fn from_pem(name: impl Into<String>, text: &str) -> Result<Self, Error> {
        let name = name.into();
        let blocks = match pem::parse_many(text) {
            Ok(blocks) => blocks,
            Err(error) => return Err(Error::Absent { name, found: brief(error) }),
        };
        let block = match blocks.as_slice() {
            [] => return Err(Error::Absent { name, found: "it has no block in PEM".to_owned() }),
            [block] => block,
            several => return Err(Error::Several { name, count: several.len() }),
        };
        if block.tag() != "PUBLIC KEY" {
            return Err(Error::Absent { name, found: format!("it has a block {:?}", brief(block.tag())) });
        }
        let der = DerPublicKey::from_bytes(block.contents());
        match schemes(&der) {
            Ok(schemes) => {
                let fingerprint = fingerprint(der.as_bytes());
                Ok(Self { name, der, schemes, fingerprint })
            }
            Err(why) => Err(Error::Unsupported { name, why: brief(why) }),
        }
    }

    /// The name that it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The SHA-256 digest of its DER, e.g. `sha256:195c83…`.
    pub fn fingerprint(&self) -> String {
        format!("sha256:{}", self.fingerprint.to_hex())
    }

    pub(crate) fn der(&self) -> &DerPublicKey {
        &self.der
    }

    /// Returns whether a bundle names this key. Nothing authenticates the hint.
    pub(crate) fn is_hinted(&self, hint: &str) -> bool {
        self.fingerprint.to_base64() == hint
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &SignatureBytes) -> bool {
        self.schemes.iter().any(|scheme| {
            let key = VerificationKey::from_spki_with_scheme(&self.der, *scheme);
            key.is_ok_and(|key| key.verify(message, signature).is_ok())
        })
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.fingerprint())
    }
}

/// Returns how a hint names a key: by its fingerprint, or by a name of the signer's choice.
pub(crate) fn hinted(hint: &str) -> String {
    let digest = BASE64_STANDARD.decode(hint).ok().and_then(|bytes| Sha256Hash::try_from(bytes.as_slice()).ok());
    digest.map_or_else(|| format!("{hint:?}"), |digest| format!("sha256:{}", digest.to_hex()))
}

fn fingerprint(der: &[u8]) -> Sha256Hash {
    let digest = digest(&SHA256, der);
    let digest: &[u8] = digest.as_ref();
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(digest).for_each(|(byte, of_digest)| *byte = *of_digest);
    Sha256Hash::new(bytes)
}

/// The schemes of a key; the error is a reason.
fn schemes(der: &DerPublicKey) -> Result<&'static [SigningScheme], String> {
    let algorithm = KeyAlgorithm::from_spki(der).map_err(|error| error.to_string())?;
    let schemes: &'static [SigningScheme] = match algorithm {
        KeyAlgorithm::EcdsaP256 => &[SigningScheme::EcdsaP256Sha256],
        KeyAlgorithm::EcdsaP384 => &[SigningScheme::EcdsaP384Sha384, SigningScheme::EcdsaP384Sha256],
        KeyAlgorithm::Ed25519 => &[SigningScheme::Ed25519],
        KeyAlgorithm::Rsa => &[SigningScheme::RsaPkcs1Sha256],
        other => return Err(format!("it is of {other:?}")),
    };
    for scheme in schemes {
        let key = VerificationKey::from_spki_with_scheme(der, *scheme).map_err(|error| error.to_string())?;
        validate_raw_public_key(*scheme, key.as_bytes()).map_err(|error| error.to_string())?;
    }
    Ok(schemes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEAM: &str = include_str!("../tests/fixtures/cosign/team.pub");

    fn error(text: &str) -> String {
        let error = PublicKey::from_pem("it.pub", text).unwrap_err();
        format!("{error}; {}", error.remedy())
    }

    #[test]
    fn a_key_has_the_name_and_fingerprint_that_openssl_shows() {
        // openssl pkey -pubin -in team.pub -outform der | sha256sum
        let key = PublicKey::from_pem("team.pub", TEAM).unwrap();
        assert_eq!(key.fingerprint(), TEAM_FINGERPRINT);
        assert_eq!(key.to_string(), format!("team.pub ({TEAM_FINGERPRINT})"));
        assert!(key.is_hinted(TEAM_HINT));
        assert_eq!(hinted(TEAM_HINT), TEAM_FINGERPRINT);
        assert_eq!(hinted("our key"), "\"our key\"");
    }

    const TEAM_FINGERPRINT: &str = "sha256:195c83127c226e014af4a9e3179f87bba4a2a4193eb20be1836054dc64a4a4ef";
    const TEAM_HINT: &str = "GVyDEnwibgFK9KnjF5+Hu6SipBk+sgvhg2BU3GSkpO8=";

    #[test]
    fn each_file_that_is_no_key_has_its_own_error() {
        assert!(error("").starts_with("it.pub has no public key: it has no block in PEM; write the public key in PEM"));
        let private = include_str!("../tests/fixtures/cosign/team.key");
        assert!(error(private).contains("it has a block \"ENCRYPTED SIGSTORE PRIVATE KEY\""));
        assert!(error(&format!("{TEAM}{TEAM}")).starts_with("it.pub has 2 blocks in PEM, and a key has one; write each key"));
        let garbage = pem::encode(&pem::Pem::new("PUBLIC KEY", *b"garbage"));
        assert!(error(&garbage).starts_with("the key in it.pub is not supported: "));
        let long = error(&TEAM.replace("PUBLIC KEY", &"a\n".repeat(1_000)));
        assert!(long.len() < 500 && !long.contains('\n'), "{long}");
    }

    #[test]
    fn keys_of_all_supported_algorithms_are_read() {
        for text in [
            TEAM,
            include_str!("../tests/fixtures/cosign/p384.pub"),
            include_str!("../tests/fixtures/cosign/rsa.pub"),
            include_str!("../tests/fixtures/cosign/ed25519.pub"),
        ] {
            PublicKey::from_pem("it.pub", text).unwrap();
        }
    }
}
