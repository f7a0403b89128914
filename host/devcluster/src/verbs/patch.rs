//! JSON patch, merge patch, strategic merge patch and server-side apply.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::fields::{self, Force, Manager};
use crate::kinds::{FieldValidation, Origin};
use crate::object;
use crate::patch;
use crate::registry::Registry;
use crate::request::body::{self, Decoded};
use crate::request::options::WriteOptions;
use crate::status::{FieldError, Named, Status};
use crate::verbs::write::{Deduplication, strict_error};
use crate::verbs::{Call, Written};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    /// Returns the patch type of a content type, or `UnsupportedMediaType`. Strategic merge patches
    /// are for built-in kinds only.
    pub(crate) fn of(content_type: &str, origin: &Origin) -> Result<Self, Status> {
        let of_custom = ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
        match (content_type, origin) {
            ("application/json-patch+json", _) => Ok(Self::Json),
            ("application/merge-patch+json", _) => Ok(Self::Merge),
            ("application/strategic-merge-patch+json", Origin::Builtin) => Ok(Self::Strategic),
            ("application/apply-patch+yaml", _) => Ok(Self::Apply),
            // For built-in kinds, the real server's router rejects it before the handler.
            (_, Origin::Builtin) => {
                let message = "415: Unsupported Media Type";
                let code = http::StatusCode::UNSUPPORTED_MEDIA_TYPE;
                Err(Status { details: Some(serde_json::json!({})), ..Status::new(code, "UnsupportedMediaType", message) })
            }
            (_, Origin::Custom(_)) => Err(body::unsupported(&of_custom)),
        }
    }
}

impl Registry {
    /// Patches an object. Returns it and whether it was created.
    ///
    /// # Errors
    ///
    /// `NotFound`, `BadRequest` and `Invalid` about the patch, `Conflict`.
    pub(crate) fn patch(
        &mut self,
        call: &mut Call,
        kind: PatchType,
        patch: &Bytes,
        options: &WriteOptions,
    ) -> Result<(Written, Created), Status> {
        if kind == PatchType::Apply {
            return self.apply(call, patch, options);
        }
        let live = call.live(&self.store)?;
        let served = call.served(&self.kinds, &live);
        let decoded = body::patch(patch)?;
        let patched = match kind {
            PatchType::Json => patch::json::apply(&served, &decoded.value)?,
            PatchType::Merge => patch::merge::apply(&served, &decoded.value)?,
            PatchType::Strategic | PatchType::Apply => {
                patch::strategic::apply(&served, &decoded.value, call.kind.schema.root())?
            }
        };
        if kind == PatchType::Json {
            let unknown = patch::json::unknown_fields(&decoded.value);
            match options.field_validation {
                FieldValidation::Strict if !unknown.is_empty() => return Err(not_strict(&patched, &unknown)),
                FieldValidation::Ignore => {}
                _ => call.warnings.extend(unknown),
            }
        }
        let duplicates = if kind == PatchType::Json { Vec::new() } else { decoded.duplicates };
        let text = patched.to_string();
        let decoded = self.decode(call, Decoded { value: patched, duplicates }, options);
        let mut value = decoded.map_err(|status| undecodable(call, status, &text))?;
        call.settle_namespace(&mut value)?;
        check_unchanged_name(call, &value)?;
        self.record_update(call, &served, &mut value);
        call.deduplicate_owners(&mut value, Deduplication::AfterAdmission);
        Ok((self.replace(call, &live, &served, value)?, Created::No))
    }

    fn apply(&mut self, call: &mut Call, patch: &Bytes, options: &WriteOptions) -> Result<(Written, Created), Status> {
        let kind = Arc::clone(&call.kind);
        let Decoded { value: applied, duplicates } = body::yaml(patch)?;
        if !applied.is_object() {
            return Err(Status::bad_request("error decoding YAML: the patch is not an object"));
        }
        let api_version = kind.api_version();
        fields::check_type(&applied, &api_version, &kind.kind).map_err(fields::Error::into_status)?;
        let live = match call.live(&self.store) {
            Err(status) if call.subresource.is_some() => return Err(status),
            live => live.ok(),
        };
        let served = live.as_ref().map(|live| call.served(&self.kinds, live));
        let manager = Manager { name: &call.manager, api_version: &api_version, subresource: call.subresource_name() };
        let force = if options.force == Some(true) { Force::Yes } else { Force::No };
        let reset = kind.reset_fields(call.subresource);
        let merged = fields::apply(served.as_ref(), &applied, kind.schema.root(), &manager, force, &reset, call.now)
            .map_err(fields::Error::into_status)?;
        let duplicates: Vec<String> = duplicates.iter().map(|field| format!("duplicate field {field:?}")).collect();
        match options.field_validation {
            FieldValidation::Strict if !duplicates.is_empty() => return Err(strict_error(&kind, &duplicates)),
            FieldValidation::Ignore => {}
            _ => call.warnings.extend(duplicates),
        }
        // An apply that removes all children of a field leaves null. A custom schema may forbid it.
        let has_null = merged.as_object().is_some_and(|merged| merged.values().any(Value::is_null));
        if has_null && matches!(kind.origin, Origin::Custom(_)) {
            let errors = kind.validate(&merged);
            if !errors.is_empty() {
                return Err(Status::invalid(call.named_by_kind(), &errors));
            }
        }
        let mut value = self.decode(call, Decoded { value: merged, duplicates: Vec::new() }, options)?;
        if let (None, Some(uid)) = (&live, object::uid(&value)) {
            let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            return Err(Status::conflict(call.named(), &why));
        }
        call.settle_namespace(&mut value)?;
        check_unchanged_name(call, &value)?;
        call.deduplicate_owners(&mut value, Deduplication::AfterAdmission);
        match (live, served) {
            (Some(live), Some(served)) => Ok((self.replace(call, &live, &served, value)?, Created::No)),
            _ => Ok((self.create_owned(call, value)?, Created::Yes)),
        }
    }
}

fn not_strict(patched: &Value, faults: &[String]) -> Status {
    let why = format!("strict decoding error: {}", faults.join(", "));
    let nothing = Named { group: "", resource: "", name: "" };
    Status::invalid(nothing, &[FieldError::invalid("patch", patched.to_string(), why)])
}

/// The error for a patch whose result cannot be decoded. It quotes `patched`, as the real server's.
fn undecodable(call: &Call, status: Status, patched: &str) -> Status {
    let (_, why) =
        status.message.split_once(&format!("cannot be handled as a {}: ", call.kind.kind)).unwrap_or(("", &status.message));
    let error = FieldError::invalid("patch", patched, why);
    Status::invalid(Named { group: "", resource: "", name: "" }, &[error])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Created {
    Yes,
    No,
}

fn check_unchanged_name(call: &Call, value: &Value) -> Result<(), Status> {
    let name = object::name(value);
    if name == call.name {
        return Ok(());
    }
    Err(Status::bad_request(if name.is_empty() {
        format!("the name of the object ({} based on URL) was undeterminable: name must be provided", call.name)
    } else {
        format!("the name of the object ({name}) does not match the name on the URL ({})", call.name)
    }))
}
