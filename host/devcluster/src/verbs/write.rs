//! Create and replace: the steps that POST, PUT and all patches share.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::builtin;
use crate::conversion::convert;
use crate::fields::{self, Manager};
use crate::kinds::{Kind, Origin};
use crate::object;
use crate::registry::Registry;
use crate::request::body::Decoded;
use crate::request::expected::Expected;
use crate::request::options::{DryRun, WriteOptions};
use crate::status::{FieldError, Named, Status};
use crate::store::{Key, Resource, Stored};
use crate::validation;
use crate::verbs::{Call, Written, warnings};

/// The maximum length of the prefix in a generated name, so that the name is a DNS label.
const GENERATE_NAME_LIMIT: usize = 58;
const SUFFIX: usize = 5;
/// The real server's `maxNameGenerationCreateAttempts`.
const GENERATE_NAME_ATTEMPTS: usize = 8;
const ETERNAL_NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];

impl Registry {
    /// Decodes a body: checks its type, drops unknown fields and sets defaults.
    ///
    /// # Errors
    ///
    /// `BadRequest` for another type, for values of wrong types, and under strict validation for
    /// unknown and duplicate fields.
    pub(crate) fn decode(&self, call: &mut Call, decoded: Decoded, options: &WriteOptions) -> Result<Value, Status> {
        use crate::kinds::FieldValidation::{Ignore, Strict, Warn};
        let Decoded { mut value, duplicates } = decoded;
        let kind = Arc::clone(&call.kind);
        let text = if value.is_object() { String::new() } else { value.to_string() };
        let Some(map) = value.as_object_mut() else {
            let found = object::type_name(&value);
            let why = format!("couldn't get version/kind; json parse error: expected object, got {found}");
            return Err(Expected::object(&kind).unrecognized(&why, text.as_bytes()));
        };
        for (field, default) in [("apiVersion", kind.api_version()), ("kind", kind.kind.to_string())] {
            let is_absent = map.get(field).is_none_or(|value| value.is_null() || value == "");
            if is_absent {
                if matches!(kind.origin, Origin::Custom(_)) {
                    let text = Value::Object(map.clone()).to_string();
                    let what = if field == "kind" { "Kind" } else { "apiVersion" };
                    let what = if map.contains_key("kind") { what } else { "Kind" };
                    let why = format!("Object '{what}' is missing in '{text}'");
                    return Err(Expected::object(&kind).unrecognized(&why, text.as_bytes()));
                }
                map.insert(field.to_owned(), Value::from(default));
            }
        }
        let (api_version, name) = (object::text(&value, "apiVersion"), object::text(&value, "kind"));
        if api_version != kind.api_version() || name != &*kind.kind {
            return Err(self.wrong_type(&kind, api_version, name));
        }
        let duplicates = duplicates.iter().map(|field| format!("duplicate field {field:?}"));
        match options.field_validation {
            Ignore => {}
            Warn => call.warnings.extend(duplicates),
            Strict => {
                let mut faults: Vec<String> = duplicates.collect();
                if !faults.is_empty() {
                    let mut probe = value.clone();
                    faults.extend(kind.decode(&mut probe, Warn)?);
                    return Err(strict_error(&kind, &faults));
                }
            }
        }
        // An empty `managedFields` resets the owners; decoding would drop it.
        let owners = object::remove_metadata(&mut value, "managedFields");
        let warnings = kind.decode(&mut value, options.field_validation)?;
        call.warnings.extend(warnings);
        kind.default(&mut value);
        if let Some(owners) = owners {
            object::set_metadata(&mut value, "managedFields", owners);
        }
        Ok(value)
    }

    fn wrong_type(&self, kind: &Kind, api_version: &str, name: &str) -> Status {
        let is_known = self.kinds.by_kind(api_version, name).is_some();
        let is_typed = matches!(kind.origin, Origin::Builtin);
        let expected = Expected::object(kind);
        if is_known && api_version == kind.api_version() && is_typed {
            let package = |group: &str| match group.split('.').next() {
                None | Some("") => "core".to_owned(),
                Some(first) => first.to_owned(),
            };
            let (version, package) = (&kind.version, package(kind.group()));
            let why = format!("converting ({version}.{name}) to ({package}.{}): unknown conversion", kind.kind);
            return expected.not_handled(api_version, name, &why);
        }
        // Versions that are no longer served, but that the real server still has Go types for.
        let was_known =
            name == &*kind.kind && api_version.starts_with(&format!("{}/v1", kind.group())) && !kind.group().is_empty();
        if is_known || !is_typed || was_known {
            let wanted = kind.api_version();
            let message =
                format!("the API version in the data ({api_version}) does not match the expected API version ({wanted})");
            return Status::bad_request(message);
        }
        let scheme = "scheme \"pkg/runtime/scheme.go:111\"";
        let why = format!("no kind {name:?} is registered for version {api_version:?} in {scheme}");
        expected.not_handled(api_version, name, &why)
    }

    /// Creates a decoded object.
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, `Invalid`, `Forbidden`, or `NotFound` about its namespace.
    pub(crate) fn create(&mut self, call: &mut Call, mut value: Value) -> Result<Written, Status> {
        for field in ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            object::remove_metadata(&mut value, field);
        }
        call.settle_namespace(&mut value)?;
        if !object::metadata(&value, "resourceVersion").is_empty() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message));
        }
        call.deduplicate_owners(&mut value, Deduplication::OfRequest);
        let kind = Arc::clone(&call.kind);
        let manager = Manager { name: &call.manager, api_version: &kind.api_version(), subresource: call.subresource_name() };
        let reset = kind.reset_fields(call.subresource);
        fields::record_update(None, &mut value, kind.schema.root(), &manager, &reset, call.now);
        self.create_owned(call, value)
    }

    /// Creates an object that already has its `managedFields`.
    pub(crate) fn create_owned(&mut self, call: &mut Call, mut value: Value) -> Result<Written, Status> {
        let kind = Arc::clone(&call.kind);
        let generated = self.generate_name(&kind, &call.namespace, &mut value);
        if call.name.is_empty() {
            call.name = object::name(&value).to_owned();
        }
        object::remove_metadata(&mut value, "resourceVersion");
        let requested = if generated { object::metadata(&value, "generateName").to_owned() } else { call.name.clone() };
        let named = Named { group: kind.group(), resource: &kind.resource.plural, name: &requested };
        self.admit_to_namespace(call, named)?;
        object::set_metadata(&mut value, "uid", Value::from(self.random.uuid()));
        object::set_metadata(&mut value, "creationTimestamp", Value::from(object::seconds(call.now)));
        if kind.is_signing_request() {
            builtin::set_requestor(&mut value, call.user.as_ref());
        }
        if kind.is_pod() {
            self.admit_service_account(call, named, &mut value)?;
            self.admit_priority(named, &mut value)?;
        }
        kind.prepare_for_create(&mut value);
        let mut errors = validation::validate_metadata(&kind, &value);
        errors.extend(kind.validate(&value));
        if !errors.is_empty() {
            return Err(Status::invalid(call.named_by_kind(), &errors));
        }
        call.warnings.extend(warnings::of(&kind, &value, None));
        self.admit_to_quota(call, named, &value)?;
        self.allocate(call, &mut value, None)?;
        let resource = kind.storage();
        if let Some(live) = self.store.get(&resource, &call.key()) {
            let mut status =
                if generated { Status::generate_name_conflict(call.named()) } else { Status::already_exists(call.named()) };
            if object::is_deleting(&live.value) {
                status.message = format!("object is being deleted: {}", status.message);
            }
            return Err(status);
        }
        let key = call.key();
        Ok(self.commit(call, &resource, &key, value))
    }

    /// Allocates the addresses and ports of a Service that replaces `old`. `Invalid` if it requests
    /// those of another.
    pub(crate) fn allocate(&self, call: &Call, value: &mut Value, old: Option<&Value>) -> Result<(), Status> {
        if !call.kind.is_service() {
            return Ok(());
        }
        let (services, key) = (call.kind.storage(), call.key());
        let others = self.store.list(&services, None).filter(|(other, _)| **other != key).map(|(_, other)| &other.value);
        builtin::allocate_for_service(value, old, others).map_err(|error| Status::invalid(call.named_by_kind(), &[error]))?;
        call.kind.default(value);
        Ok(())
    }

    pub(crate) fn commit(&mut self, call: &Call, resource: &Resource, key: &Key, value: Value) -> Written {
        let value = self.stored_form(&call.kind, value);
        match call.dry_run {
            DryRun::All => Written::Tried(value),
            DryRun::No => Written::Stored(self.store.put(resource, key, value)),
        }
    }

    fn stored_form(&self, kind: &Kind, value: Value) -> Value {
        match self.kinds.storage_version(kind) {
            Some(storage) if storage.version != kind.version || storage.resource != kind.resource => {
                convert(&self.kinds, &storage, &value).into_owned()
            }
            _ => value,
        }
    }

    /// Returns whether a write of `value` would leave the stored bytes as they are. They change if
    /// they are in another version, or if the read converted, pruned or defaulted them.
    fn is_stored_unchanged(&self, kind: &Kind, live: &Stored, value: &Value) -> bool {
        match self.kinds.storage_version(kind) {
            Some(storage) if matches!(kind.origin, Origin::Custom(_)) => {
                let is_storage = storage.version == kind.version
                    && object::text(&live.value, "apiVersion") == kind.api_version()
                    && kind.as_read(&live.value).is_none();
                is_storage || fields::same_but_for_times(&live.value, &self.stored_form(kind, value.clone()))
            }
            _ => true,
        }
    }

    /// Generates a name from `generateName` if there is no name, and returns whether it did. All
    /// attempts may find a name that is taken; then the create fails.
    fn generate_name(&mut self, kind: &Kind, namespace: &str, value: &mut Value) -> bool {
        let prefix = object::metadata(value, "generateName");
        if prefix.is_empty() || !object::name(value).is_empty() {
            return false;
        }
        let end = prefix.char_indices().map(|(index, character)| index + character.len_utf8());
        let end = end.take_while(|end| *end <= GENERATE_NAME_LIMIT).last().unwrap_or(0);
        let prefix = prefix.get(..end).unwrap_or_default().to_owned();
        let mut name = String::new();
        for _ in 0..GENERATE_NAME_ATTEMPTS {
            name = format!("{prefix}{}", self.random.suffix(SUFFIX));
            if self.store.get(&kind.storage(), &Key::new(namespace, &name)).is_none() {
                break;
            }
        }
        object::set_metadata(value, "name", Value::from(name));
        true
    }

    /// Replaces an object, or the part that the call's subresource covers, by a decoded one.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Conflict` or `Invalid`.
    pub(crate) fn update(&mut self, call: &mut Call, mut value: Value) -> Result<Written, Status> {
        call.settle_namespace(&mut value)?;
        check_name(call, &value)?;
        let live = match call.live(&self.store) {
            Err(_) if call.kind.is_created_by_update() && call.subresource.is_none() => {
                if let Some(asked) = object::uid(&value) {
                    return Err(uid_mismatch(call, asked, ""));
                }
                parse_version(&value)?;
                // For this create, the version is no precondition. A dry run returns it.
                let version = object::remove_metadata(&mut value, "resourceVersion");
                return Ok(match (self.create(call, value)?, version) {
                    (Written::Tried(mut value), Some(version)) => {
                        object::set_metadata(&mut value, "resourceVersion", version);
                        Written::Tried(value)
                    }
                    (written, _) => written,
                });
            }
            live => live?,
        };
        let uid = object::uid(&value);
        if let (Some(asked), Some(real)) = (uid, object::uid(&live.value))
            && asked != real
        {
            return Err(uid_mismatch(call, asked, real));
        }
        call.deduplicate_owners(&mut value, Deduplication::OfRequest);
        let served = call.served(&self.kinds, &live);
        self.record_update(call, &served, &mut value);
        self.replace(call, &live, &served, value)
    }

    pub(crate) fn record_update(&self, call: &Call, served: &Value, value: &mut Value) {
        let kind = &call.kind;
        let manager = Manager { name: &call.manager, api_version: &kind.api_version(), subresource: call.subresource_name() };
        fields::record_update(
            Some(served),
            value,
            kind.schema.root(),
            &manager,
            &kind.reset_fields(call.subresource),
            call.now,
        );
    }

    /// Validates `value` and replaces `live` by it. `served` is `live` in the request's version.
    pub(crate) fn replace(
        &mut self,
        call: &mut Call,
        live: &Arc<Stored>,
        served: &Value,
        mut value: Value,
    ) -> Result<Written, Status> {
        let kind = Arc::clone(&call.kind);
        check_version(call, live, &mut value)?;
        keep_generation(served, &mut value);
        kind.prepare_for_update(call.subresource, &mut value, served);
        keep_deletion(served, &mut value);
        let mut errors = validation::validate_metadata(&kind, &value);
        errors.extend(validation::validate_metadata_update(&value, served));
        errors.extend(kind.validate_update(call.subresource, &value, served));
        if !errors.is_empty() {
            return Err(Status::invalid(call.named_by_kind(), &errors));
        }
        if call.subresource.is_none() {
            call.warnings.extend(warnings::of(&kind, &value, Some(served)));
            self.allocate(call, &mut value, Some(served))?;
        }
        if fields::same_but_for_times(served, &value) && self.is_stored_unchanged(&kind, live, &value) {
            return Ok(Written::Stored(Arc::clone(live)));
        }
        let (resource, key) = (kind.storage(), call.key());
        if completes_deletion(&kind, &value, served) {
            return match call.dry_run {
                DryRun::All => Ok(Written::Tried(value)),
                DryRun::No => {
                    // One DELETED event, of the object without its last finalizer.
                    let answer = value.clone();
                    let removed = self.store.remove_as(&resource, &key, self.stored_form(&kind, value));
                    removed.map(|_| Written::Tried(answer)).ok_or_else(|| Status::not_found(call.named()))
                }
            };
        }
        Ok(self.commit(call, &resource, &key, value))
    }
}

/// The step at which the API server drops equal owner references, which its warning names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deduplication {
    OfRequest,
    AfterAdmission,
}

impl Call {
    /// Drops owner references that are equal to an earlier one, with a warning.
    pub(crate) fn deduplicate_owners(&mut self, value: &mut Value, step: Deduplication) {
        let mut kept: Vec<Value> = Vec::new();
        let mut duplicates: Vec<&str> = Vec::new();
        for reference in object::owner_references(value) {
            if kept.contains(reference) {
                duplicates.push(object::text(reference, "uid"));
            } else {
                kept.push(reference.clone());
            }
        }
        if duplicates.is_empty() {
            return;
        }
        let when = match step {
            Deduplication::OfRequest => "",
            Deduplication::AfterAdmission => " after mutating admission happens",
        };
        self.warnings.push(format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject such \
             requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            duplicates.join(", ")
        ));
        object::set_metadata(value, "ownerReferences", Value::Array(kept));
    }
}

fn completes_deletion(kind: &Kind, value: &Value, old: &Value) -> bool {
    let grace = value.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    let keeps_itself = kind.is_namespace() && value.pointer("/spec/finalizers").is_some_and(|list| list != &json!([]));
    let was_held = object::finalizers(old).next().is_some() || kind.is_namespace();
    object::is_deleting(value) && object::finalizers(value).next().is_none() && grace == 0 && !keeps_itself && was_held
}

fn check_name(call: &Call, value: &Value) -> Result<(), Status> {
    let name = object::name(value);
    if name.is_empty() {
        let message = format!("the name of the object ({} based on URL) was undeterminable: name must be provided", call.name);
        return Err(Status::bad_request(message));
    }
    if name != call.name {
        let message = format!("the name of the object ({name}) does not match the name on the URL ({})", call.name);
        return Err(Status::bad_request(message));
    }
    Ok(())
}

pub(crate) fn uid_mismatch(call: &Call, asked: &str, real: &str) -> Status {
    let key = match call.namespace.as_str() {
        "" => call.name.clone(),
        namespace => format!("{namespace}/{}", call.name),
    };
    let prefix = match call.kind.group() {
        "" => call.kind.resource.plural.to_string(),
        group => format!("{group}/{}", call.kind.resource.plural),
    };
    let prefix = match &call.kind.origin {
        Origin::Custom(_) => prefix,
        Origin::Builtin => call.kind.resource.plural.to_string(),
    };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{prefix}/{key}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {asked}, UID in object meta: {real}"
    );
    Status::conflict(call.named(), &why)
}

fn parse_version(value: &Value) -> Result<(), Status> {
    let asked = object::metadata(value, "resourceVersion");
    if asked.is_empty() || asked.parse::<u64>().is_ok() {
        return Ok(());
    }
    let message = format!("strconv.ParseUint: parsing {asked:?}: invalid syntax");
    Err(Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message))
}

fn check_version(call: &Call, live: &Stored, value: &mut Value) -> Result<(), Status> {
    parse_version(value)?;
    let asked = object::metadata(value, "resourceVersion");
    if asked.is_empty() || asked == "0" {
        if !call.kind.may_be_updated_blindly() {
            let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
            let named = Named { resource: &call.kind.resource.plural, ..call.named() };
            return Err(Status::invalid(named, &[error]));
        }
        object::set_resource_version(value, live.revision);
    } else if asked != live.revision.to_string() {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        return Err(Status::conflict(call.named(), why));
    }
    Ok(())
}

fn keep_generation(old: &Value, value: &mut Value) {
    match old.pointer("/metadata/generation") {
        Some(generation) => object::set_metadata(value, "generation", generation.clone()),
        None => {
            object::remove_metadata(value, "generation");
        }
    }
}

fn keep_deletion(old: &Value, value: &mut Value) {
    let Some(metadata) = old.get("metadata") else { return };
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if let Some(time) = metadata.get(field) {
            object::set_metadata(value, field, time.clone());
        }
    }
    for field in ["uid", "deletionGracePeriodSeconds"] {
        if let Some(kept) = metadata.get(field)
            && value.pointer(&format!("/metadata/{field}")).is_none_or(|value| value.is_null() || value == "")
        {
            object::set_metadata(value, field, kept.clone());
        }
    }
}

/// The NamespaceLifecycle admission, for deletions.
pub(crate) fn admit_deletion(call: &Call) -> Result<(), Status> {
    if call.kind.is_namespace() && ETERNAL_NAMESPACES.contains(&call.name.as_str()) {
        return Err(Status::forbidden(call.named(), "this namespace may not be deleted"));
    }
    Ok(())
}

pub(crate) fn strict_error(kind: &Kind, faults: &[String]) -> Status {
    let listed = faults.join(", ");
    Status::bad_request(match &kind.origin {
        Origin::Builtin => format!(
            "{} in version {:?} cannot be handled as a {}: strict decoding error: {listed}",
            kind.kind, &*kind.version, kind.kind
        ),
        Origin::Custom(_) => format!("strict decoding error: {listed}"),
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Request;
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::random::Random;
    use crate::server::{Controllers, Options, Server};

    const MAPS: &str = "/api/v1/namespaces/default/configmaps";

    fn post(server: &mut Server, metadata: &Value) -> (u16, Value) {
        let request = Request::post(MAPS).header("content-type", "application/json");
        let body = Bytes::from(json!({ "metadata": metadata }).to_string());
        let answer = server.handle(Timestamp::UNIX_EPOCH, &request.body(body).unwrap());
        let crate::answer::Body::Full(body) = answer.body else { panic!("a body") };
        (answer.status.as_u16(), serde_json::from_slice(&body).unwrap())
    }

    fn names(seed: u64, count: usize) -> Vec<String> {
        let mut random = Random::new(seed);
        (0..count).map(|_| format!("a-{}", random.suffix(SUFFIX))).collect()
    }

    #[test]
    fn a_generated_name_that_is_taken_is_generated_again() {
        const SEED: u64 = 7;
        let mut server =
            Server::new(&Options { controllers: Controllers::Absent, ..Options::default() }, Timestamp::UNIX_EPOCH);
        let names = names(SEED, GENERATE_NAME_ATTEMPTS + 1);
        for name in &names[..GENERATE_NAME_ATTEMPTS - 1] {
            assert_eq!(post(&mut server, &json!({ "name": name })).0, 201);
        }
        server.registry.random = Random::new(SEED);
        let (code, made) = post(&mut server, &json!({ "generateName": "a-" }));
        assert_eq!((code, made["metadata"]["name"].as_str()), (201, Some(names[GENERATE_NAME_ATTEMPTS - 1].as_str())));
        server.registry.random = Random::new(SEED);
        let (code, status) = post(&mut server, &json!({ "generateName": "a-" }));
        assert_eq!((code, status["reason"].as_str()), (409, Some("AlreadyExists")));
        let message = status["message"].as_str().unwrap();
        assert!(message.ends_with("the server was not able to generate a unique name for the object"), "{message}");
    }
}
