//! The garbage collector, which finds dependents by UID in the store's index.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::event::{Event, Severity};
use super::json::text;
use super::{Intent, Propagation, Step, Write, without_finalizer};
use crate::kinds::{Kinds, Scope};
use crate::object;
use crate::store::{Key, Resource, Store, Stored};

/// The finalizer of objects that wait for the deletion of their dependents.
pub(super) const FOREGROUND: &str = "foregroundDeletion";

/// The finalizer of objects whose dependents are being orphaned.
const ORPHAN: &str = "orphan";

const COMPONENT: &str = "garbage-collector-controller";

const ORPHANED_AT_ONCE: usize = 500;

pub(super) enum Verdict {
    Step(Step),
    /// The kind of an owner is not served, maybe not yet: wait until the kinds change.
    UnknownKind,
}

#[derive(Default)]
struct Owners<'a> {
    solid: Vec<&'a Value>,
    dangling: Vec<&'a Value>,
    /// The owner waits for this object to be deleted.
    waiting: Vec<&'a Value>,
}

enum Owner {
    Solid,
    Waiting,
    Absent,
    UnknownKind,
    /// A namespaced owner of a cluster-scoped object, which is invalid and ignored.
    OutOfScope,
}

/// Deleted owners, by UID.
pub(super) type AbsentOwners = BTreeMap<Arc<str>, AbsentOwner>;

#[derive(Debug)]
pub(super) struct AbsentOwner {
    pub(super) group: Arc<str>,
    pub(super) kind: Arc<str>,
    pub(super) key: Key,
}

impl AbsentOwner {
    /// Returns whether a dependent in this namespace refers to it, and not to an object of another
    /// kind or name with the same UID.
    fn is_of(&self, reference: &Value, namespace: &str) -> bool {
        let (group, _) = object::text(reference, "apiVersion").split_once('/').unwrap_or_default();
        (group, object::text(reference, "kind"), object::text(reference, "name"))
            == (&*self.group, &*self.kind, &*self.key.name)
            && (self.key.namespace.is_empty() || *self.key.namespace == *namespace)
    }
}

pub(super) fn sync(store: &Store, kinds: &Kinds, absent: &AbsentOwners, resource: &Resource, key: &Key) -> Verdict {
    let Some(stored) = store.get(resource, key) else { return Verdict::Step(Step::default()) };
    if object::is_deleting(&stored.value) {
        return Verdict::Step(Step::of(delete_dependents(store, resource, &stored.value)));
    }
    let mut owners = Owners::default();
    let mut events = Vec::new();
    for reference in object::owner_references(&stored.value) {
        if has_owner_elsewhere(store, key, reference) {
            events.push(elsewhere(&stored.value, reference));
        }
        match owner(store, kinds, absent, key, reference) {
            Owner::Solid => owners.solid.push(reference),
            Owner::Waiting => owners.waiting.push(reference),
            Owner::Absent => owners.dangling.push(reference),
            Owner::UnknownKind => return Verdict::UnknownKind,
            Owner::OutOfScope => return Verdict::Step(Step { events, ..Step::default() }),
        }
    }
    let intents = without_owner(store, resource, stored, &owners);
    Verdict::Step(Step { intents, events, again: None })
}

fn owner(store: &Store, kinds: &Kinds, absent: &AbsentOwners, key: &Key, reference: &Value) -> Owner {
    let Some(kind) = kinds.by_kind(object::text(reference, "apiVersion"), object::text(reference, "kind")) else {
        // The owner may have been deleted together with its kind.
        let owner = absent.get(object::text(reference, "uid"));
        let is_gone = owner.is_some_and(|owner| owner.is_of(reference, &key.namespace));
        return if is_gone { Owner::Absent } else { Owner::UnknownKind };
    };
    let namespace = match kind.scope {
        Scope::Namespaced if key.namespace.is_empty() => return Owner::OutOfScope,
        Scope::Namespaced => &*key.namespace,
        Scope::Cluster => "",
    };
    let uid = object::text(reference, "uid");
    match store.get(&kind.storage(), &Key::new(namespace, object::text(reference, "name"))) {
        Some(owner) if object::uid(&owner.value) != Some(uid) => Owner::Absent,
        Some(owner) if is_deleting_dependents(&owner.value) => Owner::Waiting,
        Some(_) => Owner::Solid,
        None => Owner::Absent,
    }
}

fn is_deleting_dependents(object: &Value) -> bool {
    object::is_deleting(object) && has_finalizer(object, FOREGROUND)
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    object::finalizers(object).any(|other| other == finalizer)
}

fn has_owner_elsewhere(store: &Store, key: &Key, reference: &Value) -> bool {
    let owner = store.find_uid(object::text(reference, "uid"));
    owner.is_some_and(|(_, owner)| !owner.namespace.is_empty() && owner.namespace != key.namespace)
}

fn elsewhere(dependent: &Value, reference: &Value) -> Event {
    let field = |name| object::text(reference, name);
    let namespace = object::namespace(dependent);
    let message = format!(
        "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace {namespace:?}",
        field("apiVersion"),
        field("kind"),
        field("name"),
        field("uid")
    );
    Event::new(COMPONENT, dependent, Severity::Warning, "OwnerRefInvalidNamespace", message)
}

fn without_owner(store: &Store, resource: &Resource, stored: &Stored, owners: &Owners<'_>) -> Vec<Intent> {
    let object = &stored.value;
    if !owners.solid.is_empty() {
        if owners.dangling.is_empty() && owners.waiting.is_empty() {
            return Vec::new();
        }
        let gone: Vec<&str> =
            owners.dangling.iter().chain(&owners.waiting).map(|reference| object::text(reference, "uid")).collect();
        return vec![Intent::update(resource, without_references(object, &gone))];
    }
    if owners.dangling.is_empty() && owners.waiting.is_empty() {
        return Vec::new();
    }
    let uid = object::uid(object).unwrap_or_default();
    let mut dependents = dependents(store, uid).peekable();
    if !owners.waiting.is_empty() && dependents.peek().is_some() {
        let is_circle = dependents.any(|(_, dependent)| is_deleting_dependents(&dependent.value));
        if is_circle && object::owner_references(object).any(blocks) {
            return vec![Intent::update(resource, unblocked(object))];
        }
        return vec![delete(resource, stored, Propagation::Foreground)];
    }
    let propagation = match () {
        () if has_finalizer(object, ORPHAN) => Propagation::Orphan,
        () if has_finalizer(object, FOREGROUND) => Propagation::Foreground,
        () => Propagation::Background,
    };
    vec![delete(resource, stored, propagation)]
}

fn delete_dependents(store: &Store, resource: &Resource, object: &Value) -> Vec<Intent> {
    let uid = object::uid(object).unwrap_or_default();
    if has_finalizer(object, ORPHAN) {
        let orphaned = dependents(store, uid).take(ORPHANED_AT_ONCE);
        let orphaned: Vec<Intent> = orphaned
            .map(|(resource, dependent)| Intent::update(resource, without_references(&dependent.value, &[uid])))
            .collect();
        return if orphaned.is_empty() { vec![Intent::update(resource, without_finalizer(object, ORPHAN))] } else { orphaned };
    }
    if !has_finalizer(object, FOREGROUND) {
        return Vec::new();
    }
    let is_blocking = |dependent: &Stored| {
        object::owner_references(&dependent.value).any(|owner| blocks(owner) && text(owner, "/uid") == uid)
    };
    match dependents(store, uid).any(|(_, dependent)| is_blocking(dependent)) {
        true => Vec::new(),
        false => vec![Intent::update(resource, without_finalizer(object, FOREGROUND))],
    }
}

fn dependents<'a>(store: &'a Store, uid: &str) -> impl Iterator<Item = (&'a Resource, &'a Stored)> {
    store.owned_by(uid).filter_map(|(resource, key)| Some((resource, &**store.get(resource, key)?)))
}

fn blocks(reference: &Value) -> bool {
    reference.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or_default()
}

fn delete(resource: &Resource, stored: &Stored, propagation: Propagation) -> Intent {
    Intent::new(Write::Delete {
        resource: resource.clone(),
        key: Key::new(object::namespace(&stored.value), object::name(&stored.value)),
        uid: object::uid(&stored.value).unwrap_or_default().to_owned(),
        resource_version: Some(stored.revision.to_string()),
        propagation: Some(propagation),
        grace: None,
    })
}

fn without_references(object: &Value, owners: &[&str]) -> Value {
    let rest: Vec<Value> = object::owner_references(object)
        .filter(|reference| !owners.contains(&object::text(reference, "uid")))
        .cloned()
        .collect();
    let mut object = object.clone();
    match rest.is_empty() {
        true => {
            object::remove_metadata(&mut object, "ownerReferences");
        }
        false => object::set_metadata(&mut object, "ownerReferences", Value::Array(rest)),
    }
    object
}

/// Sets `blockOwnerDeletion` to false, because objects that block each other would wait for ever.
fn unblocked(object: &Value) -> Value {
    let mut references: Vec<Value> = object::owner_references(object).cloned().collect();
    for reference in &mut references {
        if blocks(reference)
            && let Some(reference) = reference.as_object_mut()
        {
            reference.insert("blockOwnerDeletion".to_owned(), Value::from(false));
        }
    }
    let mut object = object.clone();
    object::set_metadata(&mut object, "ownerReferences", Value::Array(references));
    object
}
