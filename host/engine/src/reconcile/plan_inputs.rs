//! The inputs of a reconcile's decisions, and the decisions. Nothing here sends a request.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use gyre_core::generated::{DigestKey, Issuers};
use gyre_core::grants::Scope;
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::plan::{
    self, AcceptedForm, ChildList, DeletionPlan, Generation, Input, OUTLIVES_ANNOTATION, OWNER_UID_LABEL, Observed, Ownership,
    Parent, Plan, ownership, plan_values,
};
use gyre_core::response::{Child, Response};
use gyre_values::Inspector;

use crate::cluster::object::{Object, SharedObject};
use crate::cluster::view::View;
use crate::mounts::active_program::ActiveProgram;
use crate::mounts::parent_state::ParentState;
use crate::values::{Shown, shown};
use crate::writes::finalizers;

/// One parent and its children in the caches at one moment.
pub(crate) struct ObservedState {
    pub(crate) parent: SharedObject,
    /// The members of the group, if the parent is one.
    pub(crate) members: Vec<SharedObject>,
    /// All objects with its marks.
    pub(crate) children: Arc<[(GroupVersionKind, SharedObject)]>,
    pub(crate) views: BTreeMap<GroupVersionKind, Arc<View>>,
}

impl ObservedState {
    pub(crate) fn of(active: &ActiveProgram, parent: SharedObject) -> Self {
        let views = active.children();
        let owner = active.parent(&parent);
        let mut children = Vec::new();
        for (kind, view) in &views {
            let owned = view.owned_by(parent.uid()).into_iter().filter(|child| is_child(active, &owner, kind, child));
            children.extend(owned.map(|child| (kind.clone(), child)));
        }
        let members = active.members.as_ref().map(|members| members.of_group(parent.name())).unwrap_or_default();
        Self { parent, members, children: children.into(), views }
    }

    /// The children that the plugin may see: where an ownerReference is expected, those that have
    /// one. Others with the labels become children only if the plugin wants their names.
    pub(crate) fn shown_children(&self, active: &ActiveProgram) -> impl Iterator<Item = &(GroupVersionKind, SharedObject)> {
        let parent = &self.parent;
        let is_far = |child: &Object| ownership(parent.namespace(), child.namespace()) == Ownership::Labels;
        let is_shown = move |(kind, child): &&(GroupVersionKind, SharedObject)| {
            is_far(child) || child.refers_to(parent.uid()) || self.outlives_parent(active, kind, child)
        };
        self.children.iter().filter(is_shown)
    }

    fn outlives_parent(&self, active: &ActiveProgram, kind: &GroupVersionKind, child: &Object) -> bool {
        let names_parent = || child.annotation(OUTLIVES_ANNOTATION) == Some(self.parent.key().to_string());
        self.parent.namespace().is_some() && active.program.grants.outlives_parent(kind) && names_parent()
    }

    /// The members as the plugin gets them.
    pub(crate) fn shown_members(&self, active: &ActiveProgram, digests: Option<&DigestKey>) -> Vec<Shown> {
        let kind = active.program.manifest().users_kind();
        self.members.iter().map(|member| shown(kind, member, digests)).collect()
    }

    /// The parent without the host's marks, whose changes would cause needless calls.
    pub(crate) fn shown_parent(&self, active: &ActiveProgram) -> SharedObject {
        finalizers::without_marks(&self.parent, &active.program.manifest().name)
    }
}

/// Checks the labels, because everybody who may create objects can claim any owner.
fn is_child(active: &ActiveProgram, parent: &Parent, kind: &GroupVersionKind, object: &SharedObject) -> bool {
    let says_so = match ownership(parent.key.namespace.as_deref(), object.namespace()) {
        Ownership::Reference => true,
        Ownership::Labels => object.label(OWNER_UID_LABEL).as_deref() == Some(&*parent.uid),
    };
    says_so && active.is_ours(object) && parent.claims(kind, &object.key())
}

pub(crate) struct PlanInputs {
    parent: Parent,
    pub(crate) children: Arc<[(GroupVersionKind, SharedObject)]>,
    keys: OnceLock<Vec<(ObjectKey, String)>>,
    scopes: BTreeMap<GroupVersionKind, Scope>,
    accepted: BTreeMap<String, AcceptedForm>,
}

impl PlanInputs {
    pub(crate) fn of(active: &ActiveProgram, observed: &ObservedState, state: &ParentState) -> Self {
        Self {
            parent: active.parent(&observed.parent),
            children: Arc::clone(&observed.children),
            keys: OnceLock::new(),
            scopes: observed.views.iter().map(|(kind, view)| (kind.clone(), view.resource.scope)).collect(),
            accepted: state.accepted.clone(),
        }
    }

    pub(crate) fn observed(&self) -> Vec<Observed<'_>> {
        let key = |(_, child): &(_, SharedObject)| (child.key(), child.resource_version().to_string());
        let keys = self.keys.get_or_init(|| self.children.iter().map(key).collect());
        let children = self.children.iter().zip(keys);
        children
            .map(|((kind, child), (key, resource_version))| Observed {
                kind,
                key,
                uid: child.uid(),
                resource_version,
                json: child.json().as_bytes(),
                accepted: self.accepted.get(child.uid()),
            })
            .collect()
    }

    pub(crate) fn input<'a>(
        &'a self,
        active: &'a ActiveProgram,
        desired: Option<&'a [Child]>,
        observed: &'a [Observed<'a>],
    ) -> Input<'a> {
        let plugin = &active.program.manifest().name;
        Input { plugin, parent: &self.parent, grants: &active.program.grants, scopes: &self.scopes, desired, observed }
    }

    /// Decides for a parent that lives. The time grows with its desired and observed children.
    pub(crate) fn decide_live(&self, active: &ActiveProgram, desired: Option<&[Child]>, values: &ValueInputs) -> LiveDecision {
        let observed = self.observed();
        let input = self.input(active, desired, &observed);
        let mut plan = plan::plan(&input);
        let renewal = plan_values(&input, &mut plan, &values.generation());
        let needs_finalizer = plan::needs_finalizer(&input, &plan, active.program.manifest().finalizes);
        let list = plan::child_list(&input, &plan);
        LiveDecision { plan, needs_finalizer, list, issuers: values.issuers.clone(), renewal }
    }

    /// Plans only the writes of Secrets that exist and whose values are due. Returns when there are
    /// others.
    pub(crate) fn decide_renewals(
        &self,
        active: &ActiveProgram,
        secrets: &[Child],
        values: &ValueInputs,
    ) -> (Plan, Option<i64>) {
        let observed = self.observed();
        let input = self.input(active, Some(secrets), &observed);
        let mut plan = Plan::default();
        let renewal = plan_values(&input, &mut plan, &values.generation());
        (plan, renewal)
    }

    /// Decides for a parent that is being deleted. The time grows as in [`Self::decide_live`].
    pub(crate) fn decide_deletion(
        &self,
        active: &ActiveProgram,
        parent: &Parent,
        answer: Option<&Response>,
        values: &ValueInputs,
    ) -> DeletionDecision {
        let observed = self.observed();
        let input = Input { parent, ..self.input(active, None, &observed) };
        let mut leaving = plan::plan_deletion(&input, answer);
        let returned = answer.and_then(|answer| answer.children.as_deref());
        plan_values(&Input { desired: returned, ..input }, &mut leaving.plan, &values.generation());
        let desired = answer.and_then(|answer| answer.children.as_deref());
        let is_done = answer.is_none_or(|answer| answer.done);
        let wanted = if is_done { Some(&[][..]) } else { desired };
        let list = wanted.map(|wanted| plan::child_list(&Input { desired: Some(wanted), ..input }, &leaving.plan));
        DeletionDecision { leaving, list, issuers: values.issuers.clone() }
    }

    /// The parent as it was when the children were observed.
    pub(crate) fn parent(&self) -> &Parent {
        &self.parent
    }
}

/// The inputs of decisions about generated values.
pub(crate) struct ValueInputs {
    pub(crate) issuers: Issuers,
    pub(crate) digests: Option<DigestKey>,
    /// In seconds since 1970.
    pub(crate) now: i64,
}

impl ValueInputs {
    fn generation(&self) -> Generation<'_> {
        Generation { issuers: &self.issuers, digests: self.digests.as_ref(), inspect: &Inspector, now: self.now }
    }
}

pub(crate) enum Decision {
    Live(LiveDecision),
    Deletion(DeletionDecision),
}

pub(crate) struct LiveDecision {
    pub(crate) plan: Plan,
    pub(crate) needs_finalizer: bool,
    /// The children that the parent must list before the plan is carried out.
    pub(crate) list: ChildList,
    /// The issuers of certificates among the steps.
    pub(crate) issuers: Issuers,
    /// The time at which values have to be renewed, in seconds since 1970.
    pub(crate) renewal: Option<i64>,
}

pub(crate) struct DeletionDecision {
    pub(crate) leaving: DeletionPlan,
    /// As [`LiveDecision::list`]; `None` if the plugin does not say which children there should be.
    pub(crate) list: Option<ChildList>,
    pub(crate) issuers: Issuers,
}
