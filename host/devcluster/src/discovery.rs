//! Discovery of groups, versions and kinds in all forms: plain, by group version, and aggregated.

use std::cmp::Ordering;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::kinds::{Kind, Kinds, Origin};
use crate::object::text;

/// The built-in groups in the order of the real server; custom ones follow by name.
const GROUP_ORDER: [&str; 20] = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// The storage version hashes of built-in kinds in plain discovery, by group version and plural.
static STORAGE_VERSION_HASHES: LazyLock<Value> = LazyLock::new(|| {
    // A test reads the dump, so this cannot fail.
    let mut dump: Value = serde_json::from_str(include_str!("builtin/dump/discovery.json")).unwrap_or_default();
    dump.get_mut("storageVersionHashes").map(Value::take).unwrap_or_default()
});

/// `/api`.
pub(crate) fn api_versions(server_address: &str) -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": server_address }],
    })
}

/// `/apis`.
pub(crate) fn groups(kinds: &Kinds) -> Value {
    let groups: Vec<Value> = ordered_groups(kinds).into_iter().filter_map(|name| described_group(kinds, name)).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// `/apis/GROUP`; `None` if the group does not exist.
pub(crate) fn group(kinds: &Kinds, name: &str) -> Option<Value> {
    let mut group = described_group(kinds, name).filter(|_| !name.is_empty())?;
    if let Some(group) = group.as_object_mut() {
        group.insert("kind".to_owned(), "APIGroup".into());
        group.insert("apiVersion".to_owned(), "v1".into());
    }
    Some(group)
}

/// `/api/v1` and `/apis/GROUP/VERSION`; `None` if the version does not exist.
pub(crate) fn resources(kinds: &Kinds, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for kind in kinds.of_version(group, version) {
        plain_entries(kinds, kind, &mut resources);
    }
    if resources.is_empty() {
        return None;
    }
    // For historical reasons, the list of the core group has no apiVersion.
    Some(match group {
        "" => json!({ "kind": "APIResourceList", "groupVersion": version, "resources": resources }),
        group => json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/{version}"), "resources": resources,
        }),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Root {
    /// `/api`.
    Core,
    /// `/apis`.
    Groups,
}

/// Returns `/api` or `/apis` as an `APIGroupDiscoveryList`.
pub(crate) fn aggregated(kinds: &Kinds, root: Root) -> Value {
    let groups = match root {
        Root::Core => vec![""],
        Root::Groups => ordered_groups(kinds),
    };
    let items: Vec<Value> = groups.into_iter().map(|group| aggregated_group(kinds, group)).collect();
    json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items })
}

fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = Sha256::digest(format!("{group}/{version}/{kind}"));
    STANDARD.encode(digest.get(..8).unwrap_or_default())
}

/// Orders by stability and number: v2, v1, v1beta2, v1beta1, v1alpha1, then others by name.
fn compare_versions(a: &str, b: &str) -> Ordering {
    match (version_rank(a), version_rank(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

fn version_rank(version: &str) -> Option<(u8, u64, u64)> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    let rest = version.strip_prefix('v')?;
    if let Some((major, minor)) = rest.split_once("alpha") {
        Some((0, number(major)?, number(minor)?))
    } else if let Some((major, minor)) = rest.split_once("beta") {
        Some((1, number(major)?, number(minor)?))
    } else {
        Some((2, number(rest)?, 0))
    }
}

fn ordered_groups(kinds: &Kinds) -> Vec<&str> {
    let mut groups: Vec<&str> = kinds.versions().map(|(group, _)| group).filter(|group| !group.is_empty()).collect();
    groups.dedup();
    let place = |group: &str| GROUP_ORDER.iter().position(|known| *known == group).unwrap_or(GROUP_ORDER.len());
    groups.sort_by_key(|group| (place(group), *group));
    groups
}

fn ordered_versions<'a>(kinds: &'a Kinds, group: &str) -> Vec<&'a str> {
    let mut versions: Vec<&str> =
        kinds.versions().filter(|(candidate, _)| *candidate == group).map(|(_, version)| version).collect();
    versions.sort_by(|a, b| compare_versions(a, b));
    versions
}

fn described_group(kinds: &Kinds, name: &str) -> Option<Value> {
    let versions = ordered_versions(kinds, name);
    let versions: Vec<Value> = versions
        .into_iter()
        .map(|version| json!({ "groupVersion": format!("{name}/{version}"), "version": version }))
        .collect();
    let preferred = versions.first()?.clone();
    Some(json!({ "name": name, "versions": versions, "preferredVersion": preferred }))
}

fn aggregated_group(kinds: &Kinds, group: &str) -> Value {
    let versions = ordered_versions(kinds, group).into_iter().map(|version| {
        let resources: Vec<Value> = kinds.of_version(group, version).map(|kind| Value::clone(&kind.discovery)).collect();
        json!({ "version": version, "resources": resources, "freshness": "Current" })
    });
    let versions: Vec<Value> = versions.collect();
    let metadata = if group.is_empty() { json!({}) } else { json!({ "name": group }) };
    json!({ "metadata": metadata, "versions": versions })
}

fn plain_entries(kinds: &Kinds, kind: &Kind, resources: &mut Vec<Value>) {
    let entry = &*kind.discovery;
    let plural = &kind.resource.plural;
    let namespaced = text(entry, "scope") == "Namespaced";
    let mut resource = plain_entry(kind, plural, text(entry, "singularResource"), namespaced, entry);
    for field in ["shortNames", "categories"] {
        if let Some(value) = entry.get(field) {
            resource.insert(field.to_owned(), value.clone());
        }
    }
    if let Some(hash) = stored_as(kinds, kind) {
        resource.insert("storageVersionHash".to_owned(), hash.into());
    }
    resources.push(Value::Object(resource));
    for subresource in entry.get("subresources").and_then(Value::as_array).into_iter().flatten() {
        let name = format!("{plural}/{}", text(subresource, "subresource"));
        resources.push(Value::Object(plain_entry(kind, &name, "", namespaced, subresource)));
    }
}

fn stored_as(kinds: &Kinds, kind: &Kind) -> Option<String> {
    match &kind.origin {
        Origin::Builtin => {
            let hash = STORAGE_VERSION_HASHES.get(kind.api_version())?.get(&*kind.resource.plural)?;
            hash.as_str().map(str::to_owned)
        }
        Origin::Custom(_) => {
            let stored = kinds.storage_version(kind)?;
            Some(storage_version_hash(stored.group(), &stored.version, &stored.kind))
        }
    }
}

fn plain_entry(kind: &Kind, name: &str, singular: &str, namespaced: bool, entry: &Value) -> Map<String, Value> {
    let response = entry.get("responseKind").unwrap_or(&Value::Null);
    let mut resource = Map::from_iter([
        ("name".to_owned(), name.into()),
        ("singularName".to_owned(), singular.into()),
        ("namespaced".to_owned(), namespaced.into()),
        ("kind".to_owned(), text(response, "kind").into()),
        ("verbs".to_owned(), entry.get("verbs").cloned().unwrap_or_else(|| json!([]))),
    ]);
    // Group and version are given only if they differ from the document's.
    let (group, version) = (text(response, "group"), text(response, "version"));
    if (group, version) != (kind.group(), &*kind.version) {
        for (field, value) in [("group", group), ("version", version)] {
            if !value.is_empty() {
                resource.insert(field.to_owned(), value.into());
            }
        }
    }
    resource
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Scope;
    use crate::test_kinds;

    const RECORDED: &str = include_str!("discovery/tests.json");

    /// Removes the hashes of custom kinds, which are built-in in the tests but in no dump.
    fn recorded() -> Value {
        let mut recorded: Value = serde_json::from_str(RECORDED).unwrap();
        for (_, document) in recorded.as_object_mut().unwrap().iter_mut().filter(|(path, _)| path.contains("example.com/")) {
            for resource in document["resources"].as_array_mut().unwrap() {
                resource.as_object_mut().unwrap().remove("storageVersionHash");
            }
        }
        recorded
    }

    fn kinds(recorded: &Value) -> Kinds {
        let mut kinds = Kinds::default();
        for group in recorded["groups"].as_array().unwrap().iter().chain([&recorded["core"]]) {
            let name = text(&group["metadata"], "name");
            for version in group["versions"].as_array().unwrap() {
                let version_name = text(version, "version");
                for entry in version["resources"].as_array().unwrap() {
                    let plural = text(entry, "resource");
                    let kind = text(&entry["responseKind"], "kind").to_owned();
                    let kind = test_kinds::with_discovery(name, version_name, plural, &kind, Scope::Namespaced, entry.clone());
                    kinds.insert(kind);
                }
            }
        }
        kinds
    }

    #[test]
    fn documents_are_those_of_the_real_server() {
        let recorded = recorded();
        let kinds = kinds(&recorded);
        assert_eq!(groups(&kinds), recorded["apis"]);
        assert_eq!(aggregated(&kinds, Root::Groups)["items"], recorded["groups"]);
        assert_eq!(aggregated(&kinds, Root::Core)["items"], json!([recorded["core"]]));
        let address = recorded["api"]["serverAddressByClientCIDRs"][0]["serverAddress"].as_str().unwrap();
        assert_eq!(api_versions(address), recorded["api"]);
        for (path, document) in recorded.as_object().unwrap() {
            match path.split('/').collect::<Vec<_>>().as_slice() {
                ["api", version] => assert_eq!(resources(&kinds, "", version).unwrap(), *document),
                ["apis", name, version] => assert_eq!(resources(&kinds, name, version).unwrap(), *document),
                ["apis", name] => assert_eq!(group(&kinds, name).unwrap(), *document),
                _ => {}
            }
        }
    }

    #[test]
    fn unserved_groups_and_versions_have_no_document() {
        let kinds = kinds(&recorded());
        assert_eq!(group(&kinds, ""), None);
        assert_eq!(group(&kinds, "none"), None);
        assert_eq!(resources(&kinds, "batch", "v2"), None);
    }

    #[test]
    fn versions_are_ordered_by_stability_and_number() {
        let mut versions = ["foo", "v1alpha1", "v1", "v10", "v2beta1", "v1beta10", "v1beta2", "bar", "v2", "v01x"];
        versions.sort_by(|a, b| compare_versions(a, b));
        assert_eq!(versions, ["v10", "v2", "v1", "v2beta1", "v1beta10", "v1beta2", "v1alpha1", "bar", "foo", "v01x"]);
    }

    #[test]
    fn storage_version_hashes_are_those_of_the_real_server() {
        assert_eq!(storage_version_hash("example.com", "v1", "Echo"), "XcUobcTILdM=");
        assert_eq!(storage_version_hash("", "v1", "Pod"), "xPOwRZ+Yhw8=");
    }
}
