//! The SDKs of other languages than Rust. The program `gyre` brings them with it, because no
//! registry has them yet: `gyre new` puts one into a project.

use std::fs;
use std::io;
use std::path::Path;

/// The files of an SDK.
#[derive(Clone, Copy, Debug)]
pub struct Sdk(&'static [File]);

#[derive(Clone, Copy, Debug)]
struct File {
    /// The path within the SDK.
    path: &'static str,
    bytes: &'static [u8],
}

impl Sdk {
    /// Writes the files into a folder, which it creates.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        for File { path, bytes } in self.0 {
            let file = folder.join(path);
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(file, bytes)?;
        }
        Ok(())
    }
}

include!(concat!(env!("OUT_DIR"), "/sdks.rs"));
