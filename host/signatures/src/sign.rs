//! Makes signatures and keys, which cosign reads.
//!
//! What is absent: entries in a log, and signatures without a key. Both need services, and cosign
//! makes them.

mod encrypted;

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use p256::SecretKey;
use p256::ecdsa::signature::Signer as _;
use p256::elliptic_curve::zeroize::Zeroizing;
use p256::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde::Serialize;
use sigstore_verify::types::{MediaType, Sha256Hash, pae};

use crate::claim::{IN_TOTO, SIGNATURE, STATEMENT};

/// The public key of P-256 in DER before its point, and the one of Ed25519 before its 32 bytes.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d,
    0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const ED25519: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The block of a private key that cosign and gyre make. Earlier versions of cosign made the other.
const SIGSTORE: &str = "ENCRYPTED SIGSTORE PRIVATE KEY";
const COSIGN: &str = "ENCRYPTED COSIGN PRIVATE KEY";

/// Errors of keys, and of what is to be signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text has no private key.
    #[error("it has no private key: {0}")]
    Absent(String),
    /// The key is encrypted, and no password is given.
    #[error("the private key is encrypted, and there is no password")]
    PasswordRequired,
    /// The password is wrong, or the key was changed.
    #[error("the private key cannot be decrypted: the password is wrong, or the file was changed")]
    Password,
    /// The encryption is not the one of cosign.
    #[error("the private key cannot be decrypted: {0}")]
    Encryption(String),
    /// The algorithm is not supported.
    #[error("the private key is not supported: it is neither of ECDSA with P-256 nor of Ed25519")]
    Algorithm,
    /// The digest is not one of a manifest.
    #[error("{0:?} is not the digest of a manifest")]
    Digest(String),
    /// The operating system has no random bytes.
    #[error("the operating system has no random bytes")]
    Random,
    /// A key or a statement cannot be written. It is a defect.
    #[error("it cannot be written: {0}")]
    Write(String),
}

impl Error {
    /// The remedy.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Absent(_) => "use a private key of cosign or gyre, or PKCS #8 in PEM (-----BEGIN PRIVATE KEY-----)",
            Self::PasswordRequired | Self::Password => "give the password that the key was made with, which may be empty",
            Self::Encryption(_) => "use a key that cosign or gyre made, or PKCS #8 in PEM without encryption",
            Self::Algorithm => "use a key of ECDSA with P-256, e.g. of cosign generate-key-pair, or of Ed25519",
            Self::Digest(_) => "give sha256: and 64 hexadecimal digits, as registries do",
            Self::Random => "run it where the operating system has random bytes",
            Self::Write(_) => "report it",
        }
    }
}

/// A private key that signs manifests. The same manifest gets the same signature each time.
pub struct SigningKey(Kind);

enum Kind {
    P256(p256::ecdsa::SigningKey),
    Ed25519(Ed25519KeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.fingerprint()).finish()
    }
}

impl SigningKey {
    /// Reads a private key: encrypted, as cosign makes it, or PKCS #8 or SEC 1 in PEM. The password
    /// is only used for an encrypted one, for which an empty password is one, too.
    ///
    /// # Errors
    ///
    /// If it is no key, if the password is wrong, or if the algorithm is not supported.
    pub fn from_pem(text: &str, password: Option<&[u8]>) -> Result<Self, Error> {
        let blocks = pem::parse_many(text).map_err(|error| Error::Absent(error.to_string()))?;
        let mut others = Vec::new();
        for block in &blocks {
            match block.tag() {
                "PRIVATE KEY" => return Self::from_pkcs8(block.contents()),
                "EC PRIVATE KEY" => {
                    let key = SecretKey::from_sec1_der(block.contents()).map_err(|_| Error::Algorithm)?;
                    return Ok(Self(Kind::P256(key.into())));
                }
                SIGSTORE | COSIGN => {
                    let password = password.ok_or(Error::PasswordRequired)?;
                    return Self::from_pkcs8(&encrypted::decrypt(block.contents(), password)?);
                }
                other => others.push(format!("{other:?}")),
            }
        }
        Err(Error::Absent(match others.as_slice() {
            [] => "it has no block in PEM".to_owned(),
            others => format!("it has {}", others.join(", ")),
        }))
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, Error> {
        if let Ok(key) = SecretKey::from_pkcs8_der(der) {
            return Ok(Self(Kind::P256(key.into())));
        }
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(|_| Error::Algorithm)?;
        Ok(Self(Kind::Ed25519(pair)))
    }

    /// The public key in PEM, with which the signatures are verified.
    pub fn public_pem(&self) -> String {
        to_pem("PUBLIC KEY", &self.public_der())
    }

    /// The SHA-256 digest of the public key's DER, e.g. `sha256:195c83…`.
    pub fn fingerprint(&self) -> String {
        let digest: String = digest(&SHA256, &self.public_der()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256:{digest}")
    }

    fn public_der(&self) -> Vec<u8> {
        match &self.0 {
            Kind::P256(key) => [&P256[..], key.verifying_key().to_sec1_point(false).as_bytes()].concat(),
            Kind::Ed25519(pair) => [&ED25519[..], pair.public_key().as_ref()].concat(),
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match &self.0 {
            Kind::P256(key) => {
                let signature: p256::ecdsa::Signature =
                    key.try_sign(message).map_err(|error| Error::Write(error.to_string()))?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Kind::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

#[derive(Serialize)]
struct Statement<'a> {
    #[serde(rename = "_type")]
    kind: &'a str,
    subject: [Subject<'a>; 1],
    #[serde(rename = "predicateType")]
    predicate_type: &'a str,
    predicate: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct Subject<'a> {
    digest: BTreeMap<&'a str, &'a str>,
    annotations: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Bundle<'a> {
    media_type: &'a str,
    verification_material: Material,
    dsse_envelope: Envelope<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    public_key: Hint,
}

#[derive(Serialize)]
struct Hint {
    hint: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    payload: String,
    payload_type: &'a str,
    signatures: [Signature; 1],
}

#[derive(Serialize)]
struct Signature {
    sig: String,
}

/// Signs a manifest, and returns the bundle, which is attached to the manifest as a referrer.
/// `cosign verify --key … --insecure-ignore-tlog` accepts it, and so does [`crate::verify()`] if
/// the policy does not require a log.
///
/// # Errors
///
/// If the digest is not one of a manifest.
pub fn sign(key: &SigningKey, manifest_digest: &str, annotations: &BTreeMap<String, String>) -> Result<Vec<u8>, Error> {
    let hex = manifest_digest.strip_prefix("sha256:");
    // Registries compare digests as texts, and write them in lower case.
    let hex = hex.filter(|hex| Sha256Hash::from_hex(hex).is_ok_and(|digest| digest.to_hex() == *hex));
    let Some(hex) = hex else { return Err(Error::Digest(manifest_digest.to_owned())) };
    let subject = Subject { digest: BTreeMap::from([("sha256", hex)]), annotations };
    let statement = Statement { kind: STATEMENT, subject: [subject], predicate_type: SIGNATURE, predicate: BTreeMap::new() };
    let payload = to_json(&statement)?;
    let signature = key.sign(&pae(IN_TOTO, &payload))?;
    to_json(&Bundle {
        media_type: MediaType::Bundle0_3.as_str(),
        verification_material: Material {
            public_key: Hint { hint: BASE64_STANDARD.encode(digest(&SHA256, &key.public_der())) },
        },
        dsse_envelope: Envelope {
            payload: BASE64_STANDARD.encode(&payload),
            payload_type: IN_TOTO,
            signatures: [Signature { sig: BASE64_STANDARD.encode(signature) }],
        },
    })
}

/// A new key.
pub struct KeyPair {
    /// The private key in PEM, encrypted with the password.
    pub private_pem: Zeroizing<String>,
    /// The public key in PEM.
    pub public_pem: String,
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair").field("public_pem", &self.public_pem).finish_non_exhaustive()
    }
}

/// Makes a key of ECDSA with P-256, in the format of `cosign generate-key-pair`. The private key is
/// encrypted with the password, also with an empty one.
///
/// # Errors
///
/// If the operating system has no random bytes.
pub fn generate_key(password: &[u8]) -> Result<KeyPair, Error> {
    let key = loop {
        // Bytes beyond the order of the curve are rejected, of which there are hardly any.
        if let Ok(key) = SecretKey::from_slice(random::<32>()?.as_slice()) {
            break key;
        }
    };
    let der = key.to_pkcs8_der().map_err(|error| Error::Write(error.to_string()))?;
    let encrypted = encrypted::encrypt(der.as_bytes(), password)?;
    let private_pem = Zeroizing::new(to_pem(SIGSTORE, &encrypted));
    Ok(KeyPair { private_pem, public_pem: SigningKey(Kind::P256(key.into())).public_pem() })
}

fn random<const LENGTH: usize>() -> Result<Zeroizing<[u8; LENGTH]>, Error> {
    let mut bytes = Zeroizing::new([0; LENGTH]);
    SystemRandom::new().fill(bytes.as_mut_slice()).map_err(|_| Error::Random)?;
    Ok(bytes)
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value).map_err(|error| Error::Write(error.to_string()))
}

fn to_pem(tag: &str, contents: &[u8]) -> String {
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(tag, contents), config)
}
