//! The resources of kinds, without a cluster.

use std::collections::BTreeMap;

use gyre_core::grants::{Namespaces, Scope};
use gyre_core::manifest::Manifest;
use gyre_core::object::GroupVersionKind;
use gyre_engine::program::Program;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) plural: String,
    pub(crate) scope: Scope,
    pub(crate) status: Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Subresource,
    Field,
    /// The status belongs to the controller of the kind, not to gyre.
    Foreign,
}

/// The kinds whose resources are known without a cluster: those of Kubernetes and of CRDs.
pub(crate) struct Known {
    custom: BTreeMap<(String, String), Served>,
}

impl Known {
    pub(crate) fn new<'a>(definitions: impl Iterator<Item = &'a Value>) -> Self {
        Self { custom: definitions.filter_map(custom).collect() }
    }

    pub(crate) fn scope(&self, kind: &GroupVersionKind) -> Option<Scope> {
        self.served(kind).map(|served| served.scope)
    }

    pub(crate) fn served(&self, kind: &GroupVersionKind) -> Option<Served> {
        let custom = self.custom.get(&(kind.group.clone(), kind.kind.clone()));
        custom.cloned().or_else(|| builtin(kind))
    }
}

/// Returns the scope of the parents, or `None` if the plugin does not contain their kind.
pub(crate) fn parent_scope(manifest: &Manifest) -> Option<Scope> {
    Known::new(manifest.crds.iter()).scope(&manifest.parent)
}

/// Returns whether a mount may create Namespaces, in which it may then create other children.
pub(crate) fn writes_namespaces(program: &Program) -> bool {
    let mut written = program.grants.children();
    program.namespaces == Namespaces::All && written.any(|child| child.kind.is_namespace())
}

/// One kind per line: apiVersion, kind, plural, `cluster` or `namespaced`, perhaps `status`.
const BUILTIN: &str = include_str!("known_kinds/kinds.txt");

fn builtin(kind: &GroupVersionKind) -> Option<Served> {
    let api_version = kind.api_version();
    BUILTIN.lines().find_map(|line| {
        let mut words = line.split(' ');
        let is_meant = words.next() == Some(api_version.as_str()) && words.next() == Some(kind.kind.as_str());
        let (plural, scope) = (words.next()?, words.next()?);
        is_meant.then(|| Served {
            plural: plural.to_owned(),
            scope: if scope == "cluster" { Scope::Cluster } else { Scope::Namespaced },
            status: if words.next() == Some("status") { Status::Foreign } else { Status::Field },
        })
    })
}

fn custom(definition: &Value) -> Option<((String, String), Served)> {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array)?;
    let has_status = versions.iter().any(|version| version.pointer("/subresources/status").is_some());
    let served = Served {
        plural: text("/spec/names/plural")?,
        scope: if text("/spec/scope")? == "Cluster" { Scope::Cluster } else { Scope::Namespaced },
        status: if has_status { Status::Subresource } else { Status::Field },
    };
    Some(((text("/spec/group")?, text("/spec/names/kind")?), served))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use gyre_devcluster::kinds::{Kinds, Scope, Subresource};

    use super::*;

    #[test]
    fn the_builtin_kinds_are_those_of_devcluster() {
        let kinds = Kinds::builtin();
        let kinds = kinds.versions().flat_map(|(group, version)| kinds.of_version(group, version));
        let mut lines: Vec<String> = kinds
            .map(|kind| {
                let scope = match kind.scope {
                    Scope::Namespaced => "namespaced",
                    Scope::Cluster => "cluster",
                };
                let status = if kind.has(Subresource::Status) { " status" } else { "" };
                format!("{} {} {} {scope}{status}\n", kind.api_version(), kind.kind, kind.resource.plural)
            })
            .collect();
        lines.sort();
        if std::env::var_os("GYRE_BLESS").is_some() {
            fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/known_kinds/kinds.txt"), lines.concat()).unwrap();
        } else {
            assert_eq!(lines.concat(), BUILTIN, "write it with GYRE_BLESS=1");
        }
    }
}
