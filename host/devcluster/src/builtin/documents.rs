//! The dump of a real API server: its kinds, and their schemas, which are loaded on first use.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::openapi::{self, Definitions};
use super::{Builtin, types};
use crate::kinds::{Kind, Origin, Scope, Subresource};
use crate::schema::{RootSchema, Schema, Schemas};
use crate::store::Resource;

const DISCOVERY: &str = include_str!("dump/discovery.json");

struct Document {
    group: &'static str,
    version: &'static str,
    compressed: &'static [u8],
    /// Decompressed once, because clients ask for it whenever they start.
    json: LazyLock<Option<Bytes>>,
    /// The hash in the index, which does not need the decompressed document.
    hash: LazyLock<Option<String>>,
    definitions: LazyLock<Definitions>,
}

macro_rules! documents {
    ($($group:literal $version:literal $file:literal,)*) => {
        static DOCUMENTS: [Document; 20] = [$(Document {
            group: $group,
            version: $version,
            compressed: include_bytes!(concat!("dump/openapi/", $file, ".json.gz")),
            json: LazyLock::new(|| unpack($group, $version).map(Bytes::from)),
            hash: LazyLock::new(|| unpack($group, $version).map(|json| crate::openapi::hash(&json))),
            definitions: LazyLock::new(|| load($group, $version)),
        }),*];
    };
}

documents! {
    "" "v1" "api.v1",
    "admissionregistration.k8s.io" "v1" "apis.admissionregistration.k8s.io.v1",
    "apiextensions.k8s.io" "v1" "apis.apiextensions.k8s.io.v1",
    "apiregistration.k8s.io" "v1" "apis.apiregistration.k8s.io.v1",
    "apps" "v1" "apis.apps.v1",
    "authentication.k8s.io" "v1" "apis.authentication.k8s.io.v1",
    "authorization.k8s.io" "v1" "apis.authorization.k8s.io.v1",
    "autoscaling" "v1" "apis.autoscaling.v1",
    "autoscaling" "v2" "apis.autoscaling.v2",
    "batch" "v1" "apis.batch.v1",
    "certificates.k8s.io" "v1" "apis.certificates.k8s.io.v1",
    "coordination.k8s.io" "v1" "apis.coordination.k8s.io.v1",
    "discovery.k8s.io" "v1" "apis.discovery.k8s.io.v1",
    "events.k8s.io" "v1" "apis.events.k8s.io.v1",
    "networking.k8s.io" "v1" "apis.networking.k8s.io.v1",
    "node.k8s.io" "v1" "apis.node.k8s.io.v1",
    "policy" "v1" "apis.policy.v1",
    "rbac.authorization.k8s.io" "v1" "apis.rbac.authorization.k8s.io.v1",
    "scheduling.k8s.io" "v1" "apis.scheduling.k8s.io.v1",
    "storage.k8s.io" "v1" "apis.storage.k8s.io.v1",
}

fn document(group: &str, version: &str) -> Option<&'static Document> {
    DOCUMENTS.iter().find(|document| document.group == group && document.version == version)
}

/// Reads a document, or nothing if it is invalid: a test reads all of the embedded documents.
fn load(group: &str, version: &str) -> Definitions {
    unpack(group, version).and_then(|json| openapi::read(&json, types::complete).ok()).unwrap_or_default()
}

pub(crate) fn openapi_json(group: &str, version: &str) -> Option<Bytes> {
    document(group, version)?.json.clone()
}

pub(crate) fn openapi_hash(group: &str, version: &str) -> Option<&'static str> {
    document(group, version)?.hash.as_deref()
}

fn unpack(group: &str, version: &str) -> Option<Vec<u8>> {
    crate::openapi::decompressed(document(group, version)?.compressed)
}

/// The schema of a definition, e.g. `io.k8s.api.autoscaling.v1.Scale`, in a document.
pub(crate) fn definition(group: &'static str, version: &'static str, name: &'static str) -> RootSchema {
    RootSchema::lazy(move || {
        let definitions = document(group, version).map(|document| &*document.definitions);
        match definitions.and_then(|definitions| Some((definitions, *definitions.by_name.get(name)?))) {
            Some((definitions, id)) => (Arc::clone(&definitions.schemas), id),
            None => anything(),
        }
    })
}

fn schema(group: Arc<str>, version: Arc<str>, kind: Arc<str>) -> RootSchema {
    RootSchema::lazy(move || {
        let definitions = document(&group, &version).map(|document| &*document.definitions);
        let key = (group.to_string(), version.to_string(), kind.to_string());
        match definitions.and_then(|definitions| Some((definitions, *definitions.by_kind.get(&key)?))) {
            Some((definitions, id)) => (Arc::clone(&definitions.schemas), id),
            None => anything(),
        }
    })
}

fn anything() -> (Arc<Schemas>, crate::schema::SchemaId) {
    let mut schemas = Schemas::new();
    let id = schemas.add(Schema { preserve_unknown_fields: true, ..Schema::default() });
    (Arc::new(schemas), id)
}

#[derive(Deserialize)]
struct Discovery {
    api: GroupList,
    apis: GroupList,
}

#[derive(Deserialize)]
struct GroupList {
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    metadata: Metadata,
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    resources: Vec<Value>,
}

pub(crate) fn kinds() -> Vec<Kind> {
    let Ok(discovery) = serde_json::from_str::<Discovery>(DISCOVERY) else { return Vec::new() };
    let groups = discovery.api.items.into_iter().chain(discovery.apis.items);
    let mut kinds = Vec::new();
    for group in groups {
        for version in group.versions {
            let resources = version.resources.into_iter();
            kinds.extend(resources.filter_map(|resource| kind(&group.metadata.name, &version.version, resource)));
        }
    }
    kinds
}

fn kind(group: &str, version: &str, discovery: Value) -> Option<Kind> {
    let name: Arc<str> = discovery.get("responseKind")?.get("kind")?.as_str()?.into();
    let plural = discovery.get("resource")?.as_str()?;
    let texts =
        |value: &Value| value.as_array().into_iter().flatten().filter_map(|verb| Some(verb.as_str()?.to_owned())).collect();
    let subresources = discovery.get("subresources").and_then(Value::as_array).into_iter().flatten();
    let subresources = subresources.filter_map(|each| Subresource::of(each.get("subresource")?.as_str()?)).collect();
    Some(Kind {
        resource: Resource::new(group, plural),
        version: version.into(),
        list_kind: format!("{name}List").into(),
        scope: match discovery.get("scope").and_then(Value::as_str) {
            Some("Cluster") => Scope::Cluster,
            _ => Scope::Namespaced,
        },
        verbs: discovery.get("verbs").map(texts).unwrap_or_default(),
        subresources,
        schema: schema(group.into(), version.into(), Arc::clone(&name)),
        kind: name,
        discovery: Arc::new(discovery),
        origin: Origin::Builtin,
        strategy: Arc::new(Builtin),
    })
}
