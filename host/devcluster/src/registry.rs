use std::sync::Arc;

use crate::builtin;
use crate::custom::definition::Definitions;
use crate::kinds::Kinds;
use crate::random::Random;
use crate::store::{HistoryLimits, Store};

/// The kinds and their objects. `verbs` implements the requests.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) store: Store,
    pub(crate) kinds: Kinds,
    pub(crate) random: Random,
    pub(crate) service_accounts: ServiceAccounts,
    /// The revision of the watch cache; `None` if it is current.
    pub(crate) cached: Option<u64>,
    pub(crate) watches: Watches,
}

/// The duration of watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watches {
    /// As kube-apiserver: a watch ends after its timeout, and has a bookmark each minute.
    #[default]
    Limited,
    /// A watch lasts until the client ends it, and has no bookmarks but the first: for clients in
    /// the same process, so that idle time causes no work.
    Endless,
}

/// Whether the service account of a Pod must exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceAccounts {
    Required,
    /// Without controllers, nobody creates the default accounts.
    Optional,
}

impl Registry {
    pub(crate) fn new(history: HistoryLimits, seed: u64, service_accounts: ServiceAccounts, watches: Watches) -> Self {
        let (store, kinds, random) = (Store::new(history), Kinds::builtin(), Random::new(seed));
        Self { store, kinds, random, service_accounts, cached: None, watches }
    }

    pub(crate) fn cached_revision(&self) -> u64 {
        self.cached.unwrap_or(u64::MAX).min(self.store.revision())
    }
}

impl Kinds {
    /// Returns the built-in kinds.
    pub fn builtin() -> Self {
        let mut kinds = Self::default();
        for mut kind in builtin::kinds() {
            if kind.is_definition() {
                kind.strategy = Arc::new(Definitions);
            }
            kinds.insert(kind);
        }
        kinds
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Request;
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use crate::kinds::{Kind, Origin};
    use crate::server::{Options, Server};

    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

    fn send(server: &mut Server, method: &str, path: &str, body: &Value) {
        let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(path).header("content-type", content_type);
        let answer = server.handle(Timestamp::UNIX_EPOCH, &request.body(Bytes::from(body.to_string())).unwrap());
        assert!(answer.status.is_success(), "{method} {path}: {answer:?}");
    }

    fn version(name: &str, storage: bool) -> Value {
        let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
        json!({
            "name": name,
            "served": true,
            "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                "type": "object",
                "properties": {"replicas": {"type": "integer"}},
            }}}},
            "subresources": {"status": {}, "scale": scale},
        })
    }

    fn definition(plural: &str, scope: &str, versions: &[Value]) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.example.com")},
            "spec": {
                "group": "example.com",
                "scope": scope,
                "names": {"plural": plural, "kind": plural.to_uppercase()},
                "versions": versions,
            },
        })
    }

    fn check(server: &Server) -> usize {
        let kinds = &server.registry.kinds;
        let all: Vec<&Kind> =
            kinds.versions().flat_map(|(group, version)| kinds.of_version(group, version)).map(|kind| &**kind).collect();
        assert!(all.iter().any(|kind| kind.is_definition()));
        for kind in &all {
            let strategy = format!("{:?}", kind.strategy);
            let (name, _) = strategy.split_once(' ').unwrap_or((&strategy, ""));
            let expected = match &kind.origin {
                Origin::Builtin if kind.is_definition() => "Definitions",
                Origin::Builtin => "Builtin",
                Origin::Custom(_) => "Version",
            };
            assert_eq!(name, expected, "{} {}", kind.api_version(), kind.kind);
            assert_eq!(kind.group() == "example.com", expected == "Version", "{} {}", kind.api_version(), kind.kind);
        }
        all.iter().filter(|kind| matches!(kind.origin, Origin::Custom(_))).count()
    }

    #[test]
    fn the_origin_and_the_strategy_of_every_kind_agree() {
        let mut server = Server::new(&Options::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(check(&server), 0);
        send(&mut server, "POST", DEFINITIONS, &definition("ones", "Cluster", &[version("v1", true)]));
        send(&mut server, "POST", DEFINITIONS, &definition("twos", "Namespaced", &[version("v1", false), version("v2", true)]));
        assert_eq!(check(&server), 3);

        let two = format!("{DEFINITIONS}/twos.example.com");
        send(&mut server, "PATCH", &two, &json!({"metadata": {"labels": {"changes": "no-kind"}}}));
        assert_eq!(check(&server), 3);
        send(
            &mut server,
            "PATCH",
            &two,
            &json!({"spec": {"versions": [version("v1", false), version("v2", true), version("v3", false)]}}),
        );
        assert_eq!(check(&server), 4);

        // A finalizer keeps the kind while its definition is deleted, but it takes no new objects.
        let held = json!({"apiVersion": "example.com/v1", "kind": "ONES", "metadata": {"name": "held", "finalizers": ["example.com/held"]}});
        send(&mut server, "POST", "/apis/example.com/v1/ones", &held);
        send(&mut server, "DELETE", &format!("{DEFINITIONS}/ones.example.com"), &json!({}));
        assert_eq!(check(&server), 4);
        send(&mut server, "DELETE", &two, &json!({}));
        assert_eq!(check(&server), 1);
    }
}
