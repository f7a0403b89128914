//! Reads values for `gyre_core::generated`.

use gyre_core::generated::{CertificateFacts, HashAlgorithm, Inspect};

use crate::hash;

/// Reads certificates and hashes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inspector;

impl Inspect for Inspector {
    fn certificate(&self, pem: &[u8]) -> Option<CertificateFacts> {
        let (_, block) = x509_parser::pem::parse_x509_pem(pem).ok()?;
        let certificate = block.parse_x509().ok()?;
        let validity = certificate.validity();
        Some(CertificateFacts { not_before: validity.not_before.timestamp(), not_after: validity.not_after.timestamp() })
    }

    fn matches(&self, algorithm: HashAlgorithm, hash: &[u8], value: &[u8]) -> bool {
        hash::matches(algorithm, hash, value)
    }
}
