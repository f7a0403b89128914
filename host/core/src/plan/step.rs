//! The writes of a plan.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::generated::Requests;
use crate::manifest::{Propagation, Strategy};
use crate::object::ObjectRef;

/// A child as it will be written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Desired {
    /// Its kind and name.
    pub child: ObjectRef,
    /// The complete body for a POST or a server-side apply.
    pub object: Map<String, Value>,
    /// The digest of what the plugin wants, as in the annotation. The strategy is not part of it,
    /// so another strategy alone writes nothing.
    pub digest: String,
    /// How it is changed if it exists.
    pub strategy: Strategy,
    /// The values that the host makes, of a Secret. `object` does not have them.
    #[serde(skip_serializing_if = "Requests::is_empty")]
    pub generated: Requests,
}

impl Desired {
    /// The object as the plugin returned it: with the requests for values in `data`.
    pub fn with_requests(&self) -> Map<String, Value> {
        let mut object = self.object.clone();
        if let Some(Value::Object(data)) = object.get_mut("data") {
            data.extend(self.generated.in_order().map(|(key, request)| (key.to_owned(), json!(request))));
        }
        object
    }
}

/// Why an existing object is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The plugin's desired object changed since the last write.
    DesiredChanged,
    /// The object differs from what is desired.
    Drifted {
        /// The first difference, such as `spec.template.spec.containers[0].image`.
        path: String,
    },
    /// It had no owner. Either the mount allows adoption, or it has the labels of this child.
    Adopted,
    /// A generated value is missing, is due to be renewed, or has a new epoch.
    Generated,
}

/// Whether a replacement needs a confirmation by the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confirm {
    /// The replacement is needed for certain.
    NotNeeded,
    /// The difference may be only another notation, and then replacing would never end. So apply it
    /// first, with the UID in the body, as a dry run. If the answer has the
    /// [`fingerprint`](super::fingerprint) of the object as read in the same version, remember
    /// `AcceptedForm::of(digest, &object)`. If it has another, or the field is immutable, replace
    /// the object.
    ByDryRun,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Create it with POST. If the name is taken, read that object and call
    /// [`on_existing`](super::on_existing).
    Create {
        /// The object to create.
        desired: Desired,
    },
    /// Server-side apply, with `metadata.uid`, so that it never creates. After a POST, the
    /// [`managed_fields`](crate::managed_fields) have to become those of an apply first.
    Apply {
        /// The object to apply.
        desired: Desired,
        /// The UID of the object that exists.
        uid: String,
        /// The reason.
        cause: Cause,
    },
    /// Add the host's labels, by which child caches select, to an object that must not be changed
    /// otherwise, as a merge patch with the UID and the resourceVersion.
    Label {
        /// Its kind and name.
        child: ObjectRef,
        /// The UID of the object that exists.
        uid: String,
        /// The labels.
        labels: BTreeMap<String, String>,
        /// The annotations.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        annotations: BTreeMap<String, String>,
        /// All its ownerReferences; `None` leaves them as they are. One to the parent is among
        /// them, unless the child outlives it.
        owner_references: Option<Vec<Value>>,
    },
    /// Delete with the UID as a precondition, then create once it is gone.
    Replace {
        /// The object to create.
        desired: Desired,
        /// The UID of the object to delete.
        uid: String,
        /// The propagation of the deletion.
        propagation: Propagation,
        /// The reason.
        cause: Cause,
        /// Whether to ask the API server first.
        confirm: Confirm,
    },
    /// Delete with the UID as a precondition.
    Delete {
        /// Its kind and name.
        child: ObjectRef,
        /// The UID of the object to delete.
        uid: String,
        /// The propagation of the deletion.
        propagation: Propagation,
    },
}

impl Step {
    /// The child that is written.
    pub fn child(&self) -> &ObjectRef {
        match self {
            Self::Create { desired } | Self::Apply { desired, .. } | Self::Replace { desired, .. } => &desired.child,
            Self::Label { child, .. } | Self::Delete { child, .. } => child,
        }
    }

    /// The child as it will be; `None` if the step does not write all of it.
    pub fn desired(&self) -> Option<&Desired> {
        match self {
            Self::Create { desired } | Self::Apply { desired, .. } | Self::Replace { desired, .. } => Some(desired),
            Self::Label { .. } | Self::Delete { .. } => None,
        }
    }

    /// The UID of the object that must exist for this step; `None` for a creation.
    pub fn uid(&self) -> Option<&str> {
        match self {
            Self::Create { .. } => None,
            Self::Apply { uid, .. } | Self::Label { uid, .. } | Self::Replace { uid, .. } | Self::Delete { uid, .. } => {
                Some(uid)
            }
        }
    }

    /// One word for metrics and logs.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Apply { .. } => "apply",
            Self::Label { .. } => "label",
            Self::Replace { .. } => "replace",
            Self::Delete { .. } => "delete",
        }
    }
}
