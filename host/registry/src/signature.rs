//! Signatures, as registries have them.

use std::collections::BTreeMap;

use crate::digest::Digest;

/// Something that may be a signature of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSignature {
    /// In which form it is.
    pub kind: SignatureKind,
    /// The digest of the bundle's manifest, or of the payload.
    pub digest: Digest,
    /// The media type of the bytes; empty if it was in the cache.
    pub media_type: String,
    /// The kind of artifact of the bundle's manifest; `None` if it was in the cache.
    pub artifact_type: Option<String>,
    /// The bundle, or the payload.
    pub bytes: Vec<u8>,
    /// The annotations of the payload, which have the signature. A bundle has it itself, so those
    /// beside it are left out.
    pub annotations: BTreeMap<String, String>,
}

/// The form of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureKind {
    /// A Sigstore bundle.
    Bundle,
    /// A payload of simple signing, with the signature beside it.
    Simple,
}
