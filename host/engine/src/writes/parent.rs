//! Writes to parents: their status, their finalizers, fields that plugins set, and their deletion.

use gyre_core::manifest::Propagation;
use gyre_core::object::{GroupVersionKind, ObjectKey, ObjectRef};
use gyre_core::outcome::{Changed, Problem};
use gyre_core::queue::Priority;
use gyre_core::status::StatusCapabilities;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client};
use serde_json::{Map, Value, json};

use crate::client::answered;
use crate::cluster::kinds::StatusSubresource;
use crate::cluster::object::{Object, Received, SharedObject};
use crate::cluster::view::View;
use crate::error::{is_gone, may_have_arrived};
use crate::program::MountName;
use crate::telemetry::metrics::Metrics;
use crate::work::WorkQueue;
use crate::writes::apply::{field_manager, problem, propagation_policy};
use crate::writes::own_writes::{Others, OwnWrites};

pub(crate) struct ParentWriter<'a> {
    pub(crate) mount: &'a MountName,
    pub(crate) kind: &'a GroupVersionKind,
    pub(crate) plugin: &'a str,
    /// The CustomResourceDefinitions that the plugin brings.
    pub(crate) definitions: &'a [Value],
    pub(crate) status_capabilities: StatusCapabilities,
    pub(crate) parents: &'a View,
    pub(crate) client: &'a Client,
    pub(crate) own_writes: &'a OwnWrites,
    /// The object whose reconcile depends on the parent; the parent itself if `None`.
    pub(crate) reconciled: Option<&'a ObjectKey>,
    pub(crate) queue: &'a WorkQueue,
    pub(crate) metrics: &'a Metrics,
}

/// The metadata with which a write holds to one state of an object.
pub(crate) fn identity(object: &Object) -> Map<String, Value> {
    let mut identity = Map::new();
    identity.insert("name".to_owned(), Value::from(object.name()));
    identity.insert("uid".to_owned(), Value::from(object.uid()));
    identity.insert("resourceVersion".to_owned(), Value::String(object.resource_version().to_string()));
    identity.extend(object.namespace().map(|namespace| ("namespace".to_owned(), Value::from(namespace))));
    identity
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Object,
    Status,
}

impl ParentWriter<'_> {
    /// Sends a JSON merge patch (RFC 7396), and returns the new parent, if it is readable.
    ///
    /// # Guarantees
    ///
    /// - Writes only over the given state: the request carries UID and resource version.
    /// - The answer is cached, and the watch's event of it queues nothing; others' changes do.
    pub(crate) async fn patch(
        &self,
        parent: &Object,
        mut patch: Value,
        at: At,
        verb: &'static str,
    ) -> Result<Option<SharedObject>, kube::Error> {
        if let Some(patch) = patch.as_object_mut()
            && let Some(metadata) = patch.entry("metadata").or_insert_with(|| json!({})).as_object_mut()
        {
            metadata.insert("uid".to_owned(), json!(parent.uid()));
            metadata.insert("resourceVersion".to_owned(), json!(parent.resource_version().to_string()));
        }
        let params = PatchParams { field_manager: Some(field_manager(self.plugin)), ..PatchParams::default() };
        self.send(parent, &params, &Patch::Merge(patch), at, verb).await
    }

    /// Applies fields by server-side apply, without force, and returns the new parent, if it is
    /// readable. The guarantees are those of [`Self::patch`].
    pub(crate) async fn apply(
        &self,
        parent: &Object,
        fields: &Map<String, Value>,
    ) -> Result<Option<SharedObject>, kube::Error> {
        let mut body = fields.clone();
        if let Some(metadata) = body.entry("metadata").or_insert_with(|| json!({})).as_object_mut() {
            metadata.extend(identity(parent));
        }
        let params = PatchParams::apply(&field_manager(self.plugin));
        self.send(parent, &params, &Patch::Apply(Value::Object(body)), At::Object, "parent-fields").await
    }

    async fn send(
        &self,
        parent: &Object,
        params: &PatchParams,
        patch: &Patch<Value>,
        at: At,
        verb: &'static str,
    ) -> Result<Option<SharedObject>, kube::Error> {
        let parents = self.parents;
        let api: Api<Received> = parents.resource.api(self.client, parent.namespace());
        self.metrics.wrote(self.mount, verb);
        let epoch = parents.write_epoch(parent.namespace());
        let key = parent.key();
        self.own_writes.begin(&key);
        let answer = match (at, parents.resource.status) {
            (At::Status, StatusSubresource::Served) => answered(api.patch_status(parent.name(), params, patch)).await,
            _ => answered(api.patch(parent.name(), params, patch)).await,
        };
        let answer = answer.map(|answer| answer.object.ok());
        match &answer {
            Ok(Some(answer)) => parents.insert_written(answer, epoch),
            Err(error) if may_have_arrived(error) => parents.doubt(&key),
            Ok(None) | Err(_) => {}
        }
        let version = answer.as_ref().ok().and_then(|answer| Some(answer.as_ref()?.resource_version()));
        if self.own_writes.end(&key, version) == Others::Changed {
            self.queue.add(self.mount, self.reconciled.cloned().unwrap_or(key), Priority::Normal);
        }
        answer
    }

    /// Deletes the parent in the state that the plugin saw, or that this host has written since.
    /// Returns whether it was deleted now: one that is gone is a success.
    ///
    /// # Errors
    ///
    /// Also if somebody has changed it meanwhile.
    pub(crate) async fn delete(&self, parent: &Object, propagation: Propagation) -> Result<Changed, Problem> {
        let api: Api<Received> = self.parents.resource.api(self.client, parent.namespace());
        let (uid, resource_version) = (parent.uid().to_owned(), parent.resource_version().to_string());
        let params = DeleteParams {
            propagation_policy: Some(propagation_policy(propagation)),
            preconditions: Some(Preconditions { uid: Some(uid), resource_version: Some(resource_version) }),
            ..DeleteParams::default()
        };
        self.metrics.wrote(self.mount, "delete-parent");
        match answered(api.delete(parent.name(), &params)).await {
            Ok(_) => Ok(Changed::Yes),
            Err(kube::Error::Api(status)) if is_gone(&status) => Ok(Changed::No),
            Err(error) => Err(problem(&error, &self.subject(parent))),
        }
    }

    pub(crate) fn subject(&self, parent: &Object) -> ObjectRef {
        ObjectRef { kind: self.kind.clone(), key: parent.key() }
    }
}
