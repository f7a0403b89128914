//! Plans the values that the host makes: which Secrets must be written for them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::desired::{DesiredSet, Target};
use super::observed::ByIdentity;
use super::refusals::{Refusal, RefusalReason};
use super::step::{Cause, Desired, Step};
use super::{Input, Plan, apply};
use crate::generated::{Decision, DigestKey, Inspect, Issuers, Live, Requests, decide};
use crate::manifest::Strategy;

/// The inputs of a decision about values, besides the Secret.
#[derive(Clone, Copy)]
pub struct Generation<'a> {
    /// The issuers in other Secrets.
    pub issuers: &'a Issuers,
    /// The host's key of digests, if it is known.
    pub digests: Option<&'a DigestKey>,
    /// Reads certificates and hashes.
    pub inspect: &'a dyn Inspect,
    /// The time, in seconds since 1970.
    pub now: i64,
}

impl Generation<'_> {
    /// Decides about a Secret that exists, or does not exist yet.
    pub fn decide(&self, desired: &Desired, live: &Live) -> Decision {
        let Generation { issuers, digests, inspect, now } = *self;
        decide(&desired.generated, live, &given(desired), issuers, digests, inspect, now)
    }
}

/// The values of a Secret that the plugin gives.
pub fn given(desired: &Desired) -> BTreeMap<String, Vec<u8>> {
    let data = desired.object.get("data").and_then(Value::as_object);
    let decode = |(key, value): (&String, &Value)| Some((key.clone(), STANDARD.decode(value.as_str()?).ok()?));
    data.into_iter().flatten().filter_map(decode).collect()
}

/// Adds the steps of Secrets that must be written for their values alone, and refuses those whose
/// values cannot be made. Returns when the plan must be made again, in seconds since 1970.
///
/// Nothing of this costs a plan without requests more than a look at its children.
pub fn plan_values(input: &Input<'_>, plan: &mut Plan, generation: &Generation<'_>) -> Option<i64> {
    let children = input.desired.unwrap_or_default();
    if !children.iter().any(|child| child.applied().is_some_and(|child| Requests::are_in(&child.object))) {
        return None;
    }
    let observed = ByIdentity::new(input.observed);
    let mut due = None;
    for Target { desired, .. } in DesiredSet::new(input, children).targets {
        if desired.generated.is_empty() {
            continue;
        }
        let child = &desired.child;
        let known = observed.find(child).find(|object| *object.kind == child.kind);
        // For a child that the plan holds back or refuses, it is decided when the child is written.
        let is_its = |step: &Step| step.child() == child && !matches!(step, Step::Label { .. });
        let step = plan.steps.iter().position(is_its);
        let exists = match step.and_then(|step| plan.steps.get(step)) {
            Some(Step::Create { .. }) => None,
            Some(_) => known,
            None if desired.strategy == Strategy::CreateOnly || is_held(plan, &desired) => continue,
            None => match known {
                Some(known) => Some(known),
                None => continue,
            },
        };
        let live = exists.and_then(|object| serde_json::from_slice::<Value>(object.json).ok());
        let decision = generation.decide(&desired, &live.as_ref().map(Live::of).unwrap_or_default());
        if let Some((key, why)) = decision.impossible() {
            plan.steps.retain(|step| !is_its(step));
            plan.refusals.push(not_made(&desired, key, why));
            continue;
        }
        due = [due, decision.due].into_iter().flatten().min();
        if let (None, true, Some(object)) = (step, decision.is_needed, exists) {
            let deletions = plan.steps.iter().position(|step| matches!(step, Step::Delete { .. }));
            let at = deletions.unwrap_or(plan.steps.len());
            plan.steps.insert(at, apply(&desired, object.uid, Cause::Generated));
        }
    }
    due
}

fn is_held(plan: &Plan, desired: &Desired) -> bool {
    let child = &desired.child;
    plan.waiting.iter().any(|waiting| waiting.child == *child)
        || plan.refusals.iter().any(|refusal| refusal.child.as_ref() == Some(child))
}

/// The refusal of a Secret, one of whose values cannot be made.
pub fn not_made(desired: &Desired, key: &str, why: &str) -> Refusal {
    let child = desired.child.clone();
    let message = format!("{child} is not written, because the value of {key:?} cannot be made: {why}");
    Refusal { child: Some(child), reason: RefusalReason::ValueNotMade, message }
}
