//! A plugin whose code is in the kit: calls go out, and its reads come in, before its answer.
//!
//! A debugger of the kit's process steps through the plugin, and no component has to be built. The
//! host takes the answers as those of a component, with the same limits except time and memory.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use gyre_core::groups::Grouping;
use gyre_core::manifest::{ChildKind, Manifest, Propagation, ReadKind, Strategy};
use gyre_core::object::{GroupVersionKind, ObjectKey, ObjectRef};
use gyre_core::response::{
    Child, Condition, ConditionStatus, DesiredChild, Failure, MemberStatus, ParentDeletion, Response, Severity,
};
use gyre_engine::record::format::Text;
use gyre_sandbox::ReadError;
use gyre_sandbox::native::{Imports, Native, types};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::link::Link;
use super::protocol::{Body, Call, Described, Function, Read, Request, Returned, What};

pub(super) struct Remote {
    number: usize,
    described: Described,
    link: Arc<Link>,
}

impl Remote {
    pub(super) fn new(number: usize, described: Described, link: Arc<Link>) -> Self {
        Self { number, described, link }
    }

    /// Calls a function about a parent, with the members of its group.
    fn call(
        &self,
        function: Function,
        (parent, members): (Option<&[u8]>, &[&[u8]]),
        settings: &[u8],
        imports: Option<&Imports>,
    ) -> Returned {
        let text = |bytes: &[u8]| Text(Arc::from(bytes));
        let members = members.iter().map(|member| text(member)).collect();
        let call = Call { plugin: self.number, function, parent: parent.map(text), members, settings: text(settings) };
        self.link.write(What::Call(call));
        loop {
            let Some(request) = self.link.next() else {
                return Returned::Panic("the kit ended during the call".to_owned());
            };
            let answer = match request {
                Ok(Request::Return(returned)) => return returned,
                Ok(request) => self.serve(request, imports),
                Err(error) => Err(error),
            };
            self.link.answer(answer);
        }
    }

    /// Answers a read. A limit that it exceeds ends the call on both sides.
    fn serve(&self, request: Request, imports: Option<&Imports>) -> Result<Body, String> {
        let within_call = "within a call, a kit may read, ask for the clock, log, and return";
        let imports = imports.ok_or("a plugin that validates settings has no cluster to read")?;
        let answered = panic::catch_unwind(AssertUnwindSafe(|| match request {
            Request::Read(read) => Ok(self.read(read, imports)),
            Request::Clock {} => Ok(Body::Value(json!({"time": Timestamp::try_from(imports.now()).unwrap_or_default()}))),
            Request::Log { level, message, fields } => {
                imports.log(level, message, fields);
                Ok(Body::Value(json!({})))
            }
            _ => Err(within_call.to_owned()),
        }));
        answered.unwrap_or_else(|limit| {
            self.link.write(What::Stop {});
            panic::resume_unwind(limit)
        })
    }

    fn read(&self, read: Read, imports: &Imports) -> Body {
        let found = match read {
            Read::Children { kind } => imports.children(&kind),
            Read::Get { kind, namespace, name } => {
                imports.get(&kind, namespace.as_deref(), &name).map(|object| object.into_iter().collect())
            }
            Read::List { kind, namespace, label_selector } => {
                imports.list(&kind, namespace.as_deref(), label_selector.as_deref())
            }
        };
        match found {
            Ok(objects) => Body::Found { found: objects.into_iter().map(Text).collect() },
            Err(error) => Body::Value(json!({"readError": error_name(&error), "message": message_of(&error)})),
        }
    }
}

fn error_name(error: &ReadError) -> &'static str {
    match error {
        ReadError::NotDeclared => "notDeclared",
        ReadError::NotGranted => "notGranted",
        ReadError::NotServed => "notServed",
        ReadError::InvalidSelector(_) => "invalidSelector",
    }
}

fn message_of(error: &ReadError) -> Value {
    match error {
        ReadError::InvalidSelector(message) => Value::from(message.as_str()),
        _ => Value::Null,
    }
}

impl Native for Remote {
    fn describe(&self) -> types::Manifest {
        let Manifest {
            name,
            version,
            description,
            parent,
            members: _,
            children,
            reads,
            parent_fields,
            deletes_parent,
            finalizes,
            settings_schema,
            crds,
        } = self.described.manifest.clone();
        let json = |value: &Value| value.to_string().into_bytes();
        let child = |child: ChildKind| types::ChildKind {
            kind: raw_kind(child.kind),
            strategy: raw_strategy(child.strategy),
            strongest_strategy: child.strongest_strategy.map(raw_strategy),
            propagation: raw_propagation(child.propagation),
            outlives_parent: child.outlives_parent,
        };
        let read = |read: ReadKind| types::ReadKind {
            kind: raw_kind(read.kind),
            namespace: read.namespace,
            label_selector: read.label_selector,
            metadata_only: read.metadata_only,
        };
        types::Manifest {
            name,
            version,
            description,
            parent: raw_kind(parent),
            grouping: match &self.described.grouping {
                None => types::Grouping::Each,
                Some(Grouping::All) => types::Grouping::All,
                Some(Grouping::ByField(pointer)) => types::Grouping::ByField(pointer.clone()),
            },
            children: children.into_iter().map(child).collect(),
            reads: reads.into_iter().map(read).collect(),
            parent_fields,
            deletes_parent,
            finalizes,
            settings_schema: settings_schema.as_ref().map(json),
            crds: crds.iter().map(json).collect(),
        }
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<(), String> {
        match self.call(Function::ValidateSettings, (None, &[]), settings, None) {
            Returned::Settings(None) => Ok(()),
            Returned::Settings(Some(error)) => Err(error),
            returned => unexpected(returned),
        }
    }

    fn reconcile(&self, request: types::Request<'_>, imports: &Imports) -> Result<types::Response, types::Failure> {
        match self.call(Function::Reconcile, (Some(request.parent), request.members), request.settings, Some(imports)) {
            Returned::Response(response) => Ok(raw_response(response)),
            Returned::Failure(failure) => Err(raw_failure(failure)),
            returned => unexpected(returned),
        }
    }

    fn finalize(&self, request: types::Request<'_>, imports: &Imports) -> Result<types::Teardown, types::Failure> {
        match self.call(Function::Finalize, (Some(request.parent), &[]), request.settings, Some(imports)) {
            Returned::Response(response) => Ok(types::Teardown { done: response.done, response: raw_response(response) }),
            Returned::Failure(failure) => Err(raw_failure(failure)),
            returned => unexpected(returned),
        }
    }
}

/// Ends the call as a trap does.
fn unexpected(returned: Returned) -> ! {
    let message = match returned {
        Returned::Panic(message) => message,
        _ => "the kit returned something else than the function does".to_owned(),
    };
    panic::resume_unwind(Box::new(message))
}

fn raw_kind(kind: GroupVersionKind) -> types::GroupVersionKind {
    types::GroupVersionKind { group: kind.group, version: kind.version, kind: kind.kind }
}

fn raw_strategy(strategy: Strategy) -> types::Strategy {
    match strategy {
        Strategy::Apply => types::Strategy::Apply,
        Strategy::Recreate => types::Strategy::Recreate,
        Strategy::CreateOnly => types::Strategy::CreateOnly,
    }
}

fn raw_propagation(propagation: Propagation) -> types::Propagation {
    match propagation {
        Propagation::Background => types::Propagation::Background,
        Propagation::Foreground => types::Propagation::Foreground,
        Propagation::Orphan => types::Propagation::Orphan,
    }
}

fn raw_milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn raw_response(response: Response<Text>) -> types::Response {
    let Response { children, status, conditions, events, requeue_after, parent, delete_parent, members, done: _ } = response;
    let json = |Text(bytes): Text| bytes.to_vec();
    let child = |child| match child {
        Child::Apply(DesiredChild { object, strategy }) => {
            types::Child::Apply(types::DesiredChild { object: json(object), strategy: strategy.map(raw_strategy) })
        }
        Child::Keep(ObjectRef { kind, key: ObjectKey { namespace, name } }) => {
            types::Child::Keep(types::ObjectRef { kind: raw_kind(kind), namespace, name })
        }
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
    let member_status = |MemberStatus { member, status, conditions }: MemberStatus<Text>| types::MemberStatus {
        namespace: member.namespace,
        name: member.name,
        status: status.map(json),
        conditions: conditions.into_iter().map(condition).collect(),
    };
    types::Response {
        children: children.map(|children| children.into_iter().map(child).collect()),
        status: status.map(json),
        conditions: conditions.into_iter().map(condition).collect(),
        events: events
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
        requeue_after_ms: requeue_after.map(raw_milliseconds),
        parent: parent.map(json),
        delete_parent: delete_parent.map(|ParentDeletion { after, propagation }| types::ParentDeletion {
            after_ms: raw_milliseconds(after),
            propagation: raw_propagation(propagation),
        }),
        members: members.into_iter().map(member_status).collect(),
    }
}

fn raw_failure(failure: Failure) -> types::Failure {
    match failure {
        Failure::Transient { message } => types::Failure::Transient(message),
        Failure::RetryAfter { message, after } => {
            types::Failure::RetryAfter(types::RetryAfter { delay_ms: raw_milliseconds(after), message })
        }
        Failure::Terminal { message } => types::Failure::Terminal(message),
    }
}
