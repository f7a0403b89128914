//! A folder with components that were pulled, shared by processes.
//!
//! ```text
//!   components/DIGEST.wasm     named by its own digest
//!   manifests/DIGEST.json      the bytes that the registry sent
//!   references/DIGEST.json     what a reference meant when it was last accepted; named by the digest of its text
//!   temporary/                 what is being written
//! ```
//!
//! A file appears under its name only when it is complete, by renaming it. So processes need no
//! lock: two that pull the same component write the same file twice. Anybody may delete files at
//! any time; what is missing is pulled again.
//!
//! What is absent: the check of a component's bytes when it is read. The program that loads it
//! compares their digest anyway.

mod clean;
mod temporary;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

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
    /// If the folder cannot be created.
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
        let bytes = read(&self.manifest_path(manifest), bounds::MANIFEST).ok()??;
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
    /// If the pointer is there, but cannot be read. A damaged one counts as absent.
    pub fn read(&self, reference: &Reference) -> Result<Option<Pulled>, Error> {
        let path = self.pointer(reference);
        let Some(bytes) = read(&path, POINTER).map_err(Error::io(&path, "read"))? else { return Ok(None) };
        let Ok(pointer) = serde_json::from_slice::<Pointer>(&bytes) else { return Ok(None) };
        let is_about_it =
            pointer.reference == reference.to_string() && reference.digest().is_none_or(|digest| *digest == pointer.manifest);
        let pulled = self.pulled(&pointer.manifest).filter(|pulled| is_about_it && pulled.component == pointer.component);
        if let Some(pulled) = &pulled {
            touch(&pulled.path);
        }
        Ok(pulled)
    }

    /// Records what a reference means from now on.
    ///
    /// # Guarantees
    ///
    /// The pointer is replaced atomically.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn point(&self, reference: &Reference, pulled: &Pulled) -> Result<(), Error> {
        let path = self.pointer(reference);
        let pointer = Pointer { reference: reference.to_string(), manifest: pulled.manifest, component: pulled.component };
        let written = serde_json::to_vec_pretty(&pointer).map_err(io::Error::from);
        self.write(&path, &written.map_err(Error::io(&path, "written"))?)
    }

    /// The component of a manifest, if both are in the cache. Its bytes are not read.
    pub(crate) fn pulled(&self, digest: &Digest) -> Option<Pulled> {
        let manifest = self.manifest(digest)?;
        let layer = manifest.component().ok()?;
        let path = self.component_path(&layer.digest);
        let is_complete = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == layer.size);
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
    pub(crate) fn has_component(&self, component: &Digest) -> bool {
        let path = self.component_path(component);
        match hash(&path) {
            Ok(found) if found == *component => {
                touch(&path);
                true
            }
            Ok(_) => {
                // A program that runs it has its bytes already; the next pull writes a good one.
                let _ = fs::remove_file(&path);
                false
            }
            Err(_) => false,
        }
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
        fs::create_dir_all(&path).map_err(Error::io(&path, "created"))?;
        Ok(path)
    }

    /// Replaces a small file atomically.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let mut temporary = self.temporary()?;
        temporary.write(bytes)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::io(folder, "created"))?;
        }
        temporary.rename(path)
    }
}

/// Reads a file of at most `limit` bytes; `None` if it is absent or larger.
fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

fn hash(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
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
fn touch(path: &Path) {
    let _ = File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

#[cfg(test)]
mod tests;
