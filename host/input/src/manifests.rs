//! Manifests: objects in files and directories of YAML or JSON.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use gyre_core::text::error_chain;
use serde_json::Value;

use crate::document::yaml_problem;
use crate::problem::Problem;

/// The most bytes of a file. A larger one is no manifest, and may be a device.
const LARGEST: u64 = 256 << 20;
/// The most objects in a file, as in a dump of a large cluster.
const MOST_DOCUMENTS: usize = 1_000_000;
/// The most values in a file. Each takes some 100 bytes of memory.
const MOST_VALUES: usize = 20_000_000;

/// Reads the objects in files and directories, each with the name of its file.
///
/// # Errors
///
/// If a file cannot be read, or contains anything but objects with apiVersion, kind and name.
pub fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<(String, Value)>> {
    let mut objects = Vec::new();
    for path in paths {
        for file in files(path)? {
            let shown = if is_standard_input(&file) { "standard input".to_owned() } else { file.display().to_string() };
            let documents = documents(&shown, &text(&file)?)?;
            for (number, object) in (1..).zip(documents) {
                if let Err(problem) = check(&object) {
                    bail!("{shown}: object {number} {problem}; every object needs apiVersion, kind and metadata.name");
                }
                objects.push((shown.clone(), object));
            }
        }
    }
    Ok(objects)
}

fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let files = manifests_in(path)?;
    if files.is_empty() {
        bail!("there are no .yaml, .yml or .json files in {}: name a file, or a directory that contains some", path.display());
    }
    Ok(files)
}

/// The manifests in a directory, sorted by name.
///
/// # Errors
///
/// If it cannot be listed.
pub fn manifests_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot = || format!("cannot list {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if is_manifest(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns whether a file is a manifest, by its extension.
pub fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known))
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn text(path: &Path) -> anyhow::Result<String> {
    if is_standard_input(path) {
        return bounded(std::io::stdin()).context("cannot read standard input");
    }
    std::fs::File::open(path).and_then(bounded).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => anyhow!("{} is not UTF-8 text: name YAML or JSON files", path.display()),
        _ => anyhow!(
            "cannot read {}: {}; name YAML or JSON files, or directories that contain them",
            path.display(),
            error_chain(&error)
        ),
    })
}

fn bounded(input: impl std::io::Read) -> std::io::Result<String> {
    let mut text = String::new();
    input.take(LARGEST + 1).read_to_string(&mut text)?;
    match text.len() as u64 {
        0..=LARGEST => Ok(text),
        _ => Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, format!("it is larger than {} MiB", LARGEST >> 20))),
    }
}

/// Returns what is wrong with an object, as the rest of a sentence after its number.
fn check(object: &Value) -> Result<(), String> {
    if !object.is_object() {
        return Err(format!("is {object:.40}"));
    }
    for (field, pointer) in [("apiVersion", "/apiVersion"), ("kind", "/kind"), ("metadata.name", "/metadata/name")] {
        match object.pointer(pointer) {
            Some(Value::String(text)) if !text.is_empty() => {}
            None | Some(Value::Null | Value::String(_)) => return Err(format!("has no {field}")),
            Some(other) => return Err(format!("has {other:.40} as its {field}, which is not a string")),
        }
    }
    Ok(())
}

/// Reads documents as kubectl does: numbers are those of YAML 1.1, such as the octal 0644.
fn documents(name: &str, text: &str) -> Result<Vec<Value>, Problem> {
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        budget: serde_saphyr::budget! {
            max_documents: MOST_DOCUMENTS,
            max_nodes: MOST_VALUES,
            max_events: 2 * MOST_VALUES,
            max_total_scalar_bytes: usize::try_from(LARGEST).unwrap_or(usize::MAX),
        },
    };
    let mut documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|error| yaml_problem(name, &error))?;
    documents.iter_mut().for_each(gyre_core::yaml::encode_numbers);
    let mut objects = Vec::new();
    for document in documents {
        match document.get("items").and_then(Value::as_array) {
            Some(items) if document.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List")) => {
                objects.extend(items.iter().cloned());
            }
            _ if document.is_null() => {}
            _ => objects.push(document),
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_of_a_large_cluster_is_read_document_by_document_or_as_a_list() {
        const OBJECTS: usize = 5_000;
        let values: Vec<String> = (0..26).map(|number| format!("key-{number}: value")).collect();
        let object =
            |number: usize| format!("{{kind: ConfigMap, metadata: {{name: n{number}}}, data: {{{}}}}}", values.join(", "));
        let dump: String = (0..OBJECTS).map(|number| format!("---\n{}\n", object(number))).collect();
        assert_eq!(documents("dump.yaml", &dump).unwrap().len(), OBJECTS);
        let items: String = (0..OBJECTS).map(|number| format!("- {}\n", object(number))).collect();
        assert_eq!(documents("list.yaml", &format!("kind: List\nitems:\n{items}")).unwrap().len(), OBJECTS);
    }

    /// The results are those of sigs.k8s.io/yaml 1.6.
    #[test]
    fn scalars_are_read_as_by_kubectl() {
        for (yaml, json) in [
            ("0400", "256"),
            ("0644", "420"),
            ("-010", "-8"),
            ("+010", "8"),
            ("0_7", "7"),
            ("1_000", "1000"),
            ("0o17", "15"),
            ("0x1F", "31"),
            ("-0x1F", "-31"),
            ("0b101", "5"),
            ("08", "8"),
            ("0", "0"),
            ("3.0", "3"),
            ("1e3", "1000"),
            ("2.5", "2.5"),
            ("yes", "true"),
            ("off", "false"),
            ("'0644'", "\"0644\""),
            ("1:30", "\"1:30\""),
            ("2001-01-01", "\"2001-01-01\""),
        ] {
            let read = documents("it.yaml", &format!("mode: {yaml}\n")).unwrap();
            assert_eq!(read[0]["mode"].to_string(), json, "{yaml}");
        }
    }

    #[test]
    fn manifests_that_expand_without_limit_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for number in 1..12 {
            let before = format!("*a{}", number - 1);
            text.push_str(&format!("a{number}: &a{number} [{}]\n", [before.as_str(); 8].join(", ")));
        }
        let problem = documents("bomb.yaml", &text).unwrap_err().to_string();
        assert!(problem.contains("split it up, or nest it less"), "{problem}");
    }
}
