//! Ring as the cryptography of `sigstore-verify`, whose own choice would be a second one beside it.

use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use ring::digest::{self, Context};
use ring::signature::{self as verification, UnparsedPublicKey, VerificationAlgorithm};
use sigstore_verify::crypto::{CryptoProvider, Error, HashContext, Result, SigningScheme, install_default_provider};
use sigstore_verify::types::HashAlgorithm;

/// Makes ring the provider of this process. Later calls change nothing.
pub(crate) fn install() {
    // An error means that there is one already, usually this one.
    let _ = install_default_provider(&RING);
}

static RING: Ring = Ring;

#[derive(Debug)]
struct Ring;

struct Hash(Context);

impl HashContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

impl CryptoProvider for Ring {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        let algorithm = match algorithm {
            HashAlgorithm::Sha2256 => &digest::SHA256,
            HashAlgorithm::Sha2384 => &digest::SHA384,
            HashAlgorithm::Sha2512 => &digest::SHA512,
            other => return Err(Error::UnsupportedAlgorithm(format!("digests of {other} are not supported"))),
        };
        Ok(Box::new(Hash(Context::new(algorithm))))
    }

    fn verify_raw(&self, scheme: SigningScheme, key: &[u8], data: &[u8], signature: &[u8]) -> Result<()> {
        UnparsedPublicKey::new(algorithm(scheme)?, key).verify(data, signature).map_err(|_| invalid(scheme))
    }

    /// Ring hashes itself, so this is p256. Signatures over a digest are only those of the older
    /// form, with a log entry.
    fn verify_prehashed(&self, scheme: SigningScheme, key: &[u8], digest: &[u8], signature: &[u8]) -> Result<()> {
        if scheme != SigningScheme::EcdsaP256Sha256 {
            let why = format!("signatures of digests by {} are not supported, only by ECDSA with P-256", scheme.name());
            return Err(Error::UnsupportedAlgorithm(why));
        }
        let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key).map_err(|_| invalid(scheme))?;
        let signature = p256::ecdsa::Signature::from_der(signature).map_err(|_| invalid(scheme))?;
        key.verify_prehash(digest, &signature).map_err(|_| invalid(scheme))
    }
}

fn invalid(scheme: SigningScheme) -> Error {
    Error::Verification(format!("the {} signature is not valid", scheme.name()))
}

fn algorithm(scheme: SigningScheme) -> Result<&'static dyn VerificationAlgorithm> {
    let algorithm: &'static dyn VerificationAlgorithm = match scheme {
        SigningScheme::EcdsaP256Sha256 => &verification::ECDSA_P256_SHA256_ASN1,
        SigningScheme::EcdsaP256Sha384 => &verification::ECDSA_P256_SHA384_ASN1,
        SigningScheme::EcdsaP384Sha256 => &verification::ECDSA_P384_SHA256_ASN1,
        SigningScheme::EcdsaP384Sha384 => &verification::ECDSA_P384_SHA384_ASN1,
        SigningScheme::Ed25519 => &verification::ED25519,
        SigningScheme::RsaPssSha256 => &verification::RSA_PSS_2048_8192_SHA256,
        SigningScheme::RsaPssSha384 => &verification::RSA_PSS_2048_8192_SHA384,
        SigningScheme::RsaPssSha512 => &verification::RSA_PSS_2048_8192_SHA512,
        SigningScheme::RsaPkcs1Sha256 => &verification::RSA_PKCS1_2048_8192_SHA256,
        SigningScheme::RsaPkcs1Sha384 => &verification::RSA_PKCS1_2048_8192_SHA384,
        SigningScheme::RsaPkcs1Sha512 => &verification::RSA_PKCS1_2048_8192_SHA512,
        other => return Err(Error::UnsupportedAlgorithm(format!("{} is not supported", other.name()))),
    };
    Ok(algorithm)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p256_key() -> p256::ecdsa::SigningKey {
        p256::ecdsa::SigningKey::from_slice(&[0xc9; 32]).unwrap()
    }

    #[test]
    fn a_signature_of_a_digest_is_valid_as_the_signature_of_the_message_is() {
        use p256::ecdsa::signature::Signer as _;

        let key = p256_key();
        let signature: p256::ecdsa::Signature = key.sign(b"a message");
        let signature = signature.to_der().as_bytes().to_vec();
        let point = key.verifying_key().to_sec1_point(false).as_bytes().to_vec();
        let scheme = SigningScheme::EcdsaP256Sha256;
        for (message, is_valid) in [(&b"a message"[..], true), (&b"another"[..], false)] {
            let digest = digest::digest(&digest::SHA256, message);
            assert_eq!(RING.verify_raw(scheme, &point, message, &signature).is_ok(), is_valid);
            assert_eq!(RING.verify_prehashed(scheme, &point, digest.as_ref(), &signature).is_ok(), is_valid);
        }
    }

    #[test]
    fn digests_are_those_of_ring() {
        for (algorithm, expected) in [
            (HashAlgorithm::Sha2256, &digest::SHA256),
            (HashAlgorithm::Sha2384, &digest::SHA384),
            (HashAlgorithm::Sha2512, &digest::SHA512),
        ] {
            let mut hash = RING.hash(algorithm).unwrap();
            hash.update(b"in ");
            hash.update(b"parts");
            assert_eq!(hash.finalize(), digest::digest(expected, b"in parts").as_ref());
        }
    }

    #[test]
    fn other_schemes_are_refused_and_do_not_panic() {
        assert!(RING.verify_raw(SigningScheme::MlDsa44, &[], &[], &[]).is_err());
        assert!(RING.verify_prehashed(SigningScheme::Ed25519, &[], &[], &[]).is_err());
        assert!(RING.verify_prehashed(SigningScheme::EcdsaP256Sha256, &[], &[], &[]).is_err());
    }
}
