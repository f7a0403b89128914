//! Archives that are the same on each machine: no names of users, and the time of the commit.

use std::fs::{self, File};
use std::path::Path;

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::GzEncoder;

/// A file of an archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) path: &'a Path,
    /// The permissions.
    pub(super) mode: u32,
}

/// Writes a `.tar.gz`. `seconds` is the time of all files, since 1970.
pub(super) fn write(to: &Path, entries: &[Entry<'_>], seconds: u64) -> anyhow::Result<()> {
    let file = File::create(to).with_context(|| format!("cannot create {}", to.display()))?;
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::best()));
    for Entry { name, path, mode } in entries {
        let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(content.len())?);
        header.set_mode(*mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(seconds);
        archive.append_data(&mut header, name, content.as_slice()).with_context(|| format!("cannot add {name}"))?;
    }
    archive.into_inner()?.finish().with_context(|| format!("cannot write {}", to.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn an_archive_has_the_files_and_is_the_same_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("program"), "text").unwrap();
        let entries = [Entry { name: "gyre", path: &path("program"), mode: 0o755 }];
        for archive in ["one", "other"] {
            write(&path(archive), &entries, 7).unwrap();
        }
        let bytes = fs::read(path("one")).unwrap();
        assert_eq!(bytes, fs::read(path("other")).unwrap());
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&bytes[..]));
        let mut found = archive.entries().unwrap();
        let mut entry = found.next().unwrap().unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        assert_eq!(entry.path().unwrap().to_str(), Some("gyre"));
        assert_eq!(entry.header().mode().unwrap(), 0o755);
        assert_eq!(entry.header().mtime().unwrap(), 7);
        assert!(found.next().is_none());
    }
}
