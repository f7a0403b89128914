//! Compares what each host of a test does with what `gyre render` has previewed.
//!
//! Render runs with the host's arguments before the host starts, before the test applies objects,
//! and when the test is done with the host. Three laws are checked against the audit log:
//!
//! 1. To each object of the plan, the first thing that the host does is the first of the plan.
//! 2. Until somebody else changes an object of the test, the host does nothing to objects that are
//!    not of the plan. If nobody does, it does all of the plan.
//! 3. In the end nothing is left to do: render's plan is empty, also for hosts beside others, and
//!    for those that were stopped before.
//!
//! What is absent: actions that a host has begun while render reads the cluster, because the
//! preview would contain half of them; objects of other tests, and cluster-scoped objects; bodies
//! and events, which [`crate::preview`] compares where nobody else acts. With `--nocapture`,
//! standard output says how much was compared.
//!
//! On a real API server, hosts are compared only with `GYRE_PREVIEW_CHECK=all`, which `cargo xtask
//! test --all` sets: the previews themselves run on devcluster in both cases.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use gyre_controlplane::{AuditEvent, Mark};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::harness::{Cluster, GYRE, PATIENCE};
use crate::plane::Plane;
use crate::preview::{Step, plural};

/// Tests without previews, and why.
const NOT_PREVIEWED: [(&str, &str); 24] = [
    ("answers", "a link answers the host's requests, and render knows no link"),
    ("applied-child", "others take fields over, edit them and give them up while the host works"),
    ("applied-parent", "others take fields over, edit them and give them up while the host works"),
    ("attacker", "its calls fail or write the time, and are made again and again"),
    ("bare-child", "a link answers the host's requests, and render knows no link"),
    ("bare-parent", "a link answers the host's requests, and render knows no link"),
    ("denied", "a webhook denies, and render knows no webhooks"),
    ("emptied", "a preview shows all deletions, also those that a host holds"),
    ("hostile", "calls end by their deadline, whose time is real, and are tried again and again"),
    ("landlord", "a preview shows all deletions, also those that a host holds"),
    ("one-tenant", "its calls fail, and what a namespace is quarantined for is known to one host alone"),
    ("reconcilers", "a call traps, and is tried again; in the end, its configuration is refused"),
    ("reload-others", "the field is given up later"),
    ("replicate", "a host adds to the list of a parent's children, and render does not tell of lists"),
    ("restless", "a plan is told at its end, and there is none"),
    ("sayings", "its calls fail, and are tried again and again while objects are added"),
    ("scaled-child", "others take fields over while the host works"),
    ("scaled-parent", "others take fields over while the host works"),
    ("signed", "render would ask the registry, whose requests the test reads"),
    ("stripped", "a webhook removes the marks of children, and render knows no webhooks"),
    ("tag-signed", "render would ask the registry, whose requests the test reads"),
    ("unlisted", "a host writes lists of children that are missing, and render does not tell of lists"),
    ("unmarked", "a webhook removes the mark of a parent's fields, and render knows no webhooks"),
    ("unwritable", "a host that cannot write its inventory adds no finalizers, and render has no inventory to write"),
];

/// The test of this module.
const MISTOLD: &str = "mistold";

/// Tests whose hosts leave something to do, and why.
const UNFINISHED: [(&str, &str); 1] = [("parked", "a condition says how often it was tried, which no other host knows")];

/// The flags with a value that both `gyre run` and `gyre render` take.
const WITH_VALUE: [&str; 12] = [
    "--config",
    "--plugin-dir",
    "--reconciler",
    "--settings",
    "--namespace",
    "--max-retries",
    "--quarantine-after",
    "--min-requeue-after",
    "--call-deadline",
    "--call-memory",
    "--code-cache",
    "--compiled",
];

/// The beginning of the user agent of every host.
const HOST: &str = "gyre/";

/// The verb of an action that was refused; see [`Step`].
const REFUSED: &str = "refused";

/// An object: its resource, namespace and name.
type Object = (String, String, String);

/// Previews of what a host does. When this is dropped, they are compared with what the host did.
pub(crate) struct PreviewCheck {
    plane: Plane,
    test: String,
    since: Mark,
    /// With them `gyre render` is asked.
    arguments: Vec<String>,
    predictions: Mutex<Vec<Prediction>>,
    /// Whether the host lived until nothing was left to do.
    is_at_rest: AtomicBool,
}

/// The next actions of a host, according to `gyre render`.
struct Prediction {
    /// When render began to read the cluster, and when it ended.
    looked: (SystemTime, SystemTime),
    /// To each object.
    first: BTreeMap<Object, String>,
    /// The objects that the test applies then.
    applied: BTreeSet<Object>,
    /// Of the files that the host was given.
    files: u64,
}

impl PreviewCheck {
    /// The check of a host with these arguments, or `None` if there is nothing to preview, or the
    /// audit log cannot be read.
    pub(crate) fn new(plane: Plane, test: &str, kubeconfig: &Path, arguments: &[&str]) -> Option<Self> {
        let is_everywhere = std::env::var_os("GYRE_PREVIEW_CHECK").is_some_and(|value| value == "all");
        if matches!(plane, Plane::Real(_)) && !is_everywhere && test != MISTOLD {
            return None;
        }
        if is_among(&NOT_PREVIEWED, test) || arguments.contains(&gyre_artifacts::guests::ENDLESS_LOOP) {
            return None;
        }
        let since = plane.audit_barrier().ok()?;
        let own = |text: &str| text.to_owned();
        let mut command: Vec<String> = ["render", "--from-cluster", "-o", "json", "--kubeconfig"].map(own).to_vec();
        command.push(kubeconfig.display().to_string());
        let mut given = arguments.iter();
        while let Some(argument) = given.next() {
            if WITH_VALUE.contains(argument) {
                command.push(own(argument));
                command.extend(given.next().copied().map(own));
            } else if *argument == "--shadow" {
                // It writes nothing.
                given.next();
            } else if ["--adopt", "--delete-parents"].contains(argument) || argument.ends_with(".wasm") {
                command.push(own(argument));
            }
        }
        Some(Self {
            plane,
            test: own(test),
            since,
            arguments: command,
            predictions: Mutex::default(),
            is_at_rest: AtomicBool::new(false),
        })
    }

    /// Previews what the host does next.
    pub(crate) fn of_what_is_there(&self) {
        self.preview(&[], BTreeSet::new());
    }

    /// Previews what the host does next if these manifests are applied.
    pub(crate) fn of_applying(&self, manifests: &str) {
        let documents = serde_saphyr::from_multiple::<Value>(manifests).unwrap_or_default();
        let objects = documents.iter().flat_map(|document| match document["items"].as_array() {
            Some(items) => items.as_slice(),
            None => std::slice::from_ref(document),
        });
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let applied = objects.map(|object| {
            let metadata = &object["metadata"];
            (plural(&text(&object["kind"])), text(&metadata["namespace"]), text(&metadata["name"]))
        });
        let file = tempfile::NamedTempFile::with_suffix_in(".yaml", self.plane.folder()).expect("a file");
        std::fs::write(file.path(), manifests).expect("written");
        self.preview(&["-f".to_owned(), file.path().display().to_string()], applied.collect());
    }

    fn preview(&self, more: &[String], applied: BTreeSet<Object>) {
        let begun = SystemTime::now();
        let steps = match plan(&[&self.arguments, more].concat()) {
            Ok(steps) => steps,
            Err(error) => {
                // Plugins, configurations and objects that cannot be read are the matter of some
                // tests.
                println!("{}: nothing is previewed: {error}", self.test);
                return;
            }
        };
        let first = first(&self.test, steps.into_iter());
        let prediction = Prediction { looked: (begun, SystemTime::now()), first, applied, files: self.files() };
        self.predictions.lock().push(prediction);
    }

    /// Returns a hash of the host's files: when they change, the host acts differently.
    fn files(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for path in self.arguments.iter().map(Path::new) {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
            for file in std::iter::once(path.to_owned()).chain(entries) {
                std::fs::read(file).ok().hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Waits until nothing is left to do. The host lives.
    pub(crate) fn rest(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = match plan(&self.arguments) {
                Ok(steps) => first(&self.test, steps.into_iter()),
                Err(error) => return println!("{}: nothing is previewed: {error}", self.test),
            };
            if left.values().all(|verb| verb == REFUSED) {
                self.is_at_rest.store(true, Ordering::Relaxed);
                return;
            }
            if is_among(&UNFINISHED, &self.test) {
                return;
            }
            assert!(Instant::now() < deadline, "{}: `gyre render` says that this is left to do: {left:?}", self.test);
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Returns the differences between previews and actions.
    fn compare(&self) -> Vec<String> {
        self.plane.audit_barrier().expect("an audit log");
        let audit = self.plane.audit().expect("an audit log");
        let is_of_test = |event: &AuditEvent| is_of(&self.test, &event.namespace) || is_of(&self.test, &event.name);
        let is_write = |event: &AuditEvent| event.is_write() && event.resource != "leases" && is_of_test(event);
        let mut events = audit.matching(self.since, is_write).expect("the audit log parses");
        events.sort_by_key(|event| event.received);
        let (hosts, others): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| event.user_agent.starts_with(HOST));
        let predictions = self.predictions.lock();
        let next = predictions.iter().skip(1).map(|next| Some(next.looked.0)).chain([None]);
        predictions
            .iter()
            .zip(next)
            .flat_map(|(prediction, next)| self.compare_with(prediction, next, &hosts, &others))
            .collect()
    }

    /// Compares a prediction with the writes of hosts and others, in their order. `next` is the
    /// time at which the test applied something again.
    fn compare_with(
        &self,
        prediction: &Prediction,
        next: Option<SystemTime>,
        hosts: &[AuditEvent],
        others: &[AuditEvent],
    ) -> Vec<String> {
        let (begun, told) = prediction.looked;
        if hosts.iter().any(|event| event.timestamp >= begun && event.received <= told) {
            println!("{}: nothing is compared, as the host was at work", self.test);
            return Vec::new();
        }
        let until = next.into_iter().chain(prediction.until(others)).min();
        // A conflict is made good, or it stands.
        let done = hosts.iter().filter(|event| event.received > told && event.code != 409);
        let early = done.clone().filter(|event| until.is_none_or(|until| event.received < until));
        let [done, early] = [first(&self.test, done.filter_map(Step::done)), first(&self.test, early.filter_map(Step::done))];
        let (mut wrong, mut left) = (Vec::new(), Vec::new());
        for (object, verb) in &prediction.first {
            match done.get(object) {
                Some(done) if done == verb => {}
                // The real server does not know the name of what it could not read.
                _ if verb == REFUSED && done.contains_key(&(object.0.clone(), object.1.clone(), String::new())) => {}
                // Nothing need be sent to be refused.
                None if verb == REFUSED => {}
                // Whether it was to be created or changed is not known of what was refused, or
                // never answered.
                Some(done) if done != REFUSED => {
                    wrong.push(format!("{}: {verb} was previewed, and {done} was done", named(object)))
                }
                _ => left.push(format!("{}: {verb} was previewed, and not done", named(object))),
            }
        }
        let count = prediction.first.len();
        println!("{}: {} of {count} objects as previewed; {left:?}", self.test, count - wrong.len() - left.len());
        if self.files() == prediction.files {
            let not_previewed =
                early.iter().filter(|(object, _)| !object.2.is_empty() && !prediction.first.contains_key(*object));
            wrong.extend(not_previewed.map(|(object, verb)| format!("{}: {verb} was done, and not previewed", named(object))));
            if until.is_none() && self.is_at_rest.load(Ordering::Relaxed) {
                wrong.append(&mut left);
            }
        }
        wrong
    }
}

impl Prediction {
    /// When somebody else changed something, besides what was to be applied.
    fn until(&self, others: &[AuditEvent]) -> Option<SystemTime> {
        let mut applied = self.applied.clone();
        let changes = others.iter().filter(|event| event.received > self.looked.1 && event.succeeded());
        let mut unforeseen =
            changes.filter(|event| !applied.remove(&(event.resource.clone(), event.namespace.clone(), event.name.clone())));
        unforeseen.next().map(|event| event.received)
    }
}

fn is_among(tests: &[(&str, &str)], test: &str) -> bool {
    tests.iter().any(|(other, _)| *other == test)
}

/// The plan that `gyre` prints with these arguments, or why it prints none.
fn plan(arguments: &[String]) -> Result<Vec<Step>, String> {
    let output = Command::new(GYRE).args(arguments).output().expect("gyre runs");
    match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(rendered) => Ok(rendered["plan"].as_array().expect("a plan").iter().map(Step::of_plan).collect()),
        Err(_) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Returns whether a namespace belongs to a test: its name begins with the test's.
fn is_of(test: &str, namespace: &str) -> bool {
    namespace.strip_prefix(test).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn named((resource, namespace, name): &Object) -> String {
    format!("{resource} {namespace}/{name}")
}

/// Returns whether an object of this name belongs to the deployment: it is the inventory, or the
/// Secret with the key of digests, which render does not have.
fn is_of_deployment(name: &str) -> bool {
    ["-inventory", "-digests"].iter().any(|suffix| name.ends_with(suffix))
}

/// Returns the first action on each object in the test's namespaces, without events and objects of
/// the deployment.
fn first(test: &str, steps: impl Iterator<Item = Step>) -> BTreeMap<Object, String> {
    let mut first = BTreeMap::new();
    let is_compared = |step: &Step| step.verb != "event" && is_of(test, &step.namespace) && !is_of_deployment(&step.name);
    for step in steps.filter(is_compared) {
        first.entry((step.resource, step.namespace, step.name)).or_insert(step.verb);
    }
    first
}

impl Drop for PreviewCheck {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let wrong = self.compare();
        assert!(wrong.is_empty(), "{}: the host did not do what `gyre render` previewed:\n{}", self.test, wrong.join("\n"));
    }
}

#[test]
fn what_a_host_does_otherwise_than_was_previewed_is_noticed() {
    let Some(cluster) = Cluster::for_test(MISTOLD, &[MISTOLD]) else { return };
    if cluster.audit_mark().is_none() {
        return;
    }
    let metadata = json!({ "name": "it", "namespace": "mistold" });
    let spec = json!({ "message": "hello" });
    cluster.apply_all(&[json!({ "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "metadata": metadata, "spec": spec })]);
    let mut host = cluster.host(&[gyre_artifacts::ECHO], &["mistold"]);
    cluster.ready("mistold", "echo", "it");
    cluster.settled(&host);
    let preview_check = host.preview_check.take().expect("a preview check");
    preview_check.rest();
    drop(host);
    let object = |kind: &str| (kind.to_owned(), "mistold".to_owned(), "it".to_owned());
    let preview = |first: &[(&str, &str)]| {
        let first = first.iter().map(|(resource, verb)| (object(resource), (*verb).to_owned()));
        preview_check.predictions.lock()[0].first = first.collect();
    };
    let right = [("jobs", "create"), ("echos", "status")];
    assert_eq!(preview_check.predictions.lock()[0].first.len(), right.len());
    assert_eq!(preview_check.compare(), [] as [&str; 0]);
    preview(&right);
    assert_eq!(preview_check.compare(), [] as [&str; 0], "it was as here");
    preview(&[("jobs", "update"), ("echos", "status")]);
    assert_eq!(preview_check.compare(), ["jobs mistold/it: update was previewed, and create was done"]);
    preview(&[("echos", "status")]);
    assert_eq!(preview_check.compare(), ["jobs mistold/it: create was done, and not previewed"]);
    preview(&right);
}
