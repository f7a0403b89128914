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

/// Fields whose values the server normalizes or moves.
const REWRITTEN: &[&str] = &["limits", "stringData", "renewTime"];

/// Applies a part of a manifest twice: the content is there, and the second changes nothing.
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
    // After an apply of only a name, the next one adds ownership. An empty map that replaces a full
    // one is null until the second apply.
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

/// Returns whether `whole` contains `part`. The order of items does not matter.
fn contains(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Null, _) => true,
        // Go writes a required empty list, which is stored as null.
        (Value::Array(part), Value::Null) => part.is_empty(),
        // A map without fields becomes null, as in structured-merge-diff's `removingWalker.doMap`.
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
