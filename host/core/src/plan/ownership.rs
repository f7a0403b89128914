//! Whose an object is.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{DIGEST_ANNOTATION, Input, OWNER_UID_LABEL, PLUGIN_LABEL};
use crate::object::{GroupVersionKind, ObjectKey};

/// The way in which a child names its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// With an ownerReference and labels: the garbage collector deletes it when the parent is gone.
    Reference,
    /// With labels, and with an entry in the list of its parent, since Kubernetes allows no ownerReference. The host has to write the list
    /// and a finalizer to the parent before it creates such a child.
    Labels,
}

/// How a child in `child_namespace` says that a parent in `parent_namespace` owns it; none is for objects that live outside of
/// namespaces. References across namespaces, and from outside of namespaces into one, are not allowed: the garbage collector would
/// take the owner for missing and delete the child.
pub fn ownership(parent_namespace: Option<&str>, child_namespace: Option<&str>) -> Ownership {
    if parent_namespace.is_none() || parent_namespace == child_namespace { Ownership::Reference } else { Ownership::Labels }
}

/// Whether the ownerReference of a child of this kind says that the parent is its controller.
///
/// Jobs get one without: Kubernetes' CronJob controller takes every Job whose controller has the *name* of a CronJob in its namespace
/// for a Job of that CronJob (`getJobsToBeReconciled` in `cronjob_controllerv2.go` compares neither kind nor UID), and deletes it by the
/// CronJob's history limits. Nothing is lost: the garbage collector follows any ownerReference, and no controller adopts Jobs.
pub(super) fn has_controller_reference(kind: &GroupVersionKind) -> bool {
    (kind.group.as_str(), kind.kind.as_str()) != ("batch", "Job")
}

/// What the metadata of an object says of its identity.
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

/// The owner of an object, as seen from a parent and a plugin.
pub(super) enum Owner<'a> {
    /// The parent's, through this plugin.
    Us,
    /// It is controlled by a parent of the same kind and name that is no more: the garbage collector is about to delete it.
    Predecessor,
    /// Another object controls it.
    Controller(&'a OwnerReference),
    /// Labels of ours say that another plugin or another parent has it.
    Labels { plugin: Option<&'a str>, uid: Option<&'a str> },
    /// Nobody.
    Nobody,
}

impl Metadata {
    /// None if it is not what the metadata of an object looks like.
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

    /// Whether child caches, which select by the host's labels, show the object.
    pub(super) fn is_labelled(&self, input: &Input<'_>) -> bool {
        self.label(PLUGIN_LABEL) == Some(input.plugin) && self.label(OWNER_UID_LABEL) == Some(input.parent.uid.as_str())
    }

    pub(super) fn digest(&self) -> Option<&str> {
        self.annotations.as_ref()?.get(DIGEST_ANNOTATION).map(String::as_str)
    }

    fn label(&self, label: &str) -> Option<&str> {
        self.labels.as_ref()?.get(label).map(String::as_str)
    }

    /// A controller reference decides, or for kinds that get none the reference that the host wrote; where there is neither, both labels
    /// do. An object that the parent controls but that another plugin has labelled is that plugin's: two plugins may reconcile the same
    /// parent. Where no reference is allowed, one to the parent says nothing, and beside the labels the parent has to list the object.
    pub(super) fn owner(&self, input: &Input<'_>, kind: &GroupVersionKind, key: &ObjectKey) -> Owner<'_> {
        let (plugin, uid) = (self.label(PLUGIN_LABEL), self.label(OWNER_UID_LABEL));
        let parent = input.parent;
        let can_refer = ownership(parent.key.namespace.as_deref(), key.namespace.as_deref()) == Ownership::Reference;
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
                let kind = controller.owner_kind();
                let same_name =
                    kind.group == parent.kind.group && kind.kind == parent.kind.kind && controller.name == parent.key.name;
                if same_name && can_refer { Owner::Predecessor } else { Owner::Controller(controller) }
            }
            None if is_listed() => Owner::Us,
            None if plugin.is_some() || uid.is_some() => Owner::Labels { plugin, uid },
            None => Owner::Nobody,
        }
    }
    /// The reference to the parent, or to an earlier object of its name, that the host wrote instead of a controller reference. Anybody may
    /// add a plain reference to have the garbage collector delete what is theirs, so it counts only beside the host's annotation.
    fn written_reference(&self, input: &Input<'_>, kind: &GroupVersionKind) -> Option<&OwnerReference> {
        if has_controller_reference(kind) || self.digest().is_none() {
            return None;
        }
        let parent = input.parent;
        let has_its_name = |reference: &&OwnerReference| {
            let kind = reference.owner_kind();
            kind.group == parent.kind.group && kind.kind == parent.kind.kind && reference.name == parent.key.name
        };
        let references = || self.owner_references.iter().flatten();
        references().find(|reference| reference.uid == parent.uid).or_else(|| references().find(has_its_name))
    }
}
