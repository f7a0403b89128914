//! Reads documents from tracked files.

use std::path::Path;

use gyre_engine::error::error_chain;
use gyre_input::document::{Document, Part, Source};
use gyre_input::problem::{Place, Problems};

use crate::plugins::files::Files;

/// The most bytes of a document. A ConfigMap contains at most 1 MiB.
const LARGEST_DOCUMENT: u64 = 4 << 20;

pub(crate) fn read_document(
    files: &mut Files,
    path: &Path,
    source: Source,
    named_at: &Place,
    problems: &mut Problems,
) -> Option<Part> {
    let bytes = match files.read(path, LARGEST_DOCUMENT) {
        Ok(bytes) => bytes,
        Err(error) => {
            problems.add(
                named_at.clone(),
                format!("cannot read {}: {}", path.display(), error_chain(&error)),
                "name a file that can be read",
            );
            return None;
        }
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => {
            problems.add(source.whole(), "the file is not UTF-8", "write YAML or JSON");
            return None;
        }
    };
    match Document::parse(source, &text) {
        Ok(document) => Some(Part::whole(document)),
        Err(problem) => {
            problems.0.push(problem);
            None
        }
    }
}
