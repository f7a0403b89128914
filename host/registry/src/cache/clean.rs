//! Removes what was not used for the longest time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{COMPONENTS, Cache, Error, MANIFESTS, Pointer, REFERENCES, files, signatures, temporary};
use crate::digest::Digest;

/// The age of files that nobody finishes any more. A pull that is not slower than the least rate
/// writes every few seconds, and a manifest is written right after its component.
const DEAD_AFTER: Duration = Duration::from_secs(60 * 60);
/// The time without use after which a component that a reference means may go. Other processes
/// read theirs at each start, and as often as they ask for a tag.
const UNUSED_AFTER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

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

impl Entry {
    fn is_older(&self, age: Duration) -> bool {
        self.used.elapsed().is_ok_and(|found| found > age)
    }
}

impl Cache {
    /// Removes components until the cache has at most its bytes: first the one that was not used
    /// for the longest time. Removes what belongs to them, and what pulls that died left behind.
    ///
    /// Call it after pulls, with the digests of the manifests or components that are mounted. They
    /// stay, and so does what a reference means and was used within 7 days, because other processes
    /// mount it; even if the cache is larger then.
    ///
    /// # Errors
    ///
    /// If a folder cannot be read, or a file cannot be removed. What is removed by others meanwhile
    /// is no error.
    pub fn clean(&self, keep: &[Digest]) -> Result<Cleaned, Error> {
        self.make_room(0, keep)
    }

    /// Cleans the cache as [`Cache::clean`] does, so that a component of this many bytes fits into
    /// it. Call it before a pull.
    ///
    /// # Errors
    ///
    /// As [`Cache::clean`], or if the component is larger than the cache may become.
    pub fn make_room(&self, bytes: u64, keep: &[Digest]) -> Result<Cleaned, Error> {
        self.check_size(bytes)?;
        for entry in self.entries(temporary::FOLDER)? {
            if temporary::is_name(&entry.path) && entry.is_older(DEAD_AFTER) {
                remove(&entry.path)?;
            }
        }
        let manifests = self.named(MANIFESTS, ".json")?;
        let described: BTreeMap<Digest, Digest> = manifests.keys().filter_map(|manifest| self.described(manifest)).collect();
        let kept: BTreeSet<Digest> =
            keep.iter().flat_map(|digest| [Some(*digest), described.get(digest).copied()]).flatten().collect();
        let cleaned = self.remove_components(&manifests, bytes, &kept)?;
        // Other processes pull meanwhile, so it is looked for again.
        let is_needed = |component: &Digest| kept.contains(component) || self.component_path(component).exists();
        for (manifest, entry) in &manifests {
            let is_needed = match described.get(manifest) {
                Some(component) => is_needed(component),
                None => !entry.is_older(DEAD_AFTER),
            };
            if !is_needed && !kept.contains(manifest) {
                remove(&entry.path)?;
            }
        }
        for (_, entry) in self.named(REFERENCES, ".json")? {
            let is_needed = match Pointer::read(&entry.path) {
                Ok(Some(pointer)) => is_needed(&pointer.component),
                _ => !entry.is_older(DEAD_AFTER),
            };
            if !is_needed {
                remove(&entry.path)?;
            }
        }
        for (manifest, entry) in self.named(signatures::FOLDER, ".json")? {
            // They are kept before what they sign is pulled.
            let may_come = !manifests.contains_key(&manifest) && !entry.is_older(DEAD_AFTER);
            if !may_come && !self.manifest_path(&manifest).exists() {
                remove(&entry.path)?;
            }
        }
        Ok(cleaned)
    }

    /// Removes components until there is room for this number of bytes.
    fn remove_components(
        &self,
        manifests: &BTreeMap<Digest, Entry>,
        bytes: u64,
        kept: &BTreeSet<Digest>,
    ) -> Result<Cleaned, Error> {
        let mut components: Vec<(Digest, Entry)> = self.named(COMPONENTS, ".wasm")?.into_iter().collect();
        components.sort_by_key(|(_, entry)| entry.used);
        let references = self.named(REFERENCES, ".json")?.into_values();
        let meant: BTreeSet<Digest> =
            references.filter_map(|entry| Some(Pointer::read(&entry.path).ok()??.component)).collect();
        let sizes = components.iter().map(|(_, entry)| entry).chain(manifests.values()).map(|entry| entry.size);
        let mut total = sizes.fold(bytes, u64::saturating_add);
        let mut cleaned = Cleaned::default();
        for (component, entry) in components {
            let is_used = meant.contains(&component) && !entry.is_older(UNUSED_AFTER);
            if total <= self.max_bytes || is_used || kept.contains(&component) {
                continue;
            }
            remove(&entry.path)?;
            total = total.saturating_sub(entry.size);
            cleaned = Cleaned { components: cleaned.components + 1, bytes: cleaned.bytes + entry.size };
        }
        Ok(cleaned)
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
        // What a link leads to is not ours.
        if files::open_folder(&folder)?.is_none() {
            return Ok(Vec::new());
        }
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
