//! Removes what was not used for the longest time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{COMPONENTS, Cache, Error, MANIFESTS, POINTER, Pointer, REFERENCES, read, temporary};
use crate::digest::Digest;

/// The age of files that nobody finishes any more. A pull that is not slower than the least rate
/// writes every few seconds, and a manifest is written right after its component.
const DEAD_AFTER: Duration = Duration::from_secs(60 * 60);

/// The components that were removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// The number of components.
    pub components: usize,
    /// Their bytes.
    pub bytes: u64,
}

struct Entry {
    path: PathBuf,
    size: u64,
    /// When it was last used.
    used: SystemTime,
}

impl Cache {
    /// Removes components until the cache has at most its bytes: first the one that was not used
    /// for the longest time. Removes what belongs to them, and what pulls that died left behind.
    ///
    /// Call it after pulls, with the digests of the manifests or components that are mounted. They
    /// stay, even if the cache is larger then.
    ///
    /// # Errors
    ///
    /// If a folder cannot be read, or a file cannot be removed. What is removed by others meanwhile
    /// is no error.
    pub fn clean(&self, keep: &[Digest]) -> Result<Cleaned, Error> {
        let now = SystemTime::now();
        let is_dead = |entry: &Entry| now.duration_since(entry.used).is_ok_and(|age| age > DEAD_AFTER);
        for entry in self.entries(temporary::FOLDER)? {
            if is_dead(&entry) {
                remove(&entry.path)?;
            }
        }
        let manifests = self.named(MANIFESTS, ".json")?;
        let described: BTreeMap<Digest, Digest> = manifests.keys().filter_map(|manifest| self.described(manifest)).collect();
        let kept: BTreeSet<Digest> =
            keep.iter().flat_map(|digest| [Some(*digest), described.get(digest).copied()]).flatten().collect();
        let (present, cleaned) = self.remove_components(&manifests, &kept)?;
        let is_present = |component: &Digest| present.contains(component);
        for (manifest, entry) in &manifests {
            let is_needed = described.get(manifest).is_some_and(is_present);
            // The component of a younger one may be on its way.
            if !is_needed && !kept.contains(manifest) && (described.contains_key(manifest) || is_dead(entry)) {
                remove(&entry.path)?;
            }
        }
        for (_, entry) in self.named(REFERENCES, ".json")? {
            let pointer = read(&entry.path, POINTER).ok().flatten();
            let pointer = pointer.and_then(|bytes| serde_json::from_slice::<Pointer>(&bytes).ok());
            let is_needed = pointer.is_some_and(|pointer| is_present(&pointer.component) || kept.contains(&pointer.component));
            if !is_needed {
                remove(&entry.path)?;
            }
        }
        Ok(cleaned)
    }

    /// Removes components that are too much, and returns those that are left.
    fn remove_components(
        &self,
        manifests: &BTreeMap<Digest, Entry>,
        kept: &BTreeSet<Digest>,
    ) -> Result<(BTreeSet<Digest>, Cleaned), Error> {
        let mut components: Vec<(Digest, Entry)> = self.named(COMPONENTS, ".wasm")?.into_iter().collect();
        components.sort_by_key(|(_, entry)| entry.used);
        let sizes = components.iter().map(|(_, entry)| entry).chain(manifests.values()).map(|entry| entry.size);
        let mut total = sizes.fold(0_u64, u64::saturating_add);
        let mut present = BTreeSet::new();
        let mut cleaned = Cleaned::default();
        for (component, entry) in components {
            if total <= self.max_bytes || kept.contains(&component) {
                present.insert(component);
                continue;
            }
            remove(&entry.path)?;
            total = total.saturating_sub(entry.size);
            cleaned = Cleaned { components: cleaned.components + 1, bytes: cleaned.bytes + entry.size };
        }
        Ok((present, cleaned))
    }

    /// A manifest with the component that it describes.
    fn described(&self, manifest: &Digest) -> Option<(Digest, Digest)> {
        let component = self.manifest(manifest)?.component().ok()?.digest;
        Some((*manifest, component))
    }

    /// The files of a folder whose names are a digest with this ending.
    fn named(&self, folder: &str, ending: &str) -> Result<BTreeMap<Digest, Entry>, Error> {
        let digest_of = |entry: &Entry| {
            let name = entry.path.file_name()?.to_str()?;
            format!("sha256:{}", name.strip_suffix(ending)?).parse().ok()
        };
        let entries = self.entries(folder)?.into_iter();
        Ok(entries.filter_map(|entry| Some((digest_of(&entry)?, entry))).collect())
    }

    /// The files of a folder. An absent folder has no files.
    fn entries(&self, folder: &str) -> Result<Vec<Entry>, Error> {
        let folder = self.folder.join(folder);
        let listed = match fs::read_dir(&folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io(&folder, "listed")(error)),
        };
        let mut entries = Vec::new();
        for listed in listed {
            let listed = listed.map_err(Error::io(&folder, "listed"))?;
            // Others remove files meanwhile.
            let Ok(metadata) = listed.metadata() else { continue };
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if metadata.is_file() {
                entries.push(Entry { path: listed.path(), size: metadata.len(), used });
            }
        }
        Ok(entries)
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(path, "removed")(error)),
        _ => Ok(()),
    }
}
