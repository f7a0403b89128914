//! Kinds that the API server no longer serves, or serves in another way, while a host runs.

use std::time::Duration;

use gyre_core::object::GroupVersionKind;
use gyre_devcluster::{Clock as ClusterClock, Cluster, Service};
use gyre_sandbox::native::{Imports, Native, types};
use gyre_sandbox::{Plugin, ReadError};
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind as KubeKind;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::churn::{Replica, rest, simulate};
use crate::admin::{alive, going_on, started};
use crate::health::CriticalTasks;
use crate::mounts::mount::Phase;

pub(super) const GROUP: &str = "x.test";

/// Writes into the status how it sees `it`, an object of the kind Other.
struct Looking;

pub(super) fn kind(kind: &str) -> types::GroupVersionKind {
    types::GroupVersionKind { group: GROUP.to_owned(), version: "v1".to_owned(), kind: kind.to_owned() }
}

impl Native for Looking {
    fn describe(&self) -> types::Manifest {
        types::Manifest {
            reads: vec![types::ReadKind { kind: kind("Other"), namespace: None, label_selector: None, metadata_only: false }],
            ..types::Manifest::new("looking", kind("Thing"))
        }
    }

    fn validate_settings(&self, _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn reconcile(&self, _: types::Request<'_>, imports: &Imports) -> Result<types::Response, types::Failure> {
        let seen = match imports.get(&GroupVersionKind::new(GROUP, "v1", "Other"), None, "it") {
            Ok(Some(_)) => "there",
            Ok(None) => "absent",
            Err(ReadError::NotServed) => "not served",
            Err(_) => "an error",
        };
        let status = Some(json!({ "seen": seen }).to_string().into_bytes());
        Ok(types::Response { status, ..types::Response::default() })
    }

    fn finalize(&self, _: types::Request<'_>, _: &Imports) -> Result<types::Teardown, types::Failure> {
        Err(types::Failure::Terminal("it needs no teardown".to_owned()))
    }
}

pub(super) struct World {
    client: Client,
    pub(super) replica: Replica,
}

impl World {
    pub(super) async fn start() -> Self {
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        let cluster = Cluster::start(&gyre_devcluster::Options::default(), ClusterClock::tokio(start));
        let client = Client::new(Service::new(cluster), "default");
        define(&client, "Thing", "Namespaced", json!({ "status": {} })).await;
        define(&client, "Other", "Namespaced", json!({})).await;
        create(&client, "Thing", Some("default")).await;
        let replica = Replica::start(&client, Plugin::native("looking", Looking).unwrap()).await;
        replica.lead().await;
        Self { client, replica }
    }

    async fn seen(&self) -> Value {
        let thing = api(&self.client, "Thing", Some("default")).get("it").await.unwrap();
        thing.data["status"]["seen"].clone()
    }

    fn awaited(&self) -> Vec<String> {
        let (mount, _) = self.replica.mounts.all().remove(0);
        mount.awaited_kinds().iter().map(|kind| kind.kind.clone()).collect()
    }

    fn assert_healthy(&self) {
        let informers = self.replica.services.informers.running();
        assert_eq!(alive(&informers), Ok(()));
        assert_eq!(started(&self.replica.mounts), Ok(()));
        assert_eq!(going_on(&CriticalTasks::default(), &self.replica.mounts, &informers), Ok(()));
    }

    async fn rest_healthily(&self) {
        for _ in 0..6 {
            rest().await;
            self.assert_healthy();
        }
    }
}

pub(super) fn api(client: &Client, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let (group, version, plural) = match kind {
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1", "customresourcedefinitions".to_owned()),
        kind => (GROUP, "v1", format!("{}s", kind.to_lowercase())),
    };
    let resource = ApiResource::from_gvk_with_plural(&KubeKind::gvk(group, version, kind), &plural);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

pub(super) async fn define(client: &Client, kind: &str, scope: &str, subresources: Value) {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP, "scope": scope, "names": { "plural": plural, "singular": kind.to_lowercase(), "kind": kind },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
                "subresources": subresources,
            }],
        },
    });
    let params = PatchParams::apply("somebody").force();
    let name = format!("{plural}.{GROUP}");
    api(client, "CustomResourceDefinition", None).patch(&name, &params, &Patch::Apply(&definition)).await.unwrap();
}

async fn undefine(client: &Client, kind: &str) {
    let name = format!("{}s.{GROUP}", kind.to_lowercase());
    api(client, "CustomResourceDefinition", None).delete(&name, &DeleteParams::default()).await.unwrap();
}

pub(super) async fn create(client: &Client, kind: &str, namespace: Option<&str>) {
    let object = json!({ "apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": { "name": "it" } });
    let object = serde_json::from_value(object).unwrap();
    api(client, kind, namespace).create(&PostParams::default(), &object).await.unwrap();
}

#[test]
fn a_read_kind_that_goes_is_not_served_and_may_come_back_with_another_scope() {
    simulate(async {
        let world = World::start().await;
        create(&world.client, "Other", Some("default")).await;
        world.rest_healthily().await;
        assert_eq!((world.seen().await, world.awaited()), (json!("there"), vec![]));

        undefine(&world.client, "Other").await;
        world.rest_healthily().await;
        assert_eq!((world.seen().await, world.awaited()), (json!("not served"), vec!["Other".to_owned()]));

        define(&world.client, "Other", "Cluster", json!({})).await;
        world.rest_healthily().await;
        assert_eq!((world.seen().await, world.awaited()), (json!("absent"), vec![]));
        create(&world.client, "Other", None).await;
        world.rest_healthily().await;
        assert_eq!(world.seen().await, json!("there"));
    });
}

#[test]
fn a_parent_kind_that_goes_is_a_state_of_its_mount() {
    simulate(async {
        let world = World::start().await;
        world.rest_healthily().await;
        assert_eq!(world.seen().await, json!("absent"));

        undefine(&world.client, "Thing").await;
        world.rest_healthily().await;
        assert!(matches!(world.replica.mount.phase(), Phase::Waiting(_)));
        assert_eq!(world.awaited(), ["Thing"]);

        define(&world.client, "Thing", "Namespaced", json!({ "status": {} })).await;
        create(&world.client, "Thing", Some("default")).await;
        world.rest_healthily().await;
        assert_eq!((world.replica.mount.phase(), world.awaited()), (Phase::Running, vec![]));
        assert_eq!(world.seen().await, json!("absent"));
    });
}

#[test]
fn a_kind_that_is_replaced_at_once_is_used_as_it_is_now() {
    simulate(async {
        let world = World::start().await;
        undefine(&world.client, "Other").await;
        define(&world.client, "Other", "Cluster", json!({})).await;
        create(&world.client, "Other", None).await;
        world.rest_healthily().await;
        assert_eq!((world.seen().await, world.awaited()), (json!("there"), vec![]));
    });
}

#[test]
fn a_status_subresource_that_goes_and_comes_is_used_as_it_is_now() {
    simulate(async {
        let world = World::start().await;
        world.rest_healthily().await;
        let ready = async || {
            let thing = api(&world.client, "Thing", Some("default")).get("it").await.unwrap();
            thing.data["status"].clone()
        };
        assert_eq!(ready().await["seen"], "absent");
        for (subresources, seen) in [(json!({}), "there"), (json!({ "status": {} }), "not served")] {
            define(&world.client, "Thing", "Namespaced", subresources).await;
            world.rest_healthily().await;
            match seen {
                "there" => create(&world.client, "Other", Some("default")).await,
                _ => undefine(&world.client, "Other").await,
            }
            world.rest_healthily().await;
            assert_eq!(ready().await["seen"], seen);
        }
    });
}

/// A watch that ends about when its time limit ends it anyway does not show that its kind changed.
#[test]
fn a_status_subresource_that_goes_and_comes_is_noticed_by_the_answers_to_writes() {
    const JUST_BEFORE_THE_LIMIT: Duration = Duration::from_secs(285);
    simulate(async {
        let start = Instant::now();
        let world = World::start().await;
        let status = async || api(&world.client, "Thing", Some("default")).get("it").await.unwrap().data["status"].clone();
        for (limit, subresources) in [(1, json!({})), (2, json!({ "status": {} }))] {
            tokio::time::sleep_until(start + limit * JUST_BEFORE_THE_LIMIT).await;
            define(&world.client, "Thing", "Namespaced", subresources).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            match limit {
                1 => create(&world.client, "Other", Some("default")).await,
                _ => undefine(&world.client, "Other").await,
            }
            world.rest_healthily().await;
            assert_eq!(status().await["seen"], if limit == 1 { "there" } else { "not served" });
        }
    });
}
