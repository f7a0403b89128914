//! `cargo xtask dump-kinds`: reads from the real API server what devcluster knows of built-in
//! kinds.
//!
//! ```text
//! kube-apiserver ◀─ kubectl proxy ◀─ discovery, OpenAPI, tables, version ─┐
//!                                                                         ├▶ host/devcluster/src/
//! kinds (Go, with the server's own types and defaults) ◀─ kinds, schemas ─┘
//! ```
//!
//! The result is committed, so that building devcluster needs neither Go nor a control plane, and a
//! new release of Kubernetes shows as a difference. For a new version: raise it in
//! `tests/controlplane/go.mod`, run the command, and review the difference. A test fails while the
//! versions differ. The same version gives the same bytes, and `--check` fails where it does not.
//!
//! | file in `builtin/dump` | content |
//! |---|---|
//! | `version.json` | `/version`, without the fields about the build |
//! | `discovery.json` | aggregated discovery, and `storageVersionHashes` of the plain one |
//! | `openapi/PATH.json.gz` | `/openapi/v3/PATH` as served, with `.` for `/` in the name |
//! | `custom_openapi.json.gz` | what the OpenAPI documents of custom resources share |
//! | `columns.json.gz` | the columns of tables, by group, version and resource |
//! | `types.json` | how the Go types decode and encode: `record` in `kinds/types.go` |
//! | `defaults.json` | values that are set if absent: `defaults` in `kinds/defaults.go` |
//! | `wire.json.gz` | the messages of protobuf: `wire` in `kinds/wire.go` |
//! | `wireSamples.json.gz` | objects in protobuf and JSON, for tests: `sample` in `kinds/wire.go` |
//!
//! It also writes the answers in two files for tests, which have the questions, too:
//! `openapi/tests.json.gz`, with two custom kinds, and `custom/pattern/go.json`, with patterns that
//! `patterns`, another Go program, reads. To change a question, edit the file and run the command.
//!
//! What is absent: rules that exist only as code, e.g. validation, and defaults that depend on
//! other fields.

mod columns;
mod custom;
mod discovery;
mod go;
mod proxy;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, ensure};
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use gyre_controlplane::{ControlPlane, Controllers, Options, Tools};
use serde_json::{Value, json};

use crate::build::root;
use crate::steps::Steps;
use proxy::Proxy;

/// The folder to which the names of files are relative.
const FOLDER: &str = "host/devcluster/src";
const DUMP: &str = "builtin/dump";
/// Two custom kinds, and the document about them.
const CUSTOM: &str = "openapi/tests.json.gz";
/// Patterns and texts, and which of them match.
const PATTERNS: &str = "custom/pattern/go.json";

/// The groups and versions of devcluster; the core group has no name.
const GROUP_VERSIONS: [(&str, &str); 20] = [
    ("", "v1"),
    ("admissionregistration.k8s.io", "v1"),
    ("apiextensions.k8s.io", "v1"),
    ("apiregistration.k8s.io", "v1"),
    ("apps", "v1"),
    ("authentication.k8s.io", "v1"),
    ("authorization.k8s.io", "v1"),
    ("autoscaling", "v1"),
    ("autoscaling", "v2"),
    ("batch", "v1"),
    ("certificates.k8s.io", "v1"),
    ("coordination.k8s.io", "v1"),
    ("discovery.k8s.io", "v1"),
    ("events.k8s.io", "v1"),
    ("networking.k8s.io", "v1"),
    ("node.k8s.io", "v1"),
    ("policy", "v1"),
    ("rbac.authorization.k8s.io", "v1"),
    ("scheduling.k8s.io", "v1"),
    ("storage.k8s.io", "v1"),
];

/// The fields of `/version` about the release; the others are about the build.
const VERSION_FIELDS: [&str; 7] =
    ["major", "minor", "emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor", "gitVersion"];

/// The content of files, by their names.
type Files = BTreeMap<String, Vec<u8>>;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing, and fail if a file would be another.
    #[arg(long)]
    check: bool,
}

/// Writes the dump, or compares it. Errors: no file was changed, unless writing failed.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut steps = Steps::new(5);
    let plane = steps.step("control plane", || {
        let tools = Tools::find_or_build(&mut |line| eprintln!("  {line}"))?;
        ControlPlane::start(&tools, Options { controllers: Controllers::Absent, ..Options::default() })
    })?;
    let mut files = Files::new();
    let (discovery, documents) = steps.step("discovery, schemas and columns", || from_server(&plane, &mut files))?;
    drop(plane);
    steps.step("Go types and defaults, which takes minutes", || {
        for (name, value) in go::describe_types(&discovery::kinds(&discovery), &documents)? {
            match name.as_str() {
                // Long, and not for people.
                "wire" | "wireSamples" => files.insert(format!("{DUMP}/{name}.json.gz"), gzip(&value.to_string())?),
                _ => files.insert(format!("{DUMP}/{name}.json"), pretty(&value)?),
            };
        }
        Ok(())
    })?;
    steps.step("patterns", || {
        let cases = String::from_utf8(read(PATTERNS)?).with_context(|| format!("{PATTERNS} is no UTF-8"))?;
        files.insert(PATTERNS.to_owned(), go::match_patterns(&cases)?);
        Ok(())
    })?;
    let folder = root().join(FOLDER);
    steps.step("files", || if arguments.check { compare(&folder, &files) } else { write(&folder, &files) })?;
    eprintln!("done in {}", steps.elapsed());
    Ok(())
}

/// Adds the files that a running API server answers, and returns the discovery and the OpenAPI
/// documents.
fn from_server(plane: &ControlPlane, files: &mut Files) -> anyhow::Result<(Value, Vec<String>)> {
    let proxy = Proxy::start(plane)?;
    files.insert(format!("{DUMP}/version.json"), pretty(&version(&proxy)?)?);
    let discovery = discovery::dump(&proxy)?;
    files.insert(format!("{DUMP}/discovery.json"), pretty(&discovery)?);
    let mut documents = Vec::new();
    for path in GROUP_VERSIONS.map(path_of) {
        let document = proxy.text(&format!("/openapi/v3{path}"))?;
        let name = path.trim_start_matches('/').replace('/', ".");
        files.insert(format!("{DUMP}/openapi/{name}.json.gz"), gzip(&document)?);
        documents.push(document);
    }
    files.insert(format!("{DUMP}/columns.json.gz"), gzip(&columns::dump(&proxy, &discovery)?.to_string())?);
    let recorded: Value = serde_json::from_slice(&content(CUSTOM, &read(CUSTOM)?)?)?;
    let kinds = recorded.get("kinds").with_context(|| format!("{CUSTOM} has no kinds"))?;
    let document = custom::document(plane, &proxy, kinds)?;
    files.insert(format!("{DUMP}/custom_openapi.json.gz"), gzip(&custom::shared(&document)?.to_string())?);
    files.insert(CUSTOM.to_owned(), gzip(&json!({ "document": document, "kinds": kinds }).to_string())?);
    Ok((discovery, documents))
}

/// The path of a group version, e.g. `/apis/batch/v1`.
fn path_of((group, version): (&str, &str)) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

fn version(proxy: &Proxy) -> anyhow::Result<Value> {
    let version = proxy.json("/version", "application/json")?;
    let field = |name: &str| Some((name.to_string(), version.get(name)?.clone()));
    VERSION_FIELDS.iter().map(|name| field(name).with_context(|| format!("/version has no {name}"))).collect()
}

fn pretty(value: &Value) -> anyhow::Result<Vec<u8>> {
    Ok((serde_json::to_string_pretty(value)? + "\n").into_bytes())
}

/// Compresses without a time or a name, so that the same document gives the same file.
fn gzip(document: &str) -> anyhow::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(document.trim_end().as_bytes())?;
    Ok(encoder.finish()?)
}

fn read(name: &str) -> anyhow::Result<Vec<u8>> {
    std::fs::read(root().join(FOLDER).join(name)).with_context(|| format!("cannot read {FOLDER}/{name}"))
}

/// Returns the bytes of a file, decompressed if the name says that they are compressed.
fn content(name: &str, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut content = Vec::new();
    if name.ends_with(".gz") {
        GzDecoder::new(bytes).read_to_end(&mut content).with_context(|| format!("{name} is not gzip"))?;
    } else {
        content.extend_from_slice(bytes);
    }
    Ok(content)
}

/// Writes `files`, and removes all other OpenAPI documents from the folder.
fn write(folder: &Path, files: &Files) -> anyhow::Result<()> {
    ensure!(!files.is_empty(), "there is nothing to write");
    let documents = folder.join(DUMP).join("openapi");
    if documents.exists() {
        std::fs::remove_dir_all(&documents).with_context(|| format!("cannot remove {}", documents.display()))?;
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("  {:>7} {FOLDER}/{name}", bytes.len());
    }
    Ok(())
}

/// Compares `files` with those in the folder, except for how they are compressed. Errors: the names
/// of those that differ, are missing, or are there without a reason.
fn compare(folder: &Path, files: &Files) -> anyhow::Result<()> {
    let mut different = Vec::new();
    for (name, bytes) in files {
        let same = std::fs::read(folder.join(name)).ok().is_some_and(|found| {
            found == *bytes || matches!((content(name, &found), content(name, bytes)), (Ok(found), Ok(bytes)) if found == bytes)
        });
        if !same {
            different.push(format!("{FOLDER}/{name}"));
        }
    }
    for subfolder in [DUMP.to_owned(), format!("{DUMP}/openapi")] {
        for entry in std::fs::read_dir(folder.join(&subfolder)).into_iter().flatten() {
            let entry = entry?;
            let name = format!("{subfolder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_file() && !files.contains_key(&name) {
                different.push(format!("{FOLDER}/{name}, which nothing writes"));
            }
        }
    }
    ensure!(different.is_empty(), "these files are not those of the control plane: {}", different.join(", "));
    eprintln!("  {} files are those of the control plane", files.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dump_is_of_the_control_planes_version() {
        let text = std::fs::read_to_string(root().join(FOLDER).join(DUMP).join("version.json")).unwrap();
        let version: Value = serde_json::from_str(&text).unwrap();
        let module = std::fs::read_to_string(root().join("tests/controlplane/go.mod")).unwrap();
        let wanted = format!("k8s.io/kubernetes {} ", version["gitVersion"].as_str().unwrap());
        assert!(module.contains(&wanted), "`cargo xtask dump-kinds` brings the dump to the version that go.mod has");
    }

    #[test]
    fn a_check_names_files_that_differ_are_missing_or_are_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: Vec<u8>| (format!("{DUMP}/{name}"), bytes);
        let files = Files::from([
            file("openapi/same.json.gz", gzip("{}").unwrap()),
            file("other.json", b"1".to_vec()),
            file("missing.json", b"2".to_vec()),
        ]);
        write(folder.path(), &files).unwrap();
        compare(folder.path(), &files).unwrap();
        // Another compression of the same content is no difference.
        let mut encoder = GzBuilder::new().write(Vec::new(), Compression::none());
        encoder.write_all(b"{}").unwrap();
        let dump = folder.path().join(DUMP);
        std::fs::write(dump.join("openapi/same.json.gz"), encoder.finish().unwrap()).unwrap();
        compare(folder.path(), &files).unwrap();

        std::fs::write(dump.join("other.json"), "3").unwrap();
        std::fs::remove_file(dump.join("missing.json")).unwrap();
        std::fs::write(dump.join("openapi/old.json.gz"), "").unwrap();
        let error = compare(folder.path(), &files).unwrap_err().to_string();
        for name in ["other.json", "missing.json", "openapi/old.json.gz, which nothing writes"] {
            assert!(error.contains(&format!("{FOLDER}/{DUMP}/{name}")), "{error}");
        }
        assert!(!error.contains("same.json.gz"), "{error}");
    }
}
