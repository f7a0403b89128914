//! The notes of a release: its section of CHANGELOG.md.

use std::fs;

use anyhow::Context as _;

use super::{Release, Skipped};
use crate::build;

const CHANGELOG: &str = "CHANGELOG.md";

/// The section of changes that are not released yet.
const UNRELEASED: &str = "Unreleased";

/// Writes the section of the version. Before there is a tag, it may be the one of unreleased
/// changes.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    let changelog = fs::read_to_string(build::root().join(CHANGELOG)).with_context(|| format!("cannot read {CHANGELOG}"))?;
    let version = &release.version;
    let own = section(&changelog, version);
    let notes = if release.tag.is_some() { own } else { own.or_else(|| section(&changelog, UNRELEASED)) };
    let notes = notes.with_context(|| format!("{CHANGELOG} has no section [{version}]: rename the section [{UNRELEASED}]"))?;
    release.write("release-notes.md", &format!("{notes}\n"))?;
    Ok(Vec::new())
}

/// Returns the text of a section, without its heading.
fn section<'a>(changelog: &'a str, title: &str) -> Option<&'a str> {
    let heading = format!("\n## [{title}]");
    let (_, rest) = changelog.split_once(&heading)?;
    // The date may follow on the line.
    let (_, rest) = rest.split_once('\n')?;
    Some(rest.split("\n## ").next().unwrap_or(rest).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_before_the_next() {
        let text = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- A.\n\n## [0.1.0]\n\n- B.\n";
        assert_eq!(section(text, "0.2.0"), Some("### Added\n\n- A."));
        assert_eq!(section(text, "0.1.0"), Some("- B."));
        assert_eq!(section(text, "Unreleased"), Some(""));
        assert_eq!(section(text, "0.3.0"), None);
    }
}
