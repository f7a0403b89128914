//! The steps that were refused, so that they are not repeated whenever something else changes.
//!
//! The API server would refuse an unchanged step again, unless its cause is gone, which no watch
//! reports. So a refused step waits for [`RECHECK`], or until an input of it changes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::object::ObjectRef;
use crate::outcome::Problem;
use crate::plan::{Refusal, RefusalReason, Step, fingerprint};
use crate::queue::{RECHECK, Retry, Time};

/// The reason why a step was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The child was refused.
    Refusal(Refusal),
    /// The step failed with a problem that lasts, e.g. because a webhook denies a deletion.
    Problem(Problem),
}

/// The visible inputs of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepInputs {
    verb: &'static str,
    /// The digest of the desired object.
    desired: Option<String>,
    /// The UID that must exist, and the [`fingerprint`] of the cached object with the child's name.
    existing: (Option<String>, Option<String>),
    /// The [`fingerprint`] of the parent: a user who removes a cause may edit the parent to say so.
    parent: String,
    /// Identifies the plugin and the keys of its mount, such as the policy about conflicts.
    program: u64,
}

impl StepInputs {
    /// The inputs of `step`: the cached object with the child's name, of any owner, the
    /// [`fingerprint`] of the parent, and the program that is mounted.
    pub fn of(step: &Step, cached: Option<&Value>, parent: &str, program: u64) -> Self {
        Self {
            verb: step.verb(),
            desired: step.desired().map(|desired| desired.digest.clone()),
            existing: (step.uid().map(str::to_owned), cached.map(fingerprint)),
            parent: parent.to_owned(),
            program,
        }
    }

    /// The inputs of fields that are set in a parent: the digest of the fields, the parent, and the
    /// program that is mounted.
    pub fn of_parent_fields(digest: &str, parent: &Value, program: u64) -> Self {
        let desired = Some(digest.to_owned());
        Self { verb: "parent-fields", desired, existing: (None, None), parent: fingerprint(parent), program }
    }
}

/// The refused steps of a parent, by child. Fields of the parent are a step of which the parent
/// itself is the child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedSteps(BTreeMap<ObjectRef, RefusedStep>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct RefusedStep {
    inputs: StepInputs,
    due: Time,
    denial: Denial,
    /// The UID of the object that the API server stored without the marks of a child.
    unmarked: Option<String>,
}

impl RefusedSteps {
    /// Records that a step was refused. Returns the time until the next attempt, or `None` if the
    /// problem may pass earlier. `unmarked` is the UID of an object that was stored without marks.
    pub fn record(
        &mut self,
        child: &ObjectRef,
        inputs: StepInputs,
        denial: Denial,
        unmarked: Option<&str>,
        now: Time,
    ) -> Option<Duration> {
        if let Denial::Problem(problem) = &denial
            && !matches!(problem.retry(), Retry::After(_))
        {
            return None;
        }
        // A step that was not attempted when it was due is not planned any more.
        self.0.retain(|_, refused| refused.due + RECHECK > now);
        let unmarked = unmarked.map(str::to_owned);
        self.0.insert(child.clone(), RefusedStep { inputs, due: now + RECHECK, denial, unmarked });
        Some(RECHECK)
    }

    /// Records that a step was carried out.
    pub fn forget(&mut self, child: &ObjectRef) {
        self.0.remove(child);
    }

    /// Returns whether a step for the child was refused.
    pub fn contains(&self, child: &ObjectRef) -> bool {
        self.0.contains_key(child)
    }

    /// Returns the time until the step may be attempted again, and why it was refused; `None` if it
    /// may be attempted now.
    pub fn held(&self, child: &ObjectRef, inputs: &StepInputs, now: Time) -> Option<(Duration, &Denial)> {
        let refused = self.0.get(child)?;
        let is_same = match &refused.denial {
            // The write changed the object, and a repeated one would change it again.
            Denial::Refusal(refusal) if refusal.reason == RefusalReason::MarksRemoved => {
                refused.inputs.desired == inputs.desired
            }
            _ => refused.inputs == *inputs,
        };
        (is_same && refused.due > now).then(|| (refused.due.saturating_since(now), &refused.denial))
    }

    /// Returns the UID of the object that the host stored for this child, and that lost its marks.
    pub fn unmarked(&self, child: &ObjectRef) -> Option<&str> {
        self.0.get(child)?.unmarked.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::manifest::Propagation;
    use crate::object::{GroupVersionKind, ObjectKey};
    use crate::outcome::ProblemKind;
    use crate::plan::Desired;

    fn child() -> ObjectRef {
        let kind = GroupVersionKind::from_api_version("v1", "Secret");
        ObjectRef { kind, key: ObjectKey::new(Some("default"), "it") }
    }

    fn apply(digest: u64) -> Step {
        let object = serde_json::Map::new();
        let (digest, strategy) = (digest.to_string(), crate::manifest::Strategy::Apply);
        let desired = Desired { child: child(), object, digest, strategy, generated: Default::default() };
        let cause = crate::plan::Cause::DesiredChanged;
        Step::Apply { desired, uid: "uid".to_owned(), cause }
    }

    fn refusal(reason: RefusalReason) -> Denial {
        Denial::Refusal(Refusal { child: Some(child()), reason, message: "no".to_owned() })
    }

    /// A child in the cache, with a status that changes as often as its version.
    fn cached(text: u64, version: u64) -> Value {
        json!({"metadata": {"name": "it", "resourceVersion": version.to_string()}, "data": text, "status": version})
    }

    #[derive(Clone, Debug)]
    enum Event {
        Desired,
        Child,
        StatusOfChild,
        Parent,
        Program,
        Sibling,
    }

    fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
        let event = prop_oneof![
            1 => Just(Event::Desired),
            1 => Just(Event::Child),
            3 => Just(Event::StatusOfChild),
            1 => Just(Event::Parent),
            1 => Just(Event::Program),
            6 => Just(Event::Sibling),
        ];
        proptest::collection::vec((0_u64..200, event), 1..60)
    }

    proptest! {
        #[test]
        fn a_refused_step_is_attempted_again_when_an_input_has_changed_or_it_is_due_and_never_else(
            events in events(), is_unmarked in any::<bool>(),
        ) {
            let reason = if is_unmarked { RefusalReason::MarksRemoved } else { RefusalReason::Conflict };
            let (mut refused, mut now) = (RefusedSteps::default(), Time::default());
            let (mut desired, mut text, mut version, mut parent, mut program) = (0, 0, 0, 0_u64, 0);
            let mut last: Option<(Time, bool)> = None;
            for (seconds, event) in events {
                now = now + Duration::from_secs(seconds);
                version += 1;
                let is_changed = match event {
                    Event::Desired => { desired += 1; true }
                    Event::Child => { text += 1; !is_unmarked }
                    Event::Parent => { parent += 1; !is_unmarked }
                    Event::Program => { program += 1; !is_unmarked }
                    Event::StatusOfChild | Event::Sibling => false,
                };
                last = last.map(|(at, before)| (at, before || is_changed));
                let may_be_attempted = last.is_none_or(|(at, is_changed)| is_changed || now.saturating_since(at) >= RECHECK);
                let step = apply(desired);
                let inputs = StepInputs::of(&step, Some(&cached(text, version)), &parent.to_string(), program);
                match refused.held(&child(), &inputs, now).map(|(held_for, _)| held_for) {
                    Some(held_for) => {
                        prop_assert!(!may_be_attempted);
                        prop_assert!(refused.held(&child(), &inputs, now + held_for).is_none(), "it is attempted when it is due");
                    }
                    None => {
                        prop_assert!(may_be_attempted);
                        prop_assert_eq!(refused.record(&child(), inputs, refusal(reason), None, now), Some(RECHECK));
                        last = Some((now, false));
                    }
                }
            }
        }
    }

    #[test]
    fn problems_that_may_pass_are_not_held() {
        let step = Step::Delete { child: child(), uid: "uid".to_owned(), propagation: Propagation::Background };
        let inputs = || StepInputs::of(&step, None, "", 0);
        for (kind, is_held) in [
            (ProblemKind::Invalid, true),
            (ProblemKind::Forbidden, false),
            (ProblemKind::Unavailable, false),
            (ProblemKind::NoClaim, false),
        ] {
            let mut refused = RefusedSteps::default();
            let denial = Denial::Problem(Problem::new(kind, "no"));
            refused.record(&child(), inputs(), denial, None, Time::default());
            assert_eq!(refused.held(&child(), &inputs(), Time::default()).is_some(), is_held, "{kind:?}");
        }
    }

    #[test]
    fn a_step_that_is_no_longer_planned_is_forgotten() {
        let mut refused = RefusedSteps::default();
        let inputs = || StepInputs::of(&apply(0), None, "", 0);
        refused.record(&child(), inputs(), refusal(RefusalReason::MarksRemoved), Some("uid"), Time::default());
        assert_eq!(refused.unmarked(&child()), Some("uid"));
        let other = ObjectRef { key: ObjectKey::new(Some("default"), "other"), ..child() };
        refused.record(&other, inputs(), refusal(RefusalReason::Rejected), None, Time::default() + 2 * RECHECK);
        assert!(!refused.contains(&child()) && refused.contains(&other));
        refused.forget(&other);
        assert!(!refused.contains(&other));
    }
}
