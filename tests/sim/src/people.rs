//! People and other controllers, which use the cluster beside the host, without faults.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use gyre_devcluster::Cluster;
use http::Request;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::kinds::{self, Kind, Name};

/// The timeout for a deletion: longer than any back-off of a host.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// The label of objects that have the names of children but belong to nobody.
pub const FOREIGN: &str = "foreign";

/// The clients of people and other controllers.
#[derive(Clone)]
pub struct People {
    client: Client,
    cluster: Cluster,
}

/// An action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Server-side apply of an object.
    Put(Name, Value),
    /// Deletion of an object of people.
    Delete(Name, Cascade),
    /// Deletion of a child, if it exists.
    DeleteChild(Name),
    /// Atomic replacement of a child, if it exists, by an unrelated object of the same name.
    Usurp(Name),
    /// A JSON merge patch of a child, if it exists.
    Edit(Name, Value),
    /// A JSON merge patch of a status, if the object exists.
    EditStatus(Name, Value),
    /// Deletion of a namespace.
    DeleteNamespace(&'static str),
    /// Creation of a namespace, once the old one is gone.
    CreateNamespace(&'static str),
}

/// The deletion of dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cascade {
    /// After the object.
    Background,
    /// Before the object.
    Foreground,
}

impl People {
    /// Returns people who use this client.
    pub fn new(client: Client, cluster: Cluster) -> Self {
        Self { client, cluster }
    }

    /// Performs an action.
    pub async fn act(&self, action: &Action) {
        match action {
            Action::Put(name, object) => {
                self.wait_until_gone_if_going(name).await;
                self.put(name, object).await;
            }
            Action::Delete(name, cascade) => self.delete(name, *cascade).await,
            Action::DeleteChild(name) => self.delete(name, Cascade::Background).await,
            Action::Usurp(name) => self.usurp(name),
            Action::Edit(name, patch) => self.edit(name, patch).await,
            Action::EditStatus(name, patch) => {
                let params = PatchParams { field_manager: Some("editor".to_owned()), ..PatchParams::default() };
                absent_is_fine(self.api(name).patch_status(&name.name, &params, &Patch::Merge(patch)).await, "edited");
            }
            Action::DeleteNamespace(name) => self.delete(&Name::cluster(kinds::NAMESPACE, name), Cascade::Background).await,
            Action::CreateNamespace(name) => {
                let name = Name::cluster(kinds::NAMESPACE, name);
                self.wait_until_gone_if_going(&name).await;
                self.put(&name, &json!({})).await;
            }
        }
    }

    /// Creates an object unchanged.
    pub async fn create(&self, kind: Kind, object: &Value) {
        let object: DynamicObject = serde_json::from_value(object.clone()).expect("an object");
        kind.api(&self.client, None).create(&PostParams::default(), &object).await.expect("created");
    }

    /// Creates an object with this name.
    pub async fn create_in(&self, name: &Name, object: &Value) {
        let mut object = object.clone();
        object["apiVersion"] = json!(name.kind.api_version());
        object["kind"] = json!(name.kind.kind);
        object["metadata"]["name"] = json!(name.name);
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        self.api(name).create(&PostParams::default(), &object).await.expect("created");
    }

    /// Applies an object.
    pub async fn put(&self, name: &Name, object: &Value) {
        let mut object = object.clone();
        object["apiVersion"] = json!(name.kind.api_version());
        object["kind"] = json!(name.kind.kind);
        object["metadata"]["name"] = json!(name.name);
        let params = PatchParams::apply("somebody").force();
        let applied = self.api(name).patch(&name.name, &params, &Patch::Apply(&object)).await;
        applied.unwrap_or_else(|error| panic!("{name} is applied: {error}"));
    }

    async fn edit(&self, name: &Name, patch: &Value) {
        let params = PatchParams { field_manager: Some("editor".to_owned()), ..PatchParams::default() };
        absent_is_fine(self.api(name).patch(&name.name, &params, &Patch::Merge(patch)).await, "edited");
    }

    /// Creates an unrelated object with the name of a child. Returns whether the name was free.
    pub fn take_name(&self, name: &Name, content: &Value) -> bool {
        let mut object = json!({
            "apiVersion": name.kind.api_version(),
            "kind": name.kind.kind,
            "metadata": { "name": name.name, "labels": { FOREIGN: "yes" } },
        });
        for (field, value) in content.as_object().into_iter().flatten() {
            object[field] = value.clone();
        }
        let request = Request::builder().method("POST").uri(name.collection()).header("content-type", "application/json");
        let created = self.cluster.handle(&request.body(Bytes::from(object.to_string())).expect("a request")).status();
        assert!(created.is_success() || created == 409, "{name} is created: {created}");
        created.is_success()
    }

    fn usurp(&self, name: &Name) {
        let request = |method: &str, path: String, body: String| {
            let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
            self.cluster.handle(&request.body(Bytes::from(body)).expect("a request")).status()
        };
        let object = json!({
            "apiVersion": name.kind.api_version(),
            "kind": name.kind.kind,
            "metadata": { "name": name.name, "labels": { FOREIGN: "yes" } },
        });
        let collection = name.collection();
        let deleted = request("DELETE", format!("{collection}/{}", name.name), String::new());
        assert!(deleted.is_success() || deleted == 404, "{name} is deleted: {deleted}");
        let created = request("POST", collection, object.to_string());
        assert!(created.is_success(), "{name} is created: {created}");
    }

    async fn delete(&self, name: &Name, cascade: Cascade) {
        let propagation_policy = Some(match cascade {
            Cascade::Background => PropagationPolicy::Background,
            Cascade::Foreground => PropagationPolicy::Foreground,
        });
        let params = DeleteParams { propagation_policy, ..DeleteParams::default() };
        absent_is_fine(self.api(name).delete(&name.name, &params).await, "deleted");
    }

    /// Waits until an object that is being deleted is gone. The caller must remove what blocks it.
    pub async fn wait_until_gone_if_going(&self, name: &Name) {
        let waiting = async {
            while let Some(object) = self.get(name).await {
                if object["metadata"]["deletionTimestamp"].is_null() {
                    return;
                }
                self.let_teardowns_end().await;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("{name} is stuck in deletion: {}", self.get(name).await.unwrap_or_default());
        }
    }

    /// Ends teardowns that wait for their spec: half by a change of the spec, half by force.
    pub async fn let_teardowns_end(&self) {
        for object in self.list(kinds::FINALIZING).await {
            let is_going = !object["metadata"]["deletionTimestamp"].is_null();
            let is_released = !object["metadata"]["annotations"]["gyre.dev/release"].is_null();
            let finalize = object["spec"]["finalize"].as_str().unwrap_or_default();
            if !is_going || is_released || finalize.is_empty() {
                continue;
            }
            let patch = match finalize {
                "never" => json!({ "spec": { "finalize": "" } }),
                _ => json!({ "metadata": { "annotations": { "gyre.dev/release": "true" } } }),
            };
            self.edit(&name_of(kinds::FINALIZING, &object), &patch).await;
        }
    }

    /// Returns an object, if it exists.
    pub async fn get(&self, name: &Name) -> Option<Value> {
        let found = self.api(name).get_opt(&name.name).await.expect("read");
        found.map(|object| serde_json::to_value(object).expect("JSON"))
    }

    /// Returns all objects of a kind, if it is served.
    pub async fn list(&self, kind: Kind) -> Vec<Value> {
        match kind.api(&self.client, None).list(&ListParams::default()).await {
            Ok(list) => list.items.into_iter().map(|item| serde_json::to_value(item).expect("JSON")).collect(),
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => panic!("{} is listed: {error}", kind.kind),
        }
    }

    /// Returns all objects of some kinds.
    pub async fn snapshot(&self, kinds: impl IntoIterator<Item = Kind>) -> BTreeMap<Name, Value> {
        let mut all = BTreeMap::new();
        for kind in kinds {
            all.extend(self.list(kind).await.into_iter().map(|object| (name_of(kind, &object), object)));
        }
        all
    }

    fn api(&self, name: &Name) -> Api<DynamicObject> {
        name.kind.api(&self.client, name.namespace.as_deref())
    }
}

fn name_of(kind: Kind, object: &Value) -> Name {
    let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
    Name { kind, namespace: text("namespace"), name: text("name").unwrap_or_default() }
}

fn absent_is_fine<T>(result: Result<T, kube::Error>, what: &str) {
    match result {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => panic!("{what}: {error}"),
    }
}
