//! Applies the CRDs of plugins, and the manifests of the arguments.

use std::fmt;
use std::io::Write as _;

use anyhow::{Context as _, anyhow, bail, ensure};
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_engine::cluster::kinds::{self, Resource};
use gyre_engine::error::error_chain;
use gyre_engine::program::Program;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::client::Body;
use kube::core::Status;
use kube::{Client, Resource as _};
use serde_json::Value;

const FIELD_MANAGER: &str = "gyre-dev";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// The objects of `--filename`, after an attempt to apply each.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) applied: Vec<Applied>,
    refused: usize,
}

impl Outcome {
    /// Returns an error if an object was refused.
    pub(super) fn complete(&self) -> anyhow::Result<()> {
        let all = self.applied.len() + self.refused;
        ensure!(self.refused == 0, "{} of {all} objects were not applied: see the errors above", self.refused);
        Ok(())
    }
}

/// Applies objects like kubectl: prints the errors of single objects, and continues with the
/// others.
pub(super) async fn apply(client: &Client, objects: &[(String, Value)]) -> Outcome {
    let mut outcome = Outcome::default();
    for (file, object) in objects {
        match apply_one(client, object).await {
            Ok(applied) => outcome.applied.push(applied),
            Err(error) => {
                outcome.refused += 1;
                say(&format!("gyre: {file}: {error:#}"));
            }
        }
    }
    outcome
}

fn say(line: &str) {
    // A closed output is not a reason to stop.
    let _ = writeln!(std::io::stderr(), "{line}");
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
            Some(text("/metadata/namespace")).filter(|text| !text.is_empty()).or(Some(client.default_namespace()))
        }
        gyre_core::grants::Scope::Cluster => None,
    };
    let warnings = patch(client, &resource, namespace, name, object)
        .await
        .map_err(|error| anyhow!("{kind} {name}: {}", error_chain(&error)))?;
    for warning in warnings {
        say(&format!("Warning: {kind} {name}: {warning}"));
    }
    Ok(Applied { kind: gvk, key: ObjectKey { namespace: namespace.map(str::to_owned), name: name.to_owned() } })
}

/// Applies an object, and returns the warnings of the API server, which `Api::patch` drops.
async fn patch(
    client: &Client,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
    object: &Value,
) -> Result<Vec<String>, kube::Error> {
    let path = DynamicObject::url_path(&resource.api, namespace);
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let request = kube::core::Request::new(path).patch(name, &parameters, &Patch::Apply(object));
    let response = client.send(request.map_err(kube::Error::BuildRequest)?.map(Body::from)).await?;
    let (parts, body) = response.into_parts();
    let bytes = body.collect_bytes().await?;
    if !parts.status.is_success() {
        let status: Status = serde_json::from_slice(&bytes).map_err(kube::Error::SerdeError)?;
        return Err(kube::Error::Api(Box::new(status)));
    }
    Ok(parts.headers.get_all(http::header::WARNING).iter().filter_map(warning).collect())
}

/// The text of a `Warning` header: `299 - "TEXT"`.
fn warning(header: &http::HeaderValue) -> Option<String> {
    let (_, quoted) = std::str::from_utf8(header.as_bytes()).ok()?.split_once('"')?;
    let mut text = String::new();
    let mut letters = quoted.strip_suffix('"')?.chars();
    while let Some(letter) = letters.next() {
        text.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_header_is_unquoted() {
        let header = |text: &'static str| warning(&http::HeaderValue::from_static(text));
        assert_eq!(header(r#"299 - "unknown field \"a\\b\"""#).as_deref(), Some(r#"unknown field "a\b""#));
        assert_eq!(header("299 - nothing"), None);
    }
}
