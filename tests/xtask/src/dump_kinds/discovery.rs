use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value, json};

use super::proxy::{self, Proxy};
use super::{GROUP_VERSIONS, path_of};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// Returns the aggregated discovery of `GROUP_VERSIONS`, and the hashes of the plain one.
///
/// Errors: plain discovery has another value that the aggregated form lacks. The form of the dump
/// must change then.
pub(super) fn dump(proxy: &Proxy) -> anyhow::Result<Value> {
    let mut hashes = Map::new();
    let (mut api, mut apis) = proxy::wait("discovery is not complete", || aggregated(proxy))?;
    retain_dumped(&mut api)?;
    retain_dumped(&mut apis)?;
    for (group, version) in GROUP_VERSIONS {
        let path = path_of((group, version));
        let mut plain = proxy.json(&path, "application/json")?;
        let group_version = path.trim_start_matches("/apis/").trim_start_matches("/api/").to_string();
        hashes.insert(group_version, take_hashes(&mut plain)?);
        let list = if group.is_empty() { &api } else { &apis };
        let resources = plain.get("resources").and_then(Value::as_array);
        ensure!(resources == Some(&flatten(list, group, version)?), "{path} has what aggregated discovery cannot tell");
    }
    ensure_preferred_is_first(&proxy.json("/apis", "application/json")?)?;
    Ok(json!({ "api": api, "apis": apis, "storageVersionHashes": hashes }))
}

/// Returns the group, version and kind of everything in a dump, sorted.
pub(super) fn kinds(dump: &Value) -> BTreeSet<(String, String, String)> {
    let mut kinds = BTreeSet::new();
    for (group, name) in GROUP_VERSIONS {
        let list = dump.get(if group.is_empty() { "api" } else { "apis" });
        let resources = list.and_then(|list| version(list, group, name)?.get("resources")?.as_array());
        for resource in resources.into_iter().flatten() {
            let subresources = resource.get("subresources").and_then(Value::as_array).into_iter().flatten();
            for kind in std::iter::once(resource).chain(subresources).filter_map(|one| one.get("responseKind")) {
                // Both are empty if they are those of the list.
                let own = |field: &str, of_list: &str| {
                    if text(kind, "version").is_empty() { of_list.into() } else { text(kind, field).into() }
                };
                kinds.insert((own("group", group), own("version", name), text(kind, "kind").to_string()));
            }
        }
    }
    kinds
}

/// Returns the plurals of the resources of a dump that can be listed.
pub(super) fn listable(dump: &Value, group: &str, name: &str) -> Vec<String> {
    let list = dump.get(if group.is_empty() { "api" } else { "apis" });
    let resources = list.and_then(|list| version(list, group, name)?.get("resources")?.as_array());
    let has_list =
        |resource: &&Value| resource.get("verbs").and_then(Value::as_array).is_some_and(|verbs| verbs.contains(&json!("list")));
    resources.into_iter().flatten().filter(has_list).map(|resource| text(resource, "resource").to_owned()).collect()
}

/// Returns `/api` and `/apis`, or `None` while a version is missing or stale.
fn aggregated(proxy: &Proxy) -> anyhow::Result<Option<(Value, Value)>> {
    let (api, apis) = (proxy.json("/api", AGGREGATED)?, proxy.json("/apis", AGGREGATED)?);
    let is_current = |(group, name): (&str, &str)| {
        let list = if group.is_empty() { &api } else { &apis };
        version(list, group, name).and_then(|version| version.get("freshness")) == Some(&json!("Current"))
    };
    Ok(GROUP_VERSIONS.into_iter().all(is_current).then_some((api, apis)))
}

fn group_name(item: &Value) -> &str {
    item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

fn version<'a>(list: &'a Value, group: &str, name: &str) -> Option<&'a Value> {
    let item = list.get("items")?.as_array()?.iter().find(|item| group_name(item) == group)?;
    item.get("versions")?.as_array()?.iter().find(|version| version.get("version") == Some(&json!(name)))
}

/// Removes other groups and versions than `GROUP_VERSIONS`.
fn retain_dumped(list: &mut Value) -> anyhow::Result<()> {
    let items = list.get_mut("items").and_then(Value::as_array_mut).context("discovery has no items")?;
    for item in items.iter_mut() {
        let group = group_name(item).to_string();
        let versions = item.get_mut("versions").and_then(Value::as_array_mut).context("a group has no versions")?;
        versions.retain(|version| {
            GROUP_VERSIONS.iter().any(|(of, name)| *of == group && version.get("version") == Some(&json!(name)))
        });
    }
    items.retain(|item| item.get("versions").and_then(Value::as_array).is_some_and(|versions| !versions.is_empty()));
    Ok(())
}

/// Moves the hashes out of a plain list.
fn take_hashes(plain: &mut Value) -> anyhow::Result<Value> {
    let resources = plain.get_mut("resources").and_then(Value::as_array_mut).context("plain discovery has no resources")?;
    let mut hashes = Map::new();
    for resource in resources {
        let Some(resource) = resource.as_object_mut() else { continue };
        if let (Some(hash), Some(Value::String(name))) = (resource.remove("storageVersionHash"), resource.get("name")) {
            hashes.insert(name.clone(), hash);
        }
    }
    Ok(Value::Object(hashes))
}

/// Returns the resources of the plain form, in which subresources follow their parents.
fn flatten(list: &Value, group: &str, name: &str) -> anyhow::Result<Vec<Value>> {
    let resources = version(list, group, name).and_then(|version| version.get("resources")).and_then(Value::as_array);
    let mut flat = Vec::new();
    for resource in resources.context("a version has no resources")? {
        let namespaced = text(resource, "scope") == "Namespaced";
        flat.push(plain(resource, text(resource, "resource"), namespaced));
        for subresource in resource.get("subresources").and_then(Value::as_array).into_iter().flatten() {
            let name = format!("{}/{}", text(resource, "resource"), text(subresource, "subresource"));
            flat.push(plain(subresource, &name, namespaced));
        }
    }
    Ok(flat)
}

fn plain(of: &Value, name: &str, namespaced: bool) -> Value {
    let mut plain = Map::new();
    plain.insert("name".to_string(), json!(name));
    plain.insert("singularName".to_string(), json!(text(of, "singularResource")));
    plain.insert("namespaced".to_string(), json!(namespaced));
    for field in ["verbs", "shortNames", "categories"] {
        if let Some(value) = of.get(field) {
            plain.insert(field.to_string(), value.clone());
        }
    }
    // An empty group or version is that of the list.
    let kind = of.get("responseKind").and_then(Value::as_object);
    for (field, value) in kind.into_iter().flatten().filter(|(_, value)| **value != json!("")) {
        plain.insert(field.clone(), value.clone());
    }
    Value::Object(plain)
}

fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Checks that the preferred version is the first, because the aggregated form does not name it.
fn ensure_preferred_is_first(plain: &Value) -> anyhow::Result<()> {
    for group in plain.get("groups").and_then(Value::as_array).context("/apis has no groups")? {
        let same = group.get("preferredVersion") == group.pointer("/versions/0");
        ensure!(same, "the preferred version is not the first: {group}");
    }
    Ok(())
}
