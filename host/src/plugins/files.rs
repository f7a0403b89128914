//! Reads files, and detects their changes.
//!
//! They are polled: this works on every file system, for overwritten, replaced and linked files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files(BTreeMap<PathBuf, FileState>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum FileState {
    Absent,
    /// The identity and length of a file, and the times of its last changes.
    File {
        device: u64,
        inode: u64,
        length: u64,
        modified: (i64, i64),
        changed: (i64, i64),
    },
    Directory(Vec<PathBuf>),
}

impl Files {
    /// Adds a file, and reads all of it, at most `limit` bytes.
    pub(crate) fn read(&mut self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        self.track(path);
        read(path, limit)
    }

    /// The plugins in a directory, sorted by name.
    pub(crate) fn list(&mut self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.track(path);
        plugins_in(path)
    }

    /// Adds a file without reading it.
    pub(crate) fn track(&mut self, path: &Path) {
        self.0.insert(path.to_owned(), state_of(path));
    }

    /// The same files with their current states.
    #[must_use]
    pub(crate) fn with_current_states(&self) -> Self {
        Self(self.0.keys().map(|path| (path.clone(), state_of(path))).collect())
    }
}

/// Reads a whole file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, length) = open(path, limit)?;
    // A vector that grows may take twice the memory.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// Opens a file of at most `limit` bytes, and returns its length.
pub(crate) fn open(path: &Path, limit: u64) -> io::Result<(File, u64)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    // A device or a pipe has no end.
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    if metadata.len() > limit {
        return Err(too_large(limit));
    }
    Ok((file, metadata.len()))
}

fn too_large(limit: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {} MiB", limit >> 20))
}

/// Writes a file at once, so that no reader gets a part of it.
#[cfg(any(test, feature = "tools"))]
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, |new| fs::write(new, bytes))
}

/// Copies a file at once. Its content is never in memory as a whole.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    // `fs::copy` would copy the permissions, too, and a cache may have its own.
    replace_with(to, |new| io::copy(&mut File::open(from)?, &mut File::create(new)?).map(drop))
}

/// Replaces a file by the one that `write` writes under another name.
fn replace_with(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = path.with_file_name(name);
    let result = write(&new).and_then(|()| fs::rename(&new, path));
    if result.is_err() {
        let _ = fs::remove_file(&new);
    }
    result
}

fn state_of(path: &Path) -> FileState {
    // Follows links, because their targets are read.
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => plugins_in(path).map_or(FileState::Absent, FileState::Directory),
        Ok(metadata) => state_of_file(&metadata),
        Err(_) => FileState::Absent,
    }
}

fn state_of_file(metadata: &Metadata) -> FileState {
    FileState::File {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}

fn plugins_in(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut plugins = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?.path();
        let is_hidden = entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && entry.extension() == Some(OsStr::new("wasm")) {
            plugins.push(entry);
        }
    }
    plugins.sort();
    Ok(plugins)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Expects that a change after reading `path` is detected, or is not.
    fn check(directory: &Path, path: &str, change: impl FnOnce(&Path), expected: bool) {
        let mut files = Files::default();
        let path = directory.join(path);
        let _ = if path.is_dir() { files.list(&path).map(drop) } else { files.read(&path, 1 << 20).map(drop) };
        assert_eq!(files, files.with_current_states(), "{} before", path.display());
        change(directory);
        assert_eq!(files != files.with_current_states(), expected, "{}", path.display());
    }

    #[test]
    fn every_way_of_changing_a_file_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        fs::write(directory.join("a.wasm"), "1").unwrap();
        check(directory, "a.wasm", |_| {}, false);
        check(directory, "a.wasm", |directory| fs::write(directory.join("a.wasm"), "22").unwrap(), true);
        let replace = |directory: &Path| {
            fs::write(directory.join("new"), "33").unwrap();
            fs::rename(directory.join("new"), directory.join("a.wasm")).unwrap();
        };
        check(directory, "a.wasm", replace, true);
        check(directory, "a.wasm", |directory| fs::remove_file(directory.join("a.wasm")).unwrap(), true);
        check(directory, "a.wasm", |directory| fs::write(directory.join("a.wasm"), "1").unwrap(), true);
    }

    #[test]
    fn a_config_map_that_the_kubelet_updates_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        for version in ["..1", "..2"] {
            fs::create_dir(directory.join(version)).unwrap();
            fs::write(directory.join(version).join("a.wasm"), "same length").unwrap();
        }
        symlink("..1", directory.join("..data")).unwrap();
        symlink("..data/a.wasm", directory.join("a.wasm")).unwrap();
        let turn = |directory: &Path| {
            symlink("..2", directory.join("..data_tmp")).unwrap();
            fs::rename(directory.join("..data_tmp"), directory.join("..data")).unwrap();
        };
        check(directory, "a.wasm", turn, true);
        assert_eq!(Files::default().list(directory).unwrap(), [directory.join("a.wasm")], "without the hidden folders");
    }

    #[test]
    fn only_the_plugins_in_a_directory_count() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        check(directory, "", |directory| fs::write(directory.join("notes.txt"), "").unwrap(), false);
        check(directory, "", |directory| fs::write(directory.join("a.wasm"), "").unwrap(), true);
        check(directory, "", |directory| fs::remove_file(directory.join("a.wasm")).unwrap(), true);
        check(directory, "", |directory| fs::remove_dir_all(directory).unwrap(), true);
    }

    #[test]
    fn a_file_is_replaced_at_once_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.wasm");
        replace(&path, b"1").unwrap();
        replace(&path, b"2").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        let other = folder.path().join("other.wasm");
        fs::write(&other, "4").unwrap();
        copy(&other, &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"4");
        fs::remove_file(&other).unwrap();
        assert!(copy(&other, &path).is_err());
        assert!(replace(folder.path(), b"3").is_err() && replace(&folder.path().join("absent/it.wasm"), b"3").is_err());
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["it.wasm"]);
    }

    #[test]
    fn endless_files_are_not_read() {
        let mut files = Files::default();
        assert!(files.read(Path::new("/dev/zero"), 10).is_err());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("large");
        fs::write(&path, "12345").unwrap();
        assert!(files.read(&path, 4).is_err());
        assert_eq!(files.read(&path, 5).unwrap(), b"12345");
    }
}
