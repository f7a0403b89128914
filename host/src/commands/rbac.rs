//! The minimal rules of the Roles and ClusterRoles that a deployment needs for its programs.
//!
//! | for | verbs |
//! |---|---|
//! | parents | `list`, `watch`; `get` (before a child is created again); `patch` for finalizers where there are some; `patch` of their `status`; `update` of their `finalizers`, which the admission plugin OwnerReferencesPermissionEnforcement asks of whoever sets `blockOwnerDeletion` |
//! | children | `list`, `watch`; of kinds that are granted also `create`, `get` (of an object that has the name of a child, and of `managedFields` before the first apply), `patch` (server-side apply), `delete` |
//! | what is read | `list`, `watch` |
//! | events | `create` |
//! | the host's own | its inventory, and its leases if it is one of several; `create` of token and access reviews if who looks at it must be permitted to |
//!
//! A shadow writes nothing: it needs only the permissions to read.
//!
//! A mount that impersonates a service account writes with that one's permissions: then it is that one which needs them, and the host
//! must be permitted to impersonate it. With the same rules the finalizers of its parents are removed once the mount is gone.
//!
//! `list` beside each `watch` is for API servers that do not stream lists. Children are in other namespaces than their parents only where
//! the mount's [`WriteNamespaces`] grant it; that some are from before, has to be said: [`Far::Expected`].

use std::collections::{BTreeMap, BTreeSet};

use gyre_core::grants::{Namespaces, Scope, WriteNamespaces};
use gyre_core::object::GroupVersionKind;
use gyre_engine::leadership::election::ElectionScope;
use gyre_engine::mounts::inventory::Place;
use gyre_engine::program::{Program, ServiceAccount};
use serde_json::{Map, Value, json};

/// The resource that a kind is served as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    plural: String,
    scope: Scope,
    status: Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Subresource,
    Field,
    /// Its controller's, which is none of ours.
    Foreign,
}

/// Kinds whose resources are known without a cluster: Kubernetes' own, and those of CustomResourceDefinitions.
pub(crate) struct Known {
    custom: BTreeMap<(String, String), Served>,
}

/// Why the rules cannot be determined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// A kind that is neither Kubernetes' own nor brought by a plugin.
    #[error("the mount {mount} needs {kind}, whose resource name is unknown: give its CustomResourceDefinition with --crd")]
    UnknownKind {
        /// The mount.
        mount: String,
        /// The kind.
        kind: GroupVersionKind,
    },
    /// Roles alone cannot grant it.
    #[error("{what} needs a ClusterRole, which --namespaced excludes: {remedy}")]
    NotNamespaced {
        /// What it is.
        what: String,
        /// What to do.
        remedy: &'static str,
    },
}

impl Known {
    /// The built-in kinds, and those of these CustomResourceDefinitions. Other objects are ignored.
    pub(crate) fn new<'a>(definitions: impl Iterator<Item = &'a Value>) -> Self {
        Self { custom: definitions.filter_map(custom).collect() }
    }

    fn find(&self, mount: &str, kind: &GroupVersionKind) -> Result<Served, Error> {
        self.served(kind).ok_or_else(|| Error::UnknownKind { mount: mount.to_owned(), kind: kind.clone() })
    }

    /// Whether a kind is namespaced; none: the kind is not known.
    pub(crate) fn scope(&self, kind: &GroupVersionKind) -> Option<Scope> {
        self.served(kind).map(|served| served.scope)
    }

    fn served(&self, kind: &GroupVersionKind) -> Option<Served> {
        let custom = self.custom.get(&(kind.group.clone(), kind.kind.clone()));
        custom.cloned().or_else(|| builtin(kind))
    }
}

/// Kubernetes' own kinds, a line each: apiVersion, kind, plural, `cluster` or `namespaced`, and `status` where that is a subresource.
const BUILTIN: &str = include_str!("rbac/kinds.txt");

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

/// The account that gets permissions. The host comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// The service account that the host runs as.
    Host,
    /// One that it impersonates.
    Impersonated(ServiceAccount),
}

/// Where. A ClusterRole comes before Roles.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Where {
    Everywhere,
    In(String),
}

/// A resource, perhaps only objects of these names.
type Resource = (String, String, Vec<String>);

/// Everything that is to be permitted.
#[derive(Default)]
pub(crate) struct Permissions(BTreeMap<(Subject, Where), BTreeMap<Resource, BTreeSet<&'static str>>>);

/// The leases of an election.
#[derive(Clone, Debug)]
pub(crate) struct Leases {
    /// Where they are.
    pub(crate) namespace: String,
    /// The name of the Lease, or the prefix of the names of all Leases.
    pub(crate) name: String,
    /// Whether there is one.
    pub(crate) scope: ElectionScope,
}

/// Whether a mount writes children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Children {
    Some,
    None,
}

/// Whether its parents hold finalizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finalizers {
    Held,
    None,
}

/// Whether parents still own children in namespaces that are not granted any more: these are deleted, and the parents hold finalizers
/// until they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Far {
    Expected,
    Unexpected,
}

/// What a deployment is, besides its programs.
#[derive(Clone, Debug)]
pub(crate) struct Deployment {
    /// Where its inventory is kept; none: nowhere.
    pub(crate) inventory: Option<Place>,
    /// Its leases; none: there is no election.
    pub(crate) leases: Option<Leases>,
    /// Whether it authenticates and authorizes clients of its metrics.
    pub(crate) reviews: Reviews,
    /// Where children are that it owns already.
    pub(crate) far: Far,
}

/// Whether a host has the API server authenticate tokens and authorize requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reviews {
    Asked,
    Never,
}

impl Permissions {
    /// What these programs need in this deployment.
    ///
    /// # Errors
    ///
    /// A kind whose resource is not known.
    pub(crate) fn of(programs: &[Program], known: &Known, deployment: &Deployment) -> Result<Self, Error> {
        let mut permissions = Self::default();
        for program in programs {
            permissions.add_program(program, known, deployment.far)?;
        }
        let own = |namespace: &str| (Subject::Host, Where::In(namespace.to_owned()));
        if let Some(Place { namespace, name }) = &deployment.inventory {
            permissions.add(&own(namespace), ("", "configmaps", &[]), &["create"]);
            permissions.add(&own(namespace), ("", "configmaps", &[name]), &["get", "update"]);
        }
        let mut lease = |namespace: &str, names: &[&str], verbs: &[&'static str]| {
            permissions.add(&own(namespace), ("coordination.k8s.io", "leases", names), verbs);
        };
        match &deployment.leases {
            Some(Leases { namespace, name, scope: ElectionScope::Host }) => {
                lease(namespace, &[], &["create"]);
                lease(namespace, &[name], &["get", "update"]);
            }
            // Their names are those of mounts and replicas, which come and go.
            Some(Leases { namespace, scope: ElectionScope::Mount, .. }) => {
                lease(namespace, &[], &["create", "delete", "get", "list", "update"]);
            }
            None => {}
        }
        if deployment.reviews == Reviews::Asked {
            let host = (Subject::Host, Where::Everywhere);
            permissions.add(&host, ("authentication.k8s.io", "tokenreviews", &[]), &["create"]);
            permissions.add(&host, ("authorization.k8s.io", "subjectaccessreviews", &[]), &["create"]);
        }
        Ok(permissions)
    }

    fn add_program(&mut self, program: &Program, known: &Known, far: Far) -> Result<(), Error> {
        let manifest = program.manifest();
        let parent = known.find(&program.name, &manifest.parent)?;
        let children: Vec<(&GroupVersionKind, Served)> = manifest
            .children
            .iter()
            .map(|child| Ok((&child.kind, known.find(&program.name, &child.kind)?)))
            .collect::<Result<_, _>>()?;
        // A mount that is restricted to namespaces has no cluster-scoped objects.
        let is_written = |(kind, served): &&(&GroupVersionKind, Served)| {
            let is_within = served.scope == Scope::Namespaced || program.namespaces == Namespaces::All;
            program.grants.child(kind).is_some() && is_within
        };
        let written: Vec<_> = children.iter().filter(is_written).collect();
        let reaches_further = far == Far::Expected || writes_beyond_parents(program);
        let is_far = |served: &Served| served.scope == Scope::Cluster || reaches_further;
        let has_far_children = parent.scope == Scope::Namespaced && written.iter().any(|(_, served)| is_far(served));
        let finalizers = if manifest.finalizes || has_far_children { Finalizers::Held } else { Finalizers::None };

        let writer = program.impersonate.clone().map_or(Subject::Host, Subject::Impersonated);
        self.add_parents(
            program,
            &parent,
            &writer,
            if written.is_empty() { Children::None } else { Children::Some },
            finalizers,
        );
        self.add_views(program, known)?;
        for (kind, served) in written {
            for place in written_places(program, parent.scope, served.scope, far) {
                let (write, resource) = ((writer.clone(), place), (kind.group.as_str(), served.plural.as_str(), &[][..]));
                self.add(&write, resource, &["create", "delete", "get", "patch"]);
            }
        }
        if let Some(shadow) = &program.shadow {
            self.add_views(shadow, known)?;
        }
        if let Some(account) = &program.impersonate {
            let place = Where::In(account.namespace.clone());
            self.add(&(Subject::Host, place), ("", "serviceaccounts", &[&account.name]), &["impersonate"]);
        }
        Ok(())
    }

    /// What is looked at besides the parents: children, and what is read.
    fn add_views(&mut self, program: &Program, known: &Known) -> Result<(), Error> {
        let manifest = program.manifest();
        for child in &manifest.children {
            let served = known.find(&program.name, &child.kind)?;
            for place in places(&program.namespaces, served.scope) {
                self.add(&(Subject::Host, place), (&child.kind.group, &served.plural, &[]), &["list", "watch"]);
            }
        }
        for read in manifest.reads.iter().filter(|read| program.reads.kinds.allow(&read.kind)) {
            let served = known.find(&program.name, &read.kind)?;
            let namespaces = program.watched(read, served.scope);
            for place in namespaces.iter().flat_map(|namespaces| places(namespaces, served.scope)) {
                self.add(&(Subject::Host, place), (&read.kind.group, &served.plural, &[]), &["list", "watch"]);
            }
        }
        Ok(())
    }

    /// What is done with parents, and told of them.
    fn add_parents(
        &mut self,
        program: &Program,
        parent: &Served,
        writer: &Subject,
        children: Children,
        finalizers: Finalizers,
    ) {
        let group = program.manifest().parent.group.as_str();
        for place in places(&program.namespaces, parent.scope) {
            self.add(&(Subject::Host, place.clone()), (group, &parent.plural, &[]), &["list", "watch"]);
            let write = (writer.clone(), place);
            if finalizers == Finalizers::Held || parent.status == Status::Field {
                self.add(&write, (group, &parent.plural, &[]), &["patch"]);
            }
            if parent.status == Status::Subresource {
                self.add(&write, (group, &format!("{}/status", parent.plural), &[]), &["patch"]);
            }
            if children == Children::Some {
                self.add(&write, (group, &parent.plural, &[]), &["get"]);
                self.add(&write, (group, &format!("{}/finalizers", parent.plural), &[]), &["update"]);
            }
        }
        for place in places(&program.namespaces, Scope::Namespaced) {
            self.add(&(writer.clone(), place), ("events.k8s.io", "events", &[]), &["create"]);
        }
    }

    fn add(&mut self, who: &(Subject, Where), resource: (&str, &str, &[&str]), verbs: &[&'static str]) {
        if verbs.is_empty() {
            return;
        }
        let (group, plural, names) = resource;
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let rules = self.0.entry(who.clone()).or_default();
        rules.entry((group.to_owned(), plural.to_owned(), names)).or_default().extend(verbs);
    }

    /// Whether Roles are enough.
    ///
    /// # Errors
    ///
    /// What they cannot give.
    pub(crate) fn check_namespaced(&self) -> Result<(), Error> {
        let everywhere = self.0.iter().find(|((_, place), _)| *place == Where::Everywhere);
        let Some((_, rules)) = everywhere else { return Ok(()) };
        let resources: Vec<&str> = rules.keys().map(|(_, plural, _)| plural.as_str()).collect();
        let what = format!("access to {} in all namespaces, or at cluster scope,", resources.join(", "));
        Err(Error::NotNamespaced {
            what,
            remedy: "restrict each mount to namespaces, and do not use cluster-scoped kinds or --metrics-secure",
        })
    }

    /// The Roles and ClusterRoles; with a service account, which the host runs as, also their bindings.
    pub(crate) fn objects(&self, name: &str, host: Option<&ServiceAccount>) -> Vec<Value> {
        let mut objects = Vec::new();
        for ((subject, place), rules) in &self.0 {
            // Accounts of one name in two namespaces must not share an object. A namespace has no dot in its name, so no two accounts do.
            let name = match subject {
                Subject::Host => name.to_owned(),
                Subject::Impersonated(account) => format!("{name}-{}.{}", account.name, account.namespace),
            };
            let (kind, namespace) = match place {
                Where::In(namespace) => ("Role", Some(namespace)),
                Where::Everywhere => ("ClusterRole", None),
            };
            let mut metadata = Map::new();
            metadata.insert("name".to_owned(), json!(name));
            metadata.extend(namespace.map(|namespace| ("namespace".to_owned(), json!(namespace))));
            objects.push(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, "rules": written(rules),
            }));
            let bound = match subject {
                Subject::Host => host,
                Subject::Impersonated(account) => Some(account),
            };
            if let Some(account) = bound {
                objects.push(json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"), "metadata": metadata,
                    "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name },
                    "subjects": [{ "kind": "ServiceAccount", "namespace": account.namespace, "name": account.name }],
                }));
            }
        }
        objects
    }
}

/// Whether children may be in another namespace than a parent that has one.
fn writes_beyond_parents(program: &Program) -> bool {
    let has_others = match &program.namespaces {
        Namespaces::All => true,
        Namespaces::Only(names) => names.len() > 1,
    };
    match program.grants.write_namespaces() {
        WriteNamespaces::OfParent => false,
        WriteNamespaces::Named(names) => has_others && !names.is_empty(),
        WriteNamespaces::All => has_others,
    }
}

/// Where children of that scope are written, or deleted.
fn written_places(program: &Program, parent: Scope, child: Scope, far: Far) -> Vec<Where> {
    match (program.grants.write_namespaces(), parent, child, far) {
        (WriteNamespaces::Named(names), Scope::Cluster, Scope::Namespaced, Far::Unexpected) => {
            names.iter().cloned().map(Where::In).collect()
        }
        _ => places(&program.namespaces, child),
    }
}

/// Where something of that scope is, for a mount in these namespaces.
fn places(namespaces: &Namespaces, scope: Scope) -> Vec<Where> {
    match (namespaces, scope) {
        (Namespaces::Only(names), Scope::Namespaced) => names.iter().cloned().map(Where::In).collect(),
        _ => vec![Where::Everywhere],
    }
}

/// Resources that may be done the same with stand in one rule.
fn written(rules: &BTreeMap<Resource, BTreeSet<&'static str>>) -> Vec<Value> {
    let mut together: BTreeMap<Same<'_>, Vec<&String>> = BTreeMap::new();
    for ((group, plural, names), verbs) in rules {
        together.entry((group, names, verbs)).or_default().push(plural);
    }
    let rule = |((group, names, verbs), resources): (Same<'_>, Vec<&String>)| {
        if names.is_empty() {
            json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
        } else {
            json!({ "apiGroups": [group], "resources": resources, "resourceNames": names, "verbs": verbs })
        }
    };
    together.into_iter().map(rule).collect()
}

/// What is the same of resources that stand in one rule: group, names, verbs.
type Same<'a> = (&'a String, &'a Vec<String>, &'a BTreeSet<&'static str>);

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
            fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands/rbac/kinds.txt"), lines.concat()).unwrap();
        } else {
            assert_eq!(lines.concat(), BUILTIN, "write it with GYRE_BLESS=1");
        }
    }
}
