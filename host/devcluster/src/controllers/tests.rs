//! Laws of the controllers, on a whole server whose time steps from wakeup to wakeup.

mod garbage;
mod jobs;
mod namespaces;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::builtin::Builtin;
use crate::kinds::{FieldValidation, Kind, Origin, Propagation, Scope, Subresource};
use crate::object;
use crate::request::options::DeleteOptions;
use crate::schema::{RootSchema, Schema, Schemas};
use crate::server::{Options, Server};
use crate::store::{Key, Resource};
use crate::verbs::Call;

const START: &str = "2026-01-01T00:00:00Z";

const KINDS: [(&str, &str, &str, &str, Scope); 9] = [
    ("", "v1", "namespaces", "Namespace", Scope::Cluster),
    ("", "v1", "nodes", "Node", Scope::Cluster),
    ("", "v1", "pods", "Pod", Scope::Namespaced),
    ("", "v1", "configmaps", "ConfigMap", Scope::Namespaced),
    ("", "v1", "serviceaccounts", "ServiceAccount", Scope::Namespaced),
    ("", "v1", "services", "Service", Scope::Namespaced),
    ("", "v1", "events", "Event", Scope::Namespaced),
    ("batch", "v1", "jobs", "Job", Scope::Namespaced),
    ("batch", "v1", "cronjobs", "CronJob", Scope::Namespaced),
];

struct World {
    server: Server,
    now: Timestamp,
}

impl World {
    fn new() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let now: Timestamp = START.parse().unwrap();
        let mut server = Server::new(&options, now);
        for (group, version, plural, kind, scope) in KINDS {
            if server.registry.kinds.get(group, version, plural).is_none() {
                let mut schemas = Schemas::new();
                let root = schemas.add(Schema { preserve_unknown_fields: true, ..Schema::default() });
                server.registry.kinds.insert(Kind {
                    resource: Resource::new(group, plural),
                    version: version.into(),
                    kind: kind.into(),
                    list_kind: format!("{kind}List").into(),
                    scope,
                    discovery: Arc::new(json!({})),
                    verbs: ["delete", "list", "watch"].map(str::to_owned).into(),
                    subresources: [Subresource::Status].into(),
                    schema: RootSchema::new(Arc::new(schemas), root),
                    origin: Origin::Builtin,
                    strategy: Arc::new(Builtin),
                });
            }
        }
        let mut world = Self { server, now };
        if world.get("namespaces", "", "default").is_none() {
            world.create(json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "default" },
                "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" },
            }));
        }
        world.rest();
        world
    }

    fn kind_of(&self, object: &Value) -> Arc<Kind> {
        let (version, kind) = (object::text(object, "apiVersion"), object::text(object, "kind"));
        self.server.registry.kinds.by_kind(version, kind).unwrap().clone()
    }

    fn create(&mut self, mut value: Value) -> Value {
        let kind = self.kind_of(&value);
        if kind.scope == Scope::Namespaced && object::namespace(&value).is_empty() {
            object::set_metadata(&mut value, "namespace", json!("default"));
        }
        kind.decode(&mut value, FieldValidation::Strict).unwrap();
        kind.default(&mut value);
        let mut call = Call::internal(kind, object::namespace(&value), object::name(&value), "test", self.now);
        self.server.registry.create(&mut call, value).unwrap().value().clone()
    }

    fn update(&mut self, value: Value) {
        self.update_part(value, None);
    }

    fn update_status(&mut self, value: Value) {
        self.update_part(value, Some(Subresource::Status));
    }

    fn update_part(&mut self, value: Value, part: Option<Subresource>) {
        let kind = self.kind_of(&value);
        let mut call = Call::internal(kind, object::namespace(&value), object::name(&value), "test", self.now).about(part);
        self.server.registry.update(&mut call, value).unwrap();
    }

    fn delete(&mut self, plural: &str, namespace: &str, name: &str, propagation: Option<Propagation>) {
        let kind = self.server.registry.kinds.of_resource(&resource(plural)).next().unwrap().clone();
        let mut call = Call::internal(kind, namespace, name, "test", self.now);
        let options = DeleteOptions { propagation, ..DeleteOptions::default() };
        self.server.registry.delete(&mut call, &options).unwrap();
    }

    fn rest(&mut self) -> Option<Timestamp> {
        let wakeup = self.server.run_controllers(self.now);
        assert!(wakeup.is_none_or(|wakeup| wakeup > self.now), "the controllers come to rest at {}", self.now);
        wakeup
    }

    fn pass(&mut self, seconds: i64, mut look: impl FnMut(&Self)) {
        let end = self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
        loop {
            let wakeup = self.rest();
            look(self);
            match wakeup.filter(|wakeup| *wakeup <= end) {
                Some(wakeup) => self.now = wakeup,
                None => break,
            }
        }
        self.now = end;
        self.rest();
        look(self);
    }

    fn get(&self, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        Some(self.server.registry.store.get(&resource(plural), &Key::new(namespace, name))?.value.clone())
    }

    fn list(&self, plural: &str, namespace: Option<&str>) -> Vec<Value> {
        self.server.registry.store.list(&resource(plural), namespace).map(|(_, stored)| stored.value.clone()).collect()
    }

    fn names(&self, plural: &str) -> Vec<String> {
        self.list(plural, None).iter().map(|value| object::name(value).to_owned()).collect()
    }

    fn reasons(&self, name: &str) -> Vec<String> {
        let mut events = self.list("events", None);
        events.retain(|event| event.pointer("/involvedObject/name").unwrap() == name);
        events.sort_by_key(|event| object::metadata(event, "resourceVersion").parse::<u64>().unwrap());
        events.iter().map(|event| object::text(event, "reason").to_owned()).collect()
    }
}

fn resource(plural: &str) -> Resource {
    let (group, ..) = KINDS.iter().find(|(_, _, known, ..)| *known == plural).unwrap();
    Resource::new(group, plural)
}

fn config_map(name: &str, owners: &[&Value]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default", "ownerReferences": owners.iter().map(|owner| reference(owner)).collect::<Vec<_>>() },
    })
}

fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": true,
    })
}

fn conditions(object: &Value) -> Vec<String> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.map(|condition| format!("{}={}", object::text(condition, "type"), object::text(condition, "status"))).collect()
}
