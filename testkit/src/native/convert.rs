//! Converts the types of the SDK to those of the contract, like `gyre_sdk::component` in a component.

use std::time::Duration;

use gyre_sandbox::native::types;
use gyre_sdk::{Child, ConditionStatus, Failure, Kind, Manifest, Propagation, Response, Severity, Strategy, Teardown};

fn kind(kind: Kind) -> types::GroupVersionKind {
    types::GroupVersionKind { group: kind.group().into(), version: kind.version().into(), kind: kind.kind.into() }
}

pub(super) fn manifest(manifest: Manifest) -> types::Manifest {
    let child = |child: gyre_sdk::ChildKind| types::ChildKind {
        kind: kind(child.kind),
        strategy: match child.strategy {
            Strategy::Apply => types::Strategy::Apply,
            Strategy::Recreate => types::Strategy::Recreate,
            Strategy::CreateOnly => types::Strategy::CreateOnly,
        },
        propagation: match child.propagation {
            Propagation::Background => types::Propagation::Background,
            Propagation::Foreground => types::Propagation::Foreground,
            Propagation::Orphan => types::Propagation::Orphan,
        },
    };
    let read = |read: gyre_sdk::ReadKind| types::ReadKind {
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
        children: manifest.children.into_iter().map(child).collect(),
        reads: manifest.reads.into_iter().map(read).collect(),
        finalizes: manifest.finalizes,
        settings_schema: manifest.settings_schema,
        crds: manifest.crds,
    }
}

pub(super) fn response(response: Response) -> types::Response {
    let child = |child: Child| match child {
        Child::Apply(object) => types::Child::Apply(object),
        Child::Keep(object) => {
            types::Child::Keep(types::ObjectRef { kind: kind(object.kind), namespace: object.namespace, name: object.name })
        }
    };
    let condition = |condition: gyre_sdk::Condition| types::Condition {
        type_: condition.kind,
        status: match condition.status {
            ConditionStatus::True => types::Truth::Yes,
            ConditionStatus::False => types::Truth::No,
            ConditionStatus::Unknown => types::Truth::Unknown,
        },
        reason: condition.reason,
        message: condition.message,
    };
    let event = |event: gyre_sdk::Event| types::Event {
        severity: match event.severity {
            Severity::Normal => types::Severity::Normal,
            Severity::Warning => types::Severity::Warning,
        },
        reason: event.reason,
        message: event.message,
    };
    types::Response {
        children: response.children.map(|children| children.into_iter().map(child).collect()),
        status: response.status,
        conditions: response.conditions.into_iter().map(condition).collect(),
        events: response.events.into_iter().map(event).collect(),
        requeue_after_ms: response.requeue_after.map(milliseconds),
    }
}

pub(super) fn teardown(teardown: Teardown) -> types::Teardown {
    types::Teardown { response: response(teardown.response), done: teardown.done }
}

pub(super) fn failure(failure: Failure) -> types::Failure {
    match failure {
        Failure::Transient(message) => types::Failure::Transient(message),
        Failure::RetryAfter(delay, message) => {
            types::Failure::RetryAfter(types::RetryAfter { delay_ms: milliseconds(delay), message })
        }
        Failure::Terminal(message) => types::Failure::Terminal(message),
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
