//! Reads what its spec says, and writes the results into the ConfigMap `<name>-copy`:
//!
//! - `spec.get`: a ConfigMap of the namespace `spec.getNamespace`, by default its own. Key `get`:
//!   its data as JSON, or `absent`
//! - `spec.list`: a label selector for ConfigMaps of the namespace `spec.listNamespace`, by default
//!   all; `""` selects all. Key `list`: sorted lines `namespace/name`, without its copy
//! - `spec.secret`: a Secret of its namespace, of which it reads the metadata. Key `secret`: its
//!   labels as JSON, `absent`, or `has data` if the host shows too much
//!
//! A failed read is written as `NotDeclared`, `NotGranted`, `NotServed` or `InvalidSelector: …`.

use gyre_guests::{config_map, read_error};
use gyre_sdk::k8s::{ConfigMap, Secret};
use gyre_sdk::{
    Cluster, LabelsView, Manifest, NoSettings, NoStatus, Object, Plan, ReadError, ReadKind, Reconciler, Result, Strategy,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    get: Option<String>,
    get_namespace: Option<String>,
    list: Option<String>,
    list_namespace: Option<String>,
    secret: Option<String>,
}

struct Reader;

impl Reconciler for Reader {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Reader")
            .child::<ConfigMap>(Strategy::Apply)
            .reads::<ConfigMap>()
            .read_kind(ReadKind::of::<Secret>().metadata_only())
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let spec = &parent.spec;
        let copy = format!("{}-copy", parent.metadata.name);
        let mut data = Map::new();
        if let Some(name) = &spec.get {
            data.insert("get".to_owned(), told(get(cluster, spec.get_namespace.as_deref(), name)));
        }
        if let Some(selector) = &spec.list {
            data.insert("list".to_owned(), told(list(cluster, spec.list_namespace.as_deref(), selector, &copy)));
        }
        if let Some(name) = &spec.secret {
            data.insert("secret".to_owned(), told(secret(cluster, name)));
        }
        Ok(Plan::children([config_map(&copy, Value::Object(data))]))
    }
}

fn told(read: Result<String, ReadError>) -> Value {
    Value::String(read.unwrap_or_else(|error| read_error(&error)))
}

fn get(cluster: &Cluster, namespace: Option<&str>, name: &str) -> Result<String, ReadError> {
    let found: Option<ConfigMap> = match namespace {
        Some(namespace) => cluster.in_namespace(namespace).get(name)?,
        None => cluster.get(name)?,
    };
    Ok(found.map_or("absent".to_owned(), |found| as_json(found.data())))
}

fn list(cluster: &Cluster, namespace: Option<&str>, selector: &str, copy: &str) -> Result<String, ReadError> {
    let found: Vec<ConfigMap> = match namespace {
        Some(namespace) => cluster.in_namespace(namespace).list(selector)?,
        None => cluster.list(selector)?,
    };
    let others = found.iter().filter(|found| found.name() != copy);
    let mut lines: Vec<String> =
        others.map(|found| format!("{}/{}", found.metadata().namespace().unwrap_or_default(), found.name())).collect();
    lines.sort();
    Ok(lines.join("\n"))
}

fn secret(cluster: &Cluster, name: &str) -> Result<String, ReadError> {
    Ok(match cluster.get::<Secret>(name)? {
        None => "absent".to_owned(),
        Some(secret) if secret.as_json().get("data").is_some() => "has data".to_owned(),
        Some(secret) => as_json(secret.metadata().labels()),
    })
}

fn as_json(pairs: LabelsView<'_>) -> String {
    Value::Object(pairs.iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()).to_string()
}

gyre_sdk::export!(Reader);
