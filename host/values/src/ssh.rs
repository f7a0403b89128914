//! Keys in the formats of OpenSSH: `PROTOCOL.key` of its sources, RFC 4253, 5656 and 8709.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::pkcs8::DecodePrivateKey as _;
use rand_core::TryRng as _;
use rcgen::PublicKeyData as _;
use rsa::traits::PublicKeyParts as _;

use crate::keys::{ED25519, Signer, ed25519_seed, to_pem};
use crate::randomness::Stream;

/// The length of the blocks of a private key without a passphrase.
const BLOCK: usize = 8;

/// Returns the line of `authorized_keys`.
pub(crate) fn public_key(pkcs8: &[u8]) -> Result<Vec<u8>, String> {
    let Blob { algorithm, bytes } = blob(pkcs8)?;
    Ok(format!("{algorithm} {}\n", STANDARD.encode(bytes)).into_bytes())
}

/// Returns the private key. OpenSSH reads PKCS #8, too, but not for Ed25519.
pub(crate) fn private_key(pkcs8: &[u8], random: &mut Stream) -> Result<Vec<u8>, String> {
    let Some(seed) = ed25519_seed(pkcs8) else { return Ok(to_pem("PRIVATE KEY", pkcs8)) };
    let public = Signer::new(pkcs8)?.der_bytes().to_vec();
    // The number is there twice, so that a wrong passphrase is noticed.
    let check = random.try_next_u32().map_err(|error| error.to_string())?.to_be_bytes();
    let mut secret = [check, check].concat();
    for field in [&b"ssh-ed25519"[..], &public, &[seed, &public].concat(), b""] {
        string(&mut secret, field);
    }
    secret.extend((1..).take(secret.len().next_multiple_of(BLOCK) - secret.len()));
    let mut key = b"openssh-key-v1\0".to_vec();
    for field in [&b"none"[..], b"none", b""] {
        string(&mut key, field);
    }
    key.extend(1_u32.to_be_bytes());
    string(&mut key, &blob(pkcs8)?.bytes);
    string(&mut key, &secret);
    Ok(to_pem("OPENSSH PRIVATE KEY", &key))
}

/// Returns an Ed25519 key without a passphrase as PKCS #8; `None` if it is another.
pub(crate) fn read_private_key(pem: &[u8]) -> Option<Vec<u8>> {
    let block = pem::parse(pem).ok().filter(|block| block.tag() == "OPENSSH PRIVATE KEY")?;
    let mut rest = block.contents().strip_prefix(b"openssh-key-v1\0")?;
    let unprotected = [read_string(&mut rest)?, read_string(&mut rest)?] == [b"none", b"none"];
    read_string(&mut rest)?;
    let mut rest = rest.strip_prefix(&1_u32.to_be_bytes()).filter(|_| unprotected)?;
    read_string(&mut rest)?;
    let mut secret = read_string(&mut rest)?.get(8..)?;
    if read_string(&mut secret)? != b"ssh-ed25519" {
        return None;
    }
    read_string(&mut secret)?;
    let seed = read_string(&mut secret)?.get(..32)?;
    Some([&ED25519[..], seed].concat())
}

fn read_string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (field, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *rest = after;
    Some(field)
}

struct Blob {
    algorithm: &'static str,
    bytes: Vec<u8>,
}

fn blob(pkcs8: &[u8]) -> Result<Blob, String> {
    let signer = Signer::new(pkcs8)?;
    let mut bytes = Vec::new();
    let algorithm = if ed25519_seed(pkcs8).is_some() {
        "ssh-ed25519"
    } else if matches!(signer, Signer::P256 { .. }) {
        "ecdsa-sha2-nistp256"
    } else {
        "ssh-rsa"
    };
    string(&mut bytes, algorithm.as_bytes());
    match algorithm {
        "ssh-ed25519" => string(&mut bytes, signer.der_bytes()),
        "ecdsa-sha2-nistp256" => {
            string(&mut bytes, b"nistp256");
            string(&mut bytes, signer.der_bytes());
        }
        _ => {
            let key = rsa::PrivateKey::from_pkcs8_der(pkcs8).map_err(|error| error.to_string())?;
            number(&mut bytes, &key.e().to_be_bytes());
            number(&mut bytes, &key.n().to_be_bytes());
        }
    }
    Ok(Blob { algorithm, bytes })
}

fn string(bytes: &mut Vec<u8>, field: &[u8]) {
    // Keys are shorter than 4 GiB.
    bytes.extend(u32::try_from(field.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend_from_slice(field);
}

/// Writes a positive number: without leading zeros, except for the one that makes it positive.
fn number(bytes: &mut Vec<u8>, number: &[u8]) {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let number = number.get(zeros..).unwrap_or_default();
    let sign = if number.first().is_some_and(|first| *first >= 0x80) { &[0][..] } else { &[] };
    string(bytes, &[sign, number].concat());
}
