//! Server-side apply.

use jiff::Timestamp;
use serde_json::Value;

use super::compare::compare;
use super::error::{Error, described, type_name};
use super::merge::{merge, remove};
use super::ownership::{Operation, Owned, Owner, Ownership, entries};
use super::set::FieldSet;
use super::shape::Shape;
use super::typed::{Duplicates, field_set, validate, with_named_fields};
use super::update::{Context, empty_object, manager_or_unknown, unowned, without_entries};
use super::{Force, Manager, last_applied, text};
use crate::object;
use crate::schema::SchemaRef;

/// The owner of the fields that were set before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies `applied` to `live` (`None`: creates it) and returns the merged object with its
/// `managedFields`, without defaults.
///
/// # Guarantees
///
/// - Fields that are not in `applied` are as in `live`, except those that the same manager applied
///   before and that nobody else owns: they are removed.
/// - The manager does not own paths under `reset`.
/// - The time of its entry changes only if the object does.
/// - The manager `kubectl` has no conflicts about fields that client-side apply left in its
///   annotation, and the annotation is kept up to date.
///
/// # Errors
///
/// Conflicts with other owners unless forced, and those of [`check_type`] and of the schema.
pub fn apply(
    live: Option<&Value>,
    applied: &Value,
    schema: SchemaRef<'_>,
    manager: &Manager<'_>,
    force: Force,
    reset: &[Vec<&str>],
    now: Timestamp,
) -> Result<Value, Error> {
    let mut ownership = Ownership::decode(live.and_then(entries)).map_err(Error::Owners)?;
    let kind = object::text(live.unwrap_or(applied), "kind");
    check_type(applied, manager.api_version, kind)?;
    let reset = FieldSet::of_fields(reset.iter().map(Vec::as_slice));
    let context = Context { shape: Shape::root(schema), manager, reset: &reset, now };
    let empty = empty_object(applied, schema);
    let base = match live {
        Some(live) => {
            let live = without_entries(live);
            if ownership.owners.is_empty() {
                let manager = Manager { name: BEFORE_FIRST_APPLY, ..*manager };
                ownership
                    .update(&empty, &live, Context { manager: &manager, ..context })
                    .map_err(|violations| Error::Invalid { role: "live", object: described(&live), violations })?;
            }
            live
        }
        None => empty,
    };
    let application = Application { base: &base, applied, context };
    let (merged, ownership) = match application.run(ownership.clone(), force) {
        Err(Error::Conflicts(conflicts)) if manager.name == last_applied::MANAGER => {
            match last_applied::unresolved(&conflicts, &base, manager.api_version, context.shape) {
                Some(unresolved) if unresolved.is_empty() => application.run(ownership, Force::Yes),
                Some(unresolved) => Err(Error::Conflicts(unresolved)),
                None => Err(Error::Conflicts(conflicts)),
            }
        }
        result => result,
    }?;
    let mut merged = merged.unwrap_or(base);
    if manager.name == last_applied::MANAGER {
        last_applied::bring_up_to_date(&mut merged, applied);
    }
    ownership.write_to(&mut merged);
    Ok(merged)
}

/// Checks that the applied object has the API version and kind of the request.
///
/// # Errors
///
/// [`Error::Type`] if it has not.
pub fn check_type(applied: &Value, api_version: &str, kind: &str) -> Result<(), Error> {
    let (sent_version, sent_kind) = (object::text(applied, "apiVersion"), object::text(applied, "kind"));
    if sent_version == api_version && sent_kind == kind {
        return Ok(());
    }
    Err(Error::Type(type_name(sent_version, sent_kind)))
}

struct Application<'a> {
    base: &'a Value,
    applied: &'a Value,
    context: Context<'a>,
}

impl Application<'_> {
    /// Returns the merged object (`None`: no change) and its owners.
    fn run(&self, mut ownership: Ownership, force: Force) -> Result<(Option<Value>, Ownership), Error> {
        let (shape, manager) = (self.context.shape, self.context.manager);
        if entries(self.applied).is_some() {
            return Err(Error::ManagedFields);
        }
        validate(self.applied, shape, Duplicates::Forbidden).map_err(|violations| Error::Invalid {
            role: "patch",
            object: described(self.applied),
            violations,
        })?;
        validate(self.base, shape, Duplicates::Allowed).map_err(|violations| Error::Invalid {
            role: "live",
            object: described(self.base),
            violations,
        })?;
        ownership.reconcile(shape);
        let merged = merge(self.base, self.applied, shape);
        let owner = Owner::new(manager_or_unknown(manager.name), Operation::Apply, manager.api_version, manager.subresource);
        let last = ownership.owners.remove(&owner);
        let set = field_set(self.applied, shape).recursive_difference(self.context.reset);
        let time = last.as_ref().and_then(|last| last.time);
        ownership.owners.insert(owner.clone(), Owned { set, api_version: manager.api_version.to_owned(), time });
        let merged = match last {
            Some(last) if !last.set.is_empty() => prune(merged, &last.set, &ownership, shape),
            _ => merged,
        };
        let difference = compare(self.base, &merged, shape).outside(self.context.reset);
        ownership.take_over(&difference, Some(&owner), force).map_err(Error::Conflicts)?;
        let merged = Some(merged).filter(|merged| !text::same(self.base, merged));
        if let Some(owned) = ownership.owners.get_mut(&owner) {
            owned.set = owned.set.difference(&unowned());
            if merged.is_some() {
                owned.time = Some(self.context.now);
            }
        }
        ownership.drop_empty();
        Ok((merged, ownership))
    }
}

fn prune(merged: Value, last: &FieldSet, ownership: &Ownership, shape: Shape<'_>) -> Value {
    let named = |set: &FieldSet| with_named_fields(set, Some(shape));
    let (last, all) = (named(last), named(&field_set(&merged, shape)));
    let held = |value: &Value| named(&field_set(value, shape));
    // Fields that anybody still owns stay, and so do their parents.
    let pruned = remove(&merged, &last, shape);
    let owned = ownership.owners.values().fold(FieldSet::default(), |all, owned| all.union(&owned.set));
    let pruned = remove(&merged, &all.difference(&held(&pruned).union(&named(&owned))), shape);
    // Fields that the applier never applied stay, even below removed ones.
    remove(&merged, &all.difference(&held(&pruned)).intersection(&last), shape)
}
