//! The server behind `kube::Client`, without sockets, under paused time.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use gyre_devcluster::service::BODY_LIMIT;
use gyre_devcluster::{Clock, Cluster, Options, Service};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use serde_json::Value;
use tower_service::Service as _;

const START: &str = "2026-01-02T03:04:05Z";

fn cluster() -> Cluster {
    Cluster::start(&Options::default(), Clock::tokio(START.parse().unwrap()))
}

fn config_map(name: &str, text: &str) -> ConfigMap {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    ConfigMap { metadata, data: Some(BTreeMap::from([("text".to_owned(), text.to_owned())])), ..ConfigMap::default() }
}

fn describe(event: &WatchEvent<ConfigMap>) -> String {
    let (kind, object) = match event {
        WatchEvent::Added(object) => ("added", object),
        WatchEvent::Modified(object) => ("modified", object),
        WatchEvent::Deleted(object) => ("deleted", object),
        other => return format!("{other:?}"),
    };
    let text = object.data.as_ref().and_then(|data| data.get("text")).map_or("", String::as_str);
    format!("{kind} {} {text}", object.metadata.name.as_deref().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_client_sees_what_it_wrote() {
    let maps: Api<ConfigMap> = Api::default_namespaced(kube::Client::new(Service::new(cluster()), "default"));
    let created = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    assert_eq!(created.metadata.creation_timestamp.unwrap().0.to_string(), START);
    let listed = maps.list(&ListParams::default()).await.unwrap();
    assert!(listed.items.iter().any(|map| map.metadata.name.as_deref() == Some("a")));
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn watches_wake_when_something_changes_and_end_in_time() {
    let maps: Api<ConfigMap> = Api::default_namespaced(kube::Client::new(Service::new(cluster()), "default"));
    let version = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let mut events = maps.watch(&WatchParams::default().timeout(30), &version).await.unwrap().boxed();
    assert!(events.next().now_or_never().is_none());

    let begin = tokio::time::Instant::now();
    let mut map = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    map.data = config_map("a", "2").data;
    maps.replace("a", &PostParams::default(), &map).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let seen: Vec<String> = events.by_ref().take(3).map_ok(|event| describe(&event)).try_collect().await.unwrap();
    assert_eq!(seen, ["added a 1", "modified a 2", "deleted a 2"]);
    assert_eq!(begin.elapsed(), Duration::ZERO);

    assert!(events.next().await.is_none());
    assert_eq!(begin.elapsed().as_secs(), 30);
}

async fn answer(service: &mut Service, request: Request<Full<Bytes>>) -> (u16, Value) {
    let response = service.call(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_too_large_are_refused_as_the_real_server_does() {
    let mut service = Service::new(cluster());
    let uri = "/api/v1/namespaces/default/configmaps";
    let request = Request::post(uri).header("content-type", "application/json");
    let body = Full::from(vec![b' '; BODY_LIMIT + 1]);
    let (code, status) = answer(&mut service, request.body(body).unwrap()).await;
    assert_eq!((code, &status["reason"]), (413, &Value::from("RequestEntityTooLarge")));
    assert_eq!(status["message"], "Request entity too large: limit is 3145728");
}

#[tokio::test(start_paused = true)]
async fn the_controllers_end_with_the_last_handle() {
    let cluster = Cluster::new(&Options::default(), Clock::tokio(START.parse().unwrap()));
    let controllers = tokio::spawn(cluster.controllers());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!controllers.is_finished());
    drop(cluster);
    controllers.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_leaves_the_server_usable() {
    let cluster = cluster();
    let service = cluster.clone();
    let panicking = std::thread::spawn(move || service.with_server(|_| panic!("a defect")));
    assert!(panicking.join().is_err());
    assert_eq!(cluster.handle(&Request::get("/version").body(Bytes::new()).unwrap()).status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_lagging_api_server_is_late_only_with_watches_and_lists_of_any_state() {
    let cluster = cluster();
    let lagging = cluster.lagging(Duration::from_secs(10));
    let api = |cluster: &Cluster| -> Api<ConfigMap> {
        Api::default_namespaced(kube::Client::new(Service::new(cluster.clone()), "default"))
    };
    let (current, late) = (api(&cluster), api(&lagging));
    let any = ListParams::default().at("0");
    let names = |list: kube::core::ObjectList<ConfigMap>| -> Vec<String> {
        list.items.into_iter().filter_map(|map| map.metadata.name).filter(|name| name != "kube-root-ca.crt").collect()
    };
    let version = current.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let mut events = late.watch(&WatchParams::default().timeout(60), &version).await.unwrap().boxed();
    current.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    assert!(events.next().now_or_never().is_none());
    assert_eq!(names(late.list(&any).await.unwrap()), Vec::<String>::new(), "any state may be an old one");
    assert_eq!(names(late.list(&ListParams::default()).await.unwrap()), ["a"], "without a version it is the present one");
    assert_eq!(names(current.list(&any).await.unwrap()), ["a"]);
    assert!(late.get_opt("a").await.unwrap().is_some());
    let streamed = WatchParams { send_initial_events: true, ..WatchParams::default().timeout(60) };
    let mut initial = late.watch(&streamed, "").await.unwrap().boxed();
    while !describe(&initial.try_next().await.unwrap().unwrap()).starts_with("added a") {}
    let mut old = late.watch(&streamed, "0").await.unwrap().boxed();
    loop {
        match old.try_next().await.unwrap().unwrap() {
            WatchEvent::Bookmark(_) => break,
            event => assert!(!describe(&event).contains(" a "), "{event:?}"),
        }
    }

    let begin = tokio::time::Instant::now();
    assert_eq!(describe(&events.try_next().await.unwrap().unwrap()), "added a 1");
    assert_eq!(begin.elapsed(), Duration::from_secs(10));
    assert_eq!(describe(&old.try_next().await.unwrap().unwrap()), "added a 1");
    assert_eq!(names(late.list(&any).await.unwrap()), ["a"]);

    current.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(events.next().now_or_never().is_none());
    lagging.catch_up();
    assert_eq!(describe(&events.try_next().await.unwrap().unwrap()), "deleted a 1");
    assert_eq!(begin.elapsed(), Duration::from_secs(10), "at once");
}
