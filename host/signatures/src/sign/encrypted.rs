//! Private keys in the encryption of cosign: a key by scrypt, and NaCl's secretbox.
//!
//! ```text
//!   password, salt ── scrypt ──▶ key, nonce ── XSalsa20 ──▶ key of Poly1305, then the stream of the text
//!   JSON { kdf, cipher, ciphertext = tag of Poly1305, encrypted PKCS #8 }
//! ```
//!
//! The format is the one of go-securesystemslib's `encrypted`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use p256::elliptic_curve::zeroize::Zeroizing;
use poly1305::Poly1305;
use poly1305::universal_hash::KeyInit;
use salsa20::XSalsa20;
use salsa20::cipher::{KeyIvInit, StreamCipher as _};
use serde::{Deserialize, Serialize};

use super::{Error, random};

const SCRYPT: &str = "scrypt";
const SECRETBOX: &str = "nacl/secretbox";

/// The cost of new keys: 64 MiB and a tenth of a second.
const LOG_N: u8 = 16;
/// The costs that cosign accepts. With others, a file could take all memory.
const LOGS_OF_N: [u8; 3] = [15, 16, 17];
const R: u32 = 8;
const P: u32 = 1;

const SALT: usize = 32;
const NONCE: usize = 24;
const KEY: usize = 32;
const TAG: usize = 16;

#[derive(Debug, Serialize, Deserialize)]
struct Encrypted {
    kdf: Kdf,
    cipher: Cipher,
    ciphertext: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kdf {
    name: String,
    params: Params,
    salt: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Params {
    #[serde(rename = "N")]
    n: u64,
    r: u32,
    p: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Cipher {
    name: String,
    nonce: String,
}

/// Returns what was encrypted.
///
/// # Errors
///
/// If the format is another, or the password is.
pub(super) fn decrypt(json: &[u8], password: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let Encrypted { kdf, cipher, ciphertext } =
        serde_json::from_slice(json).map_err(|error| Error::Encryption(error.to_string()))?;
    if kdf.name != SCRYPT || cipher.name != SECRETBOX {
        return Err(Error::Encryption(format!("it is of {:?} and {:?}", kdf.name, cipher.name)));
    }
    let log_n = LOGS_OF_N.into_iter().find(|log| 1_u64 << *log == kdf.params.n);
    let Some(log_n) = log_n.filter(|_| kdf.params.r == R && kdf.params.p == P) else {
        return Err(Error::Encryption("the parameters of scrypt are none of cosign's".to_owned()));
    };
    let key = derive(password, &bytes(&kdf.salt)?, log_n)?;
    let nonce = bytes(&cipher.nonce)?;
    let nonce =
        <[u8; NONCE]>::try_from(nonce.as_slice()).map_err(|_| Error::Encryption("its nonce has another length".to_owned()))?;
    open(&key, &nonce, &bytes(&ciphertext)?).ok_or(Error::Password)
}

/// Encrypts with new randomness.
pub(super) fn encrypt(plaintext: &[u8], password: &[u8]) -> Result<Vec<u8>, Error> {
    let (salt, nonce) = (random::<SALT>()?, random::<NONCE>()?);
    let key = derive(password, salt.as_slice(), LOG_N)?;
    let encrypted = Encrypted {
        kdf: Kdf {
            name: SCRYPT.to_owned(),
            params: Params { n: 1 << LOG_N, r: R, p: P },
            salt: BASE64_STANDARD.encode(salt.as_slice()),
        },
        cipher: Cipher { name: SECRETBOX.to_owned(), nonce: BASE64_STANDARD.encode(nonce.as_slice()) },
        ciphertext: BASE64_STANDARD.encode(seal(&key, &nonce, plaintext)),
    };
    super::to_json(&encrypted)
}

fn bytes(text: &str) -> Result<Vec<u8>, Error> {
    BASE64_STANDARD.decode(text).map_err(|error| Error::Encryption(error.to_string()))
}

fn derive(password: &[u8], salt: &[u8], log_n: u8) -> Result<Zeroizing<[u8; KEY]>, Error> {
    let unusable = |error: &dyn std::fmt::Display| Error::Encryption(error.to_string());
    let parameters = scrypt::Params::new(log_n, R, P).map_err(|error| unusable(&error))?;
    let mut key = Zeroizing::new([0; KEY]);
    scrypt::scrypt(password, salt, &parameters, key.as_mut_slice()).map_err(|error| unusable(&error))?;
    Ok(key)
}

/// The stream of the text, and Poly1305 with the bytes of the stream before it.
fn start(key: &[u8; KEY], nonce: &[u8; NONCE]) -> (XSalsa20, Poly1305) {
    let mut stream = <XSalsa20 as KeyIvInit>::new(&salsa20::Key::from(*key), &salsa20::XNonce::from(*nonce));
    let mut first = Zeroizing::new([0; KEY]);
    stream.apply_keystream(first.as_mut_slice());
    (stream, <Poly1305 as KeyInit>::new(&poly1305::Key::from(*first)))
}

fn seal(key: &[u8; KEY], nonce: &[u8; NONCE], plaintext: &[u8]) -> Vec<u8> {
    let (mut stream, poly1305) = start(key, nonce);
    let mut text = plaintext.to_vec();
    stream.apply_keystream(&mut text);
    [poly1305.compute_unpadded(&text).as_slice(), &text].concat()
}

fn open(key: &[u8; KEY], nonce: &[u8; NONCE], ciphertext: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (tag, text) = ciphertext.split_at_checked(TAG)?;
    let (mut stream, poly1305) = start(key, nonce);
    if !are_equal(tag, poly1305.compute_unpadded(text).as_slice()) {
        return None;
    }
    let mut text = Zeroizing::new(text.to_vec());
    stream.apply_keystream(&mut text);
    Some(text)
}

/// Compares without telling by its time where they differ.
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differences, (one, other)| differences | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of NaCl's tests of secretbox.
    #[test]
    fn secretbox_is_the_one_of_nacl() {
        let key = from_hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
        let nonce = from_hex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37");
        let (key, nonce): ([u8; KEY], [u8; NONCE]) = (key.try_into().unwrap(), nonce.try_into().unwrap());
        let plaintext = from_hex(concat!(
            "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc",
            "3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb",
            "48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705",
        ));
        let ciphertext = from_hex(concat!(
            "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0df",
            "c17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368",
            "517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5",
        ));
        assert_eq!(seal(&key, &nonce, &plaintext), ciphertext);
        assert_eq!(open(&key, &nonce, &ciphertext).unwrap().as_slice(), plaintext);
        for changed in 0..ciphertext.len() {
            let mut other = ciphertext.clone();
            other[changed] ^= 1;
            assert!(open(&key, &nonce, &other).is_none(), "byte {changed}");
        }
        assert!(open(&key, &nonce, &ciphertext[..TAG - 1]).is_none());
    }

    fn from_hex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
        digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    }

    #[test]
    fn a_file_that_asks_for_much_memory_is_refused() {
        for (n, r, p) in [(1 << 30, 8, 1), (1 << 16, 1 << 20, 1), (1 << 16, 8, 1 << 10), (0, 8, 1)] {
            let kdf = Kdf { name: SCRYPT.to_owned(), params: Params { n, r, p }, salt: String::new() };
            let cipher = Cipher { name: SECRETBOX.to_owned(), nonce: String::new() };
            let json = serde_json::to_vec(&Encrypted { kdf, cipher, ciphertext: String::new() }).unwrap();
            let error = decrypt(&json, b"").unwrap_err();
            assert_eq!(error, Error::Encryption("the parameters of scrypt are none of cosign's".to_owned()));
        }
        assert!(matches!(decrypt(b"{}", b""), Err(Error::Encryption(_))));
    }
}
