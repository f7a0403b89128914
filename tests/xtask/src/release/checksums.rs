//! The digests of all files of a release, as `sha256sum --check` reads them.

use std::fmt::Write as _;
use std::fs;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use super::{Release, Skipped};

const FILE: &str = "SHA256SUMS";

/// Writes the digests of the other files.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    let mut text = String::new();
    for (name, _) in release.files()?.into_iter().filter(|(name, _)| name != FILE) {
        let path = release.file(&name);
        let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        text.push_str(&line(&name, &content));
    }
    release.write(FILE, &text)?;
    Ok(Vec::new())
}

fn line(name: &str, content: &[u8]) -> String {
    let mut line = String::new();
    for byte in Sha256::digest(content) {
        // A string takes everything.
        let _ = write!(line, "{byte:02x}");
    }
    line + "  " + name + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_one_of_sha256sum() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(line("a", b""), format!("{empty}  a\n"));
    }
}
