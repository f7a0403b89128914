//! Restores objects of a backup, a file or another cluster as they were.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kinds::{FieldValidation, Kind, Scope};
use crate::object;
use crate::server::Server;
use crate::status::Status;
use crate::store::{Key, Resource};
use crate::validation;
use crate::verbs::Call;

/// The origin of a restored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A person wrote it, so unknown fields are errors.
    Written,
    /// Another server stored it, maybe with other fields and rules: unknown fields are dropped.
    Stored,
}

impl Server {
    /// Stores an object with its UID, times, owners, finalizers and status, which a creation would
    /// not keep. Replaces an object of the same name.
    ///
    /// Adds what is missing: UID, creation time, the namespace `default`, the Namespace object, and
    /// the UIDs of existing owners.
    ///
    /// # Errors
    ///
    /// If the kind is not served, or the object is invalid, e.g. by unknown fields.
    pub fn restore(&mut self, now: Timestamp, origin: Origin, mut object: Value) -> Result<(), Status> {
        let (api_version, name) = (object::text(&object, "apiVersion").to_owned(), object::text(&object, "kind").to_owned());
        let Some(kind) = self.registry.kinds.by_kind(&api_version, &name).cloned() else {
            let message = format!("no matches for kind {name:?} in version {api_version:?}");
            return Err(Status::new(StatusCode::NOT_FOUND, "NotFound", &message));
        };
        if kind.scope == Scope::Namespaced && object::namespace(&object).is_empty() {
            object::set_metadata(&mut object, "namespace", Value::from("default"));
        }
        let namespace = object::namespace(&object).to_owned();
        self.restore_namespace(now, &namespace)?;
        self.name_owners(&mut object);
        let validation = if origin == Origin::Written { FieldValidation::Strict } else { FieldValidation::Ignore };
        let managers = object::remove_metadata(&mut object, "managedFields");
        kind.decode(&mut object, validation)?;
        if let Some(managers) = managers {
            object::set_metadata(&mut object, "managedFields", managers);
        }
        kind.default(&mut object);
        for (field, value) in [("creationTimestamp", Value::from(object::seconds(now))), ("generation", Value::from(1))] {
            let is_absent = object.pointer(&format!("/metadata/{field}")).is_none_or(Value::is_null);
            if is_absent {
                object::set_metadata(&mut object, field, value);
            }
        }
        if object::uid(&object).is_none() {
            object::set_metadata(&mut object, "uid", Value::from(self.registry.random.uuid()));
            complete(&kind, &mut object);
            let call = Call::internal(kind.clone(), &namespace, object::name(&object), "gyre-restore", now);
            self.registry.allocate(&call, &mut object, None)?;
        }
        let call = Call::internal(kind, &namespace, object::name(&object), "gyre-restore", now);
        let mut errors = Vec::new();
        if origin == Origin::Written {
            errors.extend(validation::validate_metadata(&call.kind, &object));
            errors.extend(call.kind.validate(&object));
        }
        if !errors.is_empty() {
            return Err(Status::invalid(call.named_by_kind(), &errors));
        }
        let resource = call.kind.storage();
        self.registry.commit(&call, &resource, &call.key(), object);
        self.follow_definitions(now);
        Ok(())
    }

    fn restore_namespace(&mut self, now: Timestamp, namespace: &str) -> Result<(), Status> {
        let is_there = || self.registry.store.get(&Resource::new("", "namespaces"), &Key::new("", namespace)).is_some();
        if namespace.is_empty() || is_there() {
            return Ok(());
        }
        let metadata = json!({ "name": namespace, "labels": { "kubernetes.io/metadata.name": namespace } });
        let status = json!({ "phase": "Active" });
        self.restore(
            now,
            Origin::Written,
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "status": status }),
        )
    }

    fn name_owners(&self, object: &mut Value) {
        let namespace = object::namespace(object).to_owned();
        let owners = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        for owner in owners.into_iter().flatten() {
            if !object::text(owner, "uid").is_empty() {
                continue;
            }
            let Some(kind) = self.registry.kinds.by_kind(object::text(owner, "apiVersion"), object::text(owner, "kind")) else {
                continue;
            };
            let namespace = if kind.scope == Scope::Namespaced { namespace.as_str() } else { "" };
            let found = self.registry.store.get(&kind.storage(), &Key::new(namespace, object::text(owner, "name")));
            if let (Some(found), Some(owner)) = (found, owner.as_object_mut())
                && let Some(uid) = object::uid(&found.value)
            {
                owner.insert("uid".to_owned(), Value::from(uid));
            }
        }
    }
}

/// Adds what a created object would have, e.g. the selector of a Job, and keeps everything else.
fn complete(kind: &Kind, object: &mut Value) {
    let (status, generation) = (object.get("status").cloned(), object.pointer("/metadata/generation").cloned());
    kind.prepare_for_create(object);
    if let (Some(status), Some(fields)) = (status, object.as_object_mut()) {
        fields.insert("status".to_owned(), status);
    }
    object::set_metadata(object, "generation", generation.unwrap_or_default());
}
