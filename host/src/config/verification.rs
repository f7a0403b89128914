//! The signatures that plugins of registries must have: from the keys of a file to a policy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gyre_engine::error::error_chain;
use gyre_input::document::{Node, Part};
use gyre_input::problem::{Problem, Problems};
use gyre_signatures::{Identity, Log, Policy, PublicKey, Requirements, policy};

use super::keys;
use super::types::{FilePath, List, Plain};
use crate::plugins::files::Files;

/// The most bytes of a public key, and of a trusted root. The one of Sigstore has some 10 KB.
const LARGEST: u64 = 1 << 20;

/// The value of a key `verify`.
#[derive(Debug)]
pub(crate) struct Verification {
    part: Part,
    directory: PathBuf,
    keys: keys::Verify,
}

impl Verification {
    /// Paths are relative to this directory.
    pub(crate) fn new(keys: keys::Verify, part: Part, directory: &Path) -> Self {
        Self { part, directory: directory.to_owned(), keys }
    }

    /// Reads the files. Problems are reported.
    pub(crate) fn policy(&self, files: &mut Files, problems: &mut Problems) -> Option<Arc<Policy>> {
        let mut found = Problems::default();
        let policy = self.policy_or(files, &mut found);
        // Several mounts may have the same default.
        let new = found.0.into_iter().filter(|problem| !problems.0.contains(problem));
        let new: Vec<Problem> = new.collect();
        problems.0.extend(new);
        policy
    }

    fn policy_or(&self, files: &mut Files, problems: &mut Problems) -> Option<Arc<Policy>> {
        let keys::Verify { keys, identities, trusted_root, log, annotations } = &self.keys;
        let mut required = Requirements::default();
        for (name, value) in annotations.iter().flatten() {
            let part = self.part.at(&format!("/annotations/{}", name.replace('~', "~0").replace('/', "~1")));
            match value {
                Some(Plain(value)) => drop(required.annotations.insert(name.clone(), value.clone())),
                // Without a value, nothing would be demanded.
                None if part.node().is_none_or(Node::is_null) => {
                    let what = format!("the annotation {name} has no value");
                    problems.add(part.place(), what, "write the value that the signature must have, or remove it");
                }
                // The schema has refused its value.
                None => {}
            }
        }
        for (index, file) in keys.iter().flat_map(List::iter) {
            let part = self.part.at(&format!("/keys/{index}"));
            let Some((name, text)) = self.read(file, &part, files, problems) else { continue };
            match PublicKey::from_pem(name, &text) {
                Ok(key) => required.keys.push(key),
                Err(error) => problems.add(part.place(), error.to_string(), error.remedy()),
            }
        }
        for (index, keys::Identity { issuer, subject }) in identities.iter().flat_map(List::iter) {
            let [issuer, subject] = [issuer, subject].map(|text| text.clone().unwrap_or_default());
            match Identity::new(issuer, subject) {
                Ok(identity) => required.identities.push(identity),
                Err(error) => refuse(&self.part.at(&format!("/identities/{index}")), &error, problems),
            }
        }
        if let Some(file) = trusted_root {
            let text = self.read(file, &self.part.at("/trustedRoot"), files, problems);
            required.trusted_root = text.map(|(_, text)| text);
        }
        required.log = match log {
            Some(keys::Log::Required) => Log::Required,
            Some(keys::Log::Ignored) => Log::Ignored,
            // Without a trusted root, no entry could be verified.
            None if trusted_root.is_some() => Log::Required,
            None => Log::Ignored,
        };
        if !problems.0.is_empty() {
            return None;
        }
        Policy::new(required).map(Arc::new).inspect_err(|error| refuse(&self.part, error, problems)).ok()
    }

    fn read(
        &self,
        FilePath(path): &FilePath,
        part: &Part,
        files: &mut Files,
        problems: &mut Problems,
    ) -> Option<(String, String)> {
        let path = self.directory.join(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match files.read(&path, LARGEST).map(String::from_utf8) {
            Ok(Ok(text)) => return Some((name, text)),
            Ok(Err(_)) => problems.add(part.place(), format!("{} is not text", path.display()), "name a file in PEM or JSON"),
            Err(error) => {
                let what = format!("cannot read {}: {}", path.display(), error_chain(&error));
                problems.add(part.place(), what, "name a file that can be read");
            }
        }
        None
    }
}

fn refuse(part: &Part, error: &policy::Error, problems: &mut Problems) {
    problems.add(part.place(), error.to_string(), error.remedy());
}
