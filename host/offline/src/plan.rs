//! The actions of a host, in readable form.

use std::fmt;

use gyre_core::generated;
pub use gyre_engine::difference::{Subject, Verb};
use gyre_engine::values::Randomness;
use http::Method;
use serde_json::{Value, json};

use crate::journal::Sent;

/// An action that a host performed or attempted.
#[derive(Clone, Debug)]
pub struct Action {
    /// The kind of action.
    pub verb: Verb,
    /// The object of the action; for an event, the object that it is about.
    pub subject: Subject,
    /// The object that was sent; for a deletion, the deleted object.
    pub object: Value,
    /// The object before and after, or `Null` if it did not exist.
    pub states: [Value; 2],
    /// Why the API server rejected it, or `None` if it did not.
    pub refusal: Option<String>,
}

pub(crate) fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid").and_then(Value::as_str)
}

fn involved(event: &Value) -> Subject {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let about = if event.get("regarding").is_some() { "regarding" } else { "involvedObject" };
    let field = |name: &str| text(&format!("/{about}/{name}"));
    Subject {
        api_version: field("apiVersion").unwrap_or_default(),
        kind: field("kind").unwrap_or_default(),
        namespace: field("namespace"),
        name: field("name").unwrap_or_default(),
    }
}

fn reason(answer: &Value) -> &str {
    answer.get("reason").and_then(Value::as_str).unwrap_or_default()
}

/// Returns an object with placeholders, whose digests are those that plugins of a simulation see:
/// a value that is drawn from a seed would be taken for a real one.
pub(crate) fn without_generated_values(object: Value) -> Value {
    let digests = Randomness::Seeded(0).digest_key().ok();
    let Some(mut shown) = generated::shown(&object, digests.as_ref()) else { return object };
    // It holds the body to the version whose values it keeps, and differs from run to run.
    if let Some(metadata) = shown.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    shown
}

impl Action {
    /// The action of a request, or `None` for dry runs and for requests that only concern the host.
    pub(crate) fn of(sent: &Sent) -> Option<Self> {
        let is_done = sent.code.is_success();
        // The host learns by this that the name is taken. The status says what follows.
        let is_taken = sent.method == Method::POST && !is_done && reason(&sent.answer) == "AlreadyExists";
        let is_bookkeeping = sent.body.pointer("/metadata/managedFields").is_some();
        if sent.query.contains("dryRun=") || is_taken || is_bookkeeping {
            return None;
        }
        let refusal = (!is_done).then(|| {
            let message = sent.answer.get("message").and_then(Value::as_str);
            message.map_or_else(|| sent.code.to_string(), str::to_owned)
        });
        // The answer contains the object, unless it is an error. A patch may lack kind and name.
        let answered = match (is_done, &sent.before) {
            (true, _) => &sent.answer,
            (false, Value::Null) => &sent.body,
            (false, before) => before,
        };
        let is_event = sent.path.ends_with("/events");
        let (verb, subject, object) = match sent.method {
            Method::DELETE => (Verb::Delete, Subject::of(&sent.before), sent.before.clone()),
            Method::POST if is_event => (Verb::Event, involved(&sent.body), sent.body.clone()),
            Method::POST => (Verb::Create, Subject::of(answered), sent.body.clone()),
            Method::PATCH if sent.path.ends_with("/status") => (Verb::Status, Subject::of(answered), sent.body.clone()),
            Method::PATCH if sent.content_type.contains("apply-patch") => {
                let verb = if sent.before.is_null() { Verb::Create } else { Verb::Update };
                (verb, Subject::of(&sent.body), sent.body.clone())
            }
            // With equal finalizers, only the list of children was written.
            Method::PATCH
                if is_done && finalizers(&sent.body).is_some() && finalizers(&sent.body) == finalizers(&sent.before) =>
            {
                return None;
            }
            Method::PATCH if finalizers(&sent.body).is_some() => (Verb::Finalizers, Subject::of(answered), sent.body.clone()),
            Method::PATCH => (Verb::Update, Subject::of(answered), sent.body.clone()),
            _ => return None,
        };
        let after = if is_done && verb != Verb::Delete { sent.answer.clone() } else { Value::Null };
        let states = [sent.before.clone(), after].map(without_generated_values);
        Some(Self { verb, subject, object: without_generated_values(object), states, refusal })
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let Subject { api_version, kind, namespace, name } = &self.subject;
        let mut json = json!({ "verb": self.verb.name(), "apiVersion": api_version, "kind": kind, "name": name });
        let fields = json.as_object_mut().into_iter();
        for fields in fields {
            if let Some(namespace) = namespace {
                fields.insert("namespace".to_owned(), Value::from(namespace.as_str()));
            }
            if let Some(refusal) = &self.refusal {
                fields.insert("refusal".to_owned(), Value::from(refusal.as_str()));
            }
        }
        json
    }
}

fn finalizers(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/finalizers")
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:<10} {}", self.verb.name(), self.subject)?;
        if self.verb == Verb::Event {
            let text = |field: &str| self.object.get(field).and_then(Value::as_str).unwrap_or_default();
            let note = if text("note").is_empty() { text("message") } else { text("note") };
            write!(formatter, ": {} {}: {note}", text("type"), text("reason"))?;
        }
        if let Some(refusal) = &self.refusal {
            write!(formatter, " (refused: {refusal})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[test]
    fn a_refused_patch_is_about_the_object_that_is_there() {
        let before = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "one", "namespace": "default" } });
        for (path, body, verb) in [
            ("/api/v1/namespaces/default/pods/one/status", json!({ "status": {} }), Verb::Status),
            ("/api/v1/namespaces/default/pods/one", json!({ "metadata": { "finalizers": ["a/b"] } }), Verb::Finalizers),
            ("/api/v1/namespaces/default/pods/one", json!({ "metadata": { "labels": {} } }), Verb::Update),
        ] {
            let sent = Sent {
                method: Method::PATCH,
                path: path.to_owned(),
                query: String::new(),
                content_type: "application/merge-patch+json".to_owned(),
                body,
                before: before.clone(),
                code: StatusCode::UNPROCESSABLE_ENTITY,
                answer: json!({ "kind": "Status", "message": "no" }),
            };
            let action = Action::of(&sent).unwrap();
            assert_eq!((action.verb, &action.subject), (verb, &Subject::of(&before)), "{action}");
        }
    }
}
