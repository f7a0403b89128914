//! The members of a mount's groups, for plugins that group parents; see [`gyre_core::groups`].
//!
//! ```text
//!   informer of the members ─▶ index: group ─▶ members
//!                           └▶ the groups that a change concerns ─▶ queue
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use gyre_core::groups::{self, Group, MemberIndex, Membership};
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::plan::{DIGEST_ANNOTATION, PLUGIN_LABEL};
use gyre_core::status::StatusCapabilities;
use parking_lot::Mutex;
use serde_json::Value;

use crate::cluster::informer::{Informers, Subscription, WatchEvent, WatchScope};
use crate::cluster::kinds::{Resource, StatusSubresource};
use crate::cluster::object::{Object, SharedObject};
use crate::cluster::view::View;
use crate::program::Program;

pub(crate) struct Members {
    pub(crate) declared: groups::Members,
    pub(crate) view: View,
    /// The fields of the host that their status can hold.
    pub(crate) status_capabilities: StatusCapabilities,
    program: Arc<Program>,
    index: Arc<Mutex<Index>>,
    _indexing: Vec<Subscription>,
}

/// The groups of members, each of a version of the member.
#[derive(Default)]
struct Index {
    groups: MemberIndex,
    versions: HashMap<ObjectKey, u64>,
}

impl Index {
    fn set(&mut self, member: &Object, group: Option<(&str, Membership)>) {
        let key = member.key();
        self.groups.set(&key, group);
        match group {
            Some(_) => drop(self.versions.insert(key, member.resource_version())),
            None => drop(self.versions.remove(&key)),
        }
    }
}

impl Members {
    /// Watches the members, and waits until they are cached.
    pub(crate) async fn open(
        informers: &Informers,
        program: &Arc<Program>,
        declared: groups::Members,
        resource: Resource,
    ) -> Self {
        let has_status = resource.status == StatusSubresource::Served;
        let status_capabilities = StatusCapabilities::of(program.manifest(), &declared.kind, has_status);
        let view = View::new(informers, resource, &program.namespaces, WatchScope::default()).catching_up();
        let index: Arc<Mutex<Index>> = Arc::default();
        view.synced().await;
        // Before any subscription that queues a group, so that the group then has its members.
        let indexing = view.subscribe({
            let (index, program, declared) = (Arc::clone(&index), Arc::clone(program), declared.clone());
            move |event| {
                let group = match event {
                    WatchEvent::Stored { object, .. } => group_of(&program, &declared, object),
                    WatchEvent::Deleted(_) => None,
                };
                let group = group.as_ref().map(|(group, membership)| (group.name.as_str(), *membership));
                index.lock().set(event.object(), group);
            }
        });
        let program = Arc::clone(program);
        Self { declared, view, status_capabilities, program, index, _indexing: indexing }
    }

    /// The groups that a change of a member concerns: two if it moves.
    pub(crate) fn concerned(&self, event: &WatchEvent) -> impl Iterator<Item = ObjectKey> {
        let group = |object: &SharedObject| Some(group_of(&self.program, &self.declared, object)?.0);
        let now = group(event.object());
        let before = event.previous().and_then(group).filter(|before| Some(before) != now.as_ref());
        now.into_iter().chain(before).map(|group| ObjectKey { namespace: None, name: group.name })
    }

    /// The members of a group, by namespace and name.
    pub(crate) fn of_group(&self, group: &str) -> Vec<SharedObject> {
        let index = self.index.lock();
        let members = index.groups.members(group).filter_map(|key| {
            let member = self.view.get(key)?;
            // The cache may be newer than the index, for a moment.
            let is_indexed = index.versions.get(key) == Some(&member.resource_version());
            (is_indexed || self.is_in(&member, group)).then_some(member)
        });
        members.collect()
    }

    fn is_in(&self, member: &Object, group: &str) -> bool {
        let found = group_of(&self.program, &self.declared, member);
        found.is_some_and(|(found, membership)| found.name == group && membership == Membership::Member)
    }

    /// The number of members of a group.
    pub(crate) fn count(&self, group: &str) -> usize {
        self.index.lock().groups.count(group)
    }

    /// The group of this name, if it has members or may be without: what its object has to be.
    pub(crate) fn group(&self, name: &str) -> Option<Group> {
        let all = self.group_of_all().filter(|all| all.name == name);
        all.or_else(|| self.of_group(name).iter().find_map(|member| Some(group_of(&self.program, &self.declared, member)?.0)))
    }

    /// Returns whether there should be a group of this name.
    pub(crate) fn has_group(&self, name: &str) -> bool {
        self.membership(name) == Some(Membership::Member)
    }

    /// Returns whether there are members of a group, or only parents that the mount does not
    /// select. The group of all parents counts as one with members if there are no parents.
    pub(crate) fn membership(&self, name: &str) -> Option<Membership> {
        let indexed = self.index.lock().groups.membership(name);
        let is_all = || self.group_of_all().is_some_and(|all| all.name == name);
        indexed.or_else(|| is_all().then_some(Membership::Member))
    }

    /// The group of all parents, which may be without members.
    pub(crate) fn group_of_all(&self) -> Option<Group> {
        match self.declared.grouping {
            groups::Grouping::All => Some(Group::all(&self.program.manifest().name)),
            groups::Grouping::ByField(_) => None,
        }
    }

    /// Returns whether an object is a group of this mount, maybe of a version of the plugin that
    /// grouped in another way: then it has no members.
    pub(crate) fn is_group(&self, object: &Object) -> bool {
        json(object).is_some_and(|object| Group::of_object(&self.program.manifest().name, &object).is_some())
    }

    pub(crate) fn kind(&self) -> &GroupVersionKind {
        &self.declared.kind
    }
}

/// Returns whether the mount's configuration selects an object, and no reconcile of its plugin has
/// made it.
pub(crate) fn selects(program: &Program, object: &Object) -> bool {
    matches_selector(program, object) && !is_child(program, object)
}

fn matches_selector(program: &Program, object: &Object) -> bool {
    program.selector.is_empty() || program.selector.matches(|label| object.label(label))
}

fn is_child(program: &Program, object: &Object) -> bool {
    let has_digest = || object.annotation(DIGEST_ANNOTATION).is_some();
    program.manifest().is_child(object.label(PLUGIN_LABEL).as_deref(), has_digest)
}

/// The group of an object, also if the mount does not select it.
fn group_of(program: &Program, declared: &groups::Members, object: &Object) -> Option<(Group, Membership)> {
    if is_child(program, object) {
        return None;
    }
    let reconciler = &program.manifest().name;
    let membership = if matches_selector(program, object) { Membership::Member } else { Membership::NotSelected };
    match declared.grouping {
        groups::Grouping::All => Some((Group::all(reconciler), membership)),
        groups::Grouping::ByField(_) => {
            let group = Group::of_member(reconciler, &declared.grouping, &json(object)?)?;
            Some((group, membership))
        }
    }
}

fn json(object: &Object) -> Option<Value> {
    serde_json::from_str(object.json()).ok()
}
