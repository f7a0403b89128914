//! Reads the objects of a live cluster that programs use. Nothing is changed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use gyre_core::contains::first_difference;
use gyre_core::generated::{DigestKey, GENERATED_ANNOTATION, Record};
use gyre_core::grants::{Namespaces, Scope};
use gyre_core::manifest::Manifest;
use gyre_core::object::GroupVersionKind;
use gyre_core::plan::PLUGIN_LABEL;
use gyre_engine::client::answered;
use gyre_engine::cluster::kinds::{self, Resource};
use gyre_engine::mounts::inventory::{self, Entry, Mounting, Recorded};
use gyre_engine::program::Program;
use gyre_engine::telemetry::progress::Progress;
use gyre_engine::values::KEY_TYPE;
use gyre_sandbox::Plugin;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::plan::{Subject, uid};

/// The undeclared kinds that children of each mount may have: those that earlier versions declared.
pub(crate) type PreviousChildKinds = BTreeMap<String, BTreeSet<GroupVersionKind>>;

const PAGE: u32 = 500;
const AT_ONCE: usize = 16;
const COPIED: &str = "the cluster";
const DEFINITION: &str = "CustomResourceDefinition";

/// A live cluster.
pub struct LiveCluster {
    /// The client.
    pub client: Client,
    /// The namespace of the kubeconfig.
    pub namespace: String,
    /// The URL of the API server.
    pub url: String,
    inventories: OnceCell<Vec<Recorded>>,
}

/// Programs as the hosts of a cluster mount their plugins, so far as the cluster shows it.
pub struct AsMounted {
    /// The programs.
    pub programs: Vec<Program>,
    /// The namespaces in which plugins are mounted, by the name of the plugin.
    pub namespaces: BTreeMap<String, Namespaces>,
}

impl LiveCluster {
    /// A cluster that this client reads.
    pub fn new(client: Client, namespace: String, url: String) -> Self {
        Self { client, namespace, url, inventories: OnceCell::new() }
    }

    /// Restricts programs to the namespaces in which hosts have mounted their plugins. A plugin
    /// that no inventory names stays as it is.
    ///
    /// # Errors
    /// If the cluster cannot be read.
    pub async fn as_mounted(&self, programs: &[Program]) -> anyhow::Result<AsMounted> {
        let inventories = self.inventories().await.map_err(|error| unread(error, &self.url))?;
        let mut mounted = AsMounted { programs: programs.to_vec(), namespaces: BTreeMap::new() };
        for program in &mut mounted.programs {
            let present = inventories.iter().filter(|recorded| recorded.mount == Mounting::Present);
            let entries = present.map(|recorded| &recorded.entry).filter(|entry| entry.is_of(program));
            let Some(namespaces) = entries.map(Entry::namespaces).reduce(union) else { continue };
            program.grants = program.grants.clone().with_namespaces(namespaces.clone());
            program.namespaces = namespaces.clone();
            mounted.namespaces.insert(program.manifest().name.clone(), namespaces);
        }
        Ok(mounted)
    }

    /// The entries of all inventories. Without permission to read them, there are no entries.
    pub(crate) async fn inventories(&self) -> anyhow::Result<&[Recorded]> {
        let read = async {
            let kind = GroupVersionKind::new("", "v1", "ConfigMap");
            let Some(resource) = find(&self.client, &kind).await? else { return Ok(Vec::new()) };
            match list(&self.client, &resource, None, ListParams::default(), None).await {
                Err(error) if is_forbidden(&error) => Ok(Vec::new()),
                maps => anyhow::Ok(maps?.iter().flat_map(inventory::read).collect()),
            }
        };
        Ok(self.inventories.get_or_try_init(|| read).await?)
    }
}

/// The data of the Secret with the key of digests of these Secrets with generated values; `None` if
/// it may not be read.
pub(crate) async fn digest_key(client: &Client, secrets: &[&Value]) -> anyhow::Result<Option<Value>> {
    let ids: BTreeSet<String> = secrets.iter().filter_map(|secret| Some(record(secret)?.digests().to_owned())).collect();
    let is_meant = |secret: &&Value| DigestKey::of_secret(secret).is_some_and(|key| ids.contains(&key.id()));
    let Some(resource) = find(client, &GroupVersionKind::new("", "v1", "Secret")).await? else { return Ok(None) };
    let of_type = ListParams::default().fields(&format!("type={KEY_TYPE}"));
    match list(client, &resource, None, of_type, None).await {
        Err(error) if is_forbidden(&error) => Ok(None),
        Ok(found) => Ok(found.iter().find(is_meant).and_then(|secret| secret.get("data")).cloned()),
        Err(error) => Err(error),
    }
}

/// The record of the generated values of an object, if it has some.
pub(crate) fn record(object: &Value) -> Option<Record> {
    let annotations = object.pointer("/metadata/annotations")?;
    Record::parse(annotations.get(GENERATED_ANNOTATION)?.as_str()?)
}

pub(crate) fn unread(error: anyhow::Error, url: &str) -> anyhow::Error {
    let is_answer = error.chain().any(|cause| matches!(cause.downcast_ref(), Some(kube::Error::Api(_))));
    let remedy =
        if is_answer { "" } else { "; check that it runs, and that --kubeconfig or KUBECONFIG names the right cluster" };
    error.context(format!("cannot read the cluster at {url}{remedy}"))
}

fn union(one: Namespaces, other: Namespaces) -> Namespaces {
    match (one, other) {
        (Namespaces::Only(names), Namespaces::Only(others)) => Namespaces::Only(names.into_iter().chain(others).collect()),
        _ => Namespaces::All,
    }
}

pub(crate) struct Copies {
    pub(crate) objects: Vec<(String, Value)>,
    pub(crate) absent: BTreeSet<String>,
    /// The parts that the programs need and the cluster lacks, each as part of a sentence.
    pub(crate) remarks: Vec<String>,
    /// Whether a program's parents could not be read: not served, or without an existing namespace.
    pub(crate) lacks_parents: bool,
}

/// Copies the objects that the programs use, their CRDs, and all namespaces, also those that only
/// mounts name.
pub(crate) async fn copies(
    client: &Client,
    programs: &[Program],
    previous_child_kinds: &PreviousChildKinds,
    named: &BTreeSet<String>,
) -> anyhow::Result<Copies> {
    let (there, absent) = all_namespaces(client, named).await?;
    let mut objects: Vec<(String, Value)> = there.into_iter().map(|namespace| (COPIED.to_owned(), namespace)).collect();
    let key = |object: &Value| uid(object).unwrap_or_default().to_owned();
    let mut seen: BTreeSet<String> = objects.iter().map(|(_, namespace)| key(namespace)).collect();
    let (mut remarks, mut lacks_parents, progress) = (BTreeSet::new(), false, Progress::default());
    for program in programs {
        let manifest = program.manifest();
        if let Namespaces::Only(names) = &program.namespaces {
            let missing = names.iter().filter(|name| absent.contains(name.as_str()));
            let missing: Vec<String> = missing.map(|name| format!("the cluster has no namespace {name}")).collect();
            lacks_parents |= missing.len() == names.len();
            remarks.extend(missing);
        }
        let of_plugin = format!("{PLUGIN_LABEL}={}", manifest.name);
        // Also copies parents that the mount does not select: the host selects.
        let parents = manifest.parent_kinds().map(|kind| (kind, None::<&str>, String::new()));
        let dropped = previous_child_kinds.get(&*program.name).into_iter().flatten();
        let children = manifest.children.iter().map(|child| &child.kind).chain(dropped);
        let children = children.map(|kind| (kind, None, of_plugin.clone()));
        let reads = manifest.reads.iter();
        let reads = reads.map(|read| (&read.kind, read.namespace.as_deref(), read.label_selector.clone().unwrap_or_default()));
        for (kind, namespace, selector) in parents.chain(children).chain(reads) {
            let Some(resource) = find(client, kind).await? else {
                lacks_parents |= kind == manifest.users_kind();
                remarks.extend(not_served(manifest, kind));
                continue;
            };
            if let Some(definition) = definition(client, &resource).await? {
                remarks.extend(defined_otherwise(manifest, &definition));
                objects.push((format!("the definition of {}", kind.kind), definition));
            }
            for namespace in namespaces(&resource, namespace, &program.namespaces) {
                for object in
                    list(client, &resource, namespace, ListParams::default().labels(&selector), Some(&progress)).await?
                {
                    if seen.insert(key(&object)) {
                        objects.push((COPIED.to_owned(), object));
                    }
                }
            }
        }
    }
    Ok(Copies { objects, absent, remarks: remarks.into_iter().collect(), lacks_parents })
}

/// The remark about a kind that is not served, or `None` if the plugin does not need it.
fn not_served(manifest: &Manifest, kind: &GroupVersionKind) -> Option<String> {
    let is_text = |value: &Value, pointer: &str, text: &str| value.pointer(pointer).and_then(Value::as_str) == Some(text);
    let defines = |crd: &Value| is_text(crd, "/spec/group", &kind.group) && is_text(crd, "/spec/names/kind", &kind.kind);
    let what = match manifest.crds.iter().any(defines) {
        true => "the output of `gyre crds`",
        false if kind == manifest.users_kind() => "its CustomResourceDefinition",
        false => return None,
    };
    Some(format!("the cluster does not serve {} {}: apply {what} first", kind.kind, kind.api_version()))
}

fn defined_otherwise(manifest: &Manifest, definition: &Value) -> Option<String> {
    let name = definition.pointer("/metadata/name")?.as_str()?;
    let is_same = |crd: &&Value| crd.pointer("/metadata/name").and_then(Value::as_str) == Some(name);
    let brought = manifest.crds.iter().find(is_same)?;
    let compared = |definition: &Value| json!({ "kind": DEFINITION, "spec": definition.get("spec") });
    let place = first_difference(&compared(brought), &compared(definition))?;
    Some(format!(
        "the plugin {} contains another CustomResourceDefinition {name} than the cluster, whose is used here: apply the output of \
         `gyre crds` first (the first difference is {place})",
        manifest.name
    ))
}

/// Copies of the objects with these names, as from [`copies`].
pub(crate) async fn named(client: &Client, subjects: &BTreeSet<Subject>) -> anyhow::Result<Vec<(String, Value)>> {
    let mut resources = BTreeMap::new();
    for subject in subjects {
        let kind = (subject.api_version.as_str(), subject.kind.as_str());
        if !resources.contains_key(&kind)
            && let Some(resource) = find(client, &GroupVersionKind::from_api_version(kind.0, kind.1)).await?
        {
            resources.insert(kind, resource);
        }
    }
    let requests = subjects.iter().filter_map(|subject| {
        let resource = resources.get(&(subject.api_version.as_str(), subject.kind.as_str()))?;
        Some(async move {
            let api: Api<DynamicObject> = resource.api(client, subject.namespace.as_deref());
            let found = answered(api.get_opt(&subject.name)).await.with_context(|| format!("cannot read {subject}"))?;
            found.map(|object| value(object, resource)).transpose()
        })
    });
    let found: Vec<Option<Value>> = futures::stream::iter(requests).buffered(AT_ONCE).try_collect().await?;
    Ok(found.into_iter().flatten().map(|object| (COPIED.to_owned(), object)).collect())
}

/// The undeclared kinds that children may have: from the inventories of hosts that have mounted
/// these plugins, and from the previous versions.
pub(crate) fn previous_child_kinds(
    inventories: &[Recorded],
    programs: &[Program],
    previous_versions: &[Plugin],
) -> PreviousChildKinds {
    let mut kinds = PreviousChildKinds::new();
    for program in programs {
        let manifest = program.manifest();
        let entries = inventories.iter().map(|recorded| &recorded.entry);
        let of_entries = entries.filter(|entry| entry.is_of(program)).flat_map(|entry| &entry.children);
        let manifests = previous_versions.iter().map(Plugin::manifest).filter(|previous| previous.name == manifest.name);
        let of_manifests = manifests.flat_map(|previous| previous.children.iter().map(|child| &child.kind));
        kinds.insert(program.name.to_string(), of_entries.chain(of_manifests).cloned().collect());
    }
    kinds
}

/// All namespaces, and the named ones that do not exist. Without permission to list, it reads the
/// named ones, and assumes that forbidden ones exist.
async fn all_namespaces(client: &Client, named: &BTreeSet<String>) -> anyhow::Result<(Vec<Value>, BTreeSet<String>)> {
    let Some(namespaces) = find(client, &GroupVersionKind::new("", "v1", "Namespace")).await? else {
        // Any web server may answer with 404.
        bail!("this is not a Kubernetes API server: it does not serve Namespaces");
    };
    let listed = match list(client, &namespaces, None, ListParams::default(), None).await {
        Err(error) if is_forbidden(&error) => None,
        listed => Some(listed?),
    };
    if let Some(listed) = listed {
        let is_absent = |name: &&String| !listed.iter().any(|namespace| Subject::of(namespace).name == **name);
        let absent = named.iter().filter(is_absent).cloned().collect();
        return Ok((listed, absent));
    }
    let (mut there, mut absent) = (Vec::new(), BTreeSet::new());
    let api: Api<DynamicObject> = namespaces.api(client, None);
    for name in named {
        match answered(api.get_opt(name)).await {
            Ok(Some(found)) => there.push(value(found, &namespaces)?),
            Ok(None) => drop(absent.insert(name.clone())),
            Err(kube::Error::Api(status)) if status.code == 403 => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read the namespace {name}")),
        }
    }
    Ok((there, absent))
}

fn is_forbidden(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.code == 403)
}

async fn find(client: &Client, kind: &GroupVersionKind) -> anyhow::Result<Option<Resource>> {
    kinds::find(client, kind).await.with_context(|| format!("cannot look up {} of {}", kind.kind, kind.api_version()))
}

/// The namespaces to list; `None` stands for all, or for a cluster-scoped kind.
fn namespaces<'a>(resource: &Resource, declared: Option<&'a str>, mounted: &'a Namespaces) -> Vec<Option<&'a str>> {
    match (resource.scope, declared, mounted) {
        (Scope::Cluster, _, _) | (Scope::Namespaced, None, Namespaces::All) => vec![None],
        (Scope::Namespaced, Some(namespace), _) => vec![Some(namespace)],
        (Scope::Namespaced, None, Namespaces::Only(names)) => names.iter().map(|name| Some(name.as_str())).collect(),
    }
}

async fn definition(client: &Client, resource: &Resource) -> anyhow::Result<Option<Value>> {
    // A group without a dot is built in. Other groups can be either.
    if !resource.api.group.contains('.') {
        return Ok(None);
    }
    let definitions = GroupVersionKind::new("apiextensions.k8s.io", "v1", DEFINITION);
    let Some(definitions) = find(client, &definitions).await? else { return Ok(None) };
    let api: Api<DynamicObject> = definitions.api(client, None);
    let name = format!("{}.{}", resource.api.plural, resource.api.group);
    match answered(api.get_opt(&name)).await {
        Ok(found) => found.map(|object| value(object, &definitions)).transpose(),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read the definition {name}")),
    }
}

pub(crate) async fn list(
    client: &Client,
    resource: &Resource,
    namespace: Option<&str>,
    params: ListParams,
    progress: Option<&Progress>,
) -> anyhow::Result<Vec<Value>> {
    let api: Api<DynamicObject> = resource.api(client, namespace);
    let mut params = params.limit(PAGE);
    let mut objects = Vec::new();
    loop {
        let page = answered(api.list(&params)).await.with_context(|| format!("cannot list {}", resource.api.plural))?;
        for object in page.items {
            objects.push(value(object, resource)?);
        }
        if let Some(progress) = progress {
            progress.say(format_args!("{} {} read", objects.len(), resource.api.plural));
        }
        match page.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => params = params.continue_token(&next),
            None => return Ok(objects),
        }
    }
}

/// Adds the kind, which items of a list lack.
fn value(object: DynamicObject, resource: &Resource) -> anyhow::Result<Value> {
    let mut object = serde_json::to_value(object).context("an object")?;
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Value::from(resource.api.api_version.as_str()));
        fields.insert("kind".to_owned(), Value::from(resource.api.kind.as_str()));
    }
    Ok(object)
}
