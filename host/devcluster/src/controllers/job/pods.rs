use jiff::Timestamp;
use serde_json::{Value, json};

use super::{COMPLETION_INDEX, Creation, Indexes, Sync, TRACKING, completion_index, is_indexed, is_tracked, length};
use crate::controllers::event::Severity;
use crate::controllers::json::{has_condition, integer, text};
use crate::controllers::{Intent, PODS, Then, Write, controller_reference, without_finalizer};
use crate::object;

const PODS_AT_ONCE: usize = 500;

/// The longest `generateName` that is not shortened for the suffix.
const LONGEST_PREFIX: usize = 58;

pub(super) enum Managed {
    Change(Vec<Intent>),
    Enough { again: Option<Timestamp> },
}

impl Sync<'_> {
    pub(super) fn manage(&self, active: Vec<&Value>) -> Managed {
        let running = active.len();
        if self.is_suspended() {
            return self.remove(active, running);
        }
        let parallelism = integer(self.job, "/spec/parallelism").unwrap_or(1);
        let wanted = match self.completions() {
            None if self.succeeded > 0 => length(&active),
            None => parallelism,
            Some(completions) => completions.saturating_sub(self.succeeded).min(parallelism),
        };
        let wanted = usize::try_from(wanted).unwrap_or_default();
        if let Managed::Change(intents) = self.remove(active.clone(), running.saturating_sub(wanted)) {
            return Managed::Change(intents);
        }
        let terminating = if self.replaces_only_failed() { self.terminating() } else { Vec::new() };
        let missing = wanted.saturating_sub(running).saturating_sub(terminating.len()).min(PODS_AT_ONCE);
        if missing == 0 || self.creation == Creation::Held {
            return Managed::Enough { again: None };
        }
        if let Some(until) = self.backoff.until().filter(|until| *until > self.now) {
            return Managed::Enough { again: Some(until) };
        }
        let creations: Vec<Intent> = match &self.indexes {
            Some((_, succeeded)) => {
                let taken = active.iter().chain(&terminating).filter_map(|pod| completion_index(pod));
                let free = succeeded.with(taken).missing(self.completions().unwrap_or_default(), missing);
                free.into_iter().map(|index| self.creation(Some(index))).collect()
            }
            None => (0..missing).map(|_| self.creation(None)).collect(),
        };
        if creations.is_empty() { Managed::Enough { again: None } } else { Managed::Change(creations) }
    }

    /// Deletes `excess` Pods, least advanced first, and those without a unique valid index.
    fn remove(&self, mut active: Vec<&Value>, excess: usize) -> Managed {
        active.sort_by_key(|pod| {
            let age = std::cmp::Reverse((text(pod, "/metadata/creationTimestamp"), object::name(pod)));
            let is_scheduled = !text(pod, "/spec/nodeName").is_empty();
            (is_scheduled, text(pod, "/status/phase") == "Running", has_condition(pod, "Ready"), age)
        });
        let (mut removed, mut rest) = (Vec::new(), Vec::new());
        let mut taken = Indexes::default();
        // The most advanced Pod keeps its index.
        for pod in active.into_iter().rev() {
            let index = completion_index(pod).filter(|index| self.has_valid_index(pod) && !taken.contains(*index));
            match index {
                None if is_indexed(self.job) => removed.push(pod),
                None => rest.push(pod),
                Some(index) => {
                    taken = if is_indexed(self.job) { taken.with([index]) } else { taken };
                    rest.push(pod);
                }
            }
        }
        let more = excess.saturating_sub(removed.len());
        removed.extend(rest.into_iter().rev().take(more));
        if removed.is_empty() {
            return Managed::Enough { again: None };
        }
        // These Pods have not failed, so they are not counted.
        let released = |pod: &Value| is_tracked(pod).then(|| Intent::update(&PODS, without_finalizer(pod, TRACKING)));
        let removals =
            removed.into_iter().take(PODS_AT_ONCE).flat_map(|pod| released(pod).into_iter().chain([self.deletion(pod)]));
        Managed::Change(removals.collect())
    }

    fn creation(&self, index: Option<i64>) -> Intent {
        let template = self.job.pointer("/spec/template");
        let part = |pointer: &str| template.and_then(|template| template.pointer(pointer)).cloned();
        let mut labels = part("/metadata/labels").unwrap_or_else(|| json!({}));
        let mut annotations = part("/metadata/annotations").unwrap_or_else(|| json!({}));
        let mut spec = part("/spec").unwrap_or_else(|| json!({}));
        let name = object::name(self.job);
        let mut prefix = format!("{name}-");
        if let Some(index) = index {
            let end = format!("-{index}-");
            let kept = name.len().min(LONGEST_PREFIX.saturating_sub(end.len()));
            prefix = format!("{}{end}", name.get(..kept).unwrap_or(name));
            for fields in [&mut labels, &mut annotations] {
                if let Some(fields) = fields.as_object_mut() {
                    fields.insert(COMPLETION_INDEX.to_owned(), Value::from(index.to_string()));
                }
            }
            set_index_in(&mut spec);
            if let Some(spec) = spec.as_object_mut() {
                spec.insert("hostname".to_owned(), Value::from(format!("{name}-{index}")));
            }
        }
        let mut finalizers = part("/metadata/finalizers").and_then(|list| list.as_array().cloned()).unwrap_or_default();
        if !finalizers.iter().any(|finalizer| finalizer == TRACKING) {
            finalizers.push(Value::from(TRACKING));
        }
        let mut metadata = json!({
            "generateName": prefix, "namespace": object::namespace(self.job), "labels": labels, "finalizers": finalizers,
            "ownerReferences": [controller_reference(self.job)],
        });
        if let Some(metadata) = metadata.as_object_mut().filter(|_| annotations.as_object().is_some_and(|all| !all.is_empty()))
        {
            metadata.insert("annotations".to_owned(), annotations);
        }
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec });
        Intent::new(Write::Create { resource: PODS.clone(), object: pod })
            .then(Then::NamedEvent(self.event(Severity::Normal, "SuccessfulCreate", "Created pod: ")))
            .then(Then::FailureEvent(self.event(Severity::Warning, "FailedCreate", "Error creating: ")))
    }
}

fn set_index_in(spec: &mut Value) {
    const NAME: &str = "JOB_COMPLETION_INDEX";
    for containers in ["containers", "initContainers"] {
        let containers = spec.get_mut(containers).and_then(Value::as_array_mut).into_iter().flatten();
        for environment in containers
            .filter_map(|container| container.as_object_mut()?.entry("env").or_insert_with(|| json!([])).as_array_mut())
        {
            if !environment.iter().any(|variable| object::text(variable, "name") == NAME) {
                let path = format!("metadata.labels['{COMPLETION_INDEX}']");
                environment.push(json!({ "name": NAME, "valueFrom": { "fieldRef": { "fieldPath": path } } }));
            }
        }
    }
}
