//! Serves the kinds of CustomResourceDefinitions, and deletes the objects of deleted ones.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::custom::definition::CLEANUP;
use crate::kinds::Subresource;
use crate::request::options::DeleteOptions;
use crate::server::Server;
use crate::store::{Key, Presence, Resource, Stored};
use crate::verbs::Call;
use crate::{custom, object};

impl Server {
    /// Serves the kinds that changed CustomResourceDefinitions define, and writes their status.
    pub(super) fn follow_definitions(&mut self, now: Timestamp) {
        let resource = Resource::new("apiextensions.k8s.io", "customresourcedefinitions");
        self.finalize_definitions_that_wait(&resource, now);
        // Writing the status is itself a change, so this repeats until nothing changes.
        while self.registry.store.changed(&resource) > self.definitions_seen {
            let changes = match self.registry.store.changes_since(&resource, self.definitions_seen) {
                Ok(changes) => changes.cloned().collect(),
                Err(_) => Vec::new(),
            };
            self.definitions_seen = self.registry.store.changed(&resource);
            for change in changes {
                let definition = &change.after.value;
                let served = served_resource(definition);
                let current = self.registry.store.get(&resource, &change.key).cloned();
                if change.presence == Presence::Deleted || current.is_none() {
                    if change.before.as_ref().is_some_and(|before| custom::is_established(&before.value)) {
                        self.registry.kinds.remove(&served);
                        self.registry.store.end(&served);
                    }
                    self.definitions_served.remove(&change.key);
                    continue;
                }
                let Some(current) = current else { continue };
                self.finalize_definition(&resource, &change.key, &current.value, &served, now);
                let Some(current) = self.registry.store.get(&resource, &change.key).cloned() else { continue };
                let others: Vec<_> = self.registry.store.list(&resource, None).map(|(_, other)| Arc::clone(other)).collect();
                let others = others.iter().filter(|other| object::uid(&other.value) != object::uid(&current.value));
                if let Some(mut status) = custom::settle(&current.value, others.map(|other| &other.value), now) {
                    custom::definition::install_first(&current.value, &mut status);
                    self.write_status(&resource, &current.value, status, now);
                    continue;
                }
                if custom::is_established(&current.value) {
                    self.serve(&change.key, current, &served);
                }
            }
        }
    }

    /// Serves the kinds of a definition. Unchanged kinds stay, and so do their watches.
    fn serve(&mut self, key: &Key, definition: Arc<Stored>, served: &Resource) {
        let before = self.definitions_served.get(key);
        let is_same = before.is_some_and(|before| custom::serves_the_same(&before.value, &definition.value));
        let is_terminating = |definition: &Stored| custom::is_terminating(&definition.value);
        if is_same && before.is_some_and(|before| is_terminating(before) == is_terminating(&definition)) {
            return;
        }
        let mut kinds = custom::kinds(&definition.value);
        if is_same {
            for kind in &mut kinds {
                if let Some(before) = self.registry.kinds.get(kind.group(), &kind.version, &kind.resource.plural) {
                    kind.schema = before.schema.clone();
                    kind.origin = before.origin.clone();
                    kind.strategy = Arc::clone(&before.strategy);
                }
            }
        }
        self.registry.kinds.remove(served);
        self.registry.store.begin(served);
        kinds.into_iter().for_each(|kind| self.registry.kinds.insert(kind));
        self.definitions_served.insert(key.clone(), definition);
    }

    fn write_status(&mut self, resource: &Resource, definition: &Value, status: Value, now: Timestamp) {
        let Some(kind) = self.registry.kinds.of_resource(resource).next().cloned() else { return };
        let mut call =
            Call::internal(kind, "", object::name(definition), "kube-apiserver", now).about(Some(Subresource::Status));
        let mut updated = definition.clone();
        if let Some(updated) = updated.as_object_mut() {
            updated.insert("status".to_owned(), status);
        }
        if let Err(error) = self.registry.update(&mut call, updated) {
            tracing::error!(%error, definition = object::name(definition), "the status of a definition could not be written");
        }
    }

    /// Removes deleted definitions whose last objects, maybe held by finalizers, are gone.
    fn finalize_definitions_that_wait(&mut self, resource: &Resource, now: Timestamp) {
        let is_empty = |(_, served): &(&Key, &Resource)| self.registry.store.count(served, None) == 0;
        let due: Vec<_> =
            self.definitions_that_wait.iter().filter(is_empty).map(|(key, served)| (key.clone(), served.clone())).collect();
        for (key, served) in due {
            self.definitions_that_wait.remove(&key);
            if let Some(current) = self.registry.store.get(resource, &key).cloned() {
                self.finalize_definition(resource, &key, &current.value, &served, now);
            }
        }
    }

    /// Deletes the objects of a deleted definition, and the definition after the last one.
    fn finalize_definition(&mut self, resource: &Resource, key: &Key, definition: &Value, served: &Resource, now: Timestamp) {
        if !object::is_deleting(definition) || !object::finalizers(definition).any(|finalizer| finalizer == CLEANUP) {
            return;
        }
        let kind = self.registry.kinds.of_resource(served).next().cloned();
        if let Some(kind) = kind {
            let keys: Vec<Key> = self.registry.store.list(served, None).map(|(key, _)| key.clone()).collect();
            for key in keys {
                let mut call = Call::internal(Arc::clone(&kind), &key.namespace, &key.name, "kube-apiserver", now);
                if let Err(error) = self.registry.delete(&mut call, &DeleteOptions::default()) {
                    tracing::debug!(%error, "an object of a deleted definition stays");
                }
            }
            if self.registry.store.count(served, None) > 0 {
                self.definitions_that_wait.insert(key.clone(), served.clone());
                return;
            }
        }
        let mut updated = definition.clone();
        let rest: Vec<&str> = object::finalizers(definition).filter(|finalizer| *finalizer != CLEANUP).collect();
        let is_last = rest.is_empty();
        let rest = Value::from(rest);
        if is_last {
            object::remove_metadata(&mut updated, "finalizers");
            self.registry.store.remove_as(resource, key, updated);
        } else {
            object::set_metadata(&mut updated, "finalizers", rest);
            self.registry.store.put(resource, key, updated);
        }
    }
}

fn served_resource(definition: &Value) -> Resource {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    Resource::new(text("/spec/group"), text("/spec/names/plural"))
}
