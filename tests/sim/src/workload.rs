//! What people and other controllers do to the cluster in a simulation, drawn from its seed; and what must be true at its end.

use std::time::Duration;

use gyre_devcluster::random::Random;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// How many things happen between two restarts.
const ACTIONS: u64 = 30;
const NAMESPACES: [&str; 2] = ["default", "team-a"];

/// Somebody who works with the cluster, without faults.
pub struct Workload {
    client: Client,
    random: Random,
}

impl Workload {
    /// What follows from `seed`.
    pub fn new(client: Client, seed: u64) -> Self {
        // Not the sequence that the cluster draws from.
        Self { client, random: Random::new(seed ^ 0x5eed) }
    }

    /// Installs the CRDs and makes the namespaces.
    pub async fn install(&self, crds: &[Value]) {
        let definitions = self.api("", "apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions");
        for crd in crds {
            let crd: DynamicObject = serde_json::from_value(crd.clone()).expect("a CRD");
            definitions.create(&PostParams::default(), &crd).await.expect("a CRD is created");
        }
        let namespaces = self.api("", "", "Namespace", "namespaces");
        for name in NAMESPACES.iter().filter(|name| **name != "default") {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            let namespace = serde_json::from_value(namespace).expect("a namespace");
            namespaces.create(&PostParams::default(), &namespace).await.expect("a namespace is created");
        }
    }

    /// How often the host is killed.
    pub fn restarts(&mut self) -> u64 {
        self.random.below(3)
    }

    /// Does things, with pauses.
    pub async fn act(&mut self) {
        for _ in 0..ACTIONS {
            let namespace = NAMESPACES[self.pick(NAMESPACES.len())];
            let name = format!("echo-{}", self.random.below(6));
            let text = format!("message {}", self.random.below(4));
            match self.random.below(10) {
                0..=2 => self.apply(namespace, "Echo", &name, json!({ "message": text })).await,
                3..=5 => {
                    // None comes due while the simulation lasts: what a CronJob starts is no fault of the host.
                    let schedule = format!("{} 0 1 6 *", self.random.below(60));
                    self.apply(namespace, "ScheduledEcho", &name, json!({ "message": text, "schedule": schedule })).await;
                }
                6 => self.delete(&self.echos(namespace), &name).await,
                7 => self.delete(&self.scheduled_echos(namespace), &name).await,
                8 => self.delete(&self.jobs(namespace), &name).await,
                _ => self.edit_cron_job(namespace, &name).await,
            }
            let pause = match self.random.below(3) {
                0 => Duration::ZERO,
                1 => Duration::from_millis(self.random.below(500)),
                _ => Duration::from_millis(self.random.below(30_000)),
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// What is wrong, and what there is, in a form that does not depend on the order of things.
    pub async fn judge(&self) -> (Vec<String>, Vec<String>) {
        let (mut wrongs, mut end) = (Vec::new(), Vec::new());
        for namespace in NAMESPACES {
            let echos = list(&self.echos(namespace)).await;
            let jobs = list(&self.jobs(namespace)).await;
            self.judge_echos(&echos, &jobs, &mut wrongs);
            let scheduled = list(&self.scheduled_echos(namespace)).await;
            let cron_jobs = list(&self.cron_jobs(namespace)).await;
            for parent in &scheduled {
                let child = cron_jobs.iter().find(|child| *owner(child) == parent["metadata"]["uid"]);
                let Some(child) = child else {
                    wrongs.push(format!("{} has no CronJob", say(parent)));
                    continue;
                };
                if child["spec"]["schedule"] != parent["spec"]["schedule"] {
                    wrongs.push(format!("{} has the CronJob of another schedule", say(parent)));
                }
                let command = &child["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"];
                if *command != json!(["echo", parent["spec"]["message"]]) {
                    wrongs.push(format!("{} has the CronJob of another message", say(parent)));
                }
                judge_status(parent, true, &mut wrongs);
                end.push(format!("{} {} {command}", say(parent), child["spec"]["schedule"]));
            }
            for (children, parents) in [(&jobs, &echos), (&cron_jobs, &scheduled)] {
                for child in children.iter().filter(|child| child["metadata"]["labels"]["gyre.dev/plugin"].is_string()) {
                    if !parents.iter().any(|parent| parent["metadata"]["uid"] == *owner(child)) {
                        wrongs.push(format!("{} outlived its owner", say(child)));
                    }
                }
            }
            end.extend(echos.iter().map(say));
        }
        end.sort_unstable();
        (wrongs, end)
    }

    fn judge_echos(&self, echos: &[Value], jobs: &[Value], wrongs: &mut Vec<String>) {
        for echo in echos {
            let job = jobs.iter().find(|job| *owner(job) == echo["metadata"]["uid"]);
            let is_finished = echo["status"]["finished"]["uid"] == echo["metadata"]["uid"];
            match job {
                None if !is_finished => wrongs.push(format!("{} has no Job, and its Job never finished", say(echo))),
                _ => {}
            }
            // A Job of an earlier message stays, and the Echo says so.
            judge_status(echo, false, wrongs);
        }
    }

    async fn apply(&self, namespace: &str, kind: &str, name: &str, spec: Value) {
        let api = if kind == "Echo" { self.echos(namespace) } else { self.scheduled_echos(namespace) };
        let object = json!({ "apiVersion": "mmontes.io/v1alpha1", "kind": kind, "metadata": { "name": name }, "spec": spec });
        api.patch(name, &PatchParams::apply("somebody").force(), &Patch::Apply(&object)).await.expect("applied");
    }

    async fn delete(&self, api: &Api<DynamicObject>, name: &str) {
        match api.delete(name, &DeleteParams::background()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("deleted: {error}"),
        }
    }

    async fn edit_cron_job(&self, namespace: &str, name: &str) {
        let patch = json!({ "spec": { "schedule": "0 0 1 7 *" } });
        match self.cron_jobs(namespace).patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("edited: {error}"),
        }
    }

    fn pick(&mut self, length: usize) -> usize {
        usize::try_from(self.random.below(length as u64)).expect("an index")
    }

    fn echos(&self, namespace: &str) -> Api<DynamicObject> {
        self.api(namespace, "mmontes.io", "Echo", "echos")
    }

    fn scheduled_echos(&self, namespace: &str) -> Api<DynamicObject> {
        self.api(namespace, "mmontes.io", "ScheduledEcho", "scheduledechos")
    }

    fn jobs(&self, namespace: &str) -> Api<DynamicObject> {
        self.api(namespace, "batch", "Job", "jobs")
    }

    fn cron_jobs(&self, namespace: &str) -> Api<DynamicObject> {
        self.api(namespace, "batch", "CronJob", "cronjobs")
    }

    fn api(&self, namespace: &str, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let version = if group == "mmontes.io" { "v1alpha1" } else { "v1" };
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }
}

async fn list(api: &Api<DynamicObject>) -> Vec<Value> {
    let list = api.list(&ListParams::default()).await.expect("a list");
    list.items.into_iter().map(|item| serde_json::to_value(item).expect("JSON")).collect()
}

fn owner(child: &Value) -> &Value {
    &child["metadata"]["ownerReferences"][0]["uid"]
}

fn say(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let kind = object["kind"].as_str().or(object["types"]["kind"].as_str()).unwrap_or("object");
    format!("{kind} {}/{}", text("namespace"), text("name"))
}

fn judge_status(parent: &Value, must_be_ready: bool, wrongs: &mut Vec<String>) {
    if parent["status"]["observedGeneration"] != parent["metadata"]["generation"] {
        wrongs.push(format!("{} has the status of another generation: {}", say(parent), parent["status"]));
    }
    let conditions = parent["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
    match ready {
        None => wrongs.push(format!("{} does not say whether it is Ready", say(parent))),
        Some(ready) if must_be_ready && ready["status"] != "True" => {
            wrongs.push(format!("{} is not Ready: {ready}", say(parent)))
        }
        Some(_) => {}
    }
}
