//! `cargo xtask dump-kinds`: reads from the real API server what devcluster knows of built-in
//! kinds.
//!
//! ```text
//! kube-apiserver ◀─ kubectl proxy ◀─ discovery, OpenAPI, version ─┐
//!                                                                 ├▶ host/devcluster/…/dump/
//! kinds (Go, with the server's own types and defaults) ◀─ kinds ──┘
//! ```
//!
//! The result is committed, so that building devcluster needs neither Go nor a control plane, and a
//! new release of Kubernetes shows as a difference. For a new version: raise it in
//! `tests/controlplane/go.mod`, run the command, and review the difference. A test fails while the
//! versions differ. The same version gives the same bytes.
//!
//! | file | content |
//! |---|---|
//! | `version.json` | `/version`, without the fields about the build |
//! | `discovery.json` | aggregated discovery, and `storageVersionHashes` of the plain one |
//! | `openapi/PATH.json.gz` | `/openapi/v3/PATH` as served, with `.` for `/` in the name |
//! | `types.json` | how the Go types decode and encode: `record` in `kinds/types.go` |
//! | `defaults.json` | values that are set if absent: `defaults` in `kinds/defaults.go` |
//! | `wire.json.gz` | the messages of protobuf: `wire` in `kinds/wire.go` |
//! | `wireSamples.json.gz` | objects in protobuf and JSON, for tests: `sample` in `kinds/wire.go` |
//!
//! The command does not change `columns.json.gz` and `custom_openapi.json.gz`. What is absent:
//! rules that exist only as code, e.g. validation, and defaults that depend on other fields.

mod discovery;
mod proxy;
mod types;

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::{Context as _, ensure};
use flate2::{Compression, GzBuilder};
use gyre_controlplane::{ControlPlane, Controllers, Options, Tools};
use serde_json::Value;

use crate::build::root;
use crate::steps::Steps;
use proxy::Proxy;

const FOLDER: &str = "host/devcluster/src/builtin/dump";

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

type Files = BTreeMap<String, Vec<u8>>;

/// Writes the dump. Errors: no file was changed, unless writing failed.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut steps = Steps::new(4);
    let plane = steps.step("control plane", || {
        let tools = Tools::find_or_build(&mut |line| eprintln!("  {line}"))?;
        ControlPlane::start(&tools, Options { controllers: Controllers::Absent, ..Options::default() })
    })?;
    let mut files = Files::new();
    let (discovery, documents) = steps.step("discovery and schemas", || {
        let proxy = Proxy::start(&plane)?;
        files.insert("version.json".to_string(), pretty(&version(&proxy)?)?);
        let discovery = discovery::dump(&proxy)?;
        files.insert("discovery.json".to_string(), pretty(&discovery)?);
        let mut documents = Vec::new();
        for path in GROUP_VERSIONS.map(path_of) {
            let document = proxy.text(&format!("/openapi/v3{path}"))?;
            files.insert(format!("openapi/{}.json.gz", path.trim_start_matches('/').replace('/', ".")), gzip(&document)?);
            documents.push(document);
        }
        Ok((discovery, documents))
    })?;
    drop(plane);
    steps.step("Go types and defaults, which takes minutes", || {
        for (name, value) in types::describe(&discovery::kinds(&discovery), &documents)? {
            match name.as_str() {
                // Long, and not for people.
                "wire" | "wireSamples" => files.insert(format!("{name}.json.gz"), gzip(&value.to_string())?),
                _ => files.insert(format!("{name}.json"), pretty(&value)?),
            };
        }
        Ok(())
    })?;
    steps.step("files", || write(&files))?;
    eprintln!("done in {}", steps.elapsed());
    Ok(())
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

/// Writes `files`, and removes all other documents from the folder.
fn write(files: &Files) -> anyhow::Result<()> {
    let folder = root().join(FOLDER);
    let documents = folder.join("openapi");
    if documents.exists() {
        std::fs::remove_dir_all(&documents).with_context(|| format!("cannot remove {}", documents.display()))?;
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(&folder);
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("  {:>7} {FOLDER}/{name}", bytes.len());
    }
    ensure!(!files.is_empty(), "there is nothing to write");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dump_is_of_the_control_planes_version() {
        let text = std::fs::read_to_string(root().join(FOLDER).join("version.json")).unwrap();
        let version: Value = serde_json::from_str(&text).unwrap();
        let module = std::fs::read_to_string(root().join("tests/controlplane/go.mod")).unwrap();
        let wanted = format!("k8s.io/kubernetes {} ", version["gitVersion"].as_str().unwrap());
        assert!(module.contains(&wanted), "`cargo xtask dump-kinds` brings the dump to the version that go.mod has");
    }
}
