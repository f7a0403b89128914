//! Translates the owners of the replicas between an object and its Scale.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::Error;
use super::ownership::{Owned, Ownership};
use super::set::FieldSet;

const SCALE_VERSION: &str = "autoscaling/v1";

const REPLICAS_IN_SCALE: [&str; 2] = ["spec", "replicas"];

/// The path of the replicas by `apiVersion`; `None` for a version without the subresource.
pub type ReplicasPaths<'a> = BTreeMap<String, Option<Vec<&'a str>>>;

/// Returns the `managedFields` of the Scale of an object with `entries`: the owners of the
/// replicas.
///
/// # Errors
///
/// The entries are invalid.
pub fn parent_to_scale(entries: Option<&Value>, paths: &ReplicasPaths<'_>) -> Result<Option<Value>, Error> {
    let parent = Ownership::decode(entries).map_err(Error::Owners)?;
    let mut scale = Ownership::default();
    for (owner, owned) in parent.owners {
        if let Some(Some(path)) = paths.get(&owned.api_version)
            && has(&owned.set, path)
        {
            let set = FieldSet::of_fields([REPLICAS_IN_SCALE.as_slice()]);
            scale.owners.insert(owner, Owned { set, api_version: SCALE_VERSION.to_owned(), time: owned.time });
        }
    }
    Ok(scale.encode())
}

/// Returns the `managedFields` of an object that had `entries`, after a write through `api_version`
/// left its Scale with `scale_entries`.
///
/// # Errors
///
/// The entries are invalid.
pub fn scale_to_parent(
    entries: Option<&Value>,
    scale_entries: Option<&Value>,
    api_version: &str,
    paths: &ReplicasPaths<'_>,
) -> Result<Option<Value>, Error> {
    let parent = Ownership::decode(entries).map_err(Error::Owners)?;
    let mut scale = Ownership::decode(scale_entries).map_err(Error::Owners)?;
    let times: BTreeMap<_, _> = parent.owners.iter().map(|(owner, owned)| (owner.clone(), owned.time)).collect();
    let mut result = Ownership::default();
    for (owner, mut owned) in parent.owners {
        let Some(path) = paths.get(&owned.api_version) else { continue };
        if let Some(path) = path
            && has(&owned.set, path)
            && scale.owners.remove(&owner).is_none()
        {
            // Another manager took over the replicas.
            owned.set = owned.set.difference(&FieldSet::of_fields([path.as_slice()]));
        }
        if !owned.set.is_empty() {
            result.owners.insert(owner, owned);
        }
    }
    let Some(Some(path)) = paths.get(api_version) else { return Ok(result.encode()) };
    for (owner, owned) in scale.owners {
        if has(&owned.set, &REPLICAS_IN_SCALE) {
            // The real server sets no time for an owner that is new to the object either.
            let time = times.get(&owner).copied().flatten();
            let set = FieldSet::of_fields([path.as_slice()]);
            result.owners.insert(owner, Owned { set, api_version: api_version.to_owned(), time });
        }
    }
    Ok(result.encode())
}

fn has(set: &FieldSet, path: &[&str]) -> bool {
    let path: Vec<_> = path.iter().map(|name| super::element::PathElement::field(*name)).collect();
    set.has(&path)
}
