//! Checks whether a manifest can be mounted, before the API server refuses its objects.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::{Manifest, Strategy};
use crate::field_path::{FieldPath, PathError};
use crate::groups::{self, Grouping, Members, is_json_pointer};
use crate::names::{is_dns_label, is_dns_label_with_letter, is_dns_subdomain, is_kind};
use crate::object::GroupVersionKind;
use crate::text::displayed;

const MOST_LISTED: usize = 32;
/// The most bytes of a problem, which quotes the plugin.
const PROBLEM_TEXT: usize = 1_024;

/// A manifest that cannot be mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The name that the plugin gives itself.
    pub plugin: String,
    /// All problems in the order of the manifest; at least one.
    pub problems: Vec<Violation>,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the manifest of plugin {:?} has to be corrected in what its `describe` returns: ", self.plugin)?;
        for (index, problem) in self.problems.iter().take(MOST_LISTED).enumerate() {
            let problem = displayed(problem, PROBLEM_TEXT);
            write!(formatter, "{}{problem}", if index == 0 { "" } else { "; " })?;
        }
        match self.problems.len().saturating_sub(MOST_LISTED) {
            0 => Ok(()),
            more => write!(formatter, "; and {more} more"),
        }
    }
}

impl std::error::Error for Error {}

/// One problem of a manifest, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The name is not a DNS label.
    #[error(
        "the name {0:?} must be a DNS label: at most 63 lower-case letters, digits and '-', with a letter or digit at each end"
    )]
    Name(String),
    /// Two reconcilers of a plugin have the same name.
    #[error(
        "two reconcilers are called {0:?}: give each a name of its own, in Rust by `manifest!(…).named(\"…\")`, because children and fields belong to the name"
    )]
    NameTwice(String),
    /// A kind is not written as in Kubernetes.
    #[error("{place} {kind:?} must have {rule}")]
    Kind {
        /// The role of the kind in the manifest.
        place: &'static str,
        /// The kind as given.
        kind: GroupVersionKind,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// Two child kinds are the same, perhaps in two versions.
    #[error("{0} is declared as a child kind twice, and an object is the same in all versions: declare it once")]
    ChildTwice(GroupVersionKind),
    /// The strongest strategy of a child kind is weaker than the one that its children have anyway.
    #[error(
        "{kind} has the strategy {strategy} and, as the strongest of its children, {strongest}, which is weaker: name a stronger one, or none"
    )]
    WeakStrongestStrategy {
        /// The child kind.
        kind: GroupVersionKind,
        /// The strategy of the kind.
        strategy: &'static str,
        /// The strongest strategy as given.
        strongest: &'static str,
    },
    /// Children that outlive their parent could be deleted to be replaced.
    #[error("{0} outlives the parent, and has the strategy recreate, which deletes objects: name another one")]
    RecreatedOutlivesParent(GroupVersionKind),
    /// A field of parents is declared that no plugin may set.
    #[error("the field {pointer:?} of parents {error}")]
    ParentField {
        /// The field as given.
        pointer: String,
        /// The rule that it breaks.
        error: PathError,
    },
    /// The field by which parents are grouped is no JSON Pointer.
    #[error("parents are grouped by {0:?}, which must be a JSON Pointer (RFC 6901) such as \"/spec/pool\"")]
    GroupingField(String),
    /// Something is declared that a plugin which groups parents cannot have.
    #[error("the plugin groups its parents, and {0}: leave it out")]
    Grouped(&'static str),
    /// The kind of groups cannot be grouped, nor be a child.
    #[error("{0} is the kind that the host keeps for groups: name another one")]
    GroupKind(GroupVersionKind),
    /// Two reads are the same.
    #[error("{0} is read twice in the same way: declare it once")]
    ReadTwice(GroupVersionKind),
    /// The namespace of a read is invalid.
    #[error("{kind} is read from {namespace:?}, which cannot be a namespace: give a DNS label, or none")]
    ReadNamespace {
        /// The kind that is read.
        kind: GroupVersionKind,
        /// The namespace as given.
        namespace: String,
    },
    /// The settings schema is no JSON Schema.
    #[error("the settings schema must be a JSON Schema: an object or a boolean")]
    SettingsSchema,
    /// An object among the CRDs is not a CustomResourceDefinition.
    #[error("CRD number {0} must be an apiextensions.k8s.io/v1 CustomResourceDefinition")]
    NotACrd(usize),
    /// The API server would not accept a CustomResourceDefinition.
    #[error("the CRD {name:?} must have {rule}")]
    Crd {
        /// Its name, or its number if it has none.
        name: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// Two CRDs are the same.
    #[error("the CRD {0:?} is included twice: include it once")]
    CrdTwice(String),
    /// A CRD is unrelated to the plugin.
    #[error(
        "the CRD {name:?} defines {kind}, which is neither the parent nor a child kind nor read: declare it or leave the CRD out"
    )]
    CrdUnrelated {
        /// The CRD's name.
        name: String,
        /// `Kind.group`.
        kind: String,
    },
    /// A CRD does not serve the version that the manifest declares.
    #[error(
        "the CRD {name:?} does not serve the version {version:?} that the manifest declares: serve it, or declare one of those served"
    )]
    CrdVersion {
        /// The CRD's name.
        name: String,
        /// The declared version.
        version: String,
    },
}

/// Checks the manifests of all reconcilers of a plugin.
///
/// # Errors
///
/// The problems of the first manifest that has some.
pub fn validate_all(manifests: &[Manifest]) -> Result<(), Error> {
    for (index, manifest) in manifests.iter().enumerate() {
        manifest.validate()?;
        if manifests.iter().take(index).any(|earlier| earlier.name == manifest.name) {
            let problems = vec![Violation::NameTwice(manifest.name.clone())];
            return Err(Error { plugin: manifest.name.clone(), problems });
        }
    }
    Ok(())
}

impl Manifest {
    /// Checks everything that does not need a cluster.
    ///
    /// # Errors
    ///
    /// All problems at once, so that an author can correct them together.
    pub fn validate(&self) -> Result<(), Error> {
        let mut problems = Vec::new();
        if !is_dns_label(&self.name) {
            problems.push(Violation::Name(self.name.clone()));
        }
        self.check_kinds(&mut problems);
        self.check_children(&mut problems);
        self.check_reads(&mut problems);
        self.check_parent_fields(&mut problems);
        self.check_grouping(&mut problems);
        if self.settings_schema.as_ref().is_some_and(|schema| !schema.is_object() && !schema.is_boolean()) {
            problems.push(Violation::SettingsSchema);
        }
        self.check_crds(&mut problems);
        if problems.is_empty() { Ok(()) } else { Err(Error { plugin: self.name.clone(), problems }) }
    }

    fn kinds(&self) -> impl Iterator<Item = (&'static str, &GroupVersionKind)> {
        std::iter::once(("the parent kind", self.users_kind()))
            .chain(self.members.is_some().then_some(("the kind of groups", &self.parent)))
            .chain(self.children.iter().map(|child| ("the child kind", &child.kind)))
            .chain(self.reads.iter().map(|read| ("the read kind", &read.kind)))
    }

    fn check_kinds(&self, problems: &mut Vec<Violation>) {
        for (place, kind) in self.kinds() {
            let mut expect = |holds: bool, rule: &'static str| {
                if !holds {
                    problems.push(Violation::Kind { place, kind: kind.clone(), rule });
                }
            };
            expect(
                kind.group.is_empty() || is_dns_subdomain(&kind.group),
                "a group that is empty or a DNS subdomain such as \"batch\"",
            );
            expect(is_dns_label_with_letter(&kind.version), "a version such as \"v1\" or \"v1alpha1\"");
            expect(is_kind(&kind.kind), "a kind in CamelCase such as \"CronJob\"");
        }
    }

    fn check_parent_fields(&self, problems: &mut Vec<Violation>) {
        for pointer in &self.parent_fields {
            if let Err(error) = FieldPath::parse(pointer) {
                problems.push(Violation::ParentField { pointer: pointer.clone(), error });
            }
        }
    }

    fn check_grouping(&self, problems: &mut Vec<Violation>) {
        let kinds = self.children.iter().map(|child| &child.kind).chain([self.users_kind()]);
        problems.extend(kinds.filter(|kind| kind.is_same(&groups::kind())).cloned().map(Violation::GroupKind));
        let Some(Members { grouping, .. }) = &self.members else { return };
        if let Grouping::ByField(pointer) = grouping
            && !is_json_pointer(pointer)
        {
            problems.push(Violation::GroupingField(pointer.clone()));
        }
        let declared = [
            (self.finalizes, "finalizes them, but a group is not deleted with a member"),
            (self.deletes_parent, "deletes them, but a response has no member to delete"),
            (!self.parent_fields.is_empty(), "sets fields of them, but a response has only statuses of members"),
            (
                self.children.iter().any(|child| child.outlives_parent),
                "has children that outlive them, but the children of a group have no one parent",
            ),
        ];
        problems.extend(declared.into_iter().filter(|(is_declared, _)| *is_declared).map(|(_, what)| Violation::Grouped(what)));
    }

    fn check_children(&self, problems: &mut Vec<Violation>) {
        let mut seen = BTreeSet::new();
        for child in &self.children {
            if !seen.insert((&child.kind.group, &child.kind.kind)) {
                problems.push(Violation::ChildTwice(child.kind.clone()));
            }
            if child.outlives_parent && child.strongest() == Strategy::Recreate {
                problems.push(Violation::RecreatedOutlivesParent(child.kind.clone()));
            }
            if let Some(strongest) = child.strongest_strategy.filter(|strongest| *strongest < child.strategy) {
                let (strategy, strongest) = (child.strategy.as_str(), strongest.as_str());
                problems.push(Violation::WeakStrongestStrategy { kind: child.kind.clone(), strategy, strongest });
            }
        }
    }

    fn check_reads(&self, problems: &mut Vec<Violation>) {
        for (index, read) in self.reads.iter().enumerate() {
            if self.reads.iter().take(index).any(|earlier| earlier == read) {
                problems.push(Violation::ReadTwice(read.kind.clone()));
            }
            if let Some(namespace) = read.namespace.as_ref().filter(|namespace| !is_dns_label(namespace)) {
                problems.push(Violation::ReadNamespace { kind: read.kind.clone(), namespace: namespace.clone() });
            }
        }
    }

    fn check_crds(&self, problems: &mut Vec<Violation>) {
        let mut names = BTreeSet::new();
        for (index, crd) in self.crds.iter().enumerate() {
            let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            if text("/apiVersion") != "apiextensions.k8s.io/v1" || text("/kind") != "CustomResourceDefinition" {
                problems.push(Violation::NotACrd(index + 1));
                continue;
            }
            let name = text("/metadata/name");
            let (group, plural, kind) = (text("/spec/group"), text("/spec/names/plural"), text("/spec/names/kind"));
            let shown = if name.is_empty() { format!("number {}", index + 1) } else { name.to_owned() };
            let mut expect = |holds: bool, rule: String| {
                if !holds {
                    problems.push(Violation::Crd { name: shown.clone(), rule });
                }
            };
            expect(is_dns_subdomain(group), "a spec.group that is a DNS subdomain".to_owned());
            expect(is_dns_label_with_letter(plural), "a spec.names.plural that is a DNS label".to_owned());
            expect(is_kind(kind), "a spec.names.kind in CamelCase".to_owned());
            expect(matches!(text("/spec/scope"), "Namespaced" | "Cluster"), "the spec.scope Namespaced or Cluster".to_owned());
            expect(
                name == format!("{plural}.{group}"),
                format!("the name \"{plural}.{group}\", made of its plural and its group"),
            );
            if !name.is_empty() && !names.insert(name) {
                problems.push(Violation::CrdTwice(name.to_owned()));
            }
            self.check_crd_is_declared(crd, name, group, kind, problems);
        }
    }

    /// A CRD affects the whole cluster, so a plugin may only bring those of kinds that it declares.
    fn check_crd_is_declared(&self, crd: &Value, name: &str, group: &str, kind: &str, problems: &mut Vec<Violation>) {
        let declared: BTreeSet<&str> = self
            .kinds()
            .filter(|(_, declared)| declared.group == group && declared.kind == kind)
            .map(|(_, declared)| declared.version.as_str())
            .collect();
        if declared.is_empty() {
            problems.push(Violation::CrdUnrelated { name: name.to_owned(), kind: format!("{kind}.{group}") });
        }
        let served = served_versions(crd);
        for version in declared {
            if served.get(version) != Some(&true) {
                problems.push(Violation::CrdVersion { name: name.to_owned(), version: version.to_owned() });
            }
        }
    }
}

fn served_versions(crd: &Value) -> BTreeMap<&str, bool> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let version = |version| {
        let version: &Value = version;
        Some((version.get("name")?.as_str()?, version.get("served")?.as_bool()?))
    };
    versions.iter().filter_map(version).collect()
}

#[cfg(test)]
mod tests;
