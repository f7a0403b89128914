//! A plugin in a file.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{Component, Error, Reader, Source};
use crate::plugins::{GIVE_A_COMPONENT, LARGEST_PLUGIN};

#[derive(Debug)]
pub(super) struct File(pub(super) PathBuf);

impl fmt::Display for File {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.display(), formatter)
    }
}

impl Source for File {
    fn read(&self, reader: &mut Reader<'_>) -> Result<Component, Error> {
        match reader.files.read(&self.0, LARGEST_PLUGIN) {
            Ok(bytes) => Ok(Component::new(bytes, self.0.clone())),
            Err(error) => Err(Error::new(self, error, GIVE_A_COMPONENT)),
        }
    }

    fn stem(&self) -> String {
        self.0.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.0)
    }
}
