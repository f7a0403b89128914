//! Signatures that were accepted, so that a start needs no registry. They are verified each time.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Cache, Error, files};
use crate::bounds;
use crate::digest::Digest;
use crate::signature::{FoundSignature, SignatureKind};

pub(super) const FOLDER: &str = "signatures";

/// A signature in a file. Both forms are text.
#[derive(PartialEq, Serialize, Deserialize)]
struct Kept {
    digest: Digest,
    is_bundle: bool,
    text: String,
    annotations: BTreeMap<String, String>,
}

impl Cache {
    /// Keeps signatures of a manifest that were accepted, beside those that are kept already. They
    /// go with the manifest, in [`Cache::clean`].
    ///
    /// # Guarantees
    ///
    /// The file is replaced atomically. It has at most [`bounds::REFERRERS`] signatures in
    /// [`bounds::SIGNATURES`] bytes; of more, the newest.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn keep_signatures(&self, manifest: &Digest, accepted: &[FoundSignature]) -> Result<(), Error> {
        let known = self.kept(manifest);
        let mut all: Vec<Kept> = accepted.iter().filter_map(Kept::of).filter(|kept| !known.contains(kept)).collect();
        if all.is_empty() {
            return Ok(());
        }
        all.extend(known);
        let path = self.signatures_path(manifest);
        let mut entries: Vec<String> = Vec::new();
        // Of an empty list.
        let mut size = 2;
        for kept in all {
            let entry = serde_json::to_string(&kept).map_err(io::Error::from).map_err(Error::io(&path, "written"))?;
            let with_comma = entry.len() as u64 + 1;
            let is_new = !entries.contains(&entry);
            if is_new && entries.len() < bounds::REFERRERS && size + with_comma <= bounds::SIGNATURES {
                size += with_comma;
                entries.push(entry);
            }
        }
        self.write(&path, format!("[{}]", entries.join(",")).as_bytes())
    }

    /// The signatures of a manifest that are kept. Those that cannot be read count as absent.
    pub fn kept_signatures(&self, manifest: &Digest) -> Vec<FoundSignature> {
        self.kept(manifest).into_iter().map(Kept::found).collect()
    }

    fn kept(&self, manifest: &Digest) -> Vec<Kept> {
        let bytes = files::read(&self.signatures_path(manifest), bounds::SIGNATURES).ok().flatten();
        serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default()
    }

    pub(super) fn signatures_path(&self, manifest: &Digest) -> PathBuf {
        self.folder.join(FOLDER).join(format!("{}.json", manifest.hex()))
    }
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
