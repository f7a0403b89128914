//! Runs a reconciler in this process when the program calls it.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::SystemTime;

use gyre_sdk::log::Level;
use gyre_sdk::testing::hosted;
use gyre_sdk::{
    Child, ChildKind, Condition, ConditionStatus, DesiredChild, Event, Failure, Grouping, Kind, Manifest, Member, ObjectRef,
    Plan, Propagation, ReadError, ReadKind, Reconciler, Severity, Strategy, Time,
};
use serde_json::{Value, json};

use crate::program::{Lane, Stopped};

/// Takes the parent, its members, and the settings.
type Reconcile = fn(Vec<u8>, Vec<Vec<u8>>, &[u8], Rc<dyn hosted::Host>) -> Result<Plan, Failure>;

/// Takes the parent and the settings.
type Finalize = fn(&[u8], &[u8], Rc<dyn hosted::Host>) -> Result<Plan, Failure>;

/// The functions of a reconciler.
#[derive(Clone, Copy)]
pub(crate) struct Code {
    reconcile: Reconcile,
    finalize: Finalize,
    validate_settings: fn(&[u8]) -> Result<(), String>,
}

impl Code {
    pub(crate) fn of<R: Reconciler>() -> Self {
        Self {
            reconcile: hosted::reconcile::<R>,
            finalize: hosted::finalize::<R>,
            validate_settings: hosted::validate_settings::<R>,
        }
    }
}

/// Runs what the program calls, and returns the result; `None` if the program has given it up.
pub(crate) fn serve(code: &Code, call: &Value, lane: &Rc<Lane>) -> Option<Value> {
    let bytes = |field: &str| call.get(field).map(to_bytes).unwrap_or_default();
    let (parent, settings) = (bytes("parent"), bytes("settings"));
    let members = call.get("members").and_then(Value::as_array).into_iter().flatten().map(to_bytes);
    let host = || Rc::new(Imports(Rc::clone(lane)));
    let run = || match call.get("function").and_then(Value::as_str) {
        Some("validateSettings") => json!({"settings": (code.validate_settings)(&settings).err()}),
        Some("finalize") => match (code.finalize)(&parent, &settings, host()) {
            Ok(plan) => json!({"response": response(plan)}),
            Err(failure) => json!({"failure": failed(failure)}),
        },
        _ => match (code.reconcile)(parent, members.collect(), &settings, host()) {
            Ok(plan) => json!({"response": response(plan)}),
            Err(failure) => json!({"failure": failed(failure)}),
        },
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(returned) => Some(returned),
        Err(thrown) if thrown.is::<Stopped>() => None,
        Err(thrown) => Some(json!({"panic": said(&*thrown)})),
    }
}

/// The first line of a panic, after what a component logs of it.
fn said(thrown: &(dyn Any + Send)) -> String {
    let text = thrown.downcast_ref::<String>().map(String::as_str).or_else(|| thrown.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message").to_owned()
}

/// The reads of a call, which the program answers.
struct Imports(Rc<Lane>);

impl fmt::Debug for Imports {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Imports")
    }
}

impl Imports {
    fn read(&self, kind: Kind, read: &Value) -> Result<Vec<Vec<u8>>, ReadError> {
        let answer = self.0.ask_within_call(&json!({"read": read}));
        match answer.get("readError").and_then(Value::as_str) {
            None => Ok(answer.get("found").and_then(Value::as_array).into_iter().flatten().map(to_bytes).collect()),
            Some("notDeclared") => Err(ReadError::NotDeclared(kind)),
            Some("notGranted") => Err(ReadError::NotGranted(kind)),
            Some("notServed") => Err(ReadError::NotServed(kind)),
            Some(_) => {
                let message = answer.get("message").and_then(Value::as_str).unwrap_or_default();
                Err(ReadError::InvalidSelector(message.to_owned()))
            }
        }
    }
}

impl hosted::Host for Imports {
    fn children(&self, kind: Kind) -> Result<Vec<Vec<u8>>, ReadError> {
        self.read(kind, &json!({"children": {"kind": parts(kind)}}))
    }

    fn get(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let read = json!({"get": {"kind": parts(kind), "namespace": namespace, "name": name}});
        Ok(self.read(kind, &read)?.pop())
    }

    fn list(&self, kind: Kind, namespace: Option<&str>, label_selector: Option<&str>) -> Result<Vec<Vec<u8>>, ReadError> {
        let read = json!({"list": {"kind": parts(kind), "namespace": namespace, "labelSelector": label_selector}});
        self.read(kind, &read)
    }

    fn now(&self) -> SystemTime {
        let answer = self.0.ask_within_call(&json!({"clock": {}}));
        let time = answer.get("time").and_then(Value::as_str).and_then(|time| time.parse::<Time>().ok());
        time.map_or(SystemTime::UNIX_EPOCH, SystemTime::from)
    }

    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let level = match level {
            Level::Trace => "trace",
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.0.ask_within_call(&json!({"log": {"level": level, "message": message, "fields": fields}}));
    }
}

/// A JSON text: an object, or a string that contains it.
fn to_bytes(text: &Value) -> Vec<u8> {
    match text {
        Value::String(text) => text.clone().into_bytes(),
        object => object.to_string().into_bytes(),
    }
}

/// As a string, so that the host gets the bytes of the plugin.
fn text(bytes: &[u8]) -> Value {
    Value::from(String::from_utf8_lossy(bytes))
}

fn parts(kind: Kind) -> Value {
    json!({"group": kind.group(), "version": kind.version(), "kind": kind.kind})
}

pub(crate) fn manifest(manifest: Manifest) -> Value {
    let Manifest {
        name,
        version,
        description,
        parent,
        grouping,
        children,
        reads,
        parent_fields,
        deletes_parent,
        finalizes,
        settings_schema,
        crds,
    } = manifest;
    let json = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or_else(|_| text(bytes));
    let child = |child: &ChildKind| {
        json!({
            "kind": parts(child.kind),
            "strategy": strategy(child.strategy),
            "strongest_strategy": child.strongest_strategy.map(strategy),
            "propagation": propagation(child.propagation),
            "outlives_parent": child.outlives_parent,
        })
    };
    let read = |read: &ReadKind| {
        json!({
            "kind": parts(read.kind),
            "namespace": read.namespace,
            "label_selector": read.label_selector,
            "metadata_only": read.metadata_only,
        })
    };
    json!({
        "name": name,
        "version": version,
        "description": description,
        "parent": parts(parent),
        "grouping": match grouping {
            Grouping::Each => Value::Null,
            Grouping::All => "all".into(),
            Grouping::ByField(pointer) => json!({"byField": pointer}),
        },
        "children": children.iter().map(child).collect::<Vec<_>>(),
        "reads": reads.iter().map(read).collect::<Vec<_>>(),
        "parent_fields": parent_fields,
        "deletes_parent": deletes_parent,
        "finalizes": finalizes,
        "settings_schema": settings_schema.as_deref().map(json),
        "crds": crds.iter().map(|crd| json(crd)).collect::<Vec<_>>(),
    })
}

fn strategy(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Apply => "apply",
        Strategy::Recreate => "recreate",
        Strategy::CreateOnly => "create-only",
    }
}

fn propagation(propagation: Propagation) -> &'static str {
    match propagation {
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
        Propagation::Orphan => "Orphan",
    }
}

fn response(plan: Plan) -> Value {
    // A plan with a mistake is a failure already.
    let Plan { children, status, conditions, events, requeue_after, parent, delete_parent, members, releases_parent, .. } =
        plan;
    let apply =
        |object: &[u8], named: Option<Strategy>| json!({"apply": {"object": text(object), "strategy": named.map(strategy)}});
    let child = |child: Child| match child {
        Child::Apply(DesiredChild { object, strategy }) => apply(&gyre_sdk::typed::fields::to_json(&object), strategy),
        Child::Bytes(bytes) => apply(&bytes, None),
        Child::Keep(ObjectRef { kind, namespace, name }) => {
            json!({"keep": {"kind": kind.to_string(), "namespace": namespace, "name": name}})
        }
    };
    let condition = |condition: Condition| {
        let status = match condition.status {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        };
        json!({"type": condition.kind, "status": status, "reason": condition.reason, "message": condition.message})
    };
    let member = |Member { namespace, name, status, conditions }: Member| {
        json!({
            "namespace": namespace,
            "name": name,
            "status": status.and_then(Result::ok).map(|status| text(&status)),
            "conditions": conditions.into_iter().map(condition).collect::<Vec<_>>(),
        })
    };
    let event = |event: Event| {
        let severity = match event.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        json!({"type": severity, "reason": event.reason, "message": event.message})
    };
    json!({
        "children": children.map(|children| children.into_iter().map(child).collect::<Vec<_>>()),
        "status": status.and_then(Result::ok).map(|status| text(&status)),
        "conditions": conditions.into_iter().map(condition).collect::<Vec<_>>(),
        "events": events.into_iter().map(event).collect::<Vec<_>>(),
        "requeueAfterMs": requeue_after.map(milliseconds),
        "parent": parent.map(|fields| text(&gyre_sdk::typed::fields::to_json(&fields))),
        "deleteParent": delete_parent.map(|deletion| {
            json!({"afterMs": milliseconds(deletion.after), "propagation": propagation(deletion.propagation)})
        }),
        "members": members.into_iter().map(member).collect::<Vec<_>>(),
        "done": releases_parent,
    })
}

fn failed(failure: Failure) -> Value {
    match failure {
        Failure::Transient(message) => json!({"reason": "TransientFailure", "message": message}),
        Failure::RetryAfter(delay, message) => {
            json!({"reason": "RetryAfter", "message": message, "afterMs": milliseconds(delay)})
        }
        Failure::Terminal(message) => json!({"reason": "TerminalFailure", "message": message}),
    }
}

/// The maximum is half a billion years.
pub(crate) fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
