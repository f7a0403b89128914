//! Signatures of manifests. Those that were found are kept beside the cache, so that a start needs
//! no registry. They are verified each time.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use gyre_registry::{Cache, Digest, FoundSignature, Reference, SignatureKind};
use gyre_signatures::{Candidate, Content, Policy, Refusal, Verified};
use serde::{Deserialize, Serialize};
use tracing::debug;

use super::{Error, Store};
use crate::plugins::files;

const FOLDER: &str = "signatures";
const ENDING: &str = ".json";
/// The most bytes of the signatures of a manifest that are kept: hundreds of usual ones.
const LARGEST: u64 = 4 << 20;

/// A signature that is kept. Both forms are text.
#[derive(Serialize, Deserialize)]
struct Kept {
    digest: Digest,
    is_bundle: bool,
    text: String,
    annotations: BTreeMap<String, String>,
}

impl Store {
    /// Verifies the signatures that are kept, and if they do not suffice those in the registry.
    pub(super) async fn verify(&self, reference: &Reference, manifest: &Digest, policies: &[Arc<Policy>]) -> Result<(), Error> {
        if self.verify_kept(manifest, policies).is_ok() {
            return Ok(());
        }
        verify_all(manifest, &self.signatures(reference, manifest).await?, policies)
    }

    pub(super) fn verify_kept(&self, manifest: &Digest, policies: &[Arc<Policy>]) -> Result<(), Error> {
        if policies.is_empty() {
            return Ok(());
        }
        verify_all(manifest, &self.kept(manifest)?, policies)
    }

    /// Returns what the registry has as signatures of a manifest, and keeps it.
    pub(crate) async fn signatures(&self, reference: &Reference, manifest: &Digest) -> Result<Vec<FoundSignature>, Error> {
        let found = self.registries()?.signatures(reference, manifest).await?;
        if let Err(error) = self.keep(manifest, &found) {
            debug!(plugin = %reference, %error, "signatures are not kept");
        }
        Ok(found)
    }

    fn path(&self, manifest: &Digest) -> Result<PathBuf, Error> {
        Ok(self.folder()?.join(FOLDER).join(format!("{}{ENDING}", manifest.hex())))
    }

    fn kept(&self, manifest: &Digest) -> Result<Vec<FoundSignature>, Error> {
        let bytes = files::read(&self.path(manifest)?, LARGEST).unwrap_or_default();
        let kept: Vec<Kept> = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(kept.into_iter().map(Kept::found).collect())
    }

    fn keep(&self, manifest: &Digest, found: &[FoundSignature]) -> Result<(), Error> {
        let path = self.path(manifest)?;
        let kept: Vec<Kept> = found.iter().filter_map(Kept::of).collect();
        let cannot = |source| Error::File { path: path.clone(), source };
        let bytes = serde_json::to_vec(&kept).map_err(|error| cannot(error.into()))?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(cannot)?;
        }
        files::replace(&path, &bytes).map_err(cannot)
    }

    /// Removes the signatures of manifests that are no longer in the cache.
    pub(super) fn forget_signatures(&self, cache: &Cache) {
        let folder = self.folder().map(|folder| folder.join(FOLDER));
        let entries = folder.ok().and_then(|folder| fs::read_dir(folder).ok());
        for path in entries.into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let manifest = name.strip_suffix(ENDING).and_then(|hex| format!("sha256:{hex}").parse().ok());
            if manifest.is_none_or(|manifest| cache.manifest(&manifest).is_none()) {
                // Another process may have removed it.
                let _ = fs::remove_file(&path);
            }
        }
    }
}

fn verify_all(manifest: &Digest, found: &[FoundSignature], policies: &[Arc<Policy>]) -> Result<(), Error> {
    for policy in policies {
        verified(manifest, found, policy)?;
    }
    Ok(())
}

/// Returns the signature that a policy accepts.
pub(crate) fn verified(manifest: &Digest, found: &[FoundSignature], policy: &Policy) -> Result<Verified, Refusal> {
    let names: Vec<String> = found.iter().map(|found| found.digest.to_string()).collect();
    let candidates = names.iter().zip(found).map(|(name, FoundSignature { kind, bytes, annotations, .. })| {
        let content = match kind {
            SignatureKind::Bundle => Content::Bundle(bytes),
            SignatureKind::Simple => Content::Simple { payload: bytes, annotations },
        };
        Candidate { name, content }
    });
    let candidates: Vec<Candidate<'_>> = candidates.collect();
    gyre_signatures::verify(policy, &manifest.to_string(), &candidates)
}

impl Kept {
    fn of(found: &FoundSignature) -> Option<Self> {
        Some(Self {
            digest: found.digest,
            is_bundle: found.kind == SignatureKind::Bundle,
            text: String::from_utf8(found.bytes.clone()).ok()?,
            annotations: found.annotations.clone(),
        })
    }

    fn found(self) -> FoundSignature {
        FoundSignature {
            kind: if self.is_bundle { SignatureKind::Bundle } else { SignatureKind::Simple },
            digest: self.digest,
            media_type: String::new(),
            artifact_type: None,
            bytes: self.text.into_bytes(),
            annotations: self.annotations,
        }
    }
}
