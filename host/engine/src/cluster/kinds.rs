//! The resource of a kind, from the API server's discovery.

use std::time::Duration;

use gyre_core::grants::Scope;
use gyre_core::object::GroupVersionKind;
use kube::core::{ApiResource, GroupVersionKind as KubeKind};
use kube::discovery::{self, Scope as KubeScope};
use kube::{Api, Client};
use serde_json::Value;
use tracing::{info, warn};

use crate::client::answered;
use crate::error::{error_chain, is_gone};

/// The first interval of lookups. A person applies the CRD and waits.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);
const LOOK_AGAIN_AT_MOST_AFTER: Duration = Duration::from_secs(15);

/// The lookups of a status subresource: CRDs are usually applied before or while a host starts.
const LOOKS_FOR_STATUS: u32 = 20;

/// The least time that `wait_for_status` waits.
pub const WAITS_FOR_STATUS: Duration = LOOK_AGAIN_AFTER.saturating_mul(LOOKS_FOR_STATUS);

/// A kind as the API server serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Group, version, kind and plural.
    pub api: ApiResource,
    /// Whether its objects are in namespaces.
    pub scope: Scope,
    /// Whether the status is a subresource.
    pub status: StatusSubresource,
}

/// Whether a kind has a status subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusSubresource {
    /// At `…/NAME/status`.
    Served,
    /// The status is written with the object.
    Absent,
}

impl Resource {
    /// Returns group, version and kind.
    pub fn kind(&self) -> GroupVersionKind {
        GroupVersionKind::new(&self.api.group, &self.api.version, &self.api.kind)
    }

    /// Returns whether the kind is defined by a CustomResourceDefinition or by an aggregated API
    /// server, and so can go while a host runs. Groups without a dot are of Kubernetes.
    pub(crate) fn can_go(&self) -> bool {
        self.api.group.contains('.')
    }

    /// Returns whether objects of the kind are at the same paths as before.
    pub(crate) fn has_same_paths(&self, before: &Self) -> bool {
        self.api == before.api && self.scope == before.scope
    }

    /// The API of objects in that namespace; of all objects if `None`.
    pub fn api<K>(&self, client: &Client, namespace: Option<&str>) -> Api<K>
    where
        K: kube::Resource<DynamicType = ApiResource, Scope = kube::core::DynamicResourceScope>,
    {
        match namespace {
            Some(namespace) if self.scope == Scope::Namespaced => Api::namespaced_with(client.clone(), namespace, &self.api),
            _ => Api::all_with(client.clone(), &self.api),
        }
    }
}

/// Looks a kind up; `None` if the API server does not serve it.
///
/// # Errors
///
/// If the API server does not answer.
pub async fn find(client: &Client, kind: &GroupVersionKind) -> Result<Option<Resource>, kube::Error> {
    let wanted = KubeKind::gvk(&kind.group, &kind.version, &kind.kind);
    match answered(discovery::pinned_kind(client, &wanted)).await {
        Ok((api, capabilities)) => Ok(Some(Resource {
            api,
            scope: match capabilities.scope {
                KubeScope::Namespaced => Scope::Namespaced,
                KubeScope::Cluster => Scope::Cluster,
            },
            status: if capabilities.subresources.iter().any(|(resource, _)| resource.plural == "status") {
                StatusSubresource::Served
            } else {
                StatusSubresource::Absent
            },
        })),
        Err(kube::Error::Discovery(_)) => Ok(None),
        Err(kube::Error::Api(status)) if is_gone(&status) => Ok(None),
        Err(error) => Err(error),
    }
}

/// As [`find`], with retries until the API server answers.
pub async fn look_for(client: &Client, kind: &GroupVersionKind, mount: &str) -> Option<Resource> {
    loop {
        match find(client, kind).await {
            Ok(found) => return found,
            Err(error) => {
                warn!(mount, %kind, error = %error_chain(&error), "cannot look up the kind on the API server; retrying");
            }
        }
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
    }
}

/// Waits until the API server serves a kind.
pub async fn wait_for(client: &Client, kind: &GroupVersionKind, mount: &str) -> Resource {
    let mut delay = LOOK_AGAIN_AFTER;
    let mut looks = 0_u32;
    loop {
        match look_for(client, kind, mount).await {
            Some(resource) => {
                if looks > 0 {
                    info!(mount, %kind, "the API server serves the kind now");
                }
                return resource;
            }
            None if looks == 0 => warn!(
                mount, %kind,
                "the API server does not serve the kind yet; waiting for it (its CustomResourceDefinition may be missing: `gyre crds` prints those that a plugin contains)"
            ),
            None => {}
        }
        looks += 1;
        tokio::time::sleep(delay).await;
        delay = if looks < 30 { LOOK_AGAIN_AFTER } else { LOOK_AGAIN_AT_MOST_AFTER };
    }
}

/// Waits a while for a status subresource: an older CRD may be about to be replaced.
pub(crate) async fn wait_for_status(client: &Client, mut resource: Resource, mount: &str) -> Resource {
    let kind = resource.kind();
    warn!(
        mount, %kind,
        "the API server serves the kind without the status subresource that the plugin's CustomResourceDefinition has: apply the output of `gyre crds`"
    );
    for _ in 0..LOOKS_FOR_STATUS {
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        resource = wait_for(client, &kind, mount).await;
        if resource.status == StatusSubresource::Served {
            info!(mount, %kind, "the API server now serves the kind with a status subresource");
            return resource;
        }
    }
    warn!(mount, %kind, "continuing without a status subresource: until the kind has one, the status is written with the objects");
    resource
}

/// Returns whether one of these CRDs has a status subresource for the kind.
pub fn give_status(definitions: &[Value], kind: &GroupVersionKind) -> bool {
    let is_text = |value: &Value, pointer: &str, text: &str| value.pointer(pointer).and_then(Value::as_str) == Some(text);
    let of_kind = definitions.iter().filter(|definition| {
        is_text(definition, "/spec/group", &kind.group) && is_text(definition, "/spec/names/kind", &kind.kind)
    });
    let mut versions = of_kind.filter_map(|definition| definition.pointer("/spec/versions")?.as_array()).flatten();
    versions.any(|version| is_text(version, "/name", &kind.version) && version.pointer("/subresources/status").is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_is_that_of_a_version() {
        let version = |name: &str, subresources: Value| json!({ "name": name, "subresources": subresources });
        let versions = [version("v1", json!({ "scale": {} })), version("v2", json!({ "status": {} }))];
        let names = json!({ "kind": "Thing", "plural": "things" });
        let definitions = [json!({ "spec": { "group": "example.com", "names": names, "versions": versions } })];
        let gives =
            |group: &str, version: &str, kind: &str| give_status(&definitions, &GroupVersionKind::new(group, version, kind));
        assert!(gives("example.com", "v2", "Thing"));
        assert!(!gives("example.com", "v1", "Thing") && !gives("example.com", "v2", "Other") && !gives("", "v2", "Thing"));
    }
}
