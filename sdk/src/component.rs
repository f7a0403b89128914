//! The component's side: the contract's types to ours and back. The only module that knows the contract's version.
//!
//! It is public for what [`export!`](crate::export) expands to, and for nothing else.

use std::marker::PhantomData;
use std::time::Duration;

use bindings::exports::gyre::plugin::reconciler as exported;
use bindings::gyre::plugin::{cluster, log, types};

use crate::call;
use crate::cluster::{Cluster, Error};
use crate::kind::Kind;
use crate::log::Level;
use crate::manifest::{Manifest, Propagation, Strategy};
use crate::reconciler::Reconciler;
use crate::response::{Child, Failure, Response, Severity, Truth};

#[expect(missing_docs, reason = "generated; wit/v0.1.0 documents it")]
pub mod bindings {
    wit_bindgen::generate!({
        path: "wit/v0.1.0",
        world: "plugin",
        pub_export_macro: true,
        ownership: Borrowing { duplicate_if_necessary: true },
    });
}

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
        match call::reconcile::<R>(&request.parent, &request.settings, &Cluster {}) {
            Ok(response) => Ok(response.into()),
            Err(failure) => Err(failure.into()),
        }
    }

    fn finalize(request: types::Request) -> Result<types::Teardown, types::Failure> {
        match call::finalize::<R>(&request.parent, &request.settings, &Cluster {}) {
            Ok(teardown) => Ok(types::Teardown { response: teardown.response.into(), done: teardown.done }),
            Err(failure) => Err(failure.into()),
        }
    }
}

/// What [`Cluster`] reads from: the host.
pub(crate) mod reads {
    use super::{Error, Kind, cluster, types};

    pub(crate) struct Host;

    impl Host {
        pub(crate) fn children(&self, kind: Kind) -> Result<Vec<Vec<u8>>, Error> {
            cluster::children(borrowed(kind)).map_err(|error| error_from_host(kind, error))
        }

        pub(crate) fn get(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<Vec<u8>>, Error> {
            cluster::get(borrowed(kind), namespace, name).map_err(|error| error_from_host(kind, error))
        }

        pub(crate) fn list(&self, kind: Kind, namespace: Option<&str>, selector: Option<&str>) -> Result<Vec<Vec<u8>>, Error> {
            cluster::list(borrowed(kind), namespace, selector).map_err(|error| error_from_host(kind, error))
        }
    }

    fn borrowed(kind: Kind) -> types::GroupVersionKindParam<'static> {
        types::GroupVersionKindParam { group: kind.group(), version: kind.version(), kind: kind.kind }
    }

    fn error_from_host(kind: Kind, error: cluster::ReadError) -> Error {
        match error {
            cluster::ReadError::NotDeclared => Error::NotDeclared(kind),
            cluster::ReadError::NotGranted => Error::NotGranted(kind),
            cluster::ReadError::NotServed => Error::NotServed(kind),
            cluster::ReadError::InvalidSelector(message) => Error::InvalidSelector(message),
        }
    }
}

pub(crate) fn write_log(level: Level, message: &str, fields: &[(&str, &str)]) {
    let level = match level {
        Level::Trace => log::Level::Trace,
        Level::Debug => log::Level::Debug,
        Level::Info => log::Level::Info,
        Level::Warn => log::Level::Warn,
        Level::Error => log::Level::Error,
    };
    log::log(level, message, fields);
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
                        Truth::Yes => types::Truth::Yes,
                        Truth::No => types::Truth::No,
                        Truth::Unknown => types::Truth::Unknown,
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
