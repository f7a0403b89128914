//! The work for one request is at most linear in its size.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::time::Duration;

use bytes::Bytes;
use gyre_devcluster::answer::Body;
use gyre_devcluster::watch::Next;
use gyre_devcluster::{Controllers, Options, Server};
use http::Request;
use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const WIDGETS: &str = "/apis/x.test/v1/namespaces/default/widgets";
const A: &str = "/apis/x.test/v1/namespaces/default/widgets/a";
const MANY: usize = 100_000;
/// For tests that store objects first, which takes much longer than refusing them.
const MANY_STORED: usize = 16_000;
/// The maximum ratio of the time for many to that for an eighth. Quadratic work would give 64.
const MOST: u32 = 24;

fn server(spec: Value) -> Server {
    let mut server = Server::new(&Options { controllers: Controllers::Absent, ..Options::default() }, Timestamp::UNIX_EPOCH);
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(send(&mut server, "POST", crds, &definition(spec)).0, 201);
    server
}

fn definition(spec: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "widgets.x.test" },
        "spec": {
            "group": "x.test", "scope": "Namespaced", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
            }],
        },
    })
}

fn widget(spec: &Value) -> Value {
    json!({ "apiVersion": "x.test/v1", "kind": "Widget", "metadata": { "name": "a" }, "spec": spec })
}

fn send(server: &mut Server, method: &str, path: &str, body: &Value) -> (u16, usize) {
    let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let request = request.body(Bytes::from(body.to_string())).unwrap();
    let answer = server.handle(Timestamp::UNIX_EPOCH, &request);
    let size = match answer.body {
        Body::Full(bytes) => bytes.len(),
        Body::Watch(_) => 0,
    };
    (answer.status.as_u16(), size)
}

fn processor_time(act: impl FnOnce()) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let before = now();
    act();
    now() - before
}

/// Asserts that `many` take time in proportion to an eighth of them, in one of a few attempts: a
/// busy neighbour can spoil an attempt, but quadratic work fails all.
fn assert_linear(many: usize, mut time_for: impl FnMut(usize) -> Duration) {
    const ATTEMPTS: usize = 3;
    let few = many / 8;
    // Loads what is loaded on first use. Two items, because one cannot be a duplicate.
    time_for(2);
    let mut attempts = Vec::new();
    loop {
        let (least, most) = (time_for(few), time_for(many));
        if most < least.max(Duration::from_millis(5)) * MOST {
            return;
        }
        attempts.push((least, most));
        assert!(attempts.len() < ATTEMPTS, "what {few} and {many} take in each attempt: {attempts:?}");
    }
}

fn assert_refused_linearly(schema: &Value, spec: impl Fn(usize) -> Value) {
    assert_linear(MANY, |count| {
        let (mut server, body) = (server(schema.clone()), widget(&spec(count)));
        processor_time(|| {
            let (code, size) = send(&mut server, "POST", WIDGETS, &body);
            assert_eq!(code, 422);
            assert!(size < 256 << 20, "the answer has {size} bytes");
        })
    });
}

#[test]
fn a_list_of_items_of_the_wrong_type() {
    let schema = json!({ "type": "array", "items": { "type": "string", "pattern": "^x$" } });
    assert_refused_linearly(&schema, |count| (0..count).map(|item| json!(item)).collect());
    assert_refused_linearly(&schema, |count| (0..count).map(|item| json!(format!("{item}"))).collect());
}

#[test]
fn a_list_of_items_that_lack_a_field() {
    let schema = json!({ "type": "array", "items": { "type": "object", "required": ["a"], "properties": { "a": { "type": "string" } } } });
    assert_refused_linearly(&schema, |count| vec![json!({}); count].into());
}

#[test]
fn sets_and_maps_with_duplicates() {
    let set = json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "integer" } });
    assert_refused_linearly(&set, |count| (0..count).map(|item| json!(item / 2)).collect());
    assert_refused_linearly(&map_schema(100), |count| (0..count).map(|item| json!({ "k": item / 2 })).collect());
}

fn map_schema(most: i64) -> Value {
    let item = json!({
        "type": "object", "required": ["k"],
        "properties": { "k": { "type": "integer" }, "v": { "type": "integer", "maximum": most } },
    });
    json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item })
}

fn update(before: Value, after: Value, old: &Value, new: &Value) -> Duration {
    let mut server = server(before);
    assert_eq!(send(&mut server, "POST", WIDGETS, &widget(old)).0, 201);
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.x.test";
    let versions = definition(after)["spec"]["versions"].clone();
    assert_eq!(send(&mut server, "PATCH", crd, &json!({ "spec": { "versions": versions } })).0, 200);
    let patch = json!({ "spec": new });
    processor_time(|| assert_eq!(send(&mut server, "PATCH", A, &patch).0, 422))
}

#[test]
fn an_update_of_a_list_map_that_was_wrong_before() {
    let items = |count: usize, value: i64| -> Value { (0..count).map(|item| json!({ "k": item, "v": value })).collect() };
    assert_linear(MANY_STORED, |count| update(map_schema(100), map_schema(10), &items(count, 50), &items(count, 51)));
}

#[test]
fn rules_that_every_item_of_an_updated_list_breaks() {
    let with_rule = |rule: &str| {
        let item = json!({ "type": "integer", "x-kubernetes-validations": [{ "rule": rule }] });
        json!({ "type": "array", "maxItems": 1_000_000, "items": item })
    };
    let items = |count: usize, last: i64| -> Value { (0..count).map(|_| json!(1)).chain([json!(last)]).collect() };
    assert_linear(MANY_STORED, |count| {
        update(with_rule("self > 0"), with_rule("self > 100"), &items(count, 2), &items(count, 3))
    });
}

#[test]
fn faults_below_a_name_of_a_megabyte() {
    let schema = json!({ "type": "object", "additionalProperties": { "type": "array", "items": { "type": "string" } } });
    let spec = |count: usize| json!({ "x".repeat(1_000_000): vec![json!(1); count] });
    assert_refused_linearly(&schema, spec);
    let schema = json!({ "type": "object", "additionalProperties": { "type": "array", "items": { "type": "object", "properties": {} } } });
    assert_linear(MANY, |count| {
        let mut server = server(schema.clone());
        let body = widget(&json!({ "x".repeat(1_000_000): vec![json!({ "unknown": 1 }); count] }));
        processor_time(|| assert_eq!(send(&mut server, "POST", WIDGETS, &body).0, 201))
    });
}

#[test]
fn unknown_fields_are_warned_of_in_few_headers() {
    let mut server = server(json!({ "type": "object", "properties": {} }));
    let fields: serde_json::Map<String, Value> = (0..MANY).map(|field| (format!("field{field}"), json!(1))).collect();
    let request = Request::builder().method("POST").uri(WIDGETS).header("content-type", "application/json");
    let body = Bytes::from(widget(&fields.into()).to_string());
    let answer = server.handle(Timestamp::UNIX_EPOCH, &request.body(body).unwrap());
    assert_eq!(answer.status.as_u16(), 201);
    let bytes: usize = answer.headers.get_all("warning").iter().map(|warning| warning.len()).sum();
    assert!((4_000..16_000).contains(&bytes), "{bytes} bytes of warnings");
}

fn initial_events(count: usize, size: usize) -> Duration {
    let mut server = Server::new(&Options { controllers: Controllers::Absent, ..Options::default() }, Timestamp::UNIX_EPOCH);
    let maps = "/api/v1/namespaces/default/configmaps";
    for number in 0..count {
        let body = json!({ "metadata": { "name": format!("a{number}") }, "data": { "text": "x".repeat(size) } });
        assert_eq!(send(&mut server, "POST", maps, &body).0, 201);
    }
    let request = Request::builder().uri(format!("{maps}?watch=true")).body(Bytes::new()).unwrap();
    let Body::Watch(mut watch) = server.handle(Timestamp::UNIX_EPOCH, &request).body else { unreachable!("a watch") };
    let mut bytes = 0;
    let time = processor_time(|| {
        while let Next::Send(frame) = server.watch(Timestamp::UNIX_EPOCH, &mut watch) {
            // A frame contains one object, or little more than 64 KiB.
            assert!(frame.len() < size + (256 << 10), "a frame has {} bytes", frame.len());
            bytes += frame.len();
        }
    });
    assert!(bytes > count * size);
    time
}

#[test]
fn the_initial_objects_of_a_watch() {
    // A frame contains few objects, so it must not read a page of a thousand.
    assert_linear(2_000, |count| initial_events(count, 40_000));
}
