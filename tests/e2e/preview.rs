//! A host does in a live cluster what `gyre render` previews.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use gyre_controlplane::{AuditEvent, Mark};
use serde_json::{Value, json};

use crate::harness::{Cluster, GYRE, SHIPPED};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// As in a plan, or "refused" for a rejected attempt to create or change the object.
    pub(crate) verb: String,
    /// The plural of the kind, as in the audit log.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    /// Empty for events, whose names are generated.
    pub(crate) name: String,
    parent: Option<String>,
    /// The body of the request, or `None` if it has no body or the body is unknown.
    body: Option<Value>,
}

impl Step {
    pub(crate) fn of_plan(step: &Value) -> Self {
        let text = |field: &str| step[field].as_str().unwrap_or_default();
        let is_refused = step.get("refusal").is_some();
        let verb = match text("verb") {
            "create" | "update" | "finalizers" if is_refused => "refused",
            // The request sends the body of an update.
            "finalizers" => "update",
            verb => verb,
        };
        let resource = if verb == "event" { "events".to_owned() } else { plural(text("kind")) };
        Self::new(verb, &resource, [text("namespace"), text("name")], step.get("object"))
    }

    /// Converts an event of the audit log; `None` if it is no change, or only concerns the host.
    pub(crate) fn done(event: &AuditEvent) -> Option<Self> {
        // A taken name is handled afterwards, and managed fields are bookkeeping.
        let is_taken = event.verb == "create" && event.code == 409;
        let is_bookkeeping = event.uri.contains("fieldManager=gyre-managed-fields");
        if !event.is_write() || event.uri.contains("dryRun=") || event.resource == "leases" || is_taken || is_bookkeeping {
            return None;
        }
        let verb = match (event.verb.as_str(), event.subresource.as_str(), event.code) {
            _ if event.resource == "events" => "event",
            ("delete", _, _) => "delete",
            (_, "status", _) => "status",
            (_, _, 201) => "create",
            _ if event.succeeded() => "update",
            _ => "refused",
        };
        Some(Self::new(verb, &event.resource, [&event.namespace, &event.name], event.request_object.as_ref()))
    }

    fn new(verb: &str, resource: &str, [namespace, name]: [&str; 2], body: Option<&Value>) -> Self {
        let body = body.filter(|_| verb != "delete").cloned().map(comparable);
        let owner = |body: &Value| match verb {
            "event" => body["regarding"]["name"].as_str().map(str::to_owned),
            _ => body["metadata"]["ownerReferences"][0]["name"].as_str().or(Some(name)).map(str::to_owned),
        };
        Self {
            verb: verb.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: if verb == "event" { String::new() } else { name.to_owned() },
            parent: body.as_ref().and_then(owner),
            body,
        }
    }

    fn bare(&self) -> Self {
        Self { namespace: String::new(), parent: None, body: None, ..self.clone() }
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.resource, &self.name, &self.body) == (&other.resource, &other.name, &other.body)
    }
}

/// Removes refused attempts that were repeated.
fn without_repeated_attempts(steps: &[Step]) -> Vec<Step> {
    let is_kept = |(index, step): &(usize, &Step)| {
        let (earlier, later) = steps.split_at(*index);
        let is_made_good = later.iter().any(|other| other.verb != "refused" && step.is_of(other));
        step.verb != "refused" || !(is_made_good || earlier.contains(step))
    };
    steps.iter().enumerate().filter(is_kept).map(|(_, step)| step.clone()).collect()
}

/// Groups steps by parent: only steps of the same parent are ordered.
fn by_parent(steps: Vec<Step>) -> BTreeMap<Option<String>, Vec<Step>> {
    let mut parents: BTreeMap<Option<String>, Vec<Step>> = BTreeMap::new();
    for step in steps {
        parents.entry(step.parent.clone()).or_default().push(step);
    }
    parents
}

pub(crate) fn plural(kind: &str) -> String {
    kind.to_lowercase() + "s"
}

/// Masks values that depend on the time or the process.
fn comparable(mut body: Value) -> Value {
    fn mask(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    if ["resourceVersion", "reportingInstance"].contains(&name.as_str()) && field.is_string() {
                        *field = json!("another");
                    } else {
                        mask(field);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(mask),
            Value::String(text) if is_about_now(text) => *text = "now".to_owned(),
            _ => {}
        }
    }
    mask(&mut body);
    if body["kind"] == "Event" {
        body["metadata"]["name"] = json!("another");
        // The audit log has events with all fields of their type.
        body.as_object_mut().expect("an object").retain(|name, _| !name.starts_with("deprecated"));
    }
    body
}

fn is_about_now(text: &str) -> bool {
    let Ok(time) = text.parse::<jiff::Timestamp>() else { return false };
    time.duration_since(jiff::Timestamp::now()).abs() < jiff::SignedDuration::from_hours(1)
}

/// Returns whether an object has all that was sent, where items of lists may have more fields.
fn holds(object: &Value, sent: &Value) -> bool {
    match (object, sent) {
        (Value::Object(object), Value::Object(sent)) => {
            sent.iter().all(|(name, field)| object.get(name).is_some_and(|value| holds(value, field)))
        }
        (Value::Array(items), Value::Array(sent)) => {
            items.len() == sent.len() && items.iter().zip(sent).all(|(item, sent)| holds(item, sent))
        }
        _ => object == sent,
    }
}

struct Input {
    name: String,
    files: Vec<PathBuf>,
    settings: Option<Value>,
}

fn inputs(plugin: &str) -> Vec<Input> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").join(plugin);
    let entries = |folder: &Path| {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let cases = entries(&folder.join("cases"));
    assert!(!cases.is_empty(), "{plugin} has no case");
    let folders = cases.into_iter().chain([folder.join("samples")]);
    let input = |folder: PathBuf| {
        let settings = std::fs::read_to_string(folder.join("settings.yaml")).ok();
        // The time of a case is not used, because the host's clock cannot be set.
        let others = ["expected.yaml", "settings.yaml", "time.txt"];
        let is_of_objects = |path: &PathBuf| !others.iter().any(|other| path.ends_with(other));
        Input {
            name: format!("{plugin}-{}", folder.file_name().unwrap().to_str().unwrap()),
            files: entries(&folder).into_iter().filter(is_of_objects).collect(),
            settings: settings.map(|text| serde_saphyr::from_str(&text).unwrap()),
        }
    };
    folders.map(input).collect()
}

impl Input {
    fn objects(&self) -> Vec<Value> {
        let texts = self.files.iter().map(|file| std::fs::read_to_string(file).unwrap());
        texts.flat_map(|text| serde_saphyr::from_multiple::<Value>(&text).unwrap()).filter(|object| !object.is_null()).collect()
    }

    /// Creates the objects with their owners and statuses.
    fn put(&self, cluster: &Cluster, namespace: &str) {
        let (owned, others): (Vec<_>, Vec<_>) =
            self.objects().into_iter().partition(|object| object["metadata"].get("ownerReferences").is_some());
        for mut object in others.into_iter().chain(owned) {
            let owners = object["metadata"].get_mut("ownerReferences").and_then(Value::as_array_mut);
            for owner in owners.into_iter().flatten() {
                let [kind, name] = ["kind", "name"].map(|field| owner[field].as_str().unwrap().to_owned());
                owner["uid"] = cluster.get(namespace, &kind, &name).expect("an owner")["metadata"]["uid"].clone();
            }
            let fields = object.as_object_mut().unwrap();
            let status = fields.remove("status");
            let uid = fields["metadata"].as_object_mut().unwrap().remove("uid");
            let file = tempfile::NamedTempFile::new_in(cluster.plane.folder()).expect("a file");
            std::fs::write(file.path(), object.to_string()).expect("written");
            // Created, not applied, so that the host may take over the fields.
            cluster.kubectl(&["create", "-n", namespace, "-f", &file.path().display().to_string()]);
            if let Some(status) = status {
                let [kind, name] = [&object["kind"], &object["metadata"]["name"]].map(|text| text.as_str().unwrap());
                let live = cluster.get(namespace, kind, name).expect("an object")["metadata"]["uid"].clone();
                // A status may contain the UID of its object.
                let mut status = status.to_string();
                if let (Some(uid), Some(live)) = (uid.as_ref().and_then(Value::as_str), live.as_str()) {
                    status = status.replace(uid, live);
                }
                cluster.patch_status(namespace, kind, name, &serde_json::from_str(&status).expect("JSON"));
            }
        }
    }

    /// Deletes the objects, because cluster-scoped ones would affect the next input.
    fn clean(&self, cluster: &Cluster, namespace: &str) {
        for file in &self.files {
            let file = file.display().to_string();
            cluster.kubectl(&["delete", "--wait=false", "--ignore-not-found", "-n", namespace, "-f", &file]);
        }
    }
}

fn render(plugin: &str, arguments: &[String]) -> Value {
    let output = Command::new(GYRE).args(["render", plugin, "-o", "json"]).args(arguments).output().expect("gyre runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {arguments:?}: {stderr}"))
}

fn plan(rendered: &Value) -> Vec<Step> {
    rendered["plan"].as_array().expect("a plan").iter().map(Step::of_plan).collect()
}

fn written(cluster: &Cluster, since: Mark) -> Vec<Step> {
    without_repeated_attempts(&cluster.requests(since).iter().filter_map(Step::done).collect::<Vec<_>>())
}

/// Returns object, type, reason and note of each event.
fn news(events: &[Value], about: &str, note: &str) -> Vec<[String; 4]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let news = |event: &Value| [text(&event[about]["name"]), text(&event["type"]), text(&event["reason"]), text(&event[note])];
    let mut news: Vec<[String; 4]> = events.iter().map(news).collect();
    news.sort();
    news
}

/// Returns whether a value includes another one, comparing lists item by item.
fn includes(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| includes(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| includes(whole, part))
        }
        _ => whole == part,
    }
}

/// Compares the preview of `gyre render` with the writes of a host. Returns their number.
fn compare_with_host(cluster: &Cluster, plugin: &str, input: &Input) -> usize {
    let Input { name, settings, .. } = input;
    let namespace = format!("{}-{name}", cluster.test);
    cluster.kubectl(&["create", "namespace", &namespace]);
    // Pods are not admitted without it, and no controller creates it here.
    cluster.kubectl(&["create", "serviceaccount", "default", "-n", &namespace]);
    input.put(cluster, &namespace);
    let mut arguments: Vec<String> = Vec::new();
    if let Some(settings) = settings {
        arguments.extend(["--settings".to_owned(), format!("{}={settings}", mount(plugin))]);
    }
    // The website plugin reads a cluster-scoped kind, which only mounts of all namespaces may.
    let is_confined = plugin != gyre_artifacts::WEBSITE;
    let confined_to = |namespace: &str| if is_confined { vec!["--namespace".to_owned(), namespace.to_owned()] } else { vec![] };
    let mut of_files = [arguments.clone(), confined_to("default")].concat();
    of_files.extend(input.files.iter().flat_map(|file| ["-f".to_owned(), file.display().to_string()]));
    let of_files = plan(&render(plugin, &of_files));
    arguments.extend(confined_to(&namespace));
    let mut of_cluster = arguments.clone();
    let kubeconfig = cluster.kubeconfig().display().to_string();
    of_cluster.extend(["--from-cluster", "--secrets", "--kubeconfig", &kubeconfig].map(str::to_owned));
    let rendered = render(plugin, &of_cluster);
    let previewed = plan(&rendered);
    let bare = |steps: &[Step]| steps.iter().map(Step::bare).collect::<Vec<_>>();
    assert_eq!(bare(&previewed), bare(&of_files), "{name}: of files, and of a cluster that holds them");

    let mark = cluster.audit_mark().expect("an audit log");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let host = cluster.host_with(&[plugin], &[], &arguments);
    cluster.eventually(&format!("{name}: as many writes as were previewed"), || {
        (written(cluster, mark).len() >= previewed.len()).then_some(())
    });
    cluster.settled(&host);
    let mut done = written(cluster, mark);
    let mut expected = previewed.clone();
    if !cluster.plane.has_bodies() {
        for step in &mut done {
            step.parent = previewed.iter().find(|other| other.bare() == step.bare()).and_then(|other| other.parent.clone());
        }
        expected.iter_mut().for_each(|step| step.body = None);
        let events = done.iter_mut().chain(&mut expected).filter(|step| step.verb == "event");
        events.for_each(|step| step.parent = None);
    }
    // The audit log has the body of a POST with defaults, even if it was refused.
    for step in done.iter_mut().filter(|step| ["create", "refused"].contains(&step.verb.as_str())) {
        let previewed = expected.iter().find(|other| other.bare() == step.bare()).and_then(|other| other.body.as_ref());
        if let (Some(body), Some(previewed)) = (&step.body, previewed)
            && includes(body, previewed)
        {
            step.body = Some(previewed.clone());
        }
    }
    assert_eq!(by_parent(done), by_parent(expected), "{name}");
    let planned: Vec<Value> = rendered["plan"].as_array().unwrap().iter().map(|step| step["object"].clone()).collect();
    let planned: Vec<Value> = planned.into_iter().filter(|object| object["kind"] == "Event").collect();
    // kube-apiserver creates Events about Services with addresses of another cluster.
    let is_of_host = |event: &Value| event["reportingComponent"].as_str().is_some_and(|who| who.starts_with("gyre.dev/"));
    let events: Vec<Value> = cluster.list(&namespace, "events").into_iter().filter(is_of_host).collect();
    assert_eq!(news(&events, "involvedObject", "message"), news(&planned, "regarding", "note"), "{name}");
    for parent in rendered["parents"].as_array().unwrap() {
        let [kind, name] = [&parent["kind"], &parent["metadata"]["name"]].map(|text| text.as_str().unwrap());
        let live = cluster.get(&namespace, kind, name).expect("a parent");
        let state = |object: &Value| comparable(json!([object["spec"], object["status"], object["metadata"]["finalizers"]]));
        assert_eq!(state(&live), state(parent), "{name}");
    }
    for child in rendered["children"].as_array().unwrap() {
        let [kind, name] = [&child["kind"], &child["metadata"]["name"]].map(|text| text.as_str().unwrap());
        let live = cluster.get(&namespace, kind, name).expect("a child");
        assert!(holds(&live, child), "{name}: {live:#} does not hold {child:#}");
    }
    drop(host);
    input.clean(cluster, &namespace);
    previewed.len()
}

fn mount(plugin: &str) -> String {
    let output = Command::new(GYRE).args(["inspect", plugin, "-o", "json"]).output().expect("gyre runs");
    let inspected: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    inspected["manifests"][0]["name"].as_str().expect("a name").to_owned()
}

#[test]
fn a_host_does_what_was_previewed_for_each_golden_case_and_sample() {
    let Some(cluster) = Cluster::quiet("previewed") else { return };
    if cluster.audit_mark().is_none() {
        return;
    }
    let bringing: Vec<&str> =
        SHIPPED.iter().map(|(plugin, _)| *plugin).filter(|plugin| *plugin != gyre_artifacts::POD_LOG).collect();
    cluster.install_crds(&bringing);
    let mut compared = Vec::new();
    // The digests in the bodies are of values that a preview draws from a seed.
    let compared_plugins = SHIPPED.into_iter().filter(|(plugin, _)| *plugin != gyre_artifacts::DATABASE);
    for (plugin, name) in compared_plugins {
        for input in inputs(name) {
            let writes = compare_with_host(&cluster, plugin, &input);
            assert!(writes > 0, "{}: nothing was previewed", input.name);
            compared.push(format!("{} ({writes})", input.name));
        }
    }
    println!("{} inputs, with the writes of each: {}", compared.len(), compared.join(", "));
}
