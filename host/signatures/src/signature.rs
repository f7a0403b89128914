//! A signature in one form for both: bundles, and the older form.

use std::borrow::Cow;

use sigstore_verify::types::{Artifact, Bundle, SignatureBytes};

use crate::claim::Subject;

/// A signature that was read, and of which nothing is verified.
#[derive(Debug)]
pub(crate) struct Signature<'a> {
    /// The bytes that are signed.
    pub(crate) message: Cow<'a, [u8]>,
    pub(crate) bytes: SignatureBytes,
    /// The manifests that the message names.
    pub(crate) subjects: Vec<Subject>,
    /// The material of certificates and logs, as `sigstore-verify` takes it.
    pub(crate) bundle: Bundle,
    /// The input for which `sigstore-verify` checks the bundle. A statement is checked for a digest
    /// that it names itself: whether this is the manifest is compared afterwards, so that another
    /// digest is not confused with other errors.
    pub(crate) artifact: Artifact<'a>,
}
