//! The exports of a component: from the contract's types to ours and back.
//!
//! It is public for what [`export!`](crate::export) expands to, and for nothing else.

use std::marker::PhantomData;
use std::time::Duration;

use crate::bindings::exports::gyre::plugin::reconciler as exported;
use crate::bindings::gyre::plugin::types;
use crate::call;
use crate::cluster::Cluster;
use crate::host::Imports;
use crate::kind::Kind;
use crate::manifest::{Manifest, Propagation, Strategy};
use crate::reconciler::Reconciler;
use crate::response::{Child, ConditionStatus, Failure, Response, Severity};

/// Exports a reconciler as the contract's interface.
pub struct Component<R>(PhantomData<R>);

impl<R: Reconciler> exported::Guest for Component<R> {
    fn describe() -> types::Manifest {
        R::manifest().into()
    }

    fn validate_settings(settings: types::Json) -> Result<(), String> {
        call::validate_settings::<R>(&settings)
    }

    fn reconcile(request: types::Request) -> Result<types::Response, types::Failure> {
        match call::reconcile::<R>(&request.parent, &request.settings, &Cluster::new(Imports)) {
            Ok(response) => Ok(response.into()),
            Err(failure) => Err(failure.into()),
        }
    }

    fn finalize(request: types::Request) -> Result<types::Teardown, types::Failure> {
        match call::finalize::<R>(&request.parent, &request.settings, &Cluster::new(Imports)) {
            Ok(teardown) => Ok(types::Teardown { response: teardown.response.into(), done: teardown.done }),
            Err(failure) => Err(failure.into()),
        }
    }
}

fn kind_to_host(kind: Kind) -> types::GroupVersionKindResult {
    types::GroupVersionKindResult { group: kind.group().into(), version: kind.version().into(), kind: kind.kind.into() }
}

impl From<Manifest> for types::Manifest {
    fn from(manifest: Manifest) -> Self {
        Self {
            name: manifest.name,
            version: manifest.version,
            description: manifest.description,
            parent: kind_to_host(manifest.parent),
            children: manifest
                .children
                .into_iter()
                .map(|child| types::ChildKind {
                    kind: kind_to_host(child.kind),
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
                })
                .collect(),
            reads: manifest
                .reads
                .into_iter()
                .map(|read| types::ReadKind {
                    kind: kind_to_host(read.kind),
                    namespace: read.namespace,
                    label_selector: read.label_selector,
                    metadata_only: read.metadata_only,
                })
                .collect(),
            finalizes: manifest.finalizes,
            settings_schema: manifest.settings_schema,
            crds: manifest.crds,
        }
    }
}

impl From<Response> for types::Response {
    /// Once in a component, not in each of its exports.
    #[inline(never)]
    fn from(response: Response) -> Self {
        Self {
            children: response.children.map(|children| children.into_iter().map(types::Child::from).collect()),
            status: response.status,
            conditions: response
                .conditions
                .into_iter()
                .map(|condition| types::Condition {
                    type_: condition.kind,
                    status: match condition.status {
                        ConditionStatus::True => types::Truth::Yes,
                        ConditionStatus::False => types::Truth::No,
                        ConditionStatus::Unknown => types::Truth::Unknown,
                    },
                    reason: condition.reason,
                    message: condition.message,
                })
                .collect(),
            events: response
                .events
                .into_iter()
                .map(|event| types::Event {
                    severity: match event.severity {
                        Severity::Normal => types::Severity::Normal,
                        Severity::Warning => types::Severity::Warning,
                    },
                    reason: event.reason,
                    message: event.message,
                })
                .collect(),
            requeue_after_ms: response.requeue_after.map(milliseconds),
        }
    }
}

impl From<Child> for types::Child {
    fn from(child: Child) -> Self {
        match child {
            Child::Apply(object) => Self::Apply(object),
            Child::Keep(object) => {
                Self::Keep(types::ObjectRef { kind: kind_to_host(object.kind), namespace: object.namespace, name: object.name })
            }
        }
    }
}

impl From<Failure> for types::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Transient(message) => Self::Transient(message),
            Failure::RetryAfter(delay, message) => {
                Self::RetryAfter(types::RetryAfter { delay_ms: milliseconds(delay), message })
            }
            Failure::Terminal(message) => Self::Terminal(message),
        }
    }
}

/// A duration that the contract cannot hold is half a billion years.
fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
