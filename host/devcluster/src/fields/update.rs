//! Changes the owners of fields after a write that is not an apply.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::compare::{Difference, compare};
use super::error::Conflict;
use super::ownership::{Operation, Owned, Owner, Ownership, entries, is_reset};
use super::set::FieldSet;
use super::shape::Shape;
use super::typed::{Duplicates, Violations, reconciled, validate};
use super::{Force, Manager};
use crate::object;
use crate::schema::SchemaRef;

/// `DefaultMaxUpdateManagers` of apimachinery.
const MAX_UPDATE_OWNERS: usize = 10;

/// The owner into which the oldest owners are merged beyond the maximum.
const ANCIENT_CHANGES: &str = "ancient-changes";

#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) shape: Shape<'a>,
    pub(super) manager: &'a Manager<'a>,
    /// The fields that the request cannot change.
    pub(super) reset: &'a FieldSet,
    pub(super) now: Timestamp,
}

/// Sets the `managedFields` of `new` for a PUT, POST or PATCH other than an apply.
///
/// `live` is the replaced object, `None` for a create; `reset` are the paths that the request
/// cannot change. The computation starts with the `managedFields` in `new` if they are valid. If
/// they are absent or invalid, or the request is for a subresource, it starts with those of `live`.
/// `[]` or `[{}]` asks for a reset: then, or if an object is invalid under the schema, no entries
/// are left, and none are added until the next apply.
pub fn record_update(
    live: Option<&Value>,
    new: &mut Value,
    schema: SchemaRef<'_>,
    manager: &Manager<'_>,
    reset: &[Vec<&str>],
    now: Timestamp,
) {
    let mut ownership = sent_or_live(live, new, manager);
    object::remove_metadata(new, "managedFields");
    // An object without owners, e.g. after a reset, gets none until the next apply.
    if ownership.owners.is_empty() && live.is_some_and(|live| object::uid(live).is_some()) {
        return;
    }
    let reset = FieldSet::of_fields(reset.iter().map(Vec::as_slice));
    let context = Context { shape: Shape::root(schema), manager, reset: &reset, now };
    let live = live.map_or_else(|| empty_object(new, schema), without_entries);
    if ownership.update(&live, new, context).is_ok() {
        ownership.write_to(new);
    }
}

fn sent_or_live(live: Option<&Value>, new: &Value, manager: &Manager<'_>) -> Ownership {
    let of_live = || Ownership::decode(live.and_then(entries)).unwrap_or_default();
    if !manager.subresource.is_empty() {
        return of_live();
    }
    match entries(new) {
        Some(sent) if is_reset(sent) => Ownership::default(),
        sent => match Ownership::decode(sent) {
            Ok(sent) if !sent.owners.is_empty() => sent,
            _ => of_live(),
        },
    }
}

pub(super) fn without_entries(object: &Value) -> Value {
    let mut object = object.clone();
    object::remove_metadata(&mut object, "managedFields");
    object
}

/// Returns the object that a create is compared with: the zero value of the kind's Go type.
pub(super) fn empty_object(object: &Value, schema: SchemaRef<'_>) -> Value {
    let mut empty = Map::new();
    for field in ["apiVersion", "kind"] {
        if let Some(value) = object.get(field) {
            empty.insert(field.to_owned(), value.clone());
        }
    }
    fill_zero(&mut empty, schema, 0);
    Value::Object(empty)
}

fn fill_zero(fields: &mut Map<String, Value>, schema: SchemaRef<'_>, depth: usize) {
    // A schema that contains itself would have no end.
    const DEEPEST: usize = 32;
    for (name, value) in &schema.schema().always {
        let value = fields.entry(name.clone()).or_insert_with(|| value.clone());
        if depth < DEEPEST
            && let (Value::Object(fields), Some(schema)) = (value, schema.property(name))
        {
            fill_zero(fields, schema, depth + 1);
        }
    }
}

/// The fields that nobody owns, because they identify the object or only the server sets them.
pub(super) fn unowned() -> FieldSet {
    const PATHS: [&[&str]; 12] = [
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ];
    FieldSet::of_fields(PATHS)
}

impl Ownership {
    /// Records that `context.manager` replaced `live` by `new`. Fails if either violates the
    /// schema.
    pub(super) fn update(&mut self, live: &Value, new: &Value, context: Context<'_>) -> Result<(), Violations> {
        validate(new, context.shape, Duplicates::Allowed)?;
        validate(live, context.shape, Duplicates::Allowed)?;
        self.reconcile(context.shape);
        let difference = compare(live, new, context.shape).outside(context.reset);
        // There are no conflicts with force.
        self.take_over(&difference, None, Force::Yes).unwrap_or_default();
        let changed = difference.modified_or_added().difference(&unowned());
        if !changed.is_empty() {
            let Manager { name, api_version, subresource } = *context.manager;
            let owner = Owner::new(manager_or_unknown(name), Operation::Update, api_version, subresource);
            let known = self.owners.remove(&owner).map(|owned| owned.set).unwrap_or_default();
            let owned = Owned { set: changed.union(&known), api_version: api_version.to_owned(), time: Some(context.now) };
            self.owners.insert(owner, owned);
        }
        self.merge_oldest_updaters();
        Ok(())
    }

    pub(super) fn reconcile(&mut self, shape: Shape<'_>) {
        for owned in self.owners.values_mut() {
            owned.set = reconciled(&owned.set, shape);
        }
    }

    /// Removes the changed fields from all owners but `except`. Without force, fails if others own
    /// modified or added fields.
    pub(super) fn take_over(
        &mut self,
        difference: &Difference,
        except: Option<&Owner>,
        force: Force,
    ) -> Result<(), Vec<Conflict>> {
        let set = difference.modified_or_added();
        let others = |owner: &Owner| Some(owner) != except;
        if force == Force::No {
            let mut conflicts = Vec::new();
            for (owner, owned) in self.owners.iter().filter(|(owner, _)| others(owner)) {
                conflicts.extend(Conflict::all(owner, owned.set.intersection(&set)));
            }
            if !conflicts.is_empty() {
                return Err(conflicts);
            }
        }
        for (_, owned) in self.owners.iter_mut().filter(|(owner, _)| others(owner)) {
            owned.set = owned.set.difference(&set).difference(&difference.removed);
        }
        self.drop_empty();
        Ok(())
    }

    /// Merges the oldest owners by update into one per version, to at most `MAX_UPDATE_OWNERS`.
    fn merge_oldest_updaters(&mut self) {
        let mut updaters: Vec<_> = self.owners.iter().filter(|(owner, _)| owner.operation == Operation::Update).collect();
        updaters.sort_by_key(|(_, owned)| owned.time.map_or(0, Timestamp::as_second));
        let mut count = updaters.len();
        let updaters: Vec<Owner> = updaters.into_iter().map(|(owner, _)| owner.clone()).collect();
        let mut first_of_version: BTreeMap<String, Owner> = BTreeMap::new();
        for owner in updaters {
            if count <= MAX_UPDATE_OWNERS {
                return;
            }
            let Some(version) = self.owners.get(&owner).map(|owned| owned.api_version.clone()) else { continue };
            let Some(first) = first_of_version.get(&version) else {
                first_of_version.insert(version, owner);
                continue;
            };
            let ancient = Owner::new(ANCIENT_CHANGES, Operation::Update, &version, "");
            if owner == ancient {
                continue;
            }
            let bucket = match self.owners.remove(&ancient) {
                Some(bucket) => Some(bucket),
                None => self.owners.remove(first),
            };
            let (Some(bucket), Some(merged)) = (bucket, self.owners.remove(&owner)) else { continue };
            // Keeps the time of `merged`, which is more recent.
            self.owners.insert(ancient, Owned { set: merged.set.union(&bucket.set), ..merged });
            count -= 1;
        }
    }
}

pub(super) fn manager_or_unknown(name: &str) -> &str {
    if name.is_empty() { "unknown" } else { name }
}
