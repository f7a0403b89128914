//! The actions of a host until it converged, or until it was clear that it never does.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_engine::difference::without_bookkeeping;
use gyre_engine::record::CallRecord;
use serde_json::{Value, json};

use crate::call_log::parent_of;
use crate::plan::{Action, Subject, Verb};

/// The actions of a host, and the resulting parents.
pub struct HostRun {
    /// The actions, in order.
    pub actions: Vec<Action>,
    /// Whether it converged.
    pub end: End,
    /// The requeues that the plugin requested.
    pub requeues: RequeueTimes,
    /// The resulting parents.
    pub parents: Vec<Value>,
}

/// The parents whose last call requested a requeue, and the delay of it.
#[derive(Clone, Debug, Default)]
pub struct RequeueTimes(BTreeMap<Subject, Duration>);

impl RequeueTimes {
    /// Records what a call requested.
    pub fn record_call(&mut self, call: &CallRecord) {
        let time = call.answer.result.as_ref().ok().and_then(|response| response.requeue_after);
        if self.0.is_empty() && time.is_none() {
            return;
        }
        let parent = parent_of(call);
        match time {
            Some(time) => self.0.insert(parent, time),
            None => self.0.remove(&parent),
        };
    }

    /// Each parent with the delay until its next reconcile.
    pub fn iter(&self) -> impl Iterator<Item = (&Subject, Duration)> {
        self.0.iter().map(|(parent, time)| (parent, *time))
    }

    /// The delay of this parent, if a requeue is due.
    pub fn of(&self, parent: &Subject) -> Option<Duration> {
        self.0.get(parent).copied()
    }
}

/// Rounds a delay to what some milliseconds of latency do not change.
fn without_latency(delay: Duration) -> Duration {
    let step = match delay.as_secs() {
        0 => return delay,
        1..10 => Duration::from_millis(100),
        _ => Duration::from_secs(1),
    };
    let steps = delay.saturating_add(step / 2).as_millis() / step.as_millis();
    u32::try_from(steps).map_or(delay, |steps| step * steps)
}

/// How the run of a host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The host stopped writing.
    Converged,
    /// The host never stops writing.
    NonConverging,
}

impl HostRun {
    /// The children as they were last written, in the order in which they were first written.
    pub fn children(&self) -> Vec<&Value> {
        let mut children: Vec<&Action> = Vec::new();
        let parents: Vec<_> = self.parents.iter().map(Subject::of).collect();
        for action in &self.actions {
            let is_written = matches!(action.verb, Verb::Create | Verb::Update) && action.refusal.is_none();
            if !is_written || parents.contains(&action.subject) {
                continue;
            }
            match children.iter_mut().find(|child| child.subject == action.subject) {
                Some(child) => *child = action,
                None => children.push(action),
            }
        }
        children.into_iter().map(|action| &action.object).collect()
    }

    pub(crate) fn statuses(&self) -> Vec<Value> {
        let of = |parent: &Value| {
            let subject = Subject::of(parent);
            let status = parent.get("status").cloned().unwrap_or_default();
            let mut status = json!({ "object": subject.to_string(), "status": status });
            if let (Some(time), Some(fields)) = (self.requeues.of(&subject), status.as_object_mut()) {
                fields.insert("again".to_owned(), Value::from(format!("in {:?}", without_latency(time))));
            }
            if let (Some(own), Some(fields)) = (self.own_fields(&subject), status.as_object_mut()) {
                fields.insert("fields".to_owned(), own);
            }
            status
        };
        self.parents.iter().map(of).collect()
    }

    /// The fields of a parent that the plugin has set last, if there are some.
    fn own_fields(&self, parent: &Subject) -> Option<Value> {
        let is_it = |action: &&Action| action.verb == Verb::Update && action.subject == *parent && action.refusal.is_none();
        let mut fields = without_bookkeeping(self.actions.iter().rev().find(is_it)?.object.clone());
        let object = fields.as_object_mut()?;
        object.retain(|field, _| !matches!(field.as_str(), "apiVersion" | "kind"));
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|field, _| !matches!(field.as_str(), "name" | "namespace" | "uid"));
            if metadata.is_empty() {
                object.remove("metadata");
            }
        }
        (!object.is_empty()).then_some(fields)
    }

    /// The refused requests and the Warning events.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &Action> {
        self.actions.iter().filter(|action| action.refusal.is_some() || is_warning(action))
    }

    /// Returns whether the host did all that the plugin wants: it converged, nothing was refused,
    /// and no parent is stalled or waits for another attempt.
    pub(crate) fn is_complete(&self) -> bool {
        let of_type = |parent: &'_ Value, kinds: &[&str]| {
            let conditions = parent.pointer("/status/conditions").and_then(Value::as_array);
            conditions.into_iter().flatten().any(|condition| {
                let is = |field: &str, values: &[&str]| {
                    condition.get(field).and_then(Value::as_str).is_some_and(|value| values.contains(&value))
                };
                is("type", kinds) && (kinds.contains(&"Ready") || is("status", &["True"]))
            })
        };
        // The host writes no conditions to Kubernetes' own kinds, only events.
        let lacks_conditions = |parent: &Value| !of_type(parent, &["Ready"]);
        let is_warned = |parent: &Value| {
            let subject = Subject::of(parent);
            self.actions.iter().any(|action| is_warning(action) && action.subject == subject)
        };
        let is_stuck =
            |parent: &Value| of_type(parent, &["Stalled", "Reconciling"]) || (lacks_conditions(parent) && is_warned(parent));
        let is_refused = self.actions.iter().any(|action| action.refusal.is_some());
        self.end == End::Converged && !is_refused && !self.parents.iter().any(is_stuck)
    }

    /// The complete result, for people and golden files. Delays are rounded, because a delay until
    /// a time of day depends on the latency of the requests before the call.
    pub fn summary(&self) -> Value {
        let plan: Vec<String> = self.actions.iter().map(|action| action.to_string()).collect();
        let mut summary = json!({ "plan": plan, "children": self.children(), "parents": self.statuses() });
        if self.end == End::NonConverging
            && let Some(fields) = summary.as_object_mut()
        {
            fields.insert("rests".to_owned(), Value::from(false));
        }
        summary
    }
}

fn is_warning(action: &Action) -> bool {
    action.verb == Verb::Event && action.object.get("type").is_some_and(|kind| kind == "Warning")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_warnings_is_complete_unless_something_was_refused_or_a_parent_is_stuck() {
        let parent = |conditions: &Value| {
            let metadata = json!({ "name": "it", "namespace": "default" });
            json!({ "apiVersion": "example.com/v1", "kind": "It", "metadata": metadata, "status": { "conditions": conditions } })
        };
        let warning = |refusal: Option<&str>| Action {
            verb: Verb::Event,
            subject: Subject::of(&parent(&Value::Null)),
            object: json!({ "type": "Warning" }),
            states: [Value::Null, Value::Null],
            refusal: refusal.map(str::to_owned),
        };
        let check = |actions: Vec<Action>, conditions: &Value, warnings: usize, is_complete: bool| {
            let parents = vec![parent(conditions)];
            let run = HostRun { actions, end: End::Converged, requeues: RequeueTimes::default(), parents };
            assert_eq!((run.warnings().count(), run.is_complete()), (warnings, is_complete), "{conditions}");
        };
        let ready = json!([{ "type": "Ready", "status": "True" }]);
        check(vec![], &ready, 0, true);
        check(vec![warning(None)], &ready, 1, true);
        check(vec![warning(Some("no"))], &ready, 1, false);
        check(vec![], &json!([{ "type": "Ready", "status": "False" }]), 0, true);
        check(vec![], &json!([{ "type": "Ready", "status": "False" }, { "type": "Stalled", "status": "True" }]), 0, false);
        // Only an event says what is wrong with an object of Kubernetes.
        check(vec![], &Value::Null, 0, true);
        check(vec![warning(None)], &Value::Null, 1, false);
    }

    #[test]
    fn delays_are_shown_without_latency() {
        let shown = |milliseconds| format!("{:?}", without_latency(Duration::from_millis(milliseconds)));
        for (milliseconds, expected) in [
            (5, "5ms"),
            (999, "999ms"),
            (1_493, "1.5s"),
            (9_993, "10s"),
            (54_993, "55s"),
            (60_000, "60s"),
            (3_599_507, "3600s"),
        ] {
            assert_eq!(shown(milliseconds), expected);
        }
        assert_eq!(without_latency(Duration::MAX), Duration::MAX);
    }
}
