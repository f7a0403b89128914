//! Compares one signature with the requirements.
//!
//! The order is the one in which a person would ask: who signed it, is it in a log, which manifest
//! is it of, and with which annotations? Nothing of the later questions is trusted before the
//! first one is answered.

use std::collections::BTreeMap;

use sigstore_verify::crypto::parse_certificate_info;
use sigstore_verify::types::VerificationMaterialContent;
use sigstore_verify::{Error, PublicKeyVerificationPolicy, VerificationPolicy, VerificationResult};

use crate::keys::{PublicKey, hinted};
use crate::policy::{Log, Policy, Requirements};
use crate::refusal::{Found, brief};
use crate::signature::Signature;

/// The accepted signer of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signer {
    /// One of the keys.
    Key {
        /// The name of the key.
        name: String,
        /// The SHA-256 digest of its DER.
        fingerprint: String,
    },
    /// One of the identities.
    Identity {
        /// The issuer in the certificate.
        issuer: String,
        /// The subject in the certificate.
        subject: String,
    },
}

/// An accepted signature.
pub(crate) struct Accepted {
    pub(crate) signer: Signer,
    pub(crate) logged_at: Option<i64>,
    pub(crate) annotations: BTreeMap<String, String>,
}

/// Returns who signed the manifest, or the reason why the signature is not accepted.
pub(crate) fn check(policy: &Policy, digest: &str, signature: &Signature<'_>) -> Result<Accepted, Found> {
    let (signer, logged_at) = match &signature.bundle.verification_material.content {
        VerificationMaterialContent::PublicKey(identifier) => by_key(policy, signature, &identifier.hint)?,
        _ => keyless(policy, signature)?,
    };
    let Some(subject) = signature.subjects.iter().find(|subject| subject.reference() == digest) else {
        let found: Vec<String> = signature.subjects.iter().map(|subject| subject.reference()).collect();
        return Err(Found::OtherDigest { found: brief(found.join(", ")), required: brief(digest) });
    };
    for (key, required) in &policy.required().annotations {
        let found = subject.annotations.get(key);
        if found != Some(required) {
            let found = found.map(brief);
            return Err(Found::Annotation { key: key.clone(), found, required: required.clone() });
        }
    }
    Ok(Accepted { signer, logged_at, annotations: subject.annotations.clone() })
}

fn by_key(policy: &Policy, signature: &Signature<'_>, hint: &str) -> Result<(Signer, Option<i64>), Found> {
    let Requirements { keys, log, .. } = policy.required();
    let named = (!hint.is_empty()).then(|| brief(hinted(hint)));
    if keys.is_empty() {
        return Err(Found::Key { found: named });
    }
    let Some(key) = keys.iter().find(|key| key.verifies(&signature.message, &signature.bytes)) else {
        let by = keys.iter().find(|key| key.is_hinted(hint)).map(|key| format!("the key {key}"));
        return Err(by.map_or(Found::OtherKey { found: named }, |by| Found::Changed { by }));
    };
    let signer = Signer::Key { name: key.name().to_owned(), fingerprint: key.fingerprint() };
    match log {
        Log::Ignored => Ok((signer, None)),
        Log::Required => Ok((signer, logged_at(&in_log(policy, signature, key)?))),
    }
}

fn in_log(policy: &Policy, signature: &Signature<'_>, key: &PublicKey) -> Result<VerificationResult, Found> {
    if signature.bundle.verification_material.tlog_entries.is_empty() {
        return Err(Found::KeyWithoutLog { key: key.to_string() });
    }
    let how = PublicKeyVerificationPolicy::new(key.der().clone());
    with_root(policy, signature, &how).map_err(|error| found(&error, &format!("the key {key}")))
}

fn keyless(policy: &Policy, signature: &Signature<'_>) -> Result<(Signer, Option<i64>), Found> {
    let identities = &policy.required().identities;
    if identities.is_empty() {
        return Err(Found::Keyless { claimed: claimed(signature) });
    }
    if signature.bundle.verification_material.tlog_entries.is_empty() {
        return Err(Found::KeylessWithoutLog);
    }
    // The identity is compared below, because there may be several.
    let verified = with_root(policy, signature, &VerificationPolicy::any_identity())
        .map_err(|error| found(&error, &format!("the certificate of {}", claimed(signature))))?;
    let subject = verified.identity().map(|subject| subject.as_str()).unwrap_or_default();
    let issuer = verified.issuer().unwrap_or_default();
    if !identities.iter().any(|identity| identity.accepts(issuer, subject)) {
        return Err(Found::OtherIdentity { found: identity(subject, issuer) });
    }
    Ok((Signer::Identity { issuer: issuer.to_owned(), subject: subject.to_owned() }, logged_at(&verified)))
}

/// The identity in the certificate, which nothing has verified.
fn claimed(signature: &Signature<'_>) -> String {
    let info = signature.bundle.signing_certificate().and_then(|certificate| parse_certificate_info(certificate).ok());
    let subject = info.as_ref().and_then(|info| info.identity.as_ref()).map(|subject| subject.as_str());
    let issuer = info.as_ref().and_then(|info| info.issuer.as_deref());
    identity(subject.unwrap_or_default(), issuer.unwrap_or_default())
}

fn identity(subject: &str, issuer: &str) -> String {
    let or_nobody = |text: &str| if text.is_empty() { "nobody".to_owned() } else { brief(text) };
    format!("{} of {}", or_nobody(subject), or_nobody(issuer))
}

fn logged_at(verified: &VerificationResult) -> Option<i64> {
    verified.integrated_time().map(|time| time.as_second())
}

/// Verifies certificates, logs, times, and the signature.
fn with_root(
    policy: &Policy,
    signature: &Signature<'_>,
    how: &dyn sigstore_verify::Policy,
) -> Result<VerificationResult, Error> {
    let missing = || Error::InvalidTrustRoot("there is none".to_owned());
    policy.verifier().ok_or_else(missing)?.verify(signature.artifact.clone(), &signature.bundle, how)
}

fn found(error: &Error, by: &str) -> Found {
    let why = brief(error);
    match error {
        Error::SignatureInvalid(_) => Found::Changed { by: by.to_owned() },
        Error::Certificate(_) => Found::Certificate { why },
        // The structure of a bundle is mostly that of its log entries. What does not match is the
        // entry and the message: manifests are compared later.
        Error::TransparencyLog(_) | Error::Bundle(_) | Error::ArtifactMismatch(_) => Found::Log { why },
        Error::Timestamp(_) => Found::Time { why },
        Error::UnsupportedBundle(_) | Error::UnsupportedArtifact(_) | Error::Crypto(_) => Found::Unsupported { why },
        _ => Found::Malformed { why },
    }
}
