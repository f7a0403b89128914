//! Reviews and tokens: requests whose answer depends on the sender, and that store nothing.
//!
//! There is no authorization, so everything is allowed. There is no authentication: a token is the
//! name of its user.

use http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::dispatch::{Incoming, method_not_allowed};
use crate::answer::Answer;
use crate::fields::{self, Manager};
use crate::object;
use crate::request::body;
use crate::request::expected::Expected;
use crate::request::options::WriteOptions;
use crate::server::Server;
use crate::status::{FieldError, Named, Status};
use crate::user::{Requester, User};
use crate::verbs::Call;

const HOUR: i64 = 60 * 60;
/// The bounds of the expiration of a token (`ValidateTokenRequest`).
const SHORTEST: i64 = 10 * 60;
const LONGEST: i64 = 1 << 32;

impl Server {
    pub(super) fn review(&self, mut call: Call, incoming: &Incoming<'_>) -> Result<Answer, Status> {
        if *incoming.method != Method::POST {
            return Ok(method_not_allowed());
        }
        let options = WriteOptions::parse(&incoming.query, "CreateOptions", false)?;
        let decoded = body::object(incoming.headers, incoming.body, &Expected::object(&call.kind))?;
        call.take(&options, incoming.headers);
        let mut review = self.registry.decode(&mut call, decoded, &options)?;
        call.settle_namespace(&mut review)?;
        let user = Requester::of(incoming.headers)?.effective().clone();
        let answer = answered(&call, review, &user)?;
        Ok(incoming.rendering.one(StatusCode::CREATED, &call.kind, &answer, call.now).with_warnings(&call.warnings))
    }

    /// Answers a request for a token of a service account.
    pub(super) fn token(&self, mut call: Call, incoming: &Incoming<'_>) -> Result<Answer, Status> {
        if *incoming.method != Method::POST {
            return Ok(method_not_allowed());
        }
        let options = WriteOptions::parse(&incoming.query, "CreateOptions", false)?;
        call.take(&options, incoming.headers);
        let expected = Expected::typed("authentication.k8s.io/v1", "TokenRequest");
        let request = body::object(incoming.headers, incoming.body, &expected)?.value;
        let account = call.live(&self.registry.store)?;
        let spec = request.get("spec").unwrap_or(&Value::Null);
        let seconds = spec.get("expirationSeconds").and_then(Value::as_i64).unwrap_or(HOUR);
        let wrong = match seconds {
            ..SHORTEST => Some("may not specify a duration less than 10 minutes"),
            SHORTEST..=LONGEST => None,
            _ => Some("may not specify a duration larger than 2^32 seconds"),
        };
        if let Some(wrong) = wrong {
            let named = Named { group: "authentication.k8s.io", resource: "TokenRequest", name: "" };
            return Err(Status::invalid(named, &[FieldError::invalid("spec.expirationSeconds", seconds, wrong)]));
        }
        let asked = spec.get("audiences").filter(|asked| asked.as_array().is_some_and(|asked| !asked.is_empty()));
        let audiences = asked.cloned().unwrap_or_else(|| json!(["https://kubernetes.default.svc.cluster.local"]));
        let expiration = call.now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
        let answer = json!({
            "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": call.name, "namespace": call.namespace, "uid": object::uid(&account.value),
                "creationTimestamp": object::seconds(call.now),
            },
            "spec": {
                "audiences": audiences, "expirationSeconds": seconds,
                "boundObjectRef": spec.get("boundObjectRef").cloned().unwrap_or_default(),
            },
            "status": {
                "token": format!("system:serviceaccount:{}:{}", call.namespace, call.name),
                "expirationTimestamp": object::seconds(expiration),
            },
        });
        Ok(incoming.rendering.answer(StatusCode::CREATED, &answer))
    }
}

fn answered(call: &Call, mut review: Value, user: &User) -> Result<Value, Status> {
    let spec = review.get("spec").cloned().unwrap_or_default();
    let kind = &*call.kind.kind;
    let status = match kind {
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            let errors = access_errors(kind, &review, &spec);
            if !errors.is_empty() {
                // The real server does not know the kind here.
                return Err(Status::invalid(Named { group: call.kind.group(), resource: "", name: "" }, &errors));
            }
            json!({ "allowed": true })
        }
        "TokenReview" => {
            let token = object::text(&spec, "token");
            if token.is_empty() {
                return Err(Status::bad_request("token is required for TokenReview in authentication"));
            }
            let mut status = json!({ "authenticated": true, "user": { "username": token, "groups": user.groups } });
            if let (Some(status), Some(audiences)) = (status.as_object_mut(), spec.get("audiences")) {
                status.insert("audiences".to_owned(), audiences.clone());
            }
            status
        }
        "SelfSubjectRulesReview" => {
            if object::text(&spec, "namespace").is_empty() {
                return Err(Status::bad_request("no namespace on request"));
            }
            let status = json!({
                "resourceRules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }],
                "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
                "incomplete": false,
            });
            return Ok(typed(call, [("metadata", json!({})), ("spec", json!({})), ("status", status)]));
        }
        _ => {
            let metadata = json!({ "creationTimestamp": object::seconds(call.now) });
            let status = json!({ "userInfo": { "username": user.name, "groups": user.groups } });
            return Ok(typed(call, [("metadata", metadata), ("status", status)]));
        }
    };
    let manager = Manager { name: &call.manager, api_version: &call.kind.api_version(), subresource: "" };
    fields::record_update(None, &mut review, call.kind.schema.root(), &manager, &[], call.now);
    if let Some(review) = review.as_object_mut() {
        review.insert("status".to_owned(), status);
    }
    Ok(review)
}

fn typed<const N: usize>(call: &Call, fields: [(&str, Value); N]) -> Value {
    let names = [("kind", Value::from(&*call.kind.kind)), ("apiVersion", call.kind.api_version().into())];
    Value::Object(Map::from_iter(names.into_iter().chain(fields).map(|(name, value)| (name.to_owned(), value))))
}

/// `ValidateSubjectAccessReview` and the like.
fn access_errors(kind: &str, review: &Value, spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let given = |field: &str| spec.get(field).filter(|value| !value.is_null());
    match (given("resourceAttributes"), given("nonResourceAttributes")) {
        (Some(_), Some(paths)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            errors.push(FieldError::invalid("spec.nonResourceAttributes", paths.clone(), why));
        }
        (None, None) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(FieldError::invalid("spec.resourceAttributes", Value::Null, why));
        }
        _ => {}
    }
    let has_groups = given("groups").and_then(Value::as_array).is_some_and(|groups| !groups.is_empty());
    if kind != "SelfSubjectAccessReview" && object::text(spec, "user").is_empty() && !has_groups {
        errors.push(FieldError::invalid("spec.user", "", "at least one of user or group must be specified"));
    }
    let is_local = kind == "LocalSubjectAccessReview";
    let metadata = review.get("metadata").and_then(Value::as_object);
    if metadata.is_some_and(|fields| fields.keys().any(|field| !(field == "managedFields" || is_local && field == "namespace")))
    {
        let why = if is_local { "must be empty except for namespace" } else { "must be empty" };
        errors.push(FieldError::invalid("metadata", review.get("metadata").cloned().unwrap_or_default(), why));
    }
    if is_local {
        let namespace = given("resourceAttributes").map(|attributes| object::text(attributes, "namespace"));
        if let Some(namespace) = namespace.filter(|namespace| *namespace != object::namespace(review)) {
            errors.push(FieldError::invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace"));
        }
        if let Some(paths) = given("nonResourceAttributes") {
            errors.push(FieldError::invalid("spec.nonResourceAttributes", paths.clone(), "disallowed on this kind of request"));
        }
    }
    errors
}
