//! Looks for the signature that is required.

use std::collections::BTreeMap;

use crate::bundle::read_bundle;
use crate::check::{Accepted, check};
use crate::policy::Policy;
use crate::refusal::{Found, Refusal};
use crate::simple::read_simple;

pub use crate::check::Signer;

/// The largest signature in bytes. Bundles have about 10 KB.
pub const MAX_SIGNATURE: usize = 1 << 20;

/// A signature as a registry has it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The name in messages, e.g. the digest of the manifest that has it.
    pub name: &'a str,
    /// The signature.
    pub content: Content<'a>,
}

/// The two forms of signatures.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// A sigstore bundle, as cosign 3 attaches it as a referrer.
    Bundle(&'a [u8]),
    /// The older form, as cosign has it under the tag `sha256-….sig`.
    Simple {
        /// The layer of the type `application/vnd.dev.cosign.simplesigning.v1+json`.
        payload: &'a [u8],
        /// The annotations of the layer.
        annotations: &'a BTreeMap<String, String>,
    },
}

/// A manifest that is signed as required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The name of the signature that is accepted.
    pub name: String,
    /// The key or identity that signed.
    pub signer: Signer,
    /// The time of its entry in the log, in seconds since 1970, if an entry was verified and the
    /// log gives a time.
    pub logged_at: Option<i64>,
    /// The annotations that are signed.
    pub annotations: BTreeMap<String, String>,
}

/// Looks for a signature of the manifest that fulfils the requirements.
///
/// # Guarantees
///
/// If it returns `Ok`, a key or identity of the policy signed this digest as a signature of
/// cosign, with the annotations of the policy, and if the policy requires a log, it is in one.
/// It makes no request.
///
/// # Errors
///
/// If no signature fulfils them: the refusal says what each is instead.
pub fn verify(policy: &Policy, manifest_digest: &str, candidates: &[Candidate<'_>]) -> Result<Verified, Refusal> {
    let mut found = Vec::new();
    for candidate in candidates {
        let name = candidate.name.to_owned();
        match check_candidate(policy, manifest_digest, candidate.content) {
            Ok(Accepted { signer, logged_at, annotations }) => return Ok(Verified { name, signer, logged_at, annotations }),
            Err(reason) => found.push((name, reason)),
        }
    }
    Err(Refusal::new(manifest_digest, policy.to_string(), found))
}

fn check_candidate(policy: &Policy, manifest_digest: &str, content: Content<'_>) -> Result<Accepted, Found> {
    let (Content::Bundle(bytes) | Content::Simple { payload: bytes, .. }) = content;
    if bytes.len() > MAX_SIGNATURE {
        let why = format!("it has {} bytes, and signatures have at most {MAX_SIGNATURE}", bytes.len());
        return Err(Found::Malformed { why });
    }
    let signature = match content {
        Content::Bundle(bytes) => read_bundle(bytes)?,
        Content::Simple { payload, annotations } => read_simple(payload, annotations)?,
    };
    check(policy, manifest_digest, &signature)
}
