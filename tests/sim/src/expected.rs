//! The expected state of a cluster at rest: a function of the objects of people only.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::kinds::{self, Kind, Name};
use crate::people::{FOREIGN, People};

/// The wrongs and the end state of a cluster, independent of the order of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The deviations from the expected state.
    pub wrongs: Vec<String>,
    /// The end state.
    pub end: Vec<String>,
    /// If true, a child cannot be created, because its name is taken or its namespace is missing.
    pub is_in_vain: bool,
}

#[derive(Default)]
struct Wanted {
    must: Vec<(Name, Value)>,
    may: Vec<Name>,
    ready: Option<bool>,
    held: bool,
    wrongs: Vec<String>,
}

type World = BTreeMap<Name, Value>;

/// Compares a cluster with the expected state. `version` is that of the plugin `versioned`.
pub async fn judge(people: &People, version: Option<u64>) -> Judgement {
    let kinds = kinds::PARENTS.into_iter().chain(kinds::CHILDREN).chain([kinds::WEBSITE_DEFAULTS, kinds::NAMESPACE]);
    let world = people.snapshot(kinds).await;
    let mut judgement = Judgement::default();
    let mut uids = BTreeSet::new();
    for (name, parent) in world.iter().filter(|(name, _)| kinds::PARENTS.contains(&name.kind)) {
        uids.insert(parent["metadata"]["uid"].as_str().unwrap_or_default());
        judgement.parent(&world, name, parent, version);
    }
    for (name, object) in &world {
        let owner = &object["metadata"]["labels"]["gyre.dev/owner-uid"];
        if owner.as_str().is_some_and(|owner| !uids.contains(owner)) {
            judgement.wrongs.push(format!("{name} outlived its owner"));
        }
    }
    judgement.end.sort_unstable();
    judgement
}

/// Returns the objects without a plugin that are missing or changed.
pub async fn touched(people: &People, foreign: &[Name]) -> Vec<String> {
    let kinds: BTreeSet<Kind> = foreign.iter().map(|name| name.kind).collect();
    let world = people.snapshot(kinds).await;
    let is_well = |object: &Value| is_foreign(object) && !object["metadata"].to_string().contains("gyre");
    let touched = foreign.iter().filter(|name| !world.get(name).is_some_and(is_well));
    touched.map(|name| format!("{name}, which is foreign, is {}", world.get(name).unwrap_or(&Value::Null))).collect()
}

/// Returns the objects with a finalizer of the host.
pub async fn finalizers(people: &People) -> Vec<String> {
    let world = people.snapshot(kinds::PARENTS.into_iter().chain(kinds::CHILDREN)).await;
    let held = world.iter().filter(|(_, object)| object["metadata"]["finalizers"].to_string().contains("gyre.dev/"));
    held.map(|(name, object)| format!("{name} carries {}", object["metadata"]["finalizers"])).collect()
}

impl Judgement {
    fn parent(&mut self, world: &World, name: &Name, parent: &Value, version: Option<u64>) {
        if !parent["metadata"]["deletionTimestamp"].is_null() {
            self.wrongs.push(format!("{name} is stuck in deletion: {}", parent["metadata"]["finalizers"]));
            return;
        }
        let mut wanted = wanted(world, name, parent, version);
        if wanted.must.iter().any(|(child, _)| world.get(child).is_some_and(is_foreign)) {
            wanted.ready = wanted.ready.map(|_| false);
            self.is_in_vain = true;
        }
        self.is_in_vain |= name.kind == kinds::CROSS_NAMESPACE && wanted.ready == Some(false);
        self.wrongs.extend(wanted.wrongs.iter().map(|wrong| format!("{name}: {wrong}")));
        self.status(name, parent, &wanted);
        let is_held = parent["metadata"]["finalizers"].to_string().contains("gyre.dev/");
        if is_held != wanted.held {
            let finalizers = &parent["metadata"]["finalizers"];
            self.wrongs.push(format!("{name}, which wants {}, carries the finalizers {finalizers}", parent["spec"]));
        }
        self.end.push(format!("{name} {}", parent["spec"]));
        let owner = &parent["metadata"]["uid"];
        let is_owned = |object: &Value| object["metadata"]["labels"]["gyre.dev/owner-uid"] == *owner;
        for (child, content) in &wanted.must {
            match world.get(child) {
                // It stays untouched, and the parent reports it.
                Some(object) if is_foreign(object) => {}
                Some(object) if !is_owned(object) => self.wrongs.push(format!("{child} is not owned by {name}")),
                Some(object) => {
                    self.wrongs.extend(lacks(content, object, "").map(|path| format!("{child} of {name} differs at {path}")));
                }
                None => self.wrongs.push(format!("{name} has no {child}")),
            }
            self.end.push(format!("{child} {content}"));
        }
        let is_far = |child: &&Name| child.namespace != name.namespace;
        let mut far: BTreeSet<String> = world
            .iter()
            .filter(|(_, object)| is_owned(object))
            .map(|(child, _)| child)
            .filter(is_far)
            .map(Name::listed)
            .collect();
        let listed = listed(parent);
        self.wrongs.extend(far.difference(&listed).map(|child| format!("{name} does not list {child}")));
        far.extend(wanted.must.iter().map(|(child, _)| child).chain(&wanted.may).filter(is_far).map(Name::listed));
        self.wrongs.extend(listed.difference(&far).map(|child| format!("{name} still lists {child}")));
        let allowed = |child: &Name| wanted.must.iter().any(|(must, _)| must == child) || wanted.may.contains(child);
        for (child, _) in world.iter().filter(|(child, object)| is_owned(object) && !allowed(child)) {
            self.wrongs.push(format!("{name} no longer wants {child}"));
        }
    }

    fn status(&mut self, name: &Name, parent: &Value, wanted: &Wanted) {
        let status = &parent["status"];
        if status["observedGeneration"] != parent["metadata"]["generation"] {
            self.wrongs.push(format!("{name} has the status of another generation: {status}"));
        }
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
        match (ready, wanted.ready) {
            (None, _) => self.wrongs.push(format!("{name} does not say whether it is Ready")),
            (Some(says), Some(is)) if says["status"] != if is { "True" } else { "False" } => {
                self.wrongs.push(format!("{name} is {}Ready, and says {says}", if is { "" } else { "not " }));
            }
            (Some(_), _) => {}
        }
    }
}

/// Returns the children that a parent lists, as in [`Name::listed`].
fn listed(parent: &Value) -> BTreeSet<String> {
    let annotations = parent["metadata"]["annotations"].as_object().into_iter().flatten();
    let lists = annotations.filter(|(annotation, _)| annotation.starts_with("children.gyre.dev/"));
    let mut listed = BTreeSet::new();
    for (_, list) in lists {
        let list: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> =
            serde_json::from_str(list.as_str().unwrap_or_default()).expect("a list of children");
        for (kind, namespaces) in &list {
            for (namespace, names) in namespaces {
                listed.extend(names.iter().map(|name| format!("{kind} {namespace}/{name}")));
            }
        }
    }
    listed
}

fn is_foreign(object: &Value) -> bool {
    object["metadata"]["labels"][FOREIGN] == "yes"
}

/// Returns the first field of `content` that differs in an object.
fn lacks(content: &Value, object: &Value, path: &str) -> Option<String> {
    match (content, object) {
        (Value::Object(content), Value::Object(object)) => content
            .iter()
            .find_map(|(field, value)| lacks(value, object.get(field).unwrap_or(&Value::Null), &format!("{path}.{field}"))),
        (Value::Array(content), Value::Array(object)) if content.len() == object.len() => {
            let mut pairs = content.iter().zip(object).enumerate();
            pairs.find_map(|(index, (content, object))| lacks(content, object, &format!("{path}[{index}]")))
        }
        _ if content == object => None,
        _ => Some(format!("{path}: {object} instead of {content}")),
    }
}

fn wanted(world: &World, name: &Name, parent: &Value, version: Option<u64>) -> Wanted {
    match name.kind {
        kinds::ECHO => echo(world, name, parent),
        kinds::SCHEDULED_ECHO => scheduled_echo(name, parent),
        kinds::WEBSITE => website(world, name, parent),
        kinds::FINALIZING => Wanted {
            must: ["a", "b"].map(|end| (beside(name, kinds::CONFIG_MAP, &format!("-{end}")), json!({}))).to_vec(),
            ready: Some(true),
            held: true,
            ..Wanted::default()
        },
        kinds::CROSS_NAMESPACE => cross_namespace(world, name, parent),
        kinds::STRATEGIES => strategies(name, parent),
        kinds::READER => Wanted {
            must: vec![(beside(name, kinds::CONFIG_MAP, "-copy"), json!({ "data": copy(world, name, &parent["spec"]) }))],
            ready: Some(true),
            ..Wanted::default()
        },
        _ => versioned(name, parent, version),
    }
}

fn beside(parent: &Name, kind: Kind, suffix: &str) -> Name {
    Name { kind, name: format!("{}{suffix}", parent.name), ..parent.clone() }
}

/// A Job of an earlier message stays, and the Echo reports it.
fn echo(world: &World, name: &Name, parent: &Value) -> Wanted {
    let job = beside(name, kinds::JOB, "");
    let has_run = parent["status"]["finished"]["uid"] == parent["metadata"]["uid"];
    let wrongs = if world.contains_key(&job) || has_run { Vec::new() } else { vec!["no Job, and none has run".to_owned()] };
    Wanted { may: vec![job], wrongs, ..Wanted::default() }
}

fn scheduled_echo(name: &Name, parent: &Value) -> Wanted {
    let spec = &parent["spec"];
    let containers = json!([{ "command": ["echo", spec["message"]] }]);
    let template = json!({ "spec": { "template": { "spec": { "containers": containers } } } });
    let content = json!({ "spec": { "schedule": spec["schedule"], "jobTemplate": template } });
    Wanted { must: vec![(beside(name, kinds::CRON_JOB, ""), content)], ready: Some(true), ..Wanted::default() }
}

fn website(world: &World, name: &Name, parent: &Value) -> Wanted {
    let spec = &parent["spec"];
    let template = Name { kind: kinds::CONFIG_MAP, name: text(&spec["template"]), ..name.clone() };
    let [content, deployment, service] = [(kinds::CONFIG_MAP, "-content"), (kinds::DEPLOYMENT, ""), (kinds::SERVICE, "")]
        .map(|(kind, suffix)| beside(name, kind, suffix));
    let Some(template) = world.get(&template) else {
        return Wanted { may: vec![content, deployment, service], ready: Some(false), ..Wanted::default() };
    };
    let defaults = world.iter().filter(|(name, _)| name.kind == kinds::WEBSITE_DEFAULTS).map(|(_, defaults)| &defaults["spec"]);
    let defaults = defaults.min_by_key(|defaults| std::cmp::Reverse(defaults["priority"].as_i64()));
    let replicas = spec["replicas"].as_u64().or(defaults.and_then(|defaults| defaults["replicas"].as_u64())).unwrap_or(1);
    let team = defaults.map_or(Value::Null, |defaults| defaults["labels"]["team"].clone());
    let page = text(&template["data"]["index.html"]);
    let page = page.replace("{{title}}", &text(&spec["title"])).replace("{{host}}", &text(&spec["host"]));
    let labels = json!({ "team": team, "app.kubernetes.io/instance": name.name });
    // The status of an answer is held while a child of it is refused.
    let is_held = [&content, &deployment, &service].into_iter().any(|child| world.get(child).is_some_and(is_foreign));
    let annotations = if is_held { json!({}) } else { json!({ "web.gyre.dev/content": parent["status"]["content"] }) };
    let pods = json!({ "metadata": { "annotations": annotations, "labels": { "team": team } } });
    let metadata = json!({ "labels": labels });
    Wanted {
        must: vec![
            (content, json!({ "metadata": metadata, "data": { "index.html": page } })),
            (deployment, json!({ "metadata": metadata, "spec": { "replicas": replicas, "template": pods } })),
            (service, json!({ "metadata": metadata })),
        ],
        ready: Some(true),
        ..Wanted::default()
    }
}

fn cross_namespace(world: &World, name: &Name, parent: &Value) -> Wanted {
    let own = name.namespace.as_deref().unwrap_or_default();
    let far = format!("{own}-{}", name.name);
    let mut wanted = Wanted { must: vec![(beside(name, kinds::CONFIG_MAP, ""), json!({}))], ..Wanted::default() };
    let mut is_possible = true;
    if let Some(namespace) = parent["spec"]["namespace"].as_str() {
        // The parent gets a finalizer before the host knows whether the child can be created.
        wanted.held |= namespace != own;
        if world.contains_key(&Name::cluster(kinds::NAMESPACE, namespace)) {
            wanted.must.push((Name::new(kinds::CONFIG_MAP, namespace, &far), json!({})));
        } else {
            // It is listed before the host knows that it cannot be created.
            wanted.may.push(Name::new(kinds::CONFIG_MAP, namespace, &far));
            is_possible = false;
        }
    }
    if parent["spec"]["clusterScoped"] == true {
        wanted.held = true;
        wanted.must.push((Name::cluster(kinds::CLUSTER_ROLE, &far), json!({})));
    }
    Wanted { ready: Some(is_possible), ..wanted }
}

fn strategies(name: &Name, parent: &Value) -> Wanted {
    let spec = &parent["spec"];
    let (config_map, job, secret) =
        (beside(name, kinds::CONFIG_MAP, ""), beside(name, kinds::JOB, ""), beside(name, kinds::SECRET, ""));
    let containers = json!([{ "image": spec["image"] }]);
    // The Secret keeps its first content.
    let mut wanted = Wanted {
        must: vec![(job, json!({ "spec": { "template": { "spec": { "containers": containers } } } })), (secret, json!({}))],
        ready: Some(true),
        ..Wanted::default()
    };
    if spec["keep"] == true {
        wanted.may.push(config_map);
    } else {
        wanted.must.push((config_map, json!({ "data": { "text": spec["text"] } })));
    }
    wanted
}

fn copy(world: &World, name: &Name, spec: &Value) -> Value {
    let mut data = json!({});
    let own = name.namespace.as_deref().unwrap_or_default();
    if let Some(read) = spec["get"].as_str() {
        let found = world.get(&Name::new(kinds::CONFIG_MAP, spec["getNamespace"].as_str().unwrap_or(own), read));
        data["get"] = json!(found.map_or("absent".to_owned(), |found| pairs(&found["data"])));
    }
    if let Some(selector) = spec["list"].as_str() {
        let matches = |object: &Value| {
            let label = |label: &str| object["metadata"]["labels"][label].as_str().map(str::to_owned);
            match selector {
                "set" => label("set").is_some(),
                "set=a" => label("set").as_deref() == Some("a"),
                "set in (a,b)" => label("set").is_some_and(|set| set == "a" || set == "b"),
                _ => label("gyre.dev/plugin").as_deref() == Some("finalizing"),
            }
        };
        let copy = format!("{}-copy", name.name);
        let found =
            world.iter().filter(|(name, object)| name.kind == kinds::CONFIG_MAP && name.name != copy && matches(object));
        let found =
            found.filter(|(name, _)| spec["listNamespace"].as_str().is_none_or(|only| name.namespace.as_deref() == Some(only)));
        let lines: BTreeSet<String> =
            found.map(|(name, _)| format!("{}/{}", name.namespace.as_deref().unwrap_or_default(), name.name)).collect();
        data["list"] = json!(lines.into_iter().collect::<Vec<_>>().join("\n"));
    }
    if let Some(secret) = spec["secret"].as_str() {
        let found = world.get(&Name::new(kinds::SECRET, own, secret));
        data["secret"] = json!(found.map_or("absent".to_owned(), |found| pairs(&found["metadata"]["labels"])));
    }
    data
}

fn pairs(value: &Value) -> String {
    if value.is_null() { "{}".to_owned() } else { value.to_string() }
}

fn versioned(name: &Name, parent: &Value, version: Option<u64>) -> Wanted {
    let mut data = json!({ "text": parent["spec"]["text"] });
    if let Some(version) = version {
        data["version"] = json!(format!("{version:010}"));
    }
    let child = |end| (beside(name, kinds::CONFIG_MAP, &format!("-{end}")), json!({ "data": data }));
    Wanted { must: ["one", "two"].map(child).to_vec(), ready: Some(true), ..Wanted::default() }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
