//! Compares a step with the last attempt at it, to send no request that would be refused again.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use gyre_core::object::{GroupVersionKind, ObjectRef};
use gyre_core::outcome::Problem;
use gyre_core::plan::{self, Step};
use gyre_core::queue::Time;
use gyre_core::refused::{Denial, RefusedSteps, StepInputs};
use serde_json::Value;

use super::StepResult;
use crate::cluster::object::{Object, SharedObject};
use crate::cluster::view::View;

/// The objects on which the steps of a parent depend.
pub(crate) struct InputObjects<'a> {
    views: &'a BTreeMap<GroupVersionKind, Arc<View>>,
    parent: SharedObject,
    program: u64,
    /// Set once it is needed.
    parent_fingerprint: OnceLock<String>,
}

impl<'a> InputObjects<'a> {
    /// `parent` is the parent without the host's list, and `program` the active program.
    pub(crate) fn new(views: &'a BTreeMap<GroupVersionKind, Arc<View>>, parent: SharedObject, program: u64) -> Self {
        Self { views, parent, program, parent_fingerprint: OnceLock::new() }
    }

    /// Returns why the step would be refused again; `None` if it must be carried out.
    pub(crate) fn held(&self, step: &Step, refused: &RefusedSteps, now: Time) -> Option<Result<StepResult, Problem>> {
        let child = step.child();
        if !refused.contains(child) {
            return None;
        }
        let inputs = self.of(step, self.cached(child).as_deref());
        let (held_for, denial) = refused.held(child, &inputs, now)?;
        Some(match denial {
            Denial::Refusal(refusal) => Ok(StepResult::RefusedFor(held_for, refusal.clone())),
            Denial::Problem(problem) => Err(problem.clone()),
        })
    }

    pub(super) fn cached(&self, child: &ObjectRef) -> Option<SharedObject> {
        self.views.get(&child.kind)?.get(&child.key)
    }

    pub(super) fn of(&self, step: &Step, cached: Option<&Object>) -> StepInputs {
        let value = |object: &Object| serde_json::from_str::<Value>(object.json()).ok();
        let fingerprint = || plan::fingerprint(&value(&self.parent).unwrap_or_default());
        let parent = self.parent_fingerprint.get_or_init(fingerprint);
        StepInputs::of(step, cached.and_then(value).as_ref(), parent, self.program)
    }
}
