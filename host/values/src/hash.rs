//! Hashes of values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_core::generated::HashAlgorithm;
use rand_core::TryRng as _;
use ring::{hmac, pbkdf2};
use sha2::{Digest as _, Sha256};

use crate::randomness::Stream;

/// The least that `htpasswd -B` and most libraries use.
const BCRYPT_COST: u32 = 10;
/// bcrypt ignores what follows.
const BCRYPT_LONGEST: usize = 72;
/// The default of PostgreSQL, `scram_iterations`.
const SCRAM_ITERATIONS: u32 = 4096;

pub(crate) fn hash(algorithm: HashAlgorithm, value: &[u8], random: &mut Stream) -> Result<Vec<u8>, String> {
    if algorithm == HashAlgorithm::Sha256 {
        return Ok(Sha256::digest(value).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes());
    }
    let mut salt = [0; 16];
    random.try_fill_bytes(&mut salt).map_err(|error| error.to_string())?;
    match algorithm {
        HashAlgorithm::Bcrypt => {
            if value.len() > BCRYPT_LONGEST || value.contains(&0) {
                return Err(format!("bcrypt takes at most {BCRYPT_LONGEST} bytes, none of which is 0"));
            }
            let parts = bcrypt::hash_with_salt(value, BCRYPT_COST, salt).map_err(|error| error.to_string())?;
            Ok(parts.format_for_version(bcrypt::Version::TwoY).into_bytes())
        }
        HashAlgorithm::ScramSha256 | HashAlgorithm::Sha256 => {
            // Others have to be normalised first, in a way that differs between servers.
            if !value.iter().all(|byte| (b' '..=b'~').contains(byte)) {
                return Err("SCRAM takes printable ASCII characters".to_owned());
            }
            Ok(scram(value, &salt, SCRAM_ITERATIONS).into_bytes())
        }
    }
}

/// Returns whether a value has a hash, without an error for what is no hash.
pub(crate) fn matches(algorithm: HashAlgorithm, hash: &[u8], value: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(hash) else { return false };
    match algorithm {
        HashAlgorithm::Sha256 => false,
        // Anybody who may edit the Secret writes the cost, and 31 would take a day.
        HashAlgorithm::Bcrypt if text.get(4..6) != Some("10") => false,
        HashAlgorithm::Bcrypt => bcrypt::verify(value, text).unwrap_or(false),
        HashAlgorithm::ScramSha256 => {
            let salt = text.strip_prefix(&format!("SCRAM-SHA-256${SCRAM_ITERATIONS}:")).and_then(|rest| rest.split_once('$'));
            let Some(salt) = salt.and_then(|(salt, _)| STANDARD.decode(salt).ok()) else { return false };
            scram(value, &salt, SCRAM_ITERATIONS) == text
        }
    }
}

/// The verifier of RFC 5802, in the form of PostgreSQL's `pg_authid.rolpassword`.
fn scram(value: &[u8], salt: &[u8], iterations: u32) -> String {
    let mut salted = [0; 32];
    let iterations_used = std::num::NonZeroU32::new(iterations).unwrap_or(std::num::NonZeroU32::MIN);
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations_used, salt, value, &mut salted);
    let key = hmac::Key::new(hmac::HMAC_SHA256, &salted);
    let stored_key = Sha256::digest(hmac::sign(&key, b"Client Key"));
    let server_key = hmac::sign(&key, b"Server Key");
    let [salt, stored_key, server_key] = [salt, &stored_key, server_key.as_ref()].map(|bytes| STANDARD.encode(bytes));
    format!("SCRAM-SHA-256${iterations}:{salt}${stored_key}:{server_key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, whose keys follow from its password and salt.
    #[test]
    fn scram_verifiers_are_those_of_the_standard() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        assert_eq!(
            scram(b"pencil", &salt, 4096),
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
    }

    #[test]
    fn a_value_has_its_hash_alone() {
        let mut random = crate::Randomness::Seeded(1).stream(&[]);
        for algorithm in [HashAlgorithm::Bcrypt, HashAlgorithm::ScramSha256] {
            let hashed = hash(algorithm, b"secret", &mut random).unwrap();
            assert!(matches(algorithm, &hashed, b"secret"));
            assert!(!matches(algorithm, &hashed, b"Secret"));
            assert_ne!(hash(algorithm, b"secret", &mut random).unwrap(), hashed, "each has a salt of its own");
            for other in ["", "$2y$31$", "SCRAM-SHA-256$9999999:eA==$", "$", "$2y$10$short"] {
                assert!(!matches(algorithm, other.as_bytes(), b"secret"), "{other}");
            }
        }
        assert_eq!(hash(HashAlgorithm::Sha256, b"", &mut random).unwrap().len(), 64);
        assert!(hash(HashAlgorithm::Bcrypt, &[b'a'; 73], &mut random).is_err());
        assert!(hash(HashAlgorithm::ScramSha256, "ü".as_bytes(), &mut random).is_err());
    }
}
