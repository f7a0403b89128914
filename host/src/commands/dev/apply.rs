//! Applies the CRDs of plugins, and the manifests of the arguments.

use std::fmt;

use anyhow::{Context as _, anyhow, bail};
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_engine::cluster::kinds::{self, Resource};
use gyre_engine::error::error_chain;
use gyre_engine::program::Program;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::Value;

const FIELD_MANAGER: &str = "gyre-dev";

#[derive(Clone, Debug)]
pub(super) struct Applied {
    pub(super) kind: GroupVersionKind,
    pub(super) key: ObjectKey,
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.kind, self.key)
    }
}

/// Installs the CRDs of plugins, and waits until their kinds are served.
pub(super) async fn install_crds(client: &Client, programs: &[Program]) -> anyhow::Result<()> {
    for program in programs {
        for crd in &program.manifest().crds {
            let crd: Value = serde_json::to_value(crd).context("a CustomResourceDefinition")?;
            apply_one(client, &crd).await.with_context(|| format!("the CRDs of the plugin {}", program.name))?;
        }
    }
    Ok(())
}

pub(super) async fn apply(client: &Client, objects: &[(String, Value)]) -> anyhow::Result<Vec<Applied>> {
    let mut applied = Vec::new();
    for (file, object) in objects {
        applied.push(apply_one(client, object).await.context(file.clone())?);
    }
    Ok(applied)
}

async fn apply_one(client: &Client, object: &Value) -> anyhow::Result<Applied> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let gvk = GroupVersionKind::new(group, version, kind);
    let resource = match kinds::find(client, &gvk).await {
        Ok(Some(resource)) => resource,
        Ok(None) => bail!(
            "the cluster does not serve {kind} of {api_version}: correct its apiVersion and kind, or apply its CustomResourceDefinition before it"
        ),
        Err(error) => bail!("cannot look up {kind}: {}", error_chain(&error)),
    };
    let namespace = match resource.scope {
        gyre_core::grants::Scope::Namespaced => {
            Some(text("/metadata/namespace")).filter(|text| !text.is_empty()).or(Some("default"))
        }
        gyre_core::grants::Scope::Cluster => None,
    };
    patch(client, &resource, namespace, name, object)
        .await
        .map_err(|error| anyhow!("{kind} {name}: {}", error_chain(&error)))?;
    Ok(Applied { kind: gvk, key: ObjectKey { namespace: namespace.map(str::to_owned), name: name.to_owned() } })
}

async fn patch(
    client: &Client,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
    object: &Value,
) -> Result<(), kube::Error> {
    let api: Api<DynamicObject> = resource.api(client, namespace);
    api.patch(name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(object)).await.map(drop)
}
