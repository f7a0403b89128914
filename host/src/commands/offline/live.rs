//! What a live cluster has for some programs, read and not touched.

use std::collections::BTreeSet;

use anyhow::Context as _;
use gyre_core::grants::{Namespaces, Scope};
use gyre_core::object::GroupVersionKind;
use gyre_core::plan::PLUGIN_LABEL;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;

use crate::cluster::kinds::{self, Resource, answered};
use crate::program::Program;

/// How many objects are asked for at once.
const PAGE: u32 = 500;
const DEFINITION: &str = "CustomResourceDefinition";

/// Copies of the definitions of kinds, the parents, their children, and what the programs read, each with where it comes from.
///
/// # Errors
///
/// When the API server cannot be asked, or does not answer.
pub(super) async fn objects(client: &Client, programs: &[Program]) -> anyhow::Result<Vec<(String, Value)>> {
    let mut objects = Vec::new();
    let mut seen = BTreeSet::new();
    for program in programs {
        let manifest = program.manifest();
        let of_plugin = format!("{PLUGIN_LABEL}={}", manifest.name);
        // Those that the mount does not select are copied, too: it is the host that tells them apart.
        let parents = std::iter::once((&manifest.parent, None::<&str>, String::new()));
        let children = manifest.children.iter().map(|child| (&child.kind, None, of_plugin.clone()));
        let reads = manifest.reads.iter();
        let reads = reads.map(|read| (&read.kind, read.namespace.as_deref(), read.label_selector.clone().unwrap_or_default()));
        for (kind, namespace, selector) in parents.chain(children).chain(reads) {
            let Some(resource) = find(client, kind).await? else { continue };
            if let Some(definition) = definition(client, &resource).await? {
                objects.push((format!("the definition of {}", kind.kind), definition));
            }
            for namespace in namespaces(&resource, namespace, &program.namespaces) {
                for object in list(client, &resource, namespace, ListParams::default().labels(&selector)).await? {
                    let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
                    if seen.insert(uid) {
                        objects.push(("the cluster".to_owned(), object));
                    }
                }
            }
        }
    }
    Ok(objects)
}

async fn find(client: &Client, kind: &GroupVersionKind) -> anyhow::Result<Option<Resource>> {
    kinds::find(client, kind).await.with_context(|| format!("cannot ask for {} of {}", kind.kind, kind.api_version()))
}

/// Which to look into; none: all, or those of a kind that has none.
fn namespaces<'a>(resource: &Resource, declared: Option<&'a str>, mounted: &'a Namespaces) -> Vec<Option<&'a str>> {
    match (resource.scope, declared, mounted) {
        (Scope::Cluster, _, _) | (Scope::Namespaced, None, Namespaces::All) => vec![None],
        (Scope::Namespaced, Some(namespace), _) => vec![Some(namespace)],
        (Scope::Namespaced, None, Namespaces::Only(names)) => names.iter().map(|name| Some(name.as_str())).collect(),
    }
}

/// Of a kind that is defined so. Who may not read definitions has those that plugins bring.
async fn definition(client: &Client, resource: &Resource) -> anyhow::Result<Option<Value>> {
    // The groups of Kubernetes' own kinds have no dots, or end like this.
    if !resource.api.group.contains('.') || resource.api.group.ends_with(".k8s.io") {
        return Ok(None);
    }
    let definitions = GroupVersionKind::new("apiextensions.k8s.io", "v1", DEFINITION);
    let Some(definitions) = find(client, &definitions).await? else { return Ok(None) };
    let api: Api<DynamicObject> = definitions.api(client, None);
    let name = format!("{}.{}", resource.api.plural, resource.api.group);
    match answered(api.get_opt(&name)).await {
        Ok(found) => found.map(|object| value(object, &definitions)).transpose(),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read the definition {name}")),
    }
}

/// All pages of a list.
pub(super) async fn list(
    client: &Client,
    resource: &Resource,
    namespace: Option<&str>,
    params: ListParams,
) -> anyhow::Result<Vec<Value>> {
    let api: Api<DynamicObject> = resource.api(client, namespace);
    let mut params = params.limit(PAGE);
    let mut objects = Vec::new();
    loop {
        let page = answered(api.list(&params)).await.with_context(|| format!("cannot list {}", resource.api.plural))?;
        for object in page.items {
            objects.push(value(object, resource)?);
        }
        match page.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => params = params.continue_token(&next),
            None => return Ok(objects),
        }
    }
}

/// What is listed does not say of which kind it is.
fn value(object: DynamicObject, resource: &Resource) -> anyhow::Result<Value> {
    let mut object = serde_json::to_value(object).context("an object")?;
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Value::from(resource.api.api_version.as_str()));
        fields.insert("kind".to_owned(), Value::from(resource.api.kind.as_str()));
    }
    Ok(object)
}
