//! A folder with components that were pulled, shared by processes.
//!
//! ```text
//!   components/DIGEST.wasm     named by its own digest
//!   manifests/DIGEST.json      the bytes that the registry sent
//!   references/DIGEST.json     what a reference meant when it was last accepted; named by the digest of its text
//!   signatures/DIGEST.json     those of a manifest that were accepted
//!   temporary/                 what is being written
//! ```
//!
//! A file appears under its name only when it is complete, by renaming it. So processes need no
//! lock: two that pull the same component write the same file twice. Files may be deleted at any
//! time; what is missing is pulled again.
//!
//! The folders are for one user, because a pointer decides what is mounted. Components, manifests
//! and signatures need no trust: they are compared with digests and keys.
//!
//! What is absent: the check of a component's bytes when it is read. The program that loads it
//! compares their digest anyway.

mod clean;
mod files;
mod signatures;
mod temporary;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gyre_core::text::error_chain;
use serde::{Deserialize, Serialize};
use tracing::warn;

pub use self::clean::Cleaned;
pub(crate) use self::temporary::Temporary;
use crate::bounds;
use crate::digest::{Digest, Hasher};
use crate::manifest::Manifest;
use crate::reference::Reference;

const COMPONENTS: &str = "components";
const MANIFESTS: &str = "manifests";
const REFERENCES: &str = "references";

/// The most bytes of a pointer: a reference and two digests.
const POINTER: u64 = 4 << 10;

/// A folder with components that were pulled.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    max_bytes: u64,
}

/// A component that is in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The digest of the manifest, which the registry and signatures name.
    pub manifest: Digest,
    /// The digest of the component's bytes.
    pub component: Digest,
    /// The file of the component.
    pub path: PathBuf,
    /// The annotations of the manifest.
    pub annotations: BTreeMap<String, String>,
    /// Where it came from.
    pub from: PulledFrom,
}

/// Where a component came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PulledFrom {
    /// It was in the cache.
    Cache,
    /// It was read from the registry.
    Registry,
}

/// An error about the folder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{} in the cache of plugins cannot be {action}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The participle of what was to be done with it.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A folder belongs to somebody else, who could decide what is mounted.
    #[error("{} in the cache of plugins belongs to user {owner}, neither to {ours} nor to root", .path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Its user.
        owner: u32,
        /// The user of this process.
        ours: u32,
    },
    /// A component is larger than the cache may become.
    #[error("the component has {size} bytes, and the cache of plugins may have {limit}")]
    Full {
        /// The size of the component in bytes.
        size: u64,
        /// The most bytes of the cache.
        limit: u64,
    },
}

impl Error {
    /// The remedy, for people.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Io { .. } => "name a folder that gyre may write, with enough room",
            Self::Foreign { .. } => {
                "let all processes that share the cache run as the same user (runAsUser in a Pod), or name another folder"
            }
            Self::Full { .. } => "allow a larger cache of plugins",
        }
    }

    /// Returns whether somebody deleted the folder meanwhile.
    pub(crate) fn is_of_a_deleted_cache(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}

/// The meaning of a reference when it was last accepted.
#[derive(Debug, Serialize, Deserialize)]
struct Pointer {
    reference: String,
    manifest: Digest,
    component: Digest,
}

impl Cache {
    /// The cache in this folder, which is created. [`Cache::clean`] leaves at most this many bytes.
    ///
    /// # Errors
    ///
    /// If the folder cannot be created, or belongs to somebody else.
    pub fn open(folder: &Path, max_bytes: u64) -> Result<Self, Error> {
        let cache = Self { folder: folder.to_owned(), max_bytes };
        for name in [COMPONENTS, MANIFESTS, REFERENCES] {
            cache.make(name)?;
        }
        Ok(cache)
    }

    /// The file of a component, which need not exist.
    pub fn component_path(&self, component: &Digest) -> PathBuf {
        self.folder.join(COMPONENTS).join(format!("{}.wasm", component.hex()))
    }

    /// The file that says what a reference means; it need not exist. It changes only to what was
    /// accepted by [`Cache::point`], so it can be watched in place of the component.
    pub fn pointer(&self, reference: &Reference) -> PathBuf {
        self.folder.join(REFERENCES).join(format!("{}.json", Digest::of(reference.to_string().as_bytes()).hex()))
    }

    /// A manifest, if it is in the cache and not damaged.
    pub fn manifest(&self, manifest: &Digest) -> Option<Manifest> {
        let bytes = files::read(&self.manifest_path(manifest), bounds::MANIFEST).ok()??;
        (Digest::of(&bytes) == *manifest).then(|| Manifest::parse(&bytes).ok()).flatten()
    }

    /// The component that a reference means by its pointer, if all of it is in the cache.
    ///
    /// # Guarantees
    ///
    /// The manifest has its digest, and describes the component. The file of the component has the
    /// size that the manifest says; its bytes are not read. It counts as used now.
    ///
    /// # Errors
    ///
    /// If the folder belongs to somebody else. A pointer that is damaged or cannot be read counts
    /// as absent.
    pub fn read(&self, reference: &Reference) -> Result<Option<Pulled>, Error> {
        let pointer = match Pointer::read(&self.pointer(reference)) {
            Err(error @ Error::Foreign { .. }) => return Err(error),
            Err(error) => {
                warn!(%reference, error = error_chain(&error), "what the cache says about a reference is not used");
                None
            }
            Ok(pointer) => pointer,
        };
        let Some(pointer) = pointer else { return Ok(None) };
        let is_about_it =
            pointer.reference == reference.to_string() && reference.digest().is_none_or(|digest| *digest == pointer.manifest);
        let pulled = self.pulled(&pointer.manifest).filter(|pulled| is_about_it && pulled.component == pointer.component);
        if let Some(Ok(Some((file, _)))) = pulled.as_ref().map(|pulled| files::open(&pulled.path)) {
            touch(&file);
        }
        Ok(pulled)
    }

    /// Records what a reference means from now on.
    ///
    /// # Guarantees
    ///
    /// The pointer is replaced atomically. If it says so already, it stays: a process that watches
    /// it would take the same bytes for news.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn point(&self, reference: &Reference, pulled: &Pulled) -> Result<(), Error> {
        let path = self.pointer(reference);
        let pointer = Pointer { reference: reference.to_string(), manifest: pulled.manifest, component: pulled.component };
        let written = serde_json::to_vec_pretty(&pointer).map_err(io::Error::from);
        let bytes = written.map_err(Error::io(&path, "written"))?;
        if matches!(files::read(&path, POINTER), Ok(Some(found)) if found == bytes) {
            return Ok(());
        }
        self.write(&path, &bytes)
    }

    /// The component of a manifest, if both are in the cache. Its bytes are not read.
    pub(crate) fn pulled(&self, digest: &Digest) -> Option<Pulled> {
        let manifest = self.manifest(digest)?;
        let layer = manifest.component().ok()?;
        let path = self.component_path(&layer.digest);
        let is_complete = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == layer.size);
        let component = layer.digest;
        is_complete.then(|| Pulled {
            manifest: *digest,
            component,
            path,
            annotations: manifest.annotations.clone(),
            from: PulledFrom::Cache,
        })
    }

    /// Returns whether the bytes of a component are in the cache, and removes a damaged file.
    pub(crate) fn has_component(&self, component: &Digest, size: u64) -> bool {
        let path = self.component_path(component);
        let Ok(Some((file, metadata))) = files::open(&path) else { return false };
        // What has another length is not read: it may be endless.
        if metadata.len() == size && hash(&file).is_ok_and(|found| found == *component) {
            touch(&file);
            return true;
        }
        // A program that runs it has its bytes already; the next pull writes a good one.
        let _ = fs::remove_file(&path);
        false
    }

    /// Checks that a component fits into the cache at all.
    pub(crate) fn check_size(&self, size: u64) -> Result<(), Error> {
        if size > self.max_bytes {
            return Err(Error::Full { size, limit: self.max_bytes });
        }
        Ok(())
    }

    /// Keeps a file whose bytes have this digest, as a component.
    pub(crate) fn keep_component(&self, component: &Digest, file: Temporary) -> Result<(), Error> {
        // Somebody may have deleted the folder meanwhile.
        self.make(COMPONENTS)?;
        file.rename(&self.component_path(component))
    }

    /// Keeps the bytes of a manifest.
    pub(crate) fn keep_manifest(&self, digest: &Digest, bytes: &[u8]) -> Result<(), Error> {
        self.write(&self.manifest_path(digest), bytes)
    }

    /// A new file, which becomes a component or is removed.
    pub(crate) fn temporary(&self) -> Result<Temporary, Error> {
        Temporary::new(&self.make(temporary::FOLDER)?)
    }

    fn manifest_path(&self, manifest: &Digest) -> PathBuf {
        self.folder.join(MANIFESTS).join(format!("{}.json", manifest.hex()))
    }

    /// Creates a folder of the cache, which somebody may have deleted.
    fn make(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder, "created"))?;
        files::make_folder(&path)?;
        Ok(path)
    }

    /// Replaces a small file atomically.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let mut temporary = self.temporary()?;
        temporary.write(bytes)?;
        if let Some(folder) = path.parent() {
            files::make_folder(folder)?;
        }
        temporary.rename(path)
    }
}

impl Pointer {
    /// Reads a pointer; `None` if it is absent or damaged.
    fn read(path: &Path) -> Result<Option<Self>, Error> {
        Ok(files::read(path, POINTER)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

fn hash(mut file: &File) -> io::Result<Digest> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(hasher.finish());
        }
        hasher.update(buffer.get(..length).unwrap_or_default());
    }
}

/// Marks a file as used now. A volume that is only read keeps the times of its files.
fn touch(file: &File) {
    let _ = file.set_modified(SystemTime::now());
}

#[cfg(test)]
mod tests;
