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

use gyre_guests::{CONFIG_MAP, SECRET, config_map, read_error};
use gyre_sdk::{
    Cluster, Failure, Labels, Manifest, Metadata, NoSettings, NoStatus, Object, ReadError, ReadKind, Reconciler, Response,
    Strategy,
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

#[derive(Deserialize)]
struct Read {
    metadata: Metadata,
    data: Option<Labels>,
}

struct Reader;

impl Reconciler for Reader {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Reader")
            .child(CONFIG_MAP, Strategy::Apply)
            .read(ReadKind::new(CONFIG_MAP))
            .read(ReadKind::new(SECRET).metadata_only())
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
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
        Response::children().apply(&config_map(&copy, Value::Object(data)))
    }
}

fn told(read: Result<String, ReadError>) -> Value {
    Value::String(read.unwrap_or_else(|error| read_error(&error)))
}

fn get(cluster: &Cluster, namespace: Option<&str>, name: &str) -> Result<String, ReadError> {
    let found: Option<Read> = cluster.get(CONFIG_MAP, namespace, name)?;
    Ok(found.map_or("absent".to_owned(), |found| as_json(&found.data.unwrap_or_default())))
}

fn list(cluster: &Cluster, namespace: Option<&str>, selector: &str, copy: &str) -> Result<String, ReadError> {
    let found: Vec<Read> = cluster.list(CONFIG_MAP, namespace, Some(selector))?;
    let others = found.iter().map(|read| &read.metadata).filter(|metadata| metadata.name != copy);
    let mut lines: Vec<String> =
        others.map(|metadata| format!("{}/{}", metadata.namespace.as_deref().unwrap_or_default(), metadata.name)).collect();
    lines.sort();
    Ok(lines.join("\n"))
}

fn secret(cluster: &Cluster, name: &str) -> Result<String, ReadError> {
    let found: Option<Read> = cluster.get(SECRET, None, name)?;
    Ok(match found {
        None => "absent".to_owned(),
        Some(Read { data: Some(_), .. }) => "has data".to_owned(),
        Some(Read { metadata, .. }) => as_json(&metadata.labels),
    })
}

fn as_json(pairs: &Labels) -> String {
    Value::Object(pairs.iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()).to_string()
}

gyre_sdk::export!(Reader);
