//! A client of an API server inside the test process. A `kubectl` process takes up to 100 ms of a
//! processor, a request a few.
//!
//! It knows kinds by the names that kubectl accepts (`job`, `jobs`, `ec`, `trap.guests.gyre.dev`),
//! and sends what kubectl sends.
//!
//! What is absent: watches. Tests ask again, as kubectl's users do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use http::{Method, Request, StatusCode};
use kube::config::{KubeConfigOptions, Kubeconfig};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// The aggregated form of discovery: two requests for all kinds.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// The time in which a kind must be served after its definition has been established.
const DISCOVERY_PATIENCE: Duration = Duration::from_secs(30);

/// A kind that an API server serves.
#[derive(Clone, Debug)]
struct ServedKind {
    group: String,
    version: String,
    kind: String,
    plural: String,
    /// The singular, the kind in lower case and short names.
    aliases: Vec<String>,
    is_namespaced: bool,
}

/// A client with the credentials of a kubeconfig.
pub(crate) struct Client {
    client: kube::Client,
    kinds: Mutex<Vec<ServedKind>>,
}

/// Whether server-side apply takes over the fields of other managers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Force {
    Yes,
    No,
}

/// An answer of the API server.
struct Answer {
    status: StatusCode,
    body: Value,
}

impl Client {
    /// Reads a kubeconfig. Sends nothing.
    pub(crate) fn new(kubeconfig: &Path) -> anyhow::Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig).context("cannot read the kubeconfig")?;
        let client = wait_for(async move {
            let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
            config.headers.push((http::header::USER_AGENT, http::HeaderValue::from_static("gyre-e2e-tests")));
            anyhow::Ok(kube::Client::try_from(config)?)
        })?;
        Ok(Self { client, kinds: Mutex::default() })
    }

    /// Returns an object without its `managedFields`, or `None` if it does not exist.
    pub(crate) fn get(&self, namespace: &str, kind: &str, name: &str) -> anyhow::Result<Option<Value>> {
        let answer = self.send(Method::GET, &self.path(namespace, kind, Some(name), "")?, None)?;
        match answer.status {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => Ok(Some(without_managed_fields(answer.body))),
            _ => bail!("GET {kind} {namespace}/{name}: {}", answer.body),
        }
    }

    /// Returns all objects of a kind in a namespace, without their `managedFields`.
    pub(crate) fn list(&self, namespace: &str, kind: &str) -> anyhow::Result<Vec<Value>> {
        let served = self.resolve(kind)?;
        let mut list = self.succeed(Method::GET, &served.path(namespace, None), None)?;
        let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let api_version = served.api_version();
        let complete = |mut item: Value| {
            // A list of a built-in kind does not repeat them.
            item["apiVersion"] = json!(api_version);
            item["kind"] = json!(served.kind);
            without_managed_fields(item)
        };
        Ok(items.into_iter().map(complete).collect())
    }

    /// Applies manifests (YAML or JSON, several documents) on the server's side, as the field
    /// manager `kubectl`.
    pub(crate) fn apply(&self, manifests: &str) -> anyhow::Result<()> {
        self.apply_as("kubectl", Force::No, manifests)
    }

    /// As [`Client::apply`], as another field manager, with or without force.
    pub(crate) fn apply_as(&self, manager: &str, force: Force, manifests: &str) -> anyhow::Result<()> {
        let is_forced = force == Force::Yes;
        for object in objects(manifests)? {
            let path = self.path_of(&object, Some(()))?;
            let uri = format!("{path}?fieldManager={manager}&fieldValidation=Strict&force={is_forced}");
            let body = ("application/apply-patch+yaml", object.to_string());
            self.succeed(Method::PATCH, &uri, Some(body))?;
        }
        Ok(())
    }

    /// Creates the objects of manifests, as the field manager `kubectl-create`.
    pub(crate) fn create(&self, manifests: &str) -> anyhow::Result<()> {
        for object in objects(manifests)? {
            let path = self.path_of(&object, None)?;
            let uri = format!("{path}?fieldManager=kubectl-create&fieldValidation=Strict");
            self.succeed(Method::POST, &uri, Some(("application/json", object.to_string())))?;
        }
        Ok(())
    }

    /// Sends a merge patch for an object, or for a subresource of it (`/status`).
    pub(crate) fn patch(
        &self,
        namespace: &str,
        kind: &str,
        name: &str,
        subresource: &str,
        patch: &Value,
    ) -> anyhow::Result<()> {
        let path = self.path(namespace, kind, Some(name), subresource)?;
        let uri = format!("{path}?fieldManager=kubectl-patch");
        self.succeed(Method::PATCH, &uri, Some(("application/merge-patch+json", patch.to_string()))).map(drop)
    }

    /// Deletes an object in the background, and does not wait until it is gone.
    pub(crate) fn delete(&self, namespace: &str, kind: &str, name: &str) -> anyhow::Result<()> {
        let path = self.path(namespace, kind, Some(name), "")?;
        let options = json!({ "propagationPolicy": "Background" }).to_string();
        self.succeed(Method::DELETE, &path, Some(("application/json", options))).map(drop)
    }

    /// Sends a GET for any path.
    pub(crate) fn get_raw(&self, uri: &str) -> anyhow::Result<Value> {
        self.succeed(Method::GET, uri, None)
    }

    /// Forgets all kinds, so that requests for a kind wait until it is served, even if it was
    /// deleted meanwhile.
    pub(crate) fn forget_kinds(&self) {
        self.kinds.lock().clear();
    }

    fn path(&self, namespace: &str, kind: &str, name: Option<&str>, subresource: &str) -> anyhow::Result<String> {
        Ok(self.resolve(kind)?.path(namespace, name) + subresource)
    }

    /// Returns the path of an object, or of the collection in which it is created.
    fn path_of(&self, object: &Value, name: Option<()>) -> anyhow::Result<String> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let served =
            self.find(&format!("{api_version} {kind}"), |served| served.api_version() == api_version && served.kind == kind)?;
        let namespace = Some(text("/metadata/namespace")).filter(|namespace| !namespace.is_empty());
        Ok(served.path(namespace.unwrap_or("default"), name.map(|()| text("/metadata/name"))))
    }

    /// Returns the kind with a name as kubectl takes it: `jobs`, `job`, `ec`, or one of these, a
    /// dot, and the API group.
    fn resolve(&self, name: &str) -> anyhow::Result<ServedKind> {
        let name = name.to_lowercase();
        self.find(&name, |served| {
            let names = [&served.plural].into_iter().chain(&served.aliases);
            names.into_iter().any(|own| name == *own || name == format!("{own}.{}", served.group))
        })
    }

    /// Returns the first kind that matches. Reads discovery again while there is none.
    fn find(&self, what: &str, is_it: impl Fn(&ServedKind) -> bool) -> anyhow::Result<ServedKind> {
        let deadline = Instant::now() + DISCOVERY_PATIENCE;
        loop {
            if let Some(found) = self.kinds.lock().iter().find(|served| is_it(served)) {
                return Ok(found.clone());
            }
            ensure!(Instant::now() < deadline, "the API server does not serve {what}");
            let kinds = self.discover()?;
            let is_served = kinds.iter().any(&is_it);
            *self.kinds.lock() = kinds;
            if !is_served {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }

    /// Reads all kinds, those of the core group first.
    fn discover(&self) -> anyhow::Result<Vec<ServedKind>> {
        let mut kinds = Vec::new();
        for root in ["/api", "/apis"] {
            let request = Request::get(root).header(http::header::ACCEPT, DISCOVERY).body(Vec::new())?;
            let answer = self.exchange(request)?;
            ensure!(answer.status.is_success(), "discovery at {root}: {}", answer.body);
            for group in array(&answer.body["items"]) {
                let group_name = group["metadata"]["name"].as_str().unwrap_or_default();
                for version in array(&group["versions"]) {
                    let resources = array(&version["resources"]);
                    kinds.extend(resources.iter().map(|resource| ServedKind::of(group_name, version, resource)));
                }
            }
        }
        Ok(kinds)
    }

    fn succeed(&self, method: Method, uri: &str, body: Option<(&str, String)>) -> anyhow::Result<Value> {
        let answer = self.send(method.clone(), uri, body)?;
        ensure!(answer.status.is_success(), "{method} {uri}: {}", answer.body);
        Ok(answer.body)
    }

    fn send(&self, method: Method, uri: &str, body: Option<(&str, String)>) -> anyhow::Result<Answer> {
        let request = Request::builder().method(method).uri(uri);
        self.exchange(match body {
            Some((content_type, body)) => request.header(http::header::CONTENT_TYPE, content_type).body(body.into_bytes())?,
            None => request.body(Vec::new())?,
        })
    }

    fn exchange(&self, request: Request<Vec<u8>>) -> anyhow::Result<Answer> {
        let client = self.client.clone();
        wait_for(async move {
            let response = client.send(request.map(kube::client::Body::from)).await?;
            let status = response.status();
            let bytes = response.into_body().collect_bytes().await?;
            let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
            Ok(Answer { status, body })
        })
    }
}

impl ServedKind {
    /// From an entry of aggregated discovery.
    fn of(group: &str, version: &Value, resource: &Value) -> Self {
        let text = |pointer: &str| resource.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = text("/responseKind/kind");
        let mut aliases = vec![text("/singularResource"), kind.to_lowercase()];
        aliases.extend(array(&resource["shortNames"]).iter().filter_map(Value::as_str).map(str::to_owned));
        Self {
            group: group.to_owned(),
            version: version["version"].as_str().unwrap_or_default().to_owned(),
            kind,
            plural: text("/resource"),
            aliases,
            is_namespaced: text("/scope") == "Namespaced",
        }
    }

    fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns the path of an object, or of all objects in a namespace. Kinds without namespaces
    /// ignore the namespace.
    fn path(&self, namespace: &str, name: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let mut path = format!("{root}/{}", self.api_version());
        if self.is_namespaced {
            path += &format!("/namespaces/{namespace}");
        }
        path += &format!("/{}", self.plural);
        if let Some(name) = name {
            path += &format!("/{name}");
        }
        path
    }
}

/// Returns the objects of manifests; those of a `List` one by one.
fn objects(manifests: &str) -> anyhow::Result<Vec<Value>> {
    let documents = serde_saphyr::from_multiple::<Value>(manifests).context("the manifests are not YAML")?;
    let unlisted = |document: Value| match document["items"].as_array() {
        Some(items) => items.clone(),
        None => vec![document],
    };
    Ok(documents.into_iter().filter(|document| !document.is_null()).flat_map(unlisted).collect())
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn without_managed_fields(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}

/// Returns the client for a kubeconfig; the tests of a process share it.
pub(crate) fn shared(kubeconfig: &Path) -> anyhow::Result<&'static Client> {
    static CLIENTS: Mutex<BTreeMap<std::path::PathBuf, &'static Client>> = Mutex::new(BTreeMap::new());
    let mut clients = CLIENTS.lock();
    if let Some(client) = clients.get(kubeconfig) {
        return Ok(client);
    }
    let client: &'static Client = Box::leak(Box::new(Client::new(kubeconfig)?));
    clients.insert(kubeconfig.to_owned(), client);
    Ok(client)
}

/// Runs a request on a runtime of its own, because some tests have a runtime themselves.
fn wait_for<T: Send + 'static>(request: impl Future<Output = anyhow::Result<T>> + Send + 'static) -> anyhow::Result<T> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME
        .get_or_init(|| tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime"));
    let (sender, receiver) = mpsc::sync_channel(1);
    runtime.spawn(async move {
        // The receiver waits below, so it is there.
        let _ = sender.send(request.await);
    });
    receiver.recv().context("the request ended without an answer")?
}
