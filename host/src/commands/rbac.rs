//! The minimal rules of the Roles and ClusterRoles that a deployment needs.
//!
//! | for | verbs |
//! |---|---|
//! | parents | `list`, `watch`; `get`, to create a child again; `patch`, for finalizers |
//! | parents, if their deletion is declared and granted | `delete` |
//! | `status` of parents | `patch` |
//! | `finalizers` of parents | `update`, for OwnerReferencesPermissionEnforcement |
//! | children | `list`, `watch`; if the kind is granted, `create`, `get`, `patch`, `delete` |
//! | objects that plugins read | `list`, `watch` |
//! | children of kinds that a plugin no longer declares, according to the inventory | `list`, `watch`, `delete` |
//! | events | `create`, `patch` |
//! | the host itself | its inventory; its Leases; `create` of token and access reviews |
//! | the key of digests of generated values, if a mount has to do with Secrets | `create`, `get` |
//!
//! The admission plugin OwnerReferencesPermissionEnforcement checks clients that set
//! `blockOwnerDeletion`. `get` of children is for objects that have the name of a child, and for
//! `managedFields` before the first apply. `list` beside `watch` is for API servers that do not
//! stream lists.
//!
//! A shadow needs only permissions to read. A mount that impersonates a service account writes with
//! the permissions of the account, which the host must be permitted to impersonate. The same rules
//! suffice to remove finalizers after the mount is removed.
//!
//! Children are in other namespaces than their parents only if [`WriteNamespaces`] grants them. If
//! it once did, declare [`CrossNamespaceChildren::Expected`].
//!
//! The names of the objects contain colons, which names of deployments, mounts and Helm releases
//! cannot contain. So the objects of a mount replace neither those of another nor a chart's.
//!
//! | rules of | name |
//! |---|---|
//! | the host itself | `DEPLOYMENT:host` |
//! | the host for a mount | `DEPLOYMENT:mount:MOUNT` |
//! | the account that a mount impersonates | `DEPLOYMENT:mount:MOUNT:writer` |

use std::collections::{BTreeMap, BTreeSet};

use gyre_core::grants::{Namespaces, Scope, WriteNamespaces};
use gyre_core::names::is_dns_label;
use gyre_core::object::GroupVersionKind;
use gyre_core::text::list;
use gyre_engine::cluster::kinds;
use gyre_engine::leadership::election::ElectionScope;
use gyre_engine::mounts::inventory::Place;
use gyre_engine::program::{Program, ServiceAccount};
use gyre_engine::values::KeySecret;
use serde_json::{Map, Value, json};

use crate::known_kinds::{Known, Served, Status, writes_namespaces};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("the mount {mount} needs {kind}, whose resource name is unknown: give its CustomResourceDefinition with --crd")]
    UnknownKind { mount: String, kind: GroupVersionKind },
    #[error("{what} needs a ClusterRole, which --namespaced excludes: {remedy}")]
    NotNamespaced { what: String, remedy: &'static str },
}

fn find(known: &Known, mount: &str, kind: &GroupVersionKind) -> Result<Served, Error> {
    known.served(kind).ok_or_else(|| Error::UnknownKind { mount: mount.to_owned(), kind: kind.clone() })
}

/// The holder of permissions. Each has roles of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// The host, for itself.
    Host,
    /// The host, for a mount.
    Mount(String),
    /// The account that a mount impersonates.
    Writer(String, ServiceAccount),
}

impl Holder {
    fn writer(program: &Program) -> Self {
        let mount = program.name.to_string();
        match &program.impersonate {
            Some(account) => Self::Writer(mount, account.clone()),
            None => Self::Mount(mount),
        }
    }

    fn role(&self, deployment: &str) -> String {
        match self {
            Self::Host => format!("{deployment}:host"),
            Self::Mount(mount) => format!("{deployment}:mount:{mount}"),
            Self::Writer(mount, _) => format!("{deployment}:mount:{mount}:writer"),
        }
    }
}

/// A permission without which the API server refuses objects that grant permissions, and which
/// cannot be minimal, because only the plugin knows what its children grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Delegation {
    /// For RoleBindings and ClusterRoleBindings.
    Bind,
    /// For Roles.
    EscalateRoles,
    /// For ClusterRoles.
    EscalateClusterRoles,
}

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

impl Delegation {
    fn of(child: &GroupVersionKind) -> Option<Self> {
        match child.kind.as_str() {
            _ if child.group != RBAC_GROUP => None,
            "RoleBinding" | "ClusterRoleBinding" => Some(Self::Bind),
            "Role" => Some(Self::EscalateRoles),
            "ClusterRole" => Some(Self::EscalateClusterRoles),
            _ => None,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Bind => {
                "The API server refuses a binding (403, Forbidden) unless its writer has every permission of the role that it\n\
                 binds, or the verb `bind` for this role. Only the plugin knows the roles. Name them, and add this rule:"
            }
            Self::EscalateRoles | Self::EscalateClusterRoles => {
                "The API server refuses a role (403, Forbidden) unless its writer has every permission in it, or the verb\n\
                 `escalate`. Only the plugin knows the permissions. Add rules with them; or, if they cannot be known, this rule,\n\
                 with which the plugin can create roles with any permission:"
            }
        }
    }

    fn rule(self) -> Value {
        match self {
            Self::Bind => json!({
                "apiGroups": [RBAC_GROUP], "resources": ["clusterroles", "roles"], "resourceNames": ["NAME"], "verbs": ["bind"],
            }),
            Self::EscalateRoles => json!({ "apiGroups": [RBAC_GROUP], "resources": ["roles"], "verbs": ["escalate"] }),
            Self::EscalateClusterRoles => {
                json!({ "apiGroups": [RBAC_GROUP], "resources": ["clusterroles"], "verbs": ["escalate"] })
            }
        }
    }
}

/// The scope of a rule. A ClusterRole sorts before Roles.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Where {
    Everywhere,
    In(String),
}

/// The group, the resource, and the names of objects, if it is restricted to some.
type Resource = (String, String, Vec<String>);

/// The permissions that make up a role.
#[derive(Default)]
struct Permitted {
    rules: BTreeMap<Resource, BTreeSet<&'static str>>,
    delegations: BTreeSet<Delegation>,
}

#[derive(Default)]
pub(crate) struct Permissions(BTreeMap<(Holder, Where), Permitted>);

#[derive(Clone, Debug)]
pub(crate) struct Leases {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) scope: ElectionScope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Children {
    Some,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finalizers {
    Held,
    None,
}

/// Whether parents may still own children in namespaces that are no longer granted. The host
/// deletes them, and until then the parents have finalizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrossNamespaceChildren {
    Expected,
    Unexpected,
}

#[derive(Clone, Debug)]
pub(crate) struct Deployment {
    pub(crate) inventory: Option<Place>,
    pub(crate) digest_key: Option<KeySecret>,
    pub(crate) leases: Option<Leases>,
    pub(crate) reviews: Reviews,
    pub(crate) cross_namespace_children: CrossNamespaceChildren,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reviews {
    Asked,
    Never,
}

fn has_to_do_with_secrets(program: &Program) -> bool {
    let manifest = program.manifest();
    let children = manifest.children.iter().map(|child| &child.kind).filter(|kind| program.grants.child(kind).is_some());
    let reads = manifest.reads.iter().map(|read| &read.kind);
    let mut kinds = children.chain(reads).chain([manifest.users_kind()]);
    kinds.any(|kind| kind.group.is_empty() && kind.kind == "Secret")
}

impl Permissions {
    pub(crate) fn of(programs: &[Program], known: &Known, deployment: &Deployment) -> Result<Self, Error> {
        let mut permissions = Self::default();
        for program in programs {
            permissions.add_program(program, known, deployment.cross_namespace_children)?;
        }
        let own = |namespace: &str| (Holder::Host, Where::In(namespace.to_owned()));
        if let Some(Place { namespace, name }) = &deployment.inventory {
            permissions.add(&own(namespace), ("", "configmaps", &[]), &["create"]);
            permissions.add(&own(namespace), ("", "configmaps", &[name]), &["get", "update"]);
        }
        // Without Secrets, no plugin asks for generated values or sees their digests.
        if let Some(KeySecret { namespace, name }) = &deployment.digest_key
            && programs.iter().any(has_to_do_with_secrets)
        {
            permissions.add(&own(namespace), ("", "secrets", &[]), &["create"]);
            permissions.add(&own(namespace), ("", "secrets", &[name]), &["get"]);
        }
        let mut lease = |namespace: &str, names: &[&str], verbs: &[&'static str]| {
            permissions.add(&own(namespace), ("coordination.k8s.io", "leases", names), verbs);
        };
        match &deployment.leases {
            Some(Leases { namespace, name, scope: ElectionScope::Host }) => {
                lease(namespace, &[], &["create"]);
                lease(namespace, &[name], &["get", "update"]);
            }
            // The names contain those of mounts and replicas, which change.
            Some(Leases { namespace, scope: ElectionScope::Mount, .. }) => {
                lease(namespace, &[], &["create", "delete", "get", "list", "update"]);
            }
            None => {}
        }
        if deployment.reviews == Reviews::Asked {
            let host = (Holder::Host, Where::Everywhere);
            permissions.add(&host, ("authentication.k8s.io", "tokenreviews", &[]), &["create"]);
            permissions.add(&host, ("authorization.k8s.io", "subjectaccessreviews", &[]), &["create"]);
        }
        Ok(permissions)
    }

    fn add_program(
        &mut self,
        program: &Program,
        known: &Known,
        cross_namespace_children: CrossNamespaceChildren,
    ) -> Result<(), Error> {
        let manifest = program.manifest();
        let parent = find(known, &program.name, &manifest.parent)?;
        let children: Vec<(&GroupVersionKind, Served)> = manifest
            .children
            .iter()
            .map(|child| Ok((&child.kind, find(known, &program.name, &child.kind)?)))
            .collect::<Result<_, _>>()?;
        // A mount that is restricted to namespaces has no cluster-scoped objects.
        let is_written = |(kind, served): &&(&GroupVersionKind, Served)| {
            let is_within = served.scope == Scope::Namespaced || program.namespaces == Namespaces::All;
            program.grants.child(kind).is_some() && is_within
        };
        let written: Vec<_> = children.iter().filter(is_written).collect();
        let reaches_further = cross_namespace_children == CrossNamespaceChildren::Expected || writes_beyond_parents(program);
        let is_far = |served: &Served| served.scope == Scope::Cluster || reaches_further;
        let has_far_children = parent.scope == Scope::Namespaced && written.iter().any(|(_, served)| is_far(served));
        let finalizers = if manifest.finalizes || has_far_children { Finalizers::Held } else { Finalizers::None };

        let writer = Holder::writer(program);
        self.add_parents(
            program,
            &parent,
            &writer,
            if written.is_empty() { Children::None } else { Children::Some },
            finalizers,
        );
        if let Some(members) = &manifest.members {
            self.add_groups(program, &parent, &writer);
            self.add_members(program, &members.kind, &find(known, &program.name, &members.kind)?, &writer);
        }
        self.add_views(program, known)?;
        for (kind, served) in written {
            for place in written_places(program, parent.scope, served.scope, cross_namespace_children) {
                let (write, resource) = ((writer.clone(), place), (kind.group.as_str(), served.plural.as_str(), &[][..]));
                self.add(&write, resource, &["create", "delete", "get", "patch"]);
                self.0.entry(write).or_default().delegations.extend(Delegation::of(kind));
            }
        }
        if let Some(shadow) = &program.shadow {
            self.add_views(shadow, known)?;
        }
        if let Some(account) = &program.impersonate {
            let place = Where::In(account.namespace.clone());
            let host = Holder::Mount(program.name.to_string());
            self.add(&(host, place), ("", "serviceaccounts", &[&account.name]), &["impersonate"]);
        }
        Ok(())
    }

    /// Permits to delete the children of a kind that the mounted plugin no longer declares.
    pub(crate) fn add_former(&mut self, program: &Program, kind: &kinds::Resource, known: &Known) -> Result<(), Error> {
        let (host, writer) = (Holder::Mount(program.name.to_string()), Holder::writer(program));
        let resource = (kind.api.group.as_str(), kind.api.plural.as_str(), &[][..]);
        for place in places(&program.namespaces, kind.scope) {
            self.add(&(host.clone(), place.clone()), resource, &["list", "watch"]);
            self.add(&(writer.clone(), place), resource, &["delete"]);
        }
        let parent = find(known, &program.name, &program.manifest().parent)?;
        // Their parents have finalizers.
        if parent.scope == Scope::Namespaced && kind.scope == Scope::Cluster {
            let group = program.manifest().parent.group.as_str();
            for place in places(&program.namespaces, parent.scope) {
                self.add(&(writer.clone(), place), (group, &parent.plural, &[]), &["patch"]);
            }
        }
        Ok(())
    }

    fn add_views(&mut self, program: &Program, known: &Known) -> Result<(), Error> {
        let (manifest, host) = (program.manifest(), Holder::Mount(program.name.to_string()));
        for child in &manifest.children {
            let served = find(known, &program.name, &child.kind)?;
            for place in places(&program.namespaces, served.scope) {
                self.add(&(host.clone(), place), (&child.kind.group, &served.plural, &[]), &["list", "watch"]);
            }
        }
        for read in manifest.reads.iter().filter(|read| program.reads.kinds.allow(&read.kind)) {
            let served = find(known, &program.name, &read.kind)?;
            let namespaces = program.watched(read, served.scope);
            for place in namespaces.iter().flat_map(|namespaces| places(namespaces, served.scope)) {
                self.add(&(host.clone(), place), (&read.kind.group, &served.plural, &[]), &["list", "watch"]);
            }
        }
        Ok(())
    }

    fn add_parents(&mut self, program: &Program, parent: &Served, writer: &Holder, children: Children, finalizers: Finalizers) {
        let (group, host) = (program.manifest().parent.group.as_str(), Holder::Mount(program.name.to_string()));
        for place in places(&program.namespaces, parent.scope) {
            self.add(&(host.clone(), place.clone()), (group, &parent.plural, &[]), &["list", "watch"]);
            let write = (writer.clone(), place);
            if program.grants.allows_parent_deletions() {
                self.add(&write, (group, &parent.plural, &[]), &["delete"]);
            }
            let sets_fields = program.grants.allows_parent_fields();
            if finalizers == Finalizers::Held || parent.status == Status::Field || sets_fields {
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
            self.add(&(writer.clone(), place), ("events.k8s.io", "events", &[]), &["create", "patch"]);
        }
    }

    /// Permits to create and delete the objects of groups.
    fn add_groups(&mut self, program: &Program, group: &Served, writer: &Holder) {
        let api_group = program.manifest().parent.group.as_str();
        for place in places(&program.namespaces, group.scope) {
            self.add(&(writer.clone(), place), (api_group, &group.plural, &[]), &["create", "delete"]);
        }
    }

    /// Permits to read the members of groups, and to write their statuses.
    fn add_members(&mut self, program: &Program, kind: &GroupVersionKind, served: &Served, writer: &Holder) {
        let host = Holder::Mount(program.name.to_string());
        for place in places(&program.namespaces, served.scope) {
            self.add(&(host.clone(), place.clone()), (&kind.group, &served.plural, &[]), &["list", "watch"]);
            let status = match served.status {
                Status::Subresource => format!("{}/status", served.plural),
                Status::Field => served.plural.clone(),
                Status::Foreign => continue,
            };
            self.add(&(writer.clone(), place), (&kind.group, &status, &[]), &["patch"]);
        }
    }

    fn add(&mut self, who: &(Holder, Where), resource: (&str, &str, &[&str]), verbs: &[&'static str]) {
        if verbs.is_empty() {
            return;
        }
        let (group, plural, names) = resource;
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let rules = &mut self.0.entry(who.clone()).or_default().rules;
        rules.entry((group.to_owned(), plural.to_owned(), names)).or_default().extend(verbs);
    }

    pub(crate) fn check_namespaced(&self) -> Result<(), Error> {
        let everywhere = self.0.iter().filter(|((_, place), _)| *place == Where::Everywhere);
        let resources: BTreeSet<&str> =
            everywhere.flat_map(|(_, permitted)| permitted.rules.keys().map(|(_, plural, _)| plural.as_str())).collect();
        if resources.is_empty() {
            return Ok(());
        }
        let what = format!("access to {} in all namespaces, or at cluster scope,", list(resources));
        Err(Error::NotNamespaced {
            what,
            remedy: "restrict each mount to namespaces, and do not use cluster-scoped kinds or --metrics-secure",
        })
    }

    /// The Roles and ClusterRoles of a deployment, and their bindings if `host` is given.
    pub(crate) fn objects(&self, deployment: &str, host: Option<&ServiceAccount>) -> Vec<Printed> {
        let mut objects = Vec::new();
        for ((holder, place), Permitted { rules, delegations }) in &self.0 {
            let name = holder.role(deployment);
            let (kind, namespace) = match place {
                Where::In(namespace) => ("Role", Some(namespace)),
                Where::Everywhere => ("ClusterRole", None),
            };
            let mut metadata = Map::new();
            metadata.insert("name".to_owned(), json!(name));
            metadata.extend(namespace.map(|namespace| ("namespace".to_owned(), json!(namespace))));
            objects.push(Printed {
                object: json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, "rules": written(rules),
                }),
                proposals: delegations.iter().map(|delegation| (delegation.reason(), delegation.rule())).collect(),
            });
            let bound = match holder {
                Holder::Host | Holder::Mount(_) => host,
                Holder::Writer(_, account) => Some(account),
            };
            if let Some(account) = bound {
                let binding = json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"), "metadata": metadata,
                    "roleRef": { "apiGroup": RBAC_GROUP, "kind": kind, "name": name },
                    "subjects": [{ "kind": "ServiceAccount", "namespace": account.namespace, "name": account.name }],
                });
                objects.push(Printed { object: binding, proposals: Vec::new() });
            }
        }
        objects
    }
}

/// An object to print.
pub(crate) struct Printed {
    object: Value,
    /// Rules that a person has to complete and add to `rules`, each with the reason.
    proposals: Vec<(&'static str, Value)>,
}

impl Printed {
    /// The object, without the proposals, for which JSON has no comments.
    pub(crate) fn json(&self) -> Value {
        self.object.clone()
    }

    /// Returns the object as YAML. Proposals are comments at its end: without the `#`, they
    /// continue its rules.
    pub(crate) fn yaml(&self) -> Result<String, serde_saphyr::ser::Error> {
        let mut text = serde_saphyr::to_string(&self.object)?;
        for (reason, rule) in &self.proposals {
            let rules = serde_saphyr::to_string(&json!({ "rules": [rule] }))?;
            let lines = reason.lines().map(|line| format!("# {line}\n"));
            let rule = rules.lines().skip(1).map(|line| format!("#{line}\n"));
            text.extend(lines.chain(rule));
        }
        Ok(text)
    }
}

/// Returns whether children may be in other namespaces than their namespaced parents.
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

fn written_places(
    program: &Program,
    parent: Scope,
    child: Scope,
    cross_namespace_children: CrossNamespaceChildren,
) -> Vec<Where> {
    let is_wide = cross_namespace_children == CrossNamespaceChildren::Expected || writes_namespaces(program);
    if parent == Scope::Namespaced || child == Scope::Cluster || is_wide {
        return places(&program.namespaces, child);
    }
    match program.grants.write_namespaces() {
        WriteNamespaces::OfParent => Vec::new(),
        WriteNamespaces::Named(names) if names.iter().all(|name| is_dns_label(name)) => {
            names.iter().cloned().map(Where::In).collect()
        }
        WriteNamespaces::Named(_) | WriteNamespaces::All => places(&program.namespaces, child),
    }
}

fn places(namespaces: &Namespaces, scope: Scope) -> Vec<Where> {
    let place = |namespace: Option<&str>| namespace.map_or(Where::Everywhere, |name| Where::In(name.to_owned()));
    namespaces.places(scope).into_iter().map(place).collect()
}

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

type Same<'a> = (&'a String, &'a Vec<String>, &'a BTreeSet<&'static str>);
