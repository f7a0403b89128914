//! A registry in memory, by the distribution specification, in which single answers are replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::IntoFuture as _;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::serve::Listener;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use gyre_registry::manifest::{Descriptor, Manifest};
use gyre_registry::{Digest, Reference, media_type};
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, Method};
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) const REPOSITORY: &str = "team/echo";

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// The path with the query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    pub(crate) fn authorization(&self) -> Option<&str> {
        self.headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap())
    }
}

type Answer = Arc<dyn Fn(&Seen) -> Response + Send + Sync>;

/// An answer in place of the ordinary one.
struct Rule {
    method: Method,
    /// A part of the path.
    part: String,
    /// The number of requests that are still answered so.
    left: usize,
    answer: Answer,
}

/// How requests are authenticated.
#[derive(Clone, Debug, Default)]
pub(crate) enum Access {
    #[default]
    Open,
    /// By this `user:password` in base64.
    Basic(&'static str),
    /// By tokens, which `/token` gives to anybody, unless rules say otherwise.
    Bearer {
        /// The parameters of the challenge.
        challenge: String,
    },
}

#[derive(Default)]
struct Shared {
    manifests: Mutex<BTreeMap<String, Bytes>>,
    blobs: Mutex<BTreeMap<String, Bytes>>,
    seen: Mutex<Vec<Seen>>,
    rules: Mutex<Vec<Rule>>,
    access: Mutex<Access>,
    /// The number of the last token, and those that are accepted.
    tokens: Mutex<(usize, BTreeSet<usize>)>,
    has_referrers: Mutex<bool>,
}

pub(crate) struct Registry {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Registry {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self::serve(listener, address)
    }

    pub(crate) fn serve<L>(listener: L, address: SocketAddr) -> Self
    where
        L: Listener,
        L::Addr: std::fmt::Debug,
    {
        let shared = Arc::new(Shared::default());
        let router = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let task = tokio::spawn(axum::serve(listener, router).into_future());
        Self { address, shared, task }
    }

    /// The host and the port.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same server under another name.
    pub(crate) fn as_localhost(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    pub(crate) fn reference(&self, tag: &str) -> Reference {
        format!("oci://{}/{REPOSITORY}:{tag}", self.host()).parse().unwrap()
    }

    pub(crate) fn pinned(&self, digest: Digest) -> Reference {
        format!("oci://{}/{REPOSITORY}@{digest}", self.host()).parse().unwrap()
    }

    /// Answers requests whose path contains `part` so, as often as said.
    pub(crate) fn on(
        &self,
        method: Method,
        part: &str,
        times: usize,
        answer: impl Fn(&Seen) -> Response + Send + Sync + 'static,
    ) {
        let rule = Rule { method, part: part.to_owned(), left: times, answer: Arc::new(answer) };
        self.shared.rules.lock().push(rule);
    }

    pub(crate) fn require(&self, access: Access) {
        *self.shared.access.lock() = access;
    }

    /// Requires tokens from this server.
    pub(crate) fn require_tokens(&self) {
        let challenge = format!("realm=\"http://{}/token\",service=\"test\"", self.host());
        self.require(Access::Bearer { challenge });
    }

    /// Accepts none of the tokens so far.
    pub(crate) fn expire_tokens(&self) {
        self.shared.tokens.lock().1.clear();
    }

    pub(crate) fn offer_referrers(&self) {
        *self.shared.has_referrers.lock() = true;
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().clone()
    }

    /// The requests with this method whose path contains `part`.
    pub(crate) fn requests(&self, method: Method, part: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.method == method && seen.path.contains(part)).collect()
    }

    pub(crate) fn put_blob(&self, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        self.shared.blobs.lock().insert(digest.to_string(), Bytes::copy_from_slice(bytes));
        digest
    }

    /// Stores a manifest under its digest and a tag.
    pub(crate) fn put_manifest(&self, tag: &str, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        let mut manifests = self.shared.manifests.lock();
        manifests.insert(digest.to_string(), Bytes::copy_from_slice(bytes));
        manifests.insert(tag.to_owned(), Bytes::copy_from_slice(bytes));
        digest
    }

    /// Stores a component with a manifest, and returns the digest of that.
    pub(crate) fn put_component(&self, tag: &str, bytes: &[u8]) -> Digest {
        self.put_blob(b"{}");
        self.put_blob(bytes);
        self.put_manifest(tag, manifest(&[layer(bytes)]).to_string().as_bytes())
    }

    pub(crate) fn manifest(&self, target: &str) -> Option<Bytes> {
        self.shared.manifests.lock().get(target).cloned()
    }

    pub(crate) fn has_blob(&self, digest: &Digest) -> bool {
        self.shared.blobs.lock().contains_key(&digest.to_string())
    }
}

/// The descriptor of a component.
pub(crate) fn layer(bytes: &[u8]) -> serde_json::Value {
    json!({"mediaType": media_type::WASM, "digest": Digest::of(bytes), "size": bytes.len()})
}

/// A manifest with these layers.
pub(crate) fn manifest(layers: &[serde_json::Value]) -> serde_json::Value {
    json!({
        "schemaVersion": 2,
        "mediaType": media_type::MANIFEST,
        "config": {"mediaType": media_type::EMPTY, "digest": Digest::of(b"{}"), "size": 2},
        "layers": layers,
        "annotations": {"org.opencontainers.image.version": "1.4"},
    })
}

pub(crate) fn answer(status: u16) -> http::response::Builder {
    Response::builder().status(status)
}

pub(crate) fn empty(status: u16) -> Response {
    answer(status).body(Body::empty()).unwrap()
}

pub(crate) fn redirect(place: &str) -> Response {
    answer(307).header(LOCATION, place).body(Body::empty()).unwrap()
}

/// A body in pieces. It ends after they were sent, even if its length says that more follows.
pub(crate) fn pieces(pieces: Vec<Bytes>) -> Body {
    let pieces = stream::iter(pieces.into_iter().map(Ok::<_, Infallible>));
    let sent = stream::once(tokio::task::yield_now()).filter_map(|()| std::future::ready(None));
    Body::from_stream(pieces.chain(sent))
}

async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let seen = Seen { method: parts.method, path, headers: parts.headers, body };
    shared.seen.lock().push(seen.clone());
    if let Some(answer) = shared.rule(&seen) {
        return answer(&seen);
    }
    let path = seen.path.split('?').next().unwrap_or_default();
    if path == "/token" {
        return shared.token();
    }
    if let Some(refused) = shared.refused(&seen) {
        return refused;
    }
    let Some(place) = path.strip_prefix(&format!("/v2/{REPOSITORY}/")) else { return empty(404) };
    match place.split_once('/') {
        Some(("manifests", target)) if seen.method == Method::PUT => shared.put_manifest(target, &seen.body),
        Some(("manifests", target)) => shared.get_manifest(target, &seen.method),
        Some(("blobs", "uploads/")) if seen.method == Method::POST => {
            answer(202).header(LOCATION, format!("/v2/{REPOSITORY}/blobs/uploads/1?state=a%2Fb")).body(Body::empty()).unwrap()
        }
        Some(("blobs", "uploads/1")) if seen.method == Method::PUT => shared.put_blob(&seen),
        Some(("blobs", digest)) => shared.get_blob(digest),
        Some(("referrers", subject)) if *shared.has_referrers.lock() => shared.referrers(subject),
        _ => empty(404),
    }
}

impl Shared {
    fn rule(&self, seen: &Seen) -> Option<Answer> {
        let mut rules = self.rules.lock();
        let is_meant = |rule: &&mut Rule| rule.left > 0 && rule.method == seen.method && seen.path.contains(&rule.part);
        let rule = rules.iter_mut().find(is_meant)?;
        rule.left -= 1;
        Some(Arc::clone(&rule.answer))
    }

    fn token(&self) -> Response {
        let mut tokens = self.tokens.lock();
        tokens.0 += 1;
        let number = tokens.0;
        tokens.1.insert(number);
        answer(200).body(Body::from(json!({"token": format!("token-{number}"), "expires_in": 300}).to_string())).unwrap()
    }

    /// The answer to a request without authorization, if it needs one.
    fn refused(&self, seen: &Seen) -> Option<Response> {
        let access = self.access.lock().clone();
        let sent = seen.authorization().unwrap_or_default();
        let (is_accepted, challenge) = match access {
            Access::Open => (true, String::new()),
            Access::Basic(credentials) => (sent == format!("Basic {credentials}"), "Basic realm=\"test\"".to_owned()),
            Access::Bearer { challenge } => {
                let number = sent.strip_prefix("Bearer token-").and_then(|number| number.parse().ok());
                (number.is_some_and(|number| self.tokens.lock().1.contains(&number)), format!("Bearer {challenge}"))
            }
        };
        (!is_accepted).then(|| answer(401).header(WWW_AUTHENTICATE, challenge).body(Body::empty()).unwrap())
    }

    fn get_manifest(&self, target: &str, method: &Method) -> Response {
        let Some(bytes) = self.manifests.lock().get(target).cloned() else {
            let error = json!({"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]});
            return answer(404).body(Body::from(error.to_string())).unwrap();
        };
        let body = if *method == Method::HEAD { Body::empty() } else { Body::from(bytes.clone()) };
        let media_type = media_type_of(&bytes);
        let answer =
            answer(200).header(CONTENT_TYPE, media_type).header("docker-content-digest", Digest::of(&bytes).to_string());
        answer.body(body).unwrap()
    }

    fn put_manifest(&self, target: &str, body: &Bytes) -> Response {
        let digest = Digest::of(body);
        let mut manifests = self.manifests.lock();
        manifests.insert(digest.to_string(), body.clone());
        manifests.insert(target.to_owned(), body.clone());
        let mut answer = answer(201).header("docker-content-digest", digest.to_string());
        let subject = Manifest::parse(body).ok().and_then(|manifest| manifest.subject);
        if let Some(subject) = subject.filter(|_| *self.has_referrers.lock()) {
            answer = answer.header("oci-subject", subject.digest.to_string());
        }
        answer.body(Body::empty()).unwrap()
    }

    fn get_blob(&self, digest: &str) -> Response {
        let blob = self.blobs.lock().get(digest).cloned();
        blob.map_or_else(|| empty(404), |bytes| answer(200).body(Body::from(bytes)).unwrap())
    }

    fn put_blob(&self, seen: &Seen) -> Response {
        let digest = Digest::of(&seen.body);
        // The state of the upload must come back.
        let expected = format!("state=a%2Fb&digest={}", digest.to_string().replace(':', "%3A"));
        if !seen.path.ends_with(&expected) {
            return empty(400);
        }
        self.blobs.lock().insert(digest.to_string(), seen.body.clone());
        empty(201)
    }

    fn referrers(&self, subject: &str) -> Response {
        let manifests = self.manifests.lock();
        let named = manifests.iter().filter(|(target, _)| target.starts_with("sha256:"));
        let found = named.filter_map(|(digest, bytes)| {
            let manifest = Manifest::parse(bytes).ok()?;
            let is_about_it = manifest.subject.is_some_and(|found| found.digest.to_string() == subject);
            is_about_it.then(|| Descriptor {
                media_type: media_type::MANIFEST.to_owned(),
                digest: digest.parse().unwrap(),
                size: bytes.len() as u64,
                artifact_type: manifest.artifact_type,
                annotations: manifest.annotations,
            })
        });
        let index = json!({"schemaVersion": 2, "mediaType": media_type::INDEX, "manifests": found.collect::<Vec<_>>()});
        answer(200).header(CONTENT_TYPE, media_type::INDEX).body(Body::from(index.to_string())).unwrap()
    }
}

fn media_type_of(bytes: &Bytes) -> &'static str {
    if Manifest::parse(bytes).is_ok() { media_type::MANIFEST } else { media_type::INDEX }
}
