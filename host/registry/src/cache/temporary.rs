//! Files that are being written.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::Error;

pub(super) const FOLDER: &str = "temporary";

/// Returns whether a name in the folder is one of ours.
pub(super) fn is_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.len() == 16 && name.iter().all(u8::is_ascii_hexdigit)
}

/// A file without a name of its own yet. It is removed, unless it is renamed.
pub(crate) struct Temporary {
    path: PathBuf,
    file: Option<File>,
}

impl Temporary {
    pub(super) fn new(folder: &Path) -> Result<Self, Error> {
        loop {
            // Process numbers are equal in the Pods that share a volume, so they say nothing.
            let path = folder.join(format!("{:016x}", RandomState::new().build_hasher().finish()));
            match File::options().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file: Some(file) }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(&path, "created")(error)),
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, once.
    pub(crate) fn take_file(&mut self) -> Result<File, Error> {
        let taken = || io::Error::from(io::ErrorKind::NotFound);
        self.file.take().ok_or_else(taken).map_err(Error::io(&self.path, "written"))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut file = self.take_file()?;
        // A file that is renamed before its content is on the disk may be empty after a crash.
        file.write_all(bytes).and_then(|()| file.sync_data()).map_err(Error::io(&self.path, "written"))
    }

    /// Gives the file its name, in place of another one with the name.
    pub(crate) fn rename(mut self, path: &Path) -> Result<(), Error> {
        fs::rename(&self.path, path).map_err(Error::io(path, "written"))?;
        // There is nothing to remove any more.
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // If it stays, `Cache::clean` removes it later.
            let _ = fs::remove_file(&self.path);
        }
    }
}
