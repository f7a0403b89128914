//! Reads sigstore bundles, in which cosign 3 puts signatures.

use std::fmt::Display;

use sigstore_verify::types::{Artifact, Bundle, SignatureContent, VerificationMaterial, VerificationMaterialContent};

use crate::claim::{IN_TOTO, of_statement};
use crate::refusal::{Found, brief};
use crate::signature::Signature;

/// Bundles have one entry in a log, and one timestamp; chains have three certificates. Each takes
/// time to verify, and everybody who can write to a registry chooses their number.
const MOST_PROOFS: usize = 10;

/// Reads a bundle whose envelope is a statement.
pub(crate) fn read_bundle(bytes: &[u8]) -> Result<Signature<'static>, Found> {
    let text = str::from_utf8(bytes).map_err(|error| malformed(&error))?;
    let bundle = Bundle::from_json(text).map_err(|error| malformed(&error))?;
    let SignatureContent::DsseEnvelope(envelope) = &bundle.content else { return Err(Found::Bytes) };
    if envelope.payload_type != IN_TOTO {
        return Err(Found::OtherType { found: brief(&envelope.payload_type), required: IN_TOTO });
    }
    let subjects = of_statement(envelope.payload.as_bytes())?;
    let Some(first) = subjects.first() else { return Err(malformed(&"its statement has no subject")) };
    if proofs(&bundle.verification_material) > MOST_PROOFS {
        return Err(malformed(&format!("it has more than {MOST_PROOFS} certificates, entries in logs, or timestamps")));
    }
    let artifact = Artifact::from_digest(first.digest);
    let message = envelope.pae().into();
    let signature = envelope.signature.sig.clone();
    Ok(Signature { message, bytes: signature, subjects, artifact, bundle })
}

/// The largest number of things of one kind that are to be verified.
fn proofs(material: &VerificationMaterial) -> usize {
    let certificates = match &material.content {
        VerificationMaterialContent::X509CertificateChain { certificates } => certificates.len(),
        _ => 1,
    };
    let timestamps = material.timestamp_verification_data.rfc3161_timestamps.len();
    certificates.max(timestamps).max(material.tlog_entries.len())
}

fn malformed(why: &dyn Display) -> Found {
    Found::Malformed { why: format!("its bundle cannot be read: {}", brief(why)) }
}
