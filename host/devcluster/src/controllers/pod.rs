//! Runs Pods: a scheduler with one node, and its kubelet. Containers only let time pass, as
//! annotations of the Pod say: `devcluster.gyre.dev/run-for: 5s`, and `devcluster.gyre.dev/fail`
//! with `"true"` or an exit code.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::json::{integer, list, seconds, text, time, with};
use super::{Component, Intent, JOBS, PODS, Step, Then, Write, controller_of, job, without_finalizer};
use crate::duration;
use crate::kinds::Subresource;
use crate::object;
use crate::store::{Key, Store};

const NODE: &str = "devcluster";
const NODE_ADDRESS: &str = "127.0.0.1";

/// The delay of the first restart of a container. Each restart doubles it, up to the limit.
const FIRST_RESTART_SECONDS: i64 = 10;
const LAST_RESTART_SECONDS: i64 = 300;

/// 128 + SIGTERM, the exit code of a container that was asked to terminate.
const TERMINATED: i64 = 143;

#[derive(Debug)]
pub(super) struct Kubelet {
    run_time: Option<SignedDuration>,
    /// The start of containers, more exactly than in their status.
    running: BTreeMap<Arc<str>, Timestamp>,
    addresses: u16,
}

impl Kubelet {
    pub(super) fn new(run_time: Option<Duration>) -> Self {
        let run_time = run_time.map(|time| SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX));
        Self { run_time, running: BTreeMap::new(), addresses: 0 }
    }

    pub(super) fn forget(&mut self, uid: &str) {
        self.running.remove(uid);
    }

    pub(super) fn started(&mut self, uid: Arc<str>, now: Timestamp) {
        self.running.insert(uid, now);
    }

    pub(super) fn sync(&mut self, store: &Store, key: &Key, now: Timestamp) -> Step {
        let Some(stored) = store.get(&PODS, key) else { return Step::default() };
        let pod = &stored.value;
        if is_orphan_of_job(store, pod) {
            return Step::of(vec![Intent::update(&PODS, without_finalizer(pod, job::TRACKING))]);
        }
        let Some(run_time) = self.run_time else { return Step::default() };
        let node = text(pod, "/spec/nodeName");
        let phase = text(pod, "/status/phase");
        let is_over = matches!(phase, "Succeeded" | "Failed");
        if node.is_empty() && !object::is_deleting(pod) && !is_over && list(pod, "/spec/schedulingGates").is_empty() {
            let uid = object::uid(pod).unwrap_or_default().to_owned();
            return Step::of(vec![Intent::new(Write::Bind { key: key.clone(), uid, node: NODE }).by(Component::Scheduler)]);
        }
        if node != NODE {
            return Step::default();
        }
        match (object::is_deleting(pod), phase) {
            (true, _) if !is_over => Step::of(vec![status(pod, ended(pod, TERMINATED, now))]),
            (true, _) if integer(pod, "/metadata/deletionGracePeriodSeconds") != Some(0) => Step::of(vec![
                Intent::new(Write::Delete {
                    resource: PODS.clone(),
                    key: key.clone(),
                    uid: object::uid(pod).unwrap_or_default().to_owned(),
                    resource_version: None,
                    propagation: None,
                    grace: Some(0),
                })
                .by(Component::Kubelet),
            ]),
            (true, _) => Step::default(),
            (false, "Running") => self.run(pod, run_time, now),
            (false, "Pending" | "") => Step::of(vec![self.start(pod, now)]),
            (false, _) => Step::default(),
        }
    }

    fn start(&mut self, pod: &Value, now: Timestamp) -> Intent {
        let address = match text(pod, "/status/podIP") {
            "" => {
                self.addresses = self.addresses.wrapping_add(1);
                let [high, low] = self.addresses.to_be_bytes();
                format!("10.244.{high}.{low}")
            }
            address => address.to_owned(),
        };
        let uid: Arc<str> = object::uid(pod).unwrap_or_default().into();
        let mut new = pod.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
        new.insert("phase".to_owned(), Value::from("Running"));
        new.insert("hostIP".to_owned(), Value::from(NODE_ADDRESS));
        new.insert("hostIPs".to_owned(), json!([{ "ip": NODE_ADDRESS }]));
        new.insert("podIP".to_owned(), Value::from(address.as_str()));
        new.insert("podIPs".to_owned(), json!([{ "ip": address }]));
        new.entry("startTime").or_insert_with(|| Value::from(seconds(now)));
        set_containers(&mut new, pod, &|container, old| {
            let mut new = container_status(pod, container, old, json!({ "running": { "startedAt": seconds(now) } }));
            set(&mut new, "ready", Value::from(true));
            set(&mut new, "started", Value::from(true));
            new
        });
        set_conditions(&mut new, pod, Readiness::Ready, now);
        status(pod, new).then(Then::Started(uid))
    }

    /// Ends containers after their run time, and restarts failed ones.
    fn run(&mut self, pod: &Value, run_time: SignedDuration, now: Timestamp) -> Step {
        let policy = text(pod, "/spec/restartPolicy");
        if policy == "Always" || policy.is_empty() {
            return Step::default();
        }
        if let Some(restart) = restart_at(pod) {
            return match restart <= now {
                true => Step::of(vec![self.start(pod, now)]),
                false => Step { again: Some(restart), ..Step::default() },
            };
        }
        let run_time = annotation(pod, "run-for").and_then(duration::parse).unwrap_or(run_time);
        let recorded = time(pod, "/status/containerStatuses/0/state/running/startedAt").or(time(pod, "/status/startTime"));
        let uid = object::uid(pod).unwrap_or_default();
        let started = self.running.get(uid).copied().or(recorded).unwrap_or(now);
        let end = started.checked_add(run_time).unwrap_or(Timestamp::MAX);
        if end > now {
            return Step { again: Some(end), ..Step::default() };
        }
        match exit_code(pod) {
            code if code != 0 && policy == "OnFailure" => Step::of(vec![status(pod, crashed(pod, code, now))]),
            code => Step::of(vec![status(pod, ended(pod, code, now))]),
        }
    }
}

fn is_orphan_of_job(store: &Store, pod: &Value) -> bool {
    if !object::finalizers(pod).any(|finalizer| finalizer == job::TRACKING) {
        return false;
    }
    let Some(controller) = controller_of(pod) else { return true };
    if object::text(controller, "kind") != "Job" || object::text(controller, "apiVersion") != "batch/v1" {
        return false;
    }
    let key = Key::new(object::namespace(pod), object::text(controller, "name"));
    match store.get(&JOBS, &key) {
        Some(owner) if object::uid(&owner.value) == controller.get("uid").and_then(Value::as_str) => {
            job::is_finished(&owner.value) && !job::is_managed_elsewhere(&owner.value)
        }
        _ => true,
    }
}

fn annotation<'a>(pod: &'a Value, name: &str) -> Option<&'a str> {
    pod.get("metadata")?.get("annotations")?.get(format!("devcluster.gyre.dev/{name}"))?.as_str()
}

fn exit_code(pod: &Value) -> i64 {
    match annotation(pod, "fail") {
        Some("true") => 1,
        Some(code) => code.parse().unwrap_or_default(),
        None => 0,
    }
}

fn restart_at(pod: &Value) -> Option<Timestamp> {
    let first = list(pod, "/status/containerStatuses").first().filter(|status| status.pointer("/state/waiting").is_some())?;
    let restarts = u32::try_from(integer(first, "/restartCount").unwrap_or_default().clamp(1, 10) - 1).unwrap_or_default();
    let wait = FIRST_RESTART_SECONDS.saturating_mul(2_i64.saturating_pow(restarts)).min(LAST_RESTART_SECONDS);
    let ended = time(first, "/lastState/terminated/finishedAt")?;
    Some(super::json::later(ended, wait))
}

fn ended(pod: &Value, code: i64, now: Timestamp) -> Map<String, Value> {
    let mut new = pod.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    new.insert("phase".to_owned(), Value::from(if code == 0 { "Succeeded" } else { "Failed" }));
    set_containers(&mut new, pod, &|container, old| {
        let mut new =
            container_status(pod, container, old, json!({ "terminated": terminated(pod, container, old, code, now) }));
        set(&mut new, "ready", Value::from(false));
        set(&mut new, "started", Value::from(false));
        new
    });
    set_conditions(&mut new, pod, if code == 0 { Readiness::Completed } else { Readiness::Failed }, now);
    new
}

/// Returns the status after the containers have failed and before they restart.
fn crashed(pod: &Value, code: i64, now: Timestamp) -> Map<String, Value> {
    let mut new = pod.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    set_containers(&mut new, pod, &|container, old| {
        let name = object::text(container, "name");
        let waiting =
            json!({ "reason": "CrashLoopBackOff", "message": format!("back-off restarting failed container={name}") });
        let mut new = container_status(pod, container, old, json!({ "waiting": waiting }));
        let restarts = old.and_then(|old| integer(old, "/restartCount")).unwrap_or_default().saturating_add(1);
        set(&mut new, "lastState", json!({ "terminated": terminated(pod, container, old, code, now) }));
        set(&mut new, "restartCount", Value::from(restarts));
        set(&mut new, "ready", Value::from(false));
        set(&mut new, "started", Value::from(false));
        new
    });
    set_conditions(&mut new, pod, Readiness::NotReady, now);
    new
}

fn terminated(pod: &Value, container: &Value, old: Option<&Value>, code: i64, now: Timestamp) -> Value {
    let started = old.map(|old| text(old, "/state/running/startedAt")).filter(|text| !text.is_empty());
    json!({
        "exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" }, "containerID": container_id(pod, container),
        "startedAt": started.map_or_else(|| seconds(now), str::to_owned), "finishedAt": seconds(now),
    })
}

fn container_id(pod: &Value, container: &Value) -> String {
    format!("devcluster://{}/{}", object::uid(pod).unwrap_or_default(), object::text(container, "name"))
}

fn container_status(pod: &Value, container: &Value, old: Option<&Value>, state: Value) -> Value {
    let image = object::text(container, "image");
    json!({
        "name": object::text(container, "name"), "image": image, "imageID": image, "containerID": container_id(pod, container),
        "restartCount": old.and_then(|old| integer(old, "/restartCount")).unwrap_or_default(),
        "lastState": old.and_then(|old| old.get("lastState")).cloned().unwrap_or_else(|| json!({})), "state": state,
    })
}

/// Sets the statuses of the containers. Init containers have finished at once.
fn set_containers(status: &mut Map<String, Value>, pod: &Value, make: &dyn Fn(&Value, Option<&Value>) -> Value) {
    let old = |list: &[Value], name: &str| list.iter().find(|status| object::text(status, "name") == name).cloned();
    let made = |containers: &[Value], statuses: &[Value], make: &dyn Fn(&Value, Option<&Value>) -> Value| {
        let made = containers.iter().map(|container| make(container, old(statuses, object::text(container, "name")).as_ref()));
        Value::Array(made.collect())
    };
    let containers = made(list(pod, "/spec/containers"), list(pod, "/status/containerStatuses"), make);
    status.insert("containerStatuses".to_owned(), containers);
    let init = list(pod, "/spec/initContainers");
    if !init.is_empty() {
        let completed = |container: &Value, old: Option<&Value>| match old {
            _ if object::text(container, "restartPolicy") == "Always" => make(container, old),
            Some(old) => old.clone(),
            None => {
                let time = text(pod, "/metadata/creationTimestamp").parse().unwrap_or_default();
                let state = json!({ "terminated": terminated(pod, container, None, 0, time) });
                let mut new = container_status(pod, container, None, state);
                set(&mut new, "ready", Value::from(true));
                set(&mut new, "started", Value::from(false));
                new
            }
        };
        let statuses = made(init, list(pod, "/status/initContainerStatuses"), &completed);
        status.insert("initContainerStatuses".to_owned(), statuses);
    }
}

fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value);
    }
}

#[derive(Clone, Copy)]
enum Readiness {
    Ready,
    NotReady,
    Completed,
    Failed,
}

fn set_conditions(status: &mut Map<String, Value>, pod: &Value, readiness: Readiness, now: Timestamp) {
    let names = || {
        let names = list(pod, "/spec/containers").iter().map(|container| object::text(container, "name"));
        names.collect::<Vec<_>>().join(" ")
    };
    let unready = match readiness {
        Readiness::Ready => None,
        Readiness::NotReady => Some(("ContainersNotReady", Some(format!("containers with unready status: [{}]", names())))),
        Readiness::Completed => Some(("PodCompleted", None)),
        Readiness::Failed => Some(("PodFailed", None)),
    };
    let has_ended = matches!(readiness, Readiness::Completed | Readiness::Failed);
    let generation = integer(pod, "/metadata/generation").unwrap_or(1);
    let mut conditions = Vec::new();
    for kind in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"] {
        let (value, why) = match kind {
            "PodReadyToStartContainers" => (!has_ended, None),
            "Initialized" if matches!(readiness, Readiness::Completed) => (true, Some(("PodCompleted", None))),
            "Ready" | "ContainersReady" => (unready.is_none(), unready.clone()),
            _ => (true, None),
        };
        let value = if value { "True" } else { "False" };
        let old = super::json::condition(pod, kind).filter(|old| object::text(old, "status") == value);
        let since = old.map(|old| object::text(old, "lastTransitionTime")).filter(|text| !text.is_empty());
        let mut condition = json!({
            "type": kind, "status": value, "lastProbeTime": null, "observedGeneration": generation,
            "lastTransitionTime": since.map_or_else(|| seconds(now), str::to_owned),
        });
        if let Some((reason, message)) = why {
            set(&mut condition, "reason", Value::from(reason));
            if let Some(message) = message {
                set(&mut condition, "message", Value::from(message));
            }
        }
        conditions.push(condition);
    }
    status.insert("conditions".to_owned(), Value::Array(conditions));
    status.insert("observedGeneration".to_owned(), Value::from(generation));
}

fn status(pod: &Value, status: Map<String, Value>) -> Intent {
    let object = with(pod, "status", Value::Object(status));
    let write = Write::Update { resource: PODS.clone(), subresource: Some(Subresource::Status), object };
    Intent::new(write).by(Component::Kubelet)
}
