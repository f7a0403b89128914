//! Odd objects through kube's own watcher, which fails on an object without a version.

use std::convert::Infallible;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream;
use gyre_core::grants::Scope;
use gyre_core::object::{GroupVersionKind, ObjectKey};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use kube::client::Body;
use kube::core::ApiResource;
use kube::runtime::watcher::InitialListStrategy;
use proptest::prelude::*;
use serde_json::{Value, json};
use tower_service::Service;

use super::*;
use crate::cluster::kinds::StatusSubresource;
use crate::telemetry::metrics::Form;

const NEVER: Duration = Duration::from_secs(3600);

#[derive(Clone)]
struct Server {
    list: Bytes,
    watch: Bytes,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Service<Request<Body>> for Server {
    type Response = Response<UnsyncBoxBody<Bytes, Infallible>>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let uri = request.uri().to_string();
        let body = if uri.contains("watch=true") {
            let frame = stream::iter([Ok::<_, Infallible>(Frame::data(self.watch.clone()))]);
            StreamBody::new(frame.chain(stream::pending())).boxed_unsync()
        } else {
            Full::new(self.list.clone()).boxed_unsync()
        };
        self.requests.lock().push(uri);
        std::future::ready(Ok(Response::new(body)))
    }
}

struct Followed {
    informer: Arc<Informer>,
    metrics: Arc<Metrics>,
    requests: Arc<Mutex<Vec<String>>>,
}

const LAST: &str = r#"{"metadata":{"name":"last","resourceVersion":"999999"}}"#;

async fn run_informer(strategy: InitialListStrategy, initial: &[String], changes: &[String]) -> Followed {
    let event = |kind: &str, object: &str| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
    let mut watch = String::new();
    if strategy == InitialListStrategy::StreamingList {
        watch.extend(initial.iter().map(|object| event("ADDED", object)));
        let end = json!({ "metadata": { "resourceVersion": "1", "annotations": { "k8s.io/initial-events-end": "true" } } });
        watch.push_str(&event(
            "BOOKMARK",
            &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": end["metadata"] }).to_string(),
        ));
    }
    watch.extend(changes.iter().map(|object| event("MODIFIED", object)));
    watch.push_str(&event("ADDED", LAST));
    let list = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMapList","metadata":{{"resourceVersion":"1"}},"items":[{}]}}"#,
        initial.join(",")
    );
    let requests = Arc::default();
    let server = Server { list: list.into(), watch: watch.into(), requests: Arc::clone(&requests) };
    let metrics = Arc::new(Metrics::default());
    let informers = Informers::new(Client::new(server, "default"), Arc::clone(&metrics), strategy, 0);
    let kind = kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap");
    let api = ApiResource::from_gvk_with_plural(&kind, "configmaps");
    let resource = Resource { api, scope: Scope::Namespaced, status: StatusSubresource::Absent };
    let informer = informers.get(&resource, WatchScope::default());
    let (told, mut last) = tokio::sync::watch::channel(false);
    let subscription = informer.subscribe(move |event| {
        if event.object().name() == "last" {
            told.send_replace(true);
        }
    });
    tokio::time::timeout(NEVER, last.wait_for(|told| *told)).await.expect("the watch goes on to its last object").unwrap();
    drop(subscription);
    Followed { informer, metrics, requests }
}

impl Followed {
    fn get(&self, namespace: Option<&str>, name: &str) -> Option<SharedObject> {
        self.informer.store().get(&ObjectKey::new(namespace, name))
    }

    fn wrongs(&self, strategy: &InitialListStrategy, left_out: usize) -> Vec<String> {
        let requests = self.requests.lock().clone();
        let text = self.metrics.encode(Form::Text).unwrap();
        let count = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as usize
        };
        let mut wrongs = Vec::new();
        if requests.len() != if *strategy == InitialListStrategy::StreamingList { 1 } else { 2 } {
            wrongs.push(format!("asked again: {requests:?}"));
        }
        if count("gyre_watch_failures_total") != 0 || self.informer.health().down().is_some() {
            wrongs.push("the watch failed".to_owned());
        }
        if count("gyre_watch_objects_left_out_total") != left_out {
            wrongs.push(format!("{} objects were left out, not {left_out}", count("gyre_watch_objects_left_out_total")));
        }
        wrongs
    }
}

const STRATEGIES: [InitialListStrategy; 2] = [InitialListStrategy::StreamingList, InitialListStrategy::ListWatch];

/// Checks that objects, `left_out` of them unreadable, do not stop the watch.
async fn check(objects: &[String], left_out: usize, inspect: impl Fn(&Followed)) {
    for strategy in STRATEGIES {
        for (initial, changes) in [(objects, &[][..]), (&[][..], objects)] {
            let followed = run_informer(strategy.clone(), initial, changes).await;
            assert_eq!(followed.wrongs(&strategy, left_out), Vec::<String>::new(), "{strategy:?} {initial:?} {changes:?}");
            assert_eq!(followed.informer.store().len(), objects.len() - left_out + 1, "{strategy:?}");
            inspect(&followed);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn odd_objects_do_not_stop_a_watch() {
    let object = |number: usize, metadata: &str, rest: &str| {
        format!(
            r#"{{"metadata":{{"name":"odd-{number}","namespace":"ns","resourceVersion":"{}"{metadata}}}{rest}}}"#,
            number + 10
        )
    };
    let deep = format!(r#","spec":{}{}"#, r#"{"a":["#.repeat(5_000), "]}".repeat(5_000));
    let huge: Vec<String> = (0..20_000).map(|number| format!(r#""key-{number}":"value""#)).collect();
    let huge = format!("{{{}}}", huge.join(","));
    let metadata = [
        // Metadata that the API servers of Kubernetes accept.
        r#","ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":"a\"b"}]"#,
        r#","ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x\u003c","uid":"a\\b\u0000","controller":true}]"#,
        r#","annotations":{"a":"\ud83d\ude00\u2028\n\\","b":""},"labels":{"gyre.dev/owner-uid":"","gyre.dev/plugin":""}"#,
        r#","finalizers":["a/\"b\""],"generateName":"\"","selfLink":"\\""#,
        &format!(r#","annotations":{huge},"labels":{huge}"#),
        // Metadata that other servers might send.
        r#","labels":null,"annotations":null,"ownerReferences":null,"finalizers":null,"managedFields":null"#,
        r#","labels":[],"annotations":7,"ownerReferences":{},"finalizers":"x","managedFields":7,"uid":{},"generation":"x""#,
        r#","labels":{"a":null,"\ud83d":"\udc00"},"annotations":{"gyre.dev/release":["true"]},"uid":"\ud800""#,
        r#","generation":18446744073709551616,"deletionTimestamp":1e999,"uid":-0.0"#,
        r#","uid":"first","uid":"second","labels":{},"labels":{"a":"b","a":"c"},"managedFields":[1],"managedFields":[2]"#,
        r#","ownerReferences":[null,7,"x",[],{},{"controller":true},{"uid":null,"controller":"true"}]"#,
    ];
    let rest = [
        deep.as_str(),
        r#","spec":{"a":1e999,"b":-99999999999999999999999999,"c":0.1e-400,"d":1,"d":2}"#,
        r#","spec":{"\ud800":"\udfff","":""},"status":null"#,
        r#","apiVersion":"v1","apiVersion":null,"kind":7,"":[{}]"#,
    ];
    let mut objects: Vec<String> = metadata.iter().enumerate().map(|(number, odd)| object(number, odd, "")).collect();
    objects.extend(rest.iter().enumerate().map(|(number, odd)| object(metadata.len() + number, "", odd)));
    check(&objects, 0, |followed| {
        for number in 0..objects.len() {
            let name = format!("odd-{number}");
            let found = followed.get(Some("ns"), &name).unwrap_or_else(|| panic!("{name} is there"));
            assert_eq!(found.resource_version(), number as u64 + 10);
        }
        assert_eq!(followed.get(Some("ns"), "odd-1").unwrap().owner_uid(), Some("a\\b\0"));
        assert_eq!(followed.get(Some("ns"), "odd-9").unwrap().uid(), "second");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn names_of_any_letters_are_kept() {
    // Roles may have any name without `/` and `%`; Go escapes `<`, `>` and `&`.
    let objects = [r#"a\u003cb\u0026"#, r#"q\"uote"#, r#"back\\slash"#, "s pace", "\u{fc}"]
        .map(|name| format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"5"}}}}"#));
    check(&objects, 0, |followed| {
        for name in ["a<b&", "q\"uote", "back\\slash", "s pace", "ü"] {
            assert_eq!(followed.get(None, name).unwrap_or_else(|| panic!("{name} is there")).name(), name);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_object_is_ignored_and_the_watch_continues() {
    let objects = [
        r#"{"metadata":{"resourceVersion":"11"}}"#,
        r#"{"metadata":{"name":7,"resourceVersion":"12"}}"#,
        r#"{"metadata":{"name":null,"uid":"u","resourceVersion":"13"},"spec":{"a":[1]}}"#,
        r#"{"metadata":{"name":"fine","resourceVersion":"14"}}"#,
    ]
    .map(str::to_owned);
    check(&objects, 3, |followed| assert!(followed.get(None, "fine").is_some())).await;
}

fn string() -> impl Strategy<Value = String> {
    let parts = [
        "a",
        "gyre.dev/plugin",
        "7",
        "ü",
        "\\\"",
        "\\\\",
        "\\/",
        "\\n",
        "\\u0000",
        "\\u003c",
        "\\ud83d",
        "\\ude00",
        "\u{2028}",
    ];
    proptest::collection::vec(proptest::sample::select(parts.to_vec()), 0..4)
        .prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn value() -> impl Strategy<Value = String> {
    let scalars =
        ["null", "true", "false", "0", "-1", "0.5", "1e999", "-9223372036854775809", "18446744073709551616", "[]", "{}"];
    let leaf = prop_oneof![proptest::sample::select(scalars.to_vec()).prop_map(str::to_owned), string()];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4).prop_map(|values| format!("[{}]", values.join(",")));
        let members = proptest::collection::vec((key(), inner), 0..4).prop_map(object);
        prop_oneof![list, members]
    })
}

fn key() -> impl Strategy<Value = String> {
    let known = [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "deletionTimestamp",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "managedFields",
        "controller",
        "metadata",
        "apiVersion",
        "gyre.dev/plugin",
        "gyre.dev/owner-uid",
    ];
    prop_oneof![3 => proptest::sample::select(known.to_vec()).prop_map(|key| format!("\"{key}\"")), 1 => string()]
}

fn object(members: Vec<(String, String)>) -> String {
    let members: Vec<String> = members.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}

fn named() -> impl Strategy<Value = String> {
    let members = || proptest::collection::vec((key(), value()), 0..6);
    (members(), members()).prop_map(|(mut outer, mut metadata)| {
        metadata.extend(
            [("\"name\"", "\"it\""), ("\"namespace\"", "\"ns\""), ("\"resourceVersion\"", "\"5\"")]
                .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        outer.push(("\"metadata\"".to_owned(), object(metadata)));
        object(outer)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_passes_the_watch_and_reads_like_a_parsed_document(text in named(), is_streamed: bool, is_change: bool) {
        let strategy = STRATEGIES[usize::from(is_streamed)].clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let objects = [text.clone()];
        let (initial, changes) = if is_change { (&[][..], &objects[..]) } else { (&objects[..], &[][..]) };
        let (found, wrongs) = runtime.block_on(async {
            let followed = run_informer(strategy.clone(), initial, changes).await;
            (followed.get(Some("ns"), "it"), followed.wrongs(&strategy, 0))
        });
        prop_assert_eq!(wrongs, Vec::<String>::new());
        let found = found.expect("it is there");
        prop_assert_eq!(found.resource_version(), 5);
        prop_assert!(found.metadata_alone(&GroupVersionKind::new("", "v1", "ConfigMap")).is_ok());
        // serde_json rejects halves of surrogate pairs, and numbers that are too large.
        if let Ok(document) = serde_json::from_str::<Value>(&text) {
            let metadata = &document["metadata"];
            let string = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            prop_assert_eq!(found.uid(), string(&metadata["uid"]).unwrap_or_default());
            let mut references = metadata["ownerReferences"].as_array().into_iter().flatten();
            let controller = references.find(|reference| reference["controller"] == true);
            let owner = controller.and_then(|reference| string(&reference["uid"])).or(string(&metadata["labels"]["gyre.dev/owner-uid"]));
            prop_assert_eq!(found.owner_uid(), owner.as_deref());
            prop_assert_eq!(found.is_deleting(), !metadata["deletionTimestamp"].is_null());
            prop_assert_eq!(found.generation(), metadata["generation"].as_i64().unwrap_or(0));
            let label = metadata["labels"]["gyre.dev/plugin"].as_str();
            prop_assert_eq!(found.label("gyre.dev/plugin"), label.map(std::borrow::Cow::Borrowed));
            let finalizers = metadata["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str);
            prop_assert_eq!(found.finalizers(), finalizers.collect::<Vec<_>>());
            let annotation = metadata["annotations"]["gyre.dev/plugin"].as_str();
            prop_assert_eq!(found.annotation("gyre.dev/plugin"), annotation.map(str::to_owned));
            let kept = serde_json::from_str::<Value>(found.json()).expect("still JSON");
            prop_assert!(kept["metadata"]["managedFields"].is_null());
        }
    }
}
