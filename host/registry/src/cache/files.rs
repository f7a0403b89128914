//! Folders and files of the cache, as they are opened.
//!
//! Who writes a pointer decides what is mounted, unless signatures are demanded. So the folders
//! belong to our user or to root, and nobody else may write to them. Checks use what is open:
//! names may change their meaning.

use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read as _};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::Error;

/// The mode of our folders.
const OURS: u32 = 0o700;
/// The bits by which others may write.
const OTHERS: u32 = 0o022;

/// Creates a folder in one that exists, unless it is there.
pub(super) fn make_folder(path: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(OURS).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Error::io(path, "created")(error)),
        _ => open_folder(path).map(drop),
    }
}

/// Opens a folder that only we and root may write to; `None` if it is absent.
pub(super) fn open_folder(path: &Path) -> Result<Option<File>, Error> {
    let Some(folder) = open_at(CWD, path, path, OFlags::DIRECTORY)? else { return Ok(None) };
    let metadata = folder.metadata().map_err(Error::io(path, "examined"))?;
    let (owner, ours) = (metadata.uid(), our_user());
    if !is_trusted(owner, ours) {
        return Err(Error::Foreign { path: path.to_owned(), owner, ours });
    }
    // Kubernetes lets the group of a Pod write to what is in its volumes.
    if metadata.mode() & OTHERS != 0 {
        folder.set_permissions(Permissions::from_mode(OURS)).map_err(Error::io(path, "protected from others"))?;
    }
    Ok(Some(folder))
}

/// Opens a regular file of a folder; `None` if it is absent.
pub(super) fn open(path: &Path) -> Result<Option<(File, Metadata)>, Error> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let Some(folder) = open_folder(parent)? else { return Ok(None) };
    let Some(file) = open_at(&folder, Path::new(name), path, OFlags::NONBLOCK)? else { return Ok(None) };
    let metadata = file.metadata().map_err(Error::io(path, "examined"))?;
    if !metadata.is_file() || !is_trusted(metadata.uid(), our_user()) {
        let why = io::Error::new(io::ErrorKind::PermissionDenied, "it is no regular file of this user or of root");
        return Err(Error::io(path, "used")(why));
    }
    Ok(Some((file, metadata)))
}

/// Reads a file of at most `limit` bytes; `None` if it is absent or larger.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, Error> {
    let Some((file, _)) = open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(Error::io(path, "read"))?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Opens a name in a folder, but not what it links to. Errors are about `path`.
fn open_at(folder: impl AsFd, name: &Path, path: &Path, flags: OFlags) -> Result<Option<File>, Error> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(opened) => Ok(Some(File::from(opened))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(Error::io(path, "opened")(errno.into())),
    }
}

fn our_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns whether we trust files of this user. Root could change this process itself.
fn is_trusted(owner: u32, ours: u32) -> bool {
    owner == ours || owner == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_users_are_not_trusted() {
        assert!(is_trusted(1000, 1000) && is_trusted(0, 1000) && is_trusted(0, 0));
        assert!(!is_trusted(1001, 1000) && !is_trusted(1000, 0));
    }
}
