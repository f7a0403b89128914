//! Golden cases: each directory with objects is a case. `expected.yaml` is the expected result,
//! `settings.yaml` the plugin's settings, `mount.yaml` the other keys of its mount, `time.txt` the
//! time; other YAML and JSON files are objects.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use gyre_engine::error::error_chain;
use gyre_input::document::yaml_problem;
use gyre_input::manifests;
use jiff::Timestamp;
use serde_json::{Map, Value};

/// The time at which cases, experiments and tests start by default: 2026-01-01T00:00:00Z.
pub const START: Timestamp = Timestamp::constant(1_767_225_600, 0);
/// The file with the expected result of a case.
pub const EXPECTED: &str = "expected.yaml";
/// The file with the settings of a case.
pub const SETTINGS: &str = "settings.yaml";
/// The file with the keys of the mount of a case.
pub const MOUNT: &str = "mount.yaml";
const TIME: &str = "time.txt";

/// A case of `gyre test`.
pub struct Case {
    /// The path of its directory, relative to the directory of all cases.
    pub name: String,
    /// Its directory.
    pub folder: PathBuf,
}

/// The cases in a directory and its subdirectories, sorted by name; some lack the expected result.
///
/// # Errors
/// When a directory cannot be listed.
pub fn cases_in(root: &Path) -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    find(root, root, &mut cases)?;
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}

fn find(root: &Path, folder: &Path, cases: &mut Vec<Case>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|error| {
        anyhow!(
            "cannot list {}: {}; name a directory that contains a directory for each case",
            folder.display(),
            error_chain(&error)
        )
    })?;
    let mut has_objects = false;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.is_dir() {
            find(root, &path, cases)?;
        } else {
            has_objects |= contains_objects(&path);
        }
    }
    if folder.join(EXPECTED).exists() || (has_objects && folder != root) {
        let name = folder.strip_prefix(root).unwrap_or(folder).display().to_string();
        cases.push(Case { name, folder: folder.to_owned() });
    }
    Ok(())
}

fn contains_objects(path: &Path) -> bool {
    manifests::is_manifest(path)
        && path.file_name().is_some_and(|name| ![EXPECTED, SETTINGS, MOUNT].iter().any(|other| name == *other))
}

/// The input of a case.
pub struct CaseInput {
    /// The objects, each with the name of its file.
    pub objects: Vec<(String, Value)>,
    /// The settings of the plugin, or `None` for those of the mount.
    pub settings: Option<Value>,
    /// The keys of the mount, such as its grants, or `None` for those of the flags.
    pub mount: Option<Map<String, Value>>,
    /// The simulated time.
    pub time: Timestamp,
}

impl CaseInput {
    /// Reads the case in a directory.
    ///
    /// # Errors
    /// When one of its files cannot be read, or is invalid.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let time = match text(folder, TIME)? {
            None => START,
            Some(time) => time
                .trim()
                .parse()
                .map_err(|_| anyhow!("{TIME}: {:?} is not a time: expected one such as {START}", time.trim()))?,
        };
        let yaml = |name: &str| -> anyhow::Result<Option<Value>> {
            let value = text(folder, name)?.map(|text| serde_saphyr::from_str(&text));
            Ok(value.transpose().map_err(|error| yaml_problem(name, &error))?)
        };
        let settings = yaml(SETTINGS)?;
        let mount = match yaml(MOUNT)? {
            None => None,
            Some(Value::Object(keys)) => Some(keys),
            Some(_) => bail!("{MOUNT}: expected keys of a mount, e.g. grants: {{deleteParents: true}}"),
        };
        let mut files = manifests::manifests_in(folder)?;
        files.retain(|path| path.is_file() && contains_objects(path));
        Ok(Self { objects: manifests::read(&files)?, settings, mount, time })
    }
}

/// Reads a file of a case, or returns `None` if it does not exist.
///
/// # Errors
/// When it cannot be read.
pub fn text(folder: &Path, name: &str) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(folder.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", folder.join(name).display())),
    }
}
