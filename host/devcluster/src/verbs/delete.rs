//! Delete: preconditions, grace period, finalizers and propagation (apiserver's
//! `registry/generic/registry/store.go`).

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::kinds::{Kind, Propagation};
use crate::object;
use crate::registry::Registry;
use crate::request::options::{DeleteOptions, DryRun, ListOptions};
use crate::selection::Selection;
use crate::status::Status;
use crate::store::Stored;
use crate::verbs::Call;
use crate::verbs::write::{admit_deletion, uid_mismatch};

/// The finalizers of the garbage collector.
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object was removed; this was its last state.
    Gone(Value),
    /// The object is removed later: after its grace period, or without its last finalizer.
    Pending(Value),
}

impl Registry {
    /// Deletes an object.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Conflict` (preconditions) or `Forbidden`.
    pub(crate) fn delete(&mut self, call: &mut Call, options: &DeleteOptions) -> Result<Deleted, Status> {
        admit_deletion(call)?;
        let live = call.live(&self.store)?;
        check_preconditions(call, &live, options)?;
        if call.kind.is_job() && options.propagation.is_none() {
            call.warnings.push(
                "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set \
                 propagationPolicy=Orphan to suppress this warning"
                    .to_owned(),
            );
        }
        let mut value = live.value.clone();
        if call.kind.is_namespace() {
            return Ok(self.delete_namespace(call, options, &live, value));
        }
        if call.kind.is_definition() && !object::is_deleting(&value) {
            crate::custom::definition::mark_for_cleanup(&mut value, call.now);
            let written = self.commit(call, &call.kind.storage(), &call.key(), value);
            return Ok(Deleted::Pending(written.value().clone()));
        }
        let grace = match graceful(&call.kind, &mut value, options, call.now) {
            Grace::Pending => return Ok(Deleted::Pending(value)),
            Grace::Period(seconds) => Some(seconds),
            Grace::None => None,
        };
        settle_finalizers(&call.kind, &mut value, options);
        let is_held = object::finalizers(&value).next().is_some();
        if !is_held && grace.is_none_or(|seconds| seconds == 0) {
            if grace.is_some() && call.dry_run == DryRun::No {
                // A graceful deletion whose grace period is over is two writes.
                let marked = self.store.put(&call.kind.storage(), &call.key(), value);
                return Ok(self.remove(call, marked.value.clone()));
            }
            return Ok(self.remove(call, value));
        }
        if grace.is_none() {
            mark_as_deleting(&mut value, call.now);
        }
        if call.dry_run == DryRun::All {
            return Ok(Deleted::Pending(value));
        }
        if value == live.value {
            return Ok(Deleted::Pending(value));
        }
        let (resource, key) = (call.kind.storage(), call.key());
        let stored = self.store.put(&resource, &key, value);
        Ok(Deleted::Pending(stored.value.clone()))
    }

    fn remove(&mut self, call: &Call, value: Value) -> Deleted {
        if call.dry_run == DryRun::All {
            return Deleted::Gone(value);
        }
        match self.store.remove_as(&call.kind.storage(), &call.key(), value.clone()) {
            Some(last) => Deleted::Gone(last.value.clone()),
            None => Deleted::Gone(value),
        }
    }

    /// Marks a namespace as terminating. Its controller removes the finalizer in the spec once the
    /// namespace is empty.
    fn delete_namespace(&mut self, call: &Call, options: &DeleteOptions, live: &Arc<Stored>, mut value: Value) -> Deleted {
        if !object::is_deleting(&value) {
            object::set_metadata(&mut value, "deletionTimestamp", Value::from(object::seconds(call.now)));
        }
        settle_finalizers(&call.kind, &mut value, options);
        if let Some(object) = value.as_object_mut() {
            let status = object.entry("status").or_insert_with(|| json!({}));
            if let Some(status) = status.as_object_mut() {
                status.insert("phase".to_owned(), Value::from("Terminating"));
            }
        }
        let keeps_itself = value.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        if !keeps_itself && object::finalizers(&value).next().is_none() {
            return self.remove(call, value);
        }
        if call.dry_run == DryRun::All || value == live.value {
            return Deleted::Pending(value);
        }
        let stored = self.store.put(&call.kind.storage(), &call.key(), value);
        Deleted::Pending(stored.value.clone())
    }

    /// Deletes the objects that a list with the same options selects, and returns them.
    ///
    /// # Errors
    ///
    /// `BadRequest` about selectors, and the errors of [`Self::delete`].
    pub(crate) fn delete_collection(
        &mut self,
        call: &mut Call,
        options: &DeleteOptions,
        list: &ListOptions,
    ) -> Result<Vec<Arc<Stored>>, Status> {
        let selection = Selection::parse(&call.kind, list, None)?;
        let namespace = Some(call.namespace.clone()).filter(|namespace| !namespace.is_empty());
        let found: Vec<_> = self
            .store
            .list(&call.kind.storage(), namespace.as_deref())
            .filter(|(_, object)| selection.matches(&call.kind, &object.value))
            .take(if list.limit == 0 { usize::MAX } else { list.limit })
            .map(|(key, object)| (key.clone(), Arc::clone(object)))
            .collect();
        let collection = (std::mem::take(&mut call.namespace), std::mem::take(&mut call.name));
        let mut result = Ok(());
        for (key, _) in &found {
            call.namespace = key.namespace.to_string();
            call.name = key.name.to_string();
            result = self.delete(call, options).map(drop);
            if result.is_err() {
                break;
            }
        }
        (call.namespace, call.name) = collection;
        result.map(|()| found.into_iter().map(|(_, object)| object).collect())
    }

    /// The body of the answer: the object, or as an error a `Status` of success.
    pub(crate) fn deletion_body(&self, call: &Call, deleted: Deleted) -> Result<Value, Value> {
        match deleted {
            Deleted::Pending(value) => Ok(value),
            Deleted::Gone(value) if call.kind.is_returned_when_deleted() => Ok(value),
            Deleted::Gone(value) => {
                let mut details = json!({ "name": call.name, "kind": &*call.kind.resource.plural });
                if let Some(details) = details.as_object_mut() {
                    for (field, text) in [("group", call.kind.group()), ("uid", object::metadata(&value, "uid"))] {
                        if !text.is_empty() {
                            details.insert(field.to_owned(), Value::from(text));
                        }
                    }
                }
                Err(json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details }))
            }
        }
    }
}

fn check_preconditions(call: &Call, live: &Stored, options: &DeleteOptions) -> Result<(), Status> {
    let named = crate::status::Named { resource: &call.kind.kind, ..call.named() };
    let real = object::uid(&live.value).unwrap_or_default();
    if let Some(asked) = &options.uid
        && asked != real
    {
        let why = format!(
            "the UID in the precondition ({asked}) does not match the UID in record ({real}). The object might have been deleted and \
             then recreated"
        );
        return Err(if call.kind.is_namespace() { uid_mismatch(call, asked, real) } else { Status::conflict(named, &why) });
    }
    let real = live.revision.to_string();
    if let Some(asked) = &options.resource_version
        && *asked != real
    {
        let why = format!(
            "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({real}). The object might \
             have been modified"
        );
        return Err(Status::conflict(named, &why));
    }
    Ok(())
}

enum Grace {
    None,
    Pending,
    Period(i64),
}

/// `rest.BeforeDelete`. Of the built-in kinds, only Pods are deleted gracefully.
fn graceful(kind: &Kind, value: &mut Value, options: &DeleteOptions, now: Timestamp) -> Grace {
    if !kind.is_pod() {
        return Grace::None;
    }
    let current = value.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64);
    if object::is_deleting(value) {
        let Some(current) = current.filter(|current| *current > 0) else { return Grace::None };
        let Some(asked) = options.grace_period_seconds.filter(|asked| *asked < current) else { return Grace::Pending };
        let old: Timestamp = object::metadata(value, "deletionTimestamp").parse().unwrap_or(now);
        let shift = SignedDuration::from_secs(asked.saturating_sub(current));
        let mut at = old.saturating_add(shift).unwrap_or(now);
        let mut period = asked;
        if at < now {
            at = now;
            period = period.min(1);
        }
        object::set_metadata(value, "deletionTimestamp", Value::from(object::seconds(at)));
        object::set_metadata(value, "deletionGracePeriodSeconds", Value::from(period));
        return Grace::Period(period);
    }
    let of_spec = value.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
    let mut period = options.grace_period_seconds.unwrap_or(of_spec);
    let is_bound = value.pointer("/spec/nodeName").and_then(Value::as_str).is_some_and(|node| !node.is_empty());
    let phase = value.pointer("/status/phase").and_then(Value::as_str);
    if !is_bound || matches!(phase, Some("Failed" | "Succeeded")) {
        period = 0;
    }
    let at = now.saturating_add(SignedDuration::from_secs(period)).unwrap_or(now);
    object::set_metadata(value, "deletionTimestamp", Value::from(object::seconds(at)));
    object::set_metadata(value, "deletionGracePeriodSeconds", Value::from(period));
    count_generation(value);
    Grace::Period(period)
}

fn mark_as_deleting(value: &mut Value, now: Timestamp) {
    let is_later = object::metadata(value, "deletionTimestamp").parse::<Timestamp>().is_ok_and(|at| at > now);
    if !object::is_deleting(value) {
        count_generation(value);
    }
    if !object::is_deleting(value) || is_later {
        object::set_metadata(value, "deletionTimestamp", Value::from(object::seconds(now)));
    }
    object::set_metadata(value, "deletionGracePeriodSeconds", Value::from(0));
}

fn count_generation(value: &mut Value) {
    if let Some(generation) = value.pointer("/metadata/generation").and_then(Value::as_i64).filter(|count| *count > 0) {
        object::set_metadata(value, "generation", Value::from(generation.saturating_add(1)));
    }
}

/// `deletionFinalizersForGarbageCollection`.
fn settle_finalizers(kind: &Kind, value: &mut Value, options: &DeleteOptions) {
    let Some(default) = kind.default_propagation() else { return };
    let old: Vec<String> = object::finalizers(value).map(str::to_owned).collect();
    let held = old.iter().find_map(|finalizer| match finalizer.as_str() {
        ORPHAN => Some(Propagation::Orphan),
        FOREGROUND => Some(Propagation::Foreground),
        _ => None,
    });
    let policy = options.propagation.or(held).unwrap_or(default);
    let mut new: Vec<String> =
        old.iter().filter(|finalizer| !matches!(finalizer.as_str(), ORPHAN | FOREGROUND)).cloned().collect();
    match policy {
        Propagation::Orphan => new.push(ORPHAN.to_owned()),
        Propagation::Foreground => new.push(FOREGROUND.to_owned()),
        Propagation::Background => {}
    }
    let (mut sorted_old, mut sorted_new) = (old.clone(), new.clone());
    sorted_old.sort_unstable();
    sorted_new.sort_unstable();
    if sorted_old == sorted_new {
        return;
    }
    if new.is_empty() {
        object::remove_metadata(value, "finalizers");
    } else {
        object::set_metadata(value, "finalizers", json!(new));
    }
}
