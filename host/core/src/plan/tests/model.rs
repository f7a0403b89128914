//! A small model of how the API server executes a plan, and of the faults on the way.

use std::collections::BTreeSet;

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is done, and the host remembers the answer.
    Done,
    /// It is done, but a time-out or a crash loses the answer.
    AnswerLost,
    /// It is not done; nor is either write of a replacement.
    NotSent,
    /// The deletion of a replacement is done and the creation is not; anything else is done.
    Half,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) created: usize,
    pub(super) deleted: usize,
}

impl World {
    /// Executes the plan as the host would, in a cluster of the observed objects only.
    pub(super) fn execute(&mut self, plan: &Plan) {
        self.execute_with(plan, |_| Fate::Done);
    }

    pub(super) fn execute_with(&mut self, plan: &Plan, fate: impl Fn(usize) -> Fate) {
        let makes_list = self.parent.children.is_missing() && self.desired.is_some();
        let listing = self.parent_listing(plan);
        let is_first = |step: &Step| makes_list && matches!(step, Step::Delete { .. });
        let (first, then): (Vec<_>, Vec<_>) = plan.steps.iter().enumerate().partition(|(_, step)| is_first(step));
        if first.iter().any(|(index, _)| fate(*index) == Fate::NotSent) {
            return;
        }
        for (_, step) in first {
            self.carry_out(step, Fate::Done);
        }
        self.parent = listing;
        let mut holds = Holds::default();
        self.held.clear();
        for (index, step) in then {
            if holds.held(step).is_some() {
                self.held.push(step.child().clone());
                continue;
            }
            let end = match fate(index) {
                Fate::NotSent => StepEnd::Failed,
                fate => self.carry_out(step, fate),
            };
            holds.record(step, end);
        }
    }

    fn parent_listing(&self, plan: &Plan) -> Parent {
        let mut parent = self.parent.clone();
        if self.desired.is_some() || !parent.children.is_missing() {
            parent.children = parent.children.union(&self.with_input(|input| child_list(input, plan)));
        }
        parent
    }

    fn carry_out(&mut self, step: &Step, fate: Fate) -> StepEnd {
        // The object of this step is gone: the precondition fails.
        if step.uid().is_some_and(|uid| self.index_of(uid).is_none()) {
            return StepEnd::Gone;
        }
        match step {
            Step::Create { desired } => match self.on_existing(desired) {
                None => self.write(desired, None, fate),
                Some(Existing::Step(step)) => return self.carry_out(&step, fate),
                Some(Existing::Nothing) => {}
                Some(Existing::Wait(_)) => return StepEnd::Waits,
                Some(Existing::Refuse(_)) => return StepEnd::Refused,
            },
            Step::Apply { desired, uid, .. } => self.write(desired, Some(uid), fate),
            Step::Replace { desired, uid, confirm, .. } => {
                if *confirm == Confirm::ByDryRun && self.nothing_has_drifted(desired, uid, fate) {
                    return StepEnd::Done;
                }
                self.delete(uid);
                if fate == Fate::Half || self.live(&desired.child).is_some() {
                    return StepEnd::Waits;
                }
                self.write(desired, None, fate);
            }
            Step::Label { uid, labels, annotations, owner_references, .. } => {
                self.label(uid, &json!({"labels": labels, "annotations": annotations}), owner_references.as_deref());
            }
            Step::Delete { uid, .. } => self.delete(uid),
        }
        if fate == Fate::AnswerLost { StepEnd::Failed } else { StepEnd::Done }
    }

    pub(super) fn live(&self, child: &ObjectRef) -> Option<&Live> {
        let same_kind = |live: &Live| live.kind.group == child.kind.group && live.kind.kind == child.kind.kind;
        self.observed.iter().find(|live| same_kind(live) && live.key == child.key)
    }

    fn on_existing(&self, desired: &Desired) -> Option<Existing> {
        let live = parsed(self.live(&desired.child)?);
        Some(self.with_input(|input| on_existing(input, desired, &live, None, |_| Some(true))))
    }

    /// The steps that write, and do not only read a foreign object.
    pub(super) fn writes(&self, plan: &Plan) -> Vec<Step> {
        let listing = World { parent: self.parent_listing(plan), ..self.clone() };
        let mut holds = Holds::default();
        let mut comes_to_a_write = |step: &&Step| {
            if holds.held(step).is_some() {
                return false;
            }
            let existing = match step {
                Step::Create { desired } => listing.on_existing(desired),
                _ => None,
            };
            let end = match existing {
                Some(Existing::Refuse(_)) => StepEnd::Refused,
                Some(Existing::Wait(_)) => StepEnd::Waits,
                _ => StepEnd::Done,
            };
            holds.record(step, end);
            !matches!(existing, Some(Existing::Nothing | Existing::Wait(_) | Existing::Refuse(_)))
        };
        plan.steps.iter().filter(|step| comes_to_a_write(step)).cloned().collect()
    }

    pub(super) fn converge(&mut self) -> BTreeMap<String, Value> {
        for _ in 0..6 {
            let plan = self.plan();
            let nothing_goes = self.observed.iter().all(|live| !live.json.contains("deletionTimestamp"));
            if nothing_goes && self.writes(&plan).is_empty() {
                return self.state();
            }
            self.execute(&plan);
            self.finish_deletions();
        }
        panic!("{:?} never ends", self.plan());
    }

    pub(super) fn state(&self) -> BTreeMap<String, Value> {
        let state = self.observed.iter().map(|live| {
            let mut object = parsed(live);
            let metadata = object["metadata"].as_object_mut().expect("an object");
            metadata.remove("uid");
            metadata.remove("resourceVersion");
            (name_of(&live.kind, &live.key), object)
        });
        state.collect()
    }

    fn index_of(&self, uid: &str) -> Option<usize> {
        self.observed.iter().position(|live| live.uid == uid)
    }

    fn label(&mut self, uid: &str, metadata: &Value, owner_references: Option<&[Value]>) {
        let Some(index) = self.index_of(uid) else { return };
        let mut object = parsed(&self.observed[index]);
        merge(&mut object, &json!({"metadata": metadata}));
        if let Some(references) = owner_references {
            object["metadata"]["ownerReferences"] = json!(references);
        }
        self.observed[index].json = object.to_string();
    }

    fn delete(&mut self, uid: &str) {
        let Some(index) = self.index_of(uid) else { return };
        let live = &mut self.observed[index];
        let mut object = parsed(live);
        if object["metadata"].get("deletionTimestamp").is_some() {
            return;
        }
        self.counts.entry(name_of(&live.kind, &live.key)).or_default().deleted += 1;
        if object["metadata"].get("finalizers").is_some() {
            object["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
            live.json = object.to_string();
        } else {
            self.observed.remove(index);
        }
    }

    pub(super) fn finish_deletions(&mut self) {
        self.observed.retain(|live| !live.json.contains("deletionTimestamp"));
    }

    /// The object after server-side apply, with some values in the server's notation.
    fn applied(&mut self, desired: &Desired, uid: Option<&str>) -> Value {
        let mut object = match uid.and_then(|uid| self.index_of(uid)) {
            Some(index) => parsed(&self.observed[index]),
            None => {
                self.created += 1;
                json!({"metadata": {"uid": format!("new-{}-{}", self.created, desired.child)}})
            }
        };
        merge(&mut object, &Value::Object(desired.object.clone()));
        object["defaulted"] = json!("by the server");
        object["status"] = json!({"phase": "Active"});
        if object["data"]["quantity"] == "1000m" {
            object["data"]["quantity"] = json!("1");
        }
        object["metadata"]["resourceVersion"] = json!("9");
        object
    }

    fn write(&mut self, desired: &Desired, uid: Option<&str>, fate: Fate) {
        let object = self.applied(desired, uid);
        if uid.is_none() {
            self.counts.entry(name_of(&desired.child.kind, &desired.child.key)).or_default().created += 1;
        }
        let mut live = Live::new(&object);
        if fate != Fate::AnswerLost {
            live.accepted = Some(Remembered { plugin: self.plugin, form: AcceptedForm::of(&desired.digest, &object) });
        }
        self.observed.retain(|other| Some(other.uid.as_str()) != uid);
        self.observed.push(live);
    }

    fn nothing_has_drifted(&mut self, desired: &Desired, uid: &str, fate: Fate) -> bool {
        let Some(index) = self.index_of(uid) else { return true };
        let live = parsed(&self.observed[index]);
        let unchanged = fingerprint(&self.applied(desired, Some(uid))) == fingerprint(&live);
        if unchanged && fate != Fate::AnswerLost {
            self.observed[index].accepted =
                Some(Remembered { plugin: self.plugin, form: AcceptedForm::of(&desired.digest, &live) });
        }
        unchanged
    }

    pub(super) fn touch_every_status(&mut self) {
        for live in &mut self.observed {
            let Ok(mut object) = serde_json::from_str::<Value>(&live.json) else { continue };
            object["status"] = json!({"phase": "Touched"});
            object["metadata"]["resourceVersion"] = json!("10");
            live.resource_version = "10".to_owned();
            live.json = object.to_string();
        }
    }

    pub(super) fn forget(&mut self) {
        for live in &mut self.observed {
            live.accepted = None;
        }
    }

    pub(super) fn changed_since(&self, before: &Self) -> BTreeSet<String> {
        let stayed = before.observed.iter().filter(|live| !live.json.contains("deletionTimestamp"));
        let changed = stayed.filter(|live| self.index_of(&live.uid).is_none_or(|index| self.observed[index].json != live.json));
        changed.map(|live| live.uid.clone()).collect()
    }
}

pub(super) fn parsed(live: &Live) -> Value {
    serde_json::from_str(&live.json).expect("JSON")
}

fn name_of(kind: &GroupVersionKind, key: &ObjectKey) -> String {
    format!("{}.{} {key}", kind.kind, kind.group)
}

fn merge(live: &mut Value, desired: &Value) {
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => {
            for (field, value) in desired {
                merge(live.entry(field.clone()).or_insert(Value::Null), value);
            }
        }
        (live, desired) => *live = desired.clone(),
    }
}
