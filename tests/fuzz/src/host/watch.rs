//! Objects pass from a scripted API server through kube's watcher into the host's store.
//!
//! The server lists and streams mutated objects, and a model predicts the content of the store. In
//! some cases the server first sends invalid answers; then the watch has to recover.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use gyre_core::grants::Scope;
use gyre_core::object::ObjectKey;
use gyre_core::plan::OWNER_UID_LABEL;
use gyre_devcluster::random::Random;
use gyre_engine::cluster::informer::{Informer, Informers, WatchEvent, WatchScope};
use gyre_engine::cluster::kinds::{Resource, StatusSubresource};
use gyre_engine::cluster::object::{Object, SharedObject};
use gyre_engine::target::Projection;
use gyre_engine::telemetry::metrics::{Form, Metrics};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use kube::Client;
use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::InitialListStrategy;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tower_service::Service;

use crate::corpus;
use crate::mutate::{self, Draw as _, ODD_KEY};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

/// The timeout in simulated time: more than all back-offs of a case.
const PATIENCE: Duration = Duration::from_secs(24 * 3_600);
const MOST: usize = 12;
/// The maximum size of an object, small enough for single bytes.
const LARGEST: usize = 64 << 10;
const LAST: &str = "the-last-one";
const LAST_VERSION: u64 = 1 << 60;
/// The bytes of the store per object and in total besides the texts: spans, counters, index slots.
const PER_OBJECT: usize = 1_024;
const PER_STORE: usize = 16 * 1_024;

struct Sent {
    value: Value,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Added,
    Modified,
    Deleted,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

struct Case {
    strategy: InitialListStrategy,
    projection: Projection,
    pages: Vec<Vec<Sent>>,
    changes: Vec<(Kind, Sent)>,
    /// Invalid answers before the valid ones.
    broken: Vec<Answer>,
    piece: usize,
}

#[derive(Clone)]
struct Answer {
    status: StatusCode,
    body: Vec<u8>,
    stays_open: bool,
}

pub(crate) fn run(seed: u64, log: &mut dyn Log) -> Result<Tally, Failure> {
    let mut random = Random::new(seed);
    let case = draw(&mut random);
    log.step(&|| describe(&case));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| Failure(error.to_string()))?;
    runtime.block_on(watch(&case)).map_err(|failure| Failure(format!("{failure}\n  {}", describe(&case))))
}

fn describe(case: &Case) -> String {
    let pages: Vec<Vec<String>> = case.pages.iter().map(|page| page.iter().map(|sent| shown(&sent.text)).collect()).collect();
    let changes: Vec<String> =
        case.changes.iter().map(|(kind, sent)| format!("{} {}", kind.name(), shown(&sent.text))).collect();
    let broken: Vec<String> = case
        .broken
        .iter()
        .map(|answer| format!("{} {:?}", answer.status, shown(&String::from_utf8_lossy(&answer.body))))
        .collect();
    format!("{:?} {:?}\n  pages {pages:#?}\n  changes {changes:#?}\n  broken {broken:#?}", case.strategy, case.projection)
}

fn draw(random: &mut Random) -> Case {
    let strategy = random.pick(&[InitialListStrategy::ListWatch, InitialListStrategy::StreamingList]).clone();
    let is_streamed = strategy == InitialListStrategy::StreamingList;
    let projection = if random.chance(0.2) { Projection::Metadata } else { Projection::Whole };
    let mut version = 10;
    let page_count = if is_streamed { 1 } else { 1 + random.size(3) };
    let mut pages = Vec::new();
    for _ in 0..page_count {
        pages.push((0..random.size(MOST)).map(|_| object(random, &mut version, is_streamed)).collect());
    }
    let mut changes = Vec::new();
    for _ in 0..random.size(MOST) {
        let kind = *random.pick(&[Kind::Added, Kind::Modified, Kind::Modified, Kind::Deleted]);
        changes.push((kind, object(random, &mut version, true)));
    }
    let piece = *random.pick(&[usize::MAX, 4_096, 61, 1]);
    let mut case = Case { strategy, projection, pages, changes, broken: Vec::new(), piece };
    if random.chance(0.2) {
        case.broken = (0..=random.below(3)).map(|_| broken(random, &case)).collect();
    }
    case
}

/// Returns an object of a later version. Unless `is_versioned`, it may lack a version, which no API
/// server omits; a watch ignores such an event.
fn object(random: &mut Random, version: &mut u64, is_versioned: bool) -> Sent {
    *version += 1 + random.below(3);
    let mut value = match random.below(3) {
        0 => random.pick(corpus::samples()).json.clone(),
        1 => random.pick(corpus::manifests()).clone(),
        _ => json!({ "data": { "a": mutate::text(random) } }),
    };
    let late = if random.chance(0.1) { version.saturating_sub(10) } else { *version };
    let name = match random.below(10) {
        0 => mutate::text(random),
        _ => (*random.pick(&["a", "b", "c", "a<b&c", "quo\"te", "back\\slash"])).to_owned(),
    };
    let labels = json!({ "app": mutate::text(random), OWNER_UID_LABEL: random.pick(&["", "owner", "o\"2\\", "\u{0}"]) });
    value["metadata"] = json!({
        "name": name, "namespace": random.pick(&["", "default", "other", "na\"me"]), "uid": odd_uid(random),
        "labels": labels, "annotations": { "gyre.dev/release": mutate::text(random), "a": "b" },
        "ownerReferences": [
            { "apiVersion": "v1", "kind": "X", "name": mutate::text(random), "uid": odd_uid(random) },
            { "apiVersion": "v1", "kind": "X", "name": "x", "uid": odd_uid(random), "controller": true },
        ],
        "finalizers": ["a/b", mutate::text(random)], "generation": random.below(9),
        "managedFields": [{ "manager": "gyre/x", "operation": "Update", "fieldsV1": { "f:metadata": {} } }],
    });
    if random.chance(0.1) {
        let size = random.size(5_000);
        value["metadata"]["labels"] = (0..size).map(|number| (format!("label-{number}"), json!("x"))).collect();
    }
    if random.chance(0.6) {
        mutate::structure(random, &mut value);
    }
    if random.chance(0.6) {
        mutate::structure(random, &mut value["metadata"]);
    }
    if is_versioned && !value["metadata"].is_object() {
        value["metadata"] = json!({});
    }
    if value["metadata"].is_object() {
        let text = if random.chance(0.02) { "not a number".to_owned() } else { late.to_string() };
        value["metadata"]["resourceVersion"] = json!(text);
    }
    let odd = random.chance(0.15);
    let text = mutate::spelled(random, &value, odd);
    if text.len() > LARGEST { object(random, version, is_versioned) } else { Sent { value, text } }
}

fn odd_uid(random: &mut Random) -> Value {
    match random.below(6) {
        0 => mutate::value(random),
        1 => json!(mutate::text(random)),
        2 => json!("a\"b\\c\u{0}"),
        _ => json!(random.pick(&["one", "two", "three"])),
    }
}

fn broken(random: &mut Random, case: &Case) -> Answer {
    let server = Script::of(case);
    let uri = *random.pick(&[
        "/api/v1/configmaps",
        "/api/v1/configmaps?watch=true",
        "/api/v1/configmaps?watch=true&sendInitialEvents=true",
    ]);
    let mut answer = Answer { stays_open: false, ..server.right(uri) };
    match random.below(5) {
        0 => {
            answer.status = *random.pick(&[
                StatusCode::BAD_REQUEST,
                StatusCode::FORBIDDEN,
                StatusCode::NOT_FOUND,
                StatusCode::GONE,
                StatusCode::UNPROCESSABLE_ENTITY,
                StatusCode::TOO_MANY_REQUESTS,
                StatusCode::INTERNAL_SERVER_ERROR,
                StatusCode::SERVICE_UNAVAILABLE,
            ]);
            let mut status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no",
                "reason": "Expired", "code": answer.status.as_u16() });
            mutate::structure(random, &mut status);
            answer.body = mutate::json_text(random, &status);
        }
        1 => {
            let mut status =
                json!({ "kind": "Status", "status": "Failure", "message": "too old", "reason": "Expired", "code": 410 });
            mutate::structure(random, &mut status);
            let mut event = json!({ "type": "ERROR", "object": status });
            mutate::structure(random, &mut event);
            answer.body.extend(mutate::json_text(random, &event));
        }
        2 => answer.body.clear(),
        _ => mutate::bytes(random, &mut answer.body),
    }
    answer
}

struct Script {
    is_streamed: bool,
    pages: Vec<String>,
    initial: String,
    changes: String,
    broken: VecDeque<Answer>,
    requests: Vec<String>,
    piece: usize,
}

impl Script {
    fn of(case: &Case) -> Self {
        let event = |kind: &str, object: &str| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
        let initial: String = case.pages.iter().flatten().map(|sent| event("ADDED", &sent.text)).collect();
        let end = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata":
            { "resourceVersion": "1", "annotations": { "k8s.io/initial-events-end": "true" } } });
        let mut changes: String = case.changes.iter().map(|(kind, sent)| event(kind.name(), &sent.text)).collect();
        let last = json!({ "metadata": { "name": LAST, "resourceVersion": LAST_VERSION.to_string() } });
        changes.push_str(&event("ADDED", &last.to_string()));
        let page = |(index, page): (usize, &Vec<Sent>)| {
            let items: Vec<&str> = page.iter().map(|sent| sent.text.as_str()).collect();
            let next = if index + 1 < case.pages.len() { (index + 1).to_string() } else { String::new() };
            let items = items.join(",");
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMapList","metadata":{{"resourceVersion":"1","continue":"{next}"}},"items":[{items}]}}"#
            )
        };
        Self {
            is_streamed: case.strategy == InitialListStrategy::StreamingList,
            pages: case.pages.iter().enumerate().map(page).collect(),
            initial: format!("{initial}{}", event("BOOKMARK", &end.to_string())),
            changes,
            broken: case.broken.iter().cloned().collect(),
            requests: Vec::new(),
            piece: case.piece,
        }
    }

    fn right(&self, uri: &str) -> Answer {
        let body = if uri.contains("sendInitialEvents=true") {
            format!("{}{}", self.initial, self.changes)
        } else if uri.contains("watch=true") {
            self.changes.clone()
        } else {
            let next = uri.split_once("continue=").map(|(_, rest)| rest.split('&').next().unwrap_or_default());
            let index: usize = next.and_then(|next| next.parse().ok()).unwrap_or(0);
            self.pages.get(index).cloned().unwrap_or_default()
        };
        Answer { status: StatusCode::OK, body: body.into_bytes(), stays_open: uri.contains("watch=true") }
    }

    fn least_requests(&self) -> usize {
        if self.is_streamed { 1 } else { self.pages.len() + 1 }
    }
}

#[derive(Clone)]
struct Server(Arc<Mutex<Script>>);

impl Server {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock()
    }
}

impl Service<Request<Body>> for Server {
    type Response = Response<UnsyncBoxBody<Bytes, Infallible>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let uri = request.uri().to_string();
        let mut script = self.script();
        let answer = script.broken.pop_front().unwrap_or_else(|| script.right(&uri));
        script.requests.push(uri);
        let (body, piece) = (Bytes::from(answer.body), script.piece);
        let pieces =
            (0..body.len()).step_by(piece).map(move |start| body.slice(start..body.len().min(start.saturating_add(piece))));
        let frames = stream::iter(pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece))));
        let body = if answer.stays_open {
            StreamBody::new(frames.chain(stream::pending())).boxed_unsync()
        } else {
            StreamBody::new(frames).boxed_unsync()
        };
        let mut response = Response::new(body);
        *response.status_mut() = answer.status;
        ready(Ok(response))
    }
}

type Reported = BTreeMap<ObjectKey, SharedObject>;

async fn watch(case: &Case) -> Result<Tally, Failure> {
    let server = Server(Arc::new(Mutex::new(Script::of(case))));
    let metrics = Arc::new(Metrics::default());
    let client = Client::new(server.clone(), "default");
    let informers = Informers::new(client, Arc::clone(&metrics), case.strategy.clone(), 0);
    let api = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "ConfigMap"), "configmaps");
    let resource = Resource { api, scope: Scope::Namespaced, status: StatusSubresource::Absent };
    let informer = informers.get(&resource, WatchScope { projection: case.projection, ..WatchScope::default() });
    let (reported, (ended, mut last)) = (Arc::<Mutex<Reported>>::default(), tokio::sync::watch::channel(false));
    let reporting = Arc::clone(&reported);
    let subscription = informer.subscribe(move |event| {
        let object = event.object();
        let mut reported = reporting.lock();
        match event {
            WatchEvent::Stored { .. } => drop(reported.insert(object.key(), Arc::clone(object))),
            WatchEvent::Deleted(_) => drop(reported.remove(&object.key())),
        }
        if object.name() == LAST && object.resource_version() == LAST_VERSION {
            ended.send_replace(true);
        }
    });
    let is_over = tokio::time::timeout(PATIENCE, last.wait_for(|last| *last)).await.is_ok();
    law(is_over, || "the watch does not come to its last object".to_owned())?;
    drop(subscription);
    let reported = std::mem::take(&mut *reported.lock());
    check_reported(&informer, &reported)?;
    let mut tally = Tally::new();
    if case.broken.is_empty() {
        let model = Model::of(case);
        check_undisturbed(&server, &informer, &metrics, &model)?;
        model.holds(case.projection, &informer, &mut tally)?;
        count(&mut tally, "undisturbed");
        tally.insert("left-out".to_owned(), model.left_out as u64);
    } else {
        count(&mut tally, "recovered");
    }
    Ok(tally)
}

/// Checks that the reported objects are the stored ones.
fn check_reported(informer: &Informer, reported: &Reported) -> Result<(), Failure> {
    let stored = informer.store().list();
    let is_same = stored.len() == reported.len() && stored.iter().all(|object| reported.get(&object.key()) == Some(object));
    law(is_same, || {
        let keys = |objects: Vec<ObjectKey>| objects.iter().map(|key| format!("{:?}", key.to_string())).collect::<Vec<_>>();
        let stored = keys(stored.iter().map(|object| object.key()).collect());
        format!("what was told is not what is stored: {:?} and {stored:?}", keys(reported.keys().cloned().collect()))
    })?;
    law(informer.store().len() == stored.len(), || format!("the store counts {} of {}", informer.store().len(), stored.len()))
}

/// Checks that the watch never failed, and unreadable objects are counted.
fn check_undisturbed(server: &Server, informer: &Informer, metrics: &Metrics, model: &Model<'_>) -> Result<(), Failure> {
    let (requests, least) = {
        let script = server.script();
        (script.requests.clone(), script.least_requests())
    };
    law(requests.len() == least, || format!("the host asked again: {requests:#?}"))?;
    let text = metrics.encode(Form::Text).map_err(|error| Failure(error.to_string()))?;
    let metric = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(-1.0) as i64
    };
    let failures = metric("gyre_watch_failures_total");
    law(failures == 0 && informer.health().down().is_none(), || format!("the watch failed {failures} times"))?;
    let left_out = metric("gyre_watch_objects_left_out_total");
    law(left_out == model.left_out, || format!("{left_out} objects were left out, not {}", model.left_out))
}

#[derive(Default)]
struct Model<'a> {
    objects: BTreeMap<(Option<String>, String), &'a Sent>,
    left_out: i64,
}

impl<'a> Model<'a> {
    fn of(case: &'a Case) -> Self {
        let mut model = Self::default();
        for sent in case.pages.iter().flatten() {
            model.list(sent);
        }
        for (kind, sent) in &case.changes {
            model.take(*kind, sent);
        }
        model
    }

    /// A list replaces what is there, whatever its versions, so the last of a name counts.
    fn list(&mut self, sent: &'a Sent) {
        if let Some(key) = self.key(sent) {
            self.objects.insert(key, sent);
        }
    }

    fn key(&mut self, sent: &Sent) -> Option<(Option<String>, String)> {
        let metadata = &sent.value["metadata"];
        let name = string(&metadata["name"]);
        self.left_out += i64::from(name.is_none());
        Some((string(&metadata["namespace"]), name?))
    }

    fn take(&mut self, kind: Kind, sent: &'a Sent) {
        let Some(key) = self.key(sent) else { return };
        let version = version(&sent.value);
        let known = self.objects.get(&key).map(|known| (self::version(&known.value), *known));
        match (kind, known) {
            (Kind::Deleted, Some((known, _))) if known <= version => {
                self.objects.remove(&key);
            }
            (Kind::Deleted, _) => {}
            // Without numeric versions, the later event counts.
            (_, Some((known, before))) if known >= version && (version > 0 || before.value == sent.value) => {}
            _ => {
                self.objects.insert(key, sent);
            }
        }
    }

    fn holds(&self, projection: Projection, informer: &Informer, tally: &mut Tally) -> Result<(), Failure> {
        let store = informer.store();
        let mut bytes = 0;
        for ((namespace, name), sent) in &self.objects {
            let found = store.get(&ObjectKey::new(namespace.clone(), name));
            let found = found.ok_or_else(|| Failure(format!("{namespace:?} {name:?} is not in the store")))?;
            bytes += 2 * sent.text.len() + PER_OBJECT;
            check_stored(projection, sent, &found, tally)
                .map_err(|failure| Failure(format!("{failure}\n  found {}", shown(found.json()))))?;
            if let Some(owner) = found.owner_uid() {
                let is_owned = store.owned_by(owner).iter().any(|object| Arc::ptr_eq(object, &found));
                law(is_owned, || format!("{name:?} is not found by its owner {owner:?}"))?;
            }
            let by_uid = store.by_uid(found.uid());
            law(by_uid.is_some_and(|object| object.uid() == found.uid()), || format!("{name:?} is not found by its UID"))?;
        }
        let expected = self.objects.len() + 1;
        law(store.len() == expected, || {
            let names: Vec<String> = store.list().iter().map(|object| format!("{:?}", object.key().to_string())).collect();
            format!("there are {} objects, not {expected}: {names:?}", store.len())
        })?;
        let most = bytes + PER_OBJECT + PER_STORE;
        law(store.footprint() <= most, || format!("the store takes {} bytes, more than {most}", store.footprint()))
    }
}

fn string(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn version(value: &Value) -> u64 {
    value["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok()).unwrap_or(0)
}

/// Checks that the stored object equals the sent one.
fn check_stored(projection: Projection, sent: &Sent, found: &Object, tally: &mut Tally) -> Result<(), Failure> {
    let metadata = &sent.value["metadata"];
    let same =
        |what: &str, found: String, expected: String| law(found == expected, || format!("{what} is {found}, not {expected}"));
    same("the version", found.resource_version().to_string(), version(&sent.value).to_string())?;
    same("the UID", format!("{:?}", found.uid()), format!("{:?}", string(&metadata["uid"]).unwrap_or_default()))?;
    same("the generation", found.generation().to_string(), metadata["generation"].as_i64().unwrap_or(0).to_string())?;
    same("the deletion", found.is_deleting().to_string(), (!metadata["deletionTimestamp"].is_null()).to_string())?;
    let mut references = metadata["ownerReferences"].as_array().into_iter().flatten();
    let controller = references.find(|reference| reference["controller"] == true);
    let owner = controller.and_then(|reference| string(&reference["uid"])).or(string(&metadata["labels"][OWNER_UID_LABEL]));
    same("the owner", format!("{:?}", found.owner_uid()), format!("{:?}", owner.as_deref()))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    same("the label", format!("{:?}", found.label("app").as_deref()), format!("{:?}", text(&metadata["labels"]["app"])))?;
    let release = text(&metadata["annotations"]["gyre.dev/release"]);
    same("the annotation", format!("{:?}", found.annotation("gyre.dev/release")), format!("{release:?}"))?;
    let finalizers: Vec<String> = metadata["finalizers"].as_array().into_iter().flatten().filter_map(text).collect();
    same("the finalizers", format!("{:?}", found.finalizers()), format!("{finalizers:?}"))?;
    // serde_json rejects the stored text only if it also rejects the sent one.
    let Ok(mut read) = serde_json::from_str::<Value>(found.json()) else {
        count(tally, "odd");
        return law(serde_json::from_str::<Value>(&sent.text).is_err(), || "what is stored is no JSON".to_owned());
    };
    let mut expected = sent.value.clone();
    for value in [&mut read, &mut expected] {
        without_odd(value);
        if let Some(metadata) = value["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        if let Some(object) = value.as_object_mut() {
            object.retain(|key, _| {
                !matches!(key.as_str(), "apiVersion" | "kind") && (projection == Projection::Whole || key == "metadata")
            });
        }
    }
    count(tally, "same");
    law(read == expected, || "what is stored says something else".to_owned())
}

fn without_odd(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove(ODD_KEY);
            map.values_mut().for_each(without_odd);
        }
        Value::Array(items) => items.iter_mut().for_each(without_odd),
        _ => {}
    }
}
