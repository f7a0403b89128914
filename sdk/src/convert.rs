//! Conversions from the types of the SDK to those of the contract. Native plugins in tests speak
//! JSON: `testkit/src/native.rs`.

use std::time::Duration;

use crate::bindings::gyre::plugin::types;
use crate::condition::{Condition, ConditionStatus};
use crate::failure::Failure;
use crate::group::Member;
use crate::kind::{Kind, ObjectRef};
use crate::manifest::{ChildKind, Grouping, Manifest, Propagation, ReadKind, Strategy};
use crate::plan::{Child, DesiredChild, Event, Plan, Severity};
use crate::typed::fields::to_json;

fn kind(kind: Kind) -> types::GroupVersionKindResult {
    types::GroupVersionKindResult { group: kind.group().into(), version: kind.version().into(), kind: kind.kind.into() }
}

fn propagation(propagation: Propagation) -> types::Propagation {
    match propagation {
        Propagation::Background => types::Propagation::Background,
        Propagation::Foreground => types::Propagation::Foreground,
        Propagation::Orphan => types::Propagation::Orphan,
    }
}

fn strategy(strategy: Strategy) -> types::Strategy {
    match strategy {
        Strategy::Apply => types::Strategy::Apply,
        Strategy::Recreate => types::Strategy::Recreate,
        Strategy::CreateOnly => types::Strategy::CreateOnly,
    }
}

pub(crate) fn manifest(manifest: Manifest) -> types::Manifest {
    let child = |child: ChildKind| types::ChildKind {
        kind: kind(child.kind),
        strategy: strategy(child.strategy),
        strongest_strategy: child.strongest_strategy.map(strategy),
        propagation: propagation(child.propagation),
        outlives_parent: child.outlives_parent,
    };
    let read = |read: ReadKind| types::ReadKind {
        kind: kind(read.kind),
        namespace: read.namespace,
        label_selector: read.label_selector,
        metadata_only: read.metadata_only,
    };
    types::Manifest {
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        parent: kind(manifest.parent),
        grouping: match manifest.grouping {
            Grouping::Each => types::Grouping::Each,
            Grouping::All => types::Grouping::All,
            Grouping::ByField(pointer) => types::Grouping::ByField(pointer),
        },
        children: manifest.children.into_iter().map(child).collect(),
        reads: manifest.reads.into_iter().map(read).collect(),
        parent_fields: manifest.parent_fields,
        deletes_parent: manifest.deletes_parent,
        finalizes: manifest.finalizes,
        settings_schema: manifest.settings_schema,
        crds: manifest.crds,
    }
}

/// Not inlined, so that a component contains it only once.
#[inline(never)]
pub(crate) fn response(plan: Plan) -> types::Response {
    let apply = |object, strategy| types::Child::Apply(types::DesiredChild { object, strategy });
    let child = |child: Child| match child {
        Child::Apply(DesiredChild { object, strategy: named }) => apply(to_json(&object), named.map(strategy)),
        Child::Keep(ObjectRef { kind: kept, namespace, name }) => {
            types::Child::Keep(types::ObjectRef { kind: kind(kept), namespace, name })
        }
        Child::Bytes(bytes) => apply(bytes, None),
    };
    let condition = |condition: Condition| types::Condition {
        type_: condition.kind,
        status: match condition.status {
            ConditionStatus::True => types::Truth::Yes,
            ConditionStatus::False => types::Truth::No,
            ConditionStatus::Unknown => types::Truth::Unknown,
        },
        reason: condition.reason,
        message: condition.message,
    };
    let member = |member: Member| types::MemberStatus {
        namespace: member.namespace,
        name: member.name,
        status: member.status.and_then(Result::ok),
        conditions: member.conditions.into_iter().map(condition).collect(),
    };
    let event = |event: Event| types::Event {
        severity: match event.severity {
            Severity::Normal => types::Severity::Normal,
            Severity::Warning => types::Severity::Warning,
        },
        reason: event.reason,
        message: event.message,
    };
    types::Response {
        children: plan.children.map(|children| children.into_iter().map(child).collect()),
        status: plan.status.and_then(Result::ok),
        conditions: plan.conditions.into_iter().map(condition).collect(),
        events: plan.events.into_iter().map(event).collect(),
        requeue_after_ms: plan.requeue_after.map(milliseconds),
        parent: plan.parent.as_ref().map(to_json),
        delete_parent: plan.delete_parent.map(|deletion| types::ParentDeletion {
            after_ms: milliseconds(deletion.after),
            propagation: propagation(deletion.propagation),
        }),
        members: plan.members.into_iter().map(member).collect(),
    }
}

pub(crate) fn teardown(plan: Plan) -> types::Teardown {
    types::Teardown { done: plan.releases_parent, response: response(plan) }
}

pub(crate) fn failure(failure: Failure) -> types::Failure {
    match failure {
        Failure::Transient(message) => types::Failure::Transient(message),
        Failure::RetryAfter(delay, message) => {
            types::Failure::RetryAfter(types::RetryAfter { delay_ms: milliseconds(delay), message })
        }
        Failure::Terminal(message) => types::Failure::Terminal(message),
    }
}

/// The maximum is half a billion years. Without numbers of 128 bits, whose code a component
/// would contain.
#[inline(never)]
fn milliseconds(duration: Duration) -> u64 {
    let seconds = duration.as_secs().min(u64::MAX / 1_000 - 1);
    seconds * 1_000 + u64::from(duration.subsec_millis())
}
