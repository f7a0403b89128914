//! A mutating webhook that removes the mark of a parent's fields.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use gyre_core::parent_fields::mark;
use gyre_core::queue::RECHECK;
use gyre_devcluster::{Clock as ClusterClock, Cluster, Service};
use gyre_sandbox::Plugin;
use gyre_sandbox::native::{Imports, Native, types};
use http::Request;
use http_body_util::Full;
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::client::Body;
use serde_json::{Value, json};
use tower::util::service_fn;

use super::churn::{Replica, rest, simulate};
use super::kinds::{api, create, define, kind};

const PLUGIN: &str = "labelling";

/// Sets a label of its parents.
struct Labelling;

impl Native for Labelling {
    fn describe(&self) -> types::Manifest {
        let parent_fields = vec!["/metadata/labels".to_owned()];
        types::Manifest { parent_fields, ..types::Manifest::new(PLUGIN, kind("Thing")) }
    }

    fn validate_settings(&self, _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn reconcile(&self, _: types::Request<'_>, _: &Imports) -> Result<types::Response, types::Failure> {
        let fields = json!({ "metadata": { "labels": { "size": "small" } } });
        let parent = Some(fields.to_string().into_bytes());
        Ok(types::Response { children: Some(Vec::new()), parent, ..types::Response::default() })
    }

    fn finalize(&self, _: types::Request<'_>, _: &Imports) -> Result<types::Teardown, types::Failure> {
        Err(types::Failure::Terminal("it needs no teardown".to_owned()))
    }
}

#[derive(Default)]
struct Webhook {
    is_removing: AtomicBool,
    /// The number of writes without the mark that they had.
    removals: AtomicUsize,
}

impl Webhook {
    /// Returns the body of a request as it reaches the API server.
    fn review(&self, body: Bytes) -> Bytes {
        let Ok(mut object) = serde_json::from_slice::<Value>(&body) else { return body };
        let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        let annotations = annotations.filter(|_| self.is_removing.load(Ordering::Relaxed));
        if annotations.and_then(|annotations| annotations.remove(&mark(PLUGIN))).is_none() {
            return body;
        }
        self.removals.fetch_add(1, Ordering::Relaxed);
        Bytes::from(object.to_string())
    }

    /// Returns a client of a new cluster behind this webhook.
    fn client(self: &Arc<Self>) -> Client {
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        let cluster = Cluster::start(&gyre_devcluster::Options::default(), ClusterClock::tokio(start));
        let (webhook, service) = (Arc::clone(self), Service::new(cluster));
        let reviewed = service_fn(move |request: Request<Body>| {
            let (webhook, mut service) = (Arc::clone(&webhook), service.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = webhook.review(body.collect_bytes().await?);
                let request = Request::from_parts(parts, Full::new(body));
                let response = tower_service::Service::call(&mut service, request).await;
                Ok::<_, kube::Error>(response.unwrap_or_else(|never: Infallible| match never {}))
            }
        });
        Client::new(reviewed, "default")
    }
}

#[test]
fn a_mark_of_fields_that_a_webhook_removes_is_reported_each_time() {
    simulate(async {
        let webhook = Arc::new(Webhook { is_removing: AtomicBool::new(true), ..Webhook::default() });
        let client = webhook.client();
        define(&client, "Thing", "Namespaced", json!({ "status": {} })).await;
        create(&client, "Thing", Some("default")).await;
        let replica = Replica::start(&client, Plugin::native(PLUGIN, Labelling).unwrap()).await;
        replica.lead().await;
        rest().await;
        let things = api(&client, "Thing", Some("default"));
        // The reason of `Ready`, the label, and whether the mark is there.
        let state = async || {
            let thing = things.get("it").await.unwrap();
            let conditions = thing.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().find(|condition| condition["type"] == "Ready").cloned().unwrap_or_default();
            let size = thing.metadata.labels.and_then(|labels| labels.get("size").cloned());
            let is_marked = thing.metadata.annotations.is_some_and(|annotations| annotations.contains_key(&mark(PLUGIN)));
            (ready["reason"].clone(), size, is_marked)
        };
        let small = Some("small".to_owned());
        let reported = (json!("MarksRemoved"), small.clone(), false);
        assert_eq!(state().await, reported);

        let removals = || webhook.removals.load(Ordering::Relaxed);
        let before = removals();
        tokio::time::sleep(RECHECK).await;
        assert!(removals() > before, "it is due, although nothing has changed");
        assert_eq!(state().await, reported);
        let (before, team) = (removals(), json!({ "metadata": { "labels": { "team": "web" } } }));
        things.patch("it", &PatchParams::default(), &Patch::Merge(&team)).await.unwrap();
        rest().await;
        assert!(removals() > before, "somebody has changed the object");
        assert_eq!(state().await, reported);

        webhook.is_removing.store(false, Ordering::Relaxed);
        tokio::time::sleep(RECHECK).await;
        rest().await;
        assert_eq!(state().await, (json!("Reconciled"), small, true));
    });
}
