//! Private keys: made, read, and used to sign.

use gyre_core::generated::Algorithm;
use p256::SecretKey;
use p256::ecdsa::signature::Signer as _;
use p256::elliptic_curve::sec1::ToSec1Point as _;
use p256::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _};
use rand_core::TryRng as _;
use rcgen::{KeyPair, PublicKeyData, SignatureAlgorithm, SigningKey};
use rsa::pkcs1::DecodeRsaPrivateKey as _;

use crate::randomness::Stream;

/// The PKCS #8 of an Ed25519 key before its 32 bytes (RFC 8410).
pub(crate) const ED25519: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// Returns a new private key as PKCS #8.
pub(crate) fn new_private_key(algorithm: Algorithm, random: &mut Stream) -> Result<Vec<u8>, String> {
    let bits = match algorithm {
        Algorithm::Ed25519 => {
            let mut seed = [0; 32];
            random.try_fill_bytes(&mut seed).map_err(|error| error.to_string())?;
            return Ok([&ED25519[..], &seed[..]].concat());
        }
        Algorithm::EcdsaP256 => {
            // Bytes beyond the order of the curve are rejected, of which there are hardly any.
            loop {
                let mut scalar = [0; 32];
                random.try_fill_bytes(&mut scalar).map_err(|error| error.to_string())?;
                if let Ok(key) = SecretKey::from_slice(&scalar) {
                    return key.to_pkcs8_der().map(|der| der.as_bytes().to_vec()).map_err(|error| error.to_string());
                }
            }
        }
        Algorithm::Rsa2048 => 2048,
        Algorithm::Rsa3072 => 3072,
        Algorithm::Rsa4096 => 4096,
    };
    let key = rsa::PrivateKey::new(random, bits).map_err(|error| error.to_string())?;
    key.to_pkcs8_der().map(|der| der.as_bytes().to_vec()).map_err(|error| error.to_string())
}

/// The seed of an Ed25519 key; `None` if it is another.
pub(crate) fn ed25519_seed(pkcs8: &[u8]) -> Option<&[u8]> {
    pkcs8.strip_prefix(&ED25519).filter(|seed| seed.len() == 32)
}

/// Reads a private key in PEM (PKCS #8, PKCS #1, or SEC 1) and returns it as PKCS #8.
pub(crate) fn read_private_key(pem: &[u8]) -> Result<Vec<u8>, String> {
    let text = str::from_utf8(pem).map_err(|_| "it is no text".to_owned())?;
    let blocks = pem::parse_many(text).map_err(|error| error.to_string())?;
    let supported = "use ECDSA with P-256, Ed25519 or RSA, in PEM";
    for block in &blocks {
        let der = block.contents();
        let converted = match block.tag() {
            "PRIVATE KEY" => return Ok(der.to_vec()),
            "RSA PRIVATE KEY" => rsa::PrivateKey::from_pkcs1_der(der).ok().and_then(|key| key.to_pkcs8_der().ok()),
            "EC PRIVATE KEY" => SecretKey::from_sec1_der(der).ok().and_then(|key| key.to_pkcs8_der().ok()),
            _ => continue,
        };
        return converted
            .map(|der| der.as_bytes().to_vec())
            .ok_or_else(|| format!("this {} is not supported: {supported}", block.tag()));
    }
    Err(format!("it has no private key: {supported}"))
}

/// A private key that signs, the same for the same message.
pub(crate) enum Signer {
    /// With ring, whose RSA and Ed25519 signatures need no randomness.
    Ring(Box<KeyPair>),
    /// Ring's ECDSA signatures need randomness; these are of RFC 6979.
    P256 { key: p256::ecdsa::SigningKey, point: Vec<u8> },
}

impl Signer {
    pub(crate) fn new(pkcs8: &[u8]) -> Result<Self, String> {
        if let Ok(key) = SecretKey::from_pkcs8_der(pkcs8) {
            let point = key.public_key().to_sec1_point(false).as_bytes().to_vec();
            return Ok(Self::P256 { key: key.into(), point });
        }
        KeyPair::try_from(pkcs8).map(|pair| Self::Ring(Box::new(pair))).map_err(|error| error.to_string())
    }
}

impl PublicKeyData for Signer {
    fn der_bytes(&self) -> &[u8] {
        match self {
            Self::Ring(pair) => pair.der_bytes(),
            Self::P256 { point, .. } => point,
        }
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        match self {
            Self::Ring(pair) => PublicKeyData::algorithm(pair.as_ref()),
            Self::P256 { .. } => &rcgen::PKCS_ECDSA_P256_SHA256,
        }
    }
}

impl SigningKey for Signer {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        match self {
            Self::Ring(pair) => pair.sign(message),
            Self::P256 { key, .. } => {
                let signature: p256::ecdsa::Signature = key.try_sign(message).map_err(|_| rcgen::Error::RemoteKeyError)?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
        }
    }
}

/// A text in PEM.
pub(crate) fn to_pem(tag: &str, contents: &[u8]) -> Vec<u8> {
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(tag, contents), config).into_bytes()
}
