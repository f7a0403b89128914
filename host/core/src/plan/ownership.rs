//! Decides who owns an object.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{DIGEST_ANNOTATION, Input, OUTLIVES_ANNOTATION, OWNER_UID_LABEL, PLUGIN_LABEL, PRUNE_ANNOTATION, Parent, outlives};
use crate::object::{GroupVersionKind, ObjectKey};

/// How a child names its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// With an ownerReference and labels: the garbage collector deletes it with the parent.
    Reference,
    /// With labels and the parent's list, because Kubernetes allows no ownerReference. The host has
    /// to write the list and a finalizer before it creates the child.
    Labels,
}

/// Returns how a child names its parent; `None` is cluster-scoped. The garbage collector would take
/// an owner in another namespace, or a namespaced one of a cluster-scoped child, for missing, and
/// delete the child.
pub fn ownership(parent_namespace: Option<&str>, child_namespace: Option<&str>) -> Ownership {
    if parent_namespace.is_none() || parent_namespace == child_namespace { Ownership::Reference } else { Ownership::Labels }
}

/// Returns whether the ownerReference of a child of this kind makes the parent its controller.
///
/// It does not for Jobs: the CronJob controller deletes Jobs whose controller has the *name* of its
/// CronJob (`getJobsToBeReconciled` in `cronjob_controllerv2.go` compares neither kind nor UID).
pub(super) fn has_controller_reference(kind: &GroupVersionKind) -> bool {
    (kind.group.as_str(), kind.kind.as_str()) != ("batch", "Job")
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) uid: Option<String>,
    pub(super) deletion_timestamp: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnerReference {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    uid: String,
    controller: Option<bool>,
}

impl OwnerReference {
    pub(super) fn owner_kind(&self) -> GroupVersionKind {
        GroupVersionKind::from_api_version(&self.api_version, &self.kind)
    }
}

pub(super) enum Owner<'a> {
    /// The parent, through this plugin.
    Us,
    /// An earlier parent of the same kind and name: the garbage collector will delete the object.
    Predecessor,
    Controller(&'a OwnerReference),
    /// By our labels, another plugin or parent.
    Labels {
        plugin: Option<&'a str>,
        uid: Option<&'a str>,
    },
    /// Nobody's, but with the labels of a child of the parent. Anybody may forge these, so it is a
    /// child only if the plugin wants its name.
    Labelled,
    Nobody,
}

impl Metadata {
    pub(super) fn of(object: &Value) -> Option<Self> {
        Self::deserialize(object.get("metadata")?).ok()
    }

    /// As `of`, without reading the rest of the object into memory.
    pub(super) fn read(json: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Object {
            metadata: Metadata,
        }
        serde_json::from_slice(json).ok().map(|Object { metadata }| metadata)
    }

    /// Returns whether child caches, which select by these labels, show the object.
    pub(super) fn is_labelled(&self, input: &Input<'_>) -> bool {
        self.label(PLUGIN_LABEL) == Some(input.plugin) && self.label(OWNER_UID_LABEL) == Some(input.parent.uid.as_str())
    }

    pub(super) fn digest(&self) -> Option<&str> {
        self.annotation(DIGEST_ANNOTATION)
    }

    /// Returns whether it outlives a parent of this name, or has outlived an earlier one.
    pub(super) fn outlives(&self, parent: &Parent) -> bool {
        self.annotation(OUTLIVES_ANNOTATION) == Some(parent.key.to_string().as_str())
    }

    pub(super) fn is_kept(&self) -> bool {
        self.annotation(PRUNE_ANNOTATION) == Some("false")
    }

    fn annotation(&self, annotation: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(annotation).map(String::as_str)
    }

    fn label(&self, label: &str) -> Option<&str> {
        self.labels.as_ref()?.get(label).map(String::as_str)
    }

    /// A controller reference decides or, for kinds without one, the reference that the host wrote;
    /// without either, both labels do, together with any reference to the parent. What another
    /// plugin has labelled is that plugin's, because two may reconcile the same parent. Where no
    /// reference is allowed, the parent has to list the object.
    pub(super) fn owner(&self, input: &Input<'_>, kind: &GroupVersionKind, key: &ObjectKey) -> Owner<'_> {
        let (plugin, uid) = (self.label(PLUGIN_LABEL), self.label(OWNER_UID_LABEL));
        let parent = input.parent;
        let can_refer = parent.can_refer(key);
        let is_listed = || self.is_labelled(input) && parent.claims(kind, key);
        let mut controllers = self.owner_references.iter().flatten().filter(|reference| reference.controller == Some(true));
        let written = || self.written_reference(input, kind).filter(|_| can_refer);
        match controllers.next().or_else(written) {
            Some(controller) if controller.uid == parent.uid && !can_refer && is_listed() => Owner::Us,
            Some(controller) if controller.uid == parent.uid && can_refer => match plugin {
                Some(other) if other != input.plugin => Owner::Labels { plugin, uid },
                _ => Owner::Us,
            },
            Some(controller) => {
                let same_name = controller.owner_kind().is_same(&parent.kind) && controller.name == parent.key.name;
                if same_name && can_refer { Owner::Predecessor } else { Owner::Controller(controller) }
            }
            None if is_listed() && (!can_refer || self.refers_to(&parent.uid)) => Owner::Us,
            None if is_listed() && outlives(input, kind, key) && self.outlives(parent) => Owner::Us,
            None if is_listed() => Owner::Labelled,
            None if plugin.is_some() || uid.is_some() => Owner::Labels { plugin, uid },
            None => Owner::Nobody,
        }
    }

    pub(super) fn refers_to(&self, uid: &str) -> bool {
        self.owner_references.iter().flatten().any(|reference| reference.uid == uid)
    }

    /// The reference that the host wrote instead of a controller reference, to the parent or an
    /// earlier one of its name. Anybody may write a plain reference to have the garbage collector
    /// delete their object, so it only counts beside the host's annotation.
    fn written_reference(&self, input: &Input<'_>, kind: &GroupVersionKind) -> Option<&OwnerReference> {
        if has_controller_reference(kind) || self.digest().is_none() {
            return None;
        }
        let parent = input.parent;
        let has_its_name =
            |reference: &&OwnerReference| reference.owner_kind().is_same(&parent.kind) && reference.name == parent.key.name;
        let references = || self.owner_references.iter().flatten();
        references().find(|reference| reference.uid == parent.uid).or_else(|| references().find(has_its_name))
    }
}
