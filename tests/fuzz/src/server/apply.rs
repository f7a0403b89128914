//! Laws of server-side apply.

use gyre_devcluster::random::Random;
use http::Method;
use serde_json::{Value, json};

use super::request;
use super::session::{APPLY, Session, describe, has_empty_map, write};
use crate::corpus;
use crate::mutate::Draw as _;
use crate::outcome::Failure;

const MANAGERS: &[&str] = &["one", "two", "three"];

/// Fields whose values the server writes in another way, or into another field.
const REWRITTEN: &[&str] = &["limits", "stringData", "renewTime"];

/// One of several managers applies a part of a manifest: what it applied is there, and applying it again changes nothing.
pub(crate) fn step(random: &mut Random, session: &mut Session<'_>) -> Result<(), Failure> {
    let mut manifest = random.pick(corpus::manifests()).clone();
    let Some(kind) = request::of(&manifest) else { return Ok(()) };
    thin(random, &mut manifest);
    manifest["metadata"]["name"] = json!(random.pick(&["a", "b"]));
    if random.chance(0.3) {
        manifest["metadata"]["labels"] = json!({ *random.pick(MANAGERS): "x" });
    }
    let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
    let force = if random.chance(0.7) { "&force=true" } else { "" };
    let path = format!("{}/{name}?fieldManager={}{force}", kind.path("default"), random.pick(MANAGERS));
    let apply = write(Method::PATCH, &path, APPLY, &manifest);
    let first = session.send(&apply)?;
    let (Some(object), true) = (first.value, first.status.is_success()) else { return Ok(()) };
    if !contains(&manifest, &object) {
        return Err(Failure(format!("not all that was applied is there\n  {}\n  {object}", describe(&apply))));
    }
    // Where nothing but the name was applied, the next apply finds fields without an owner, and writes down that they have one.
    // An empty map that took the place of a full one is null after the first apply and there after the second.
    if object["metadata"]["managedFields"].is_null() || has_empty_map(&manifest) {
        return Ok(());
    }
    let again = session.send(&apply)?;
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    match &again.value {
        Some(repeated) if again.status.is_success() && version(repeated) == version(&object) => Ok(()),
        other => Err(Failure(format!(
            "applying the same again is no standstill\n  {}\n  first {object}\n  again {} {other:?}",
            describe(&apply),
            again.status
        ))),
    }
}

/// Leaves out some of the fields and items.
fn thin(random: &mut Random, value: &mut Value) {
    match value {
        Value::Object(map) => {
            let is_kept = |key: &str, random: &mut Random| {
                matches!(key, "apiVersion" | "kind" | "spec" | "name" | "isbn" | "image" | "restartPolicy" | "selector")
                    || random.chance(0.85)
            };
            map.retain(|key, _| is_kept(key, random));
            map.values_mut().for_each(|inner| thin(random, inner));
        }
        Value::Array(items) => {
            items.retain(|_| random.chance(0.9));
            if random.chance(0.2) {
                items.reverse();
            }
            items.iter_mut().for_each(|inner| thin(random, inner));
        }
        _ => {}
    }
}

/// Returns whether everything of `part` is in `whole`. Items may stand elsewhere in their list.
fn contains(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Null, _) => true,
        // Where it may not be left out, Go writes an empty list that it has stored as null.
        (Value::Array(part), Value::Null) => part.is_empty(),
        // A map that loses its last field becomes null, as structured-merge-diff's `removingWalker.doMap` has it.
        (Value::Object(part), Value::Null) => part.values().all(is_nothing),
        (Value::Object(part), Value::Object(whole)) => part.iter().all(|(key, inner)| {
            REWRITTEN.contains(&key.as_str())
                || whole.get(key).map_or_else(|| is_nothing(inner), |found| contains(inner, found))
        }),
        (Value::Array(part), Value::Array(whole)) => part.iter().all(|inner| whole.iter().any(|found| contains(inner, found))),
        (part, whole) => part == whole,
    }
}

/// Returns whether Go omits the value because it is empty.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(is_nothing),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
