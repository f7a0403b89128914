//! A small model of what the API server does with a plan.

use super::*;

impl World {
    /// Executes the plan as the host would, on the objects in `observed`, which here are all that the cluster has of these names. What
    /// is foreign is in the way of a creation, as it would be in a cluster.
    pub(super) fn execute(&mut self, plan: &Plan) {
        for step in &plan.steps {
            match step {
                Step::Create { desired } => match self.live(&desired.child).cloned() {
                    None => self.write(desired, None),
                    Some(live) => {
                        let live: Value = serde_json::from_str(&live.json).unwrap_or_default();
                        if let Existing::Step(step) = self.with_input(|input| on_existing(input, desired, &live)) {
                            self.execute(&Plan { steps: vec![step], ..Plan::default() });
                        }
                    }
                },
                Step::Apply { desired, uid, .. } => self.write(desired, Some(uid)),
                Step::Replace { desired, uid, .. } => {
                    self.delete(uid);
                    if self.live(&desired.child).is_none() {
                        self.write(desired, None);
                    }
                }
                Step::Label { uid, labels, .. } => self.label(uid, labels),
                Step::Delete { uid, .. } => self.delete(uid),
            }
        }
    }

    pub(super) fn live(&self, child: &ObjectRef) -> Option<&Live> {
        let same_kind = |live: &Live| live.kind.group == child.kind.group && live.kind.kind == child.kind.kind;
        self.observed.iter().find(|live| same_kind(live) && live.key == child.key)
    }

    fn label(&mut self, uid: &str, labels: &BTreeMap<String, String>) {
        let live = self.observed.iter_mut().find(|live| live.uid == uid).expect("a label step names what exists");
        let mut object: Value = serde_json::from_str(&live.json).expect("JSON");
        merge(&mut object, &json!({"metadata": {"labels": labels}}));
        live.json = object.to_string();
    }

    /// What carries a finalizer is only marked as going.
    fn delete(&mut self, uid: &str) {
        let Some(place) = self.observed.iter().position(|live| live.uid == uid) else { return };
        let mut object: Value = serde_json::from_str(&self.observed[place].json).expect("JSON");
        if object["metadata"].get("finalizers").is_some() {
            object["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
            self.observed[place].json = object.to_string();
        } else {
            self.observed.remove(place);
        }
    }

    /// What is going is gone.
    pub(super) fn finish_deletions(&mut self) {
        self.observed.retain(|live| !live.json.contains("deletionTimestamp"));
    }

    /// Server-side apply: merges, fills in defaults, writes some values in its own way, and answers with the result, which the host remembers.
    fn write(&mut self, desired: &Desired, uid: Option<&str>) {
        let place = self.observed.iter().position(|live| Some(live.uid.as_str()) == uid);
        assert_eq!(place.is_some(), uid.is_some(), "an apply with a UID does not create");
        let mut object = match place {
            Some(place) => serde_json::from_str(&self.observed.remove(place).json).expect("JSON"),
            None => json!({"metadata": {"uid": format!("new-{}", desired.child)}}),
        };
        merge(&mut object, &Value::Object(desired.object.clone()));
        object["defaulted"] = json!("by the server");
        object["status"] = json!({"phase": "Active"});
        if object["data"]["quantity"] == "1000m" {
            object["data"]["quantity"] = json!("1");
        }
        object["metadata"]["resourceVersion"] = json!("9");
        let mut live = Live::new(&object);
        live.settled = Some(Settled::of(&desired.digest, &object));
        self.observed.push(live);
    }

    /// Somebody writes to every status, which moves every resourceVersion.
    pub(super) fn touch_every_status(&mut self) {
        for live in &mut self.observed {
            let Ok(mut object) = serde_json::from_str::<Value>(&live.json) else { continue };
            object["status"] = json!({"phase": "Touched"});
            object["metadata"]["resourceVersion"] = json!("10");
            live.resource_version = "10".to_owned();
            live.json = object.to_string();
        }
    }
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
