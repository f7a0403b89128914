//! Renders objects in the requested form: whole, as Tables, or as metadata.

use std::borrow::Cow;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::conversion::convert;
use crate::kinds::{Kind, Kinds};
use crate::object;
use crate::partial;
use crate::request::accept::{Accept, Form};
use crate::status::Status;
use crate::store::Stored;
use crate::table::{self, Headings, IncludeObject};

#[derive(Debug)]
pub(crate) struct Rendering {
    pub(crate) accept: Accept,
    pub(crate) include: IncludeObject,
    /// The next Table of a watch has headings only if this says so.
    headings: Headings,
}

impl Rendering {
    pub(crate) fn new(accept: Accept, include: IncludeObject) -> Self {
        Self { accept, include, headings: Headings::Shown }
    }

    /// Parses `includeObject`, or returns a `BadRequest`.
    pub(crate) fn include(text: &str) -> Result<IncludeObject, Status> {
        match text {
            "" | "Metadata" => Ok(IncludeObject::Metadata),
            "Object" => Ok(IncludeObject::Object),
            "None" => Ok(IncludeObject::None),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }

    pub(crate) fn watched(&mut self, kinds: &Kinds, kind: &Kind, object: &Stored, now: Timestamp) -> Bytes {
        match convert(kinds, kind, &object.value) {
            Cow::Borrowed(_) if self.accept.form == Form::Object => object.json().clone(),
            value => self.watched_value(kind, &value, now),
        }
    }

    pub(crate) fn watched_value(&mut self, kind: &Kind, value: &Value, now: Timestamp) -> Bytes {
        let rendered = match self.accept.form {
            Form::Object | Form::AggregatedDiscovery => return value.to_string().into(),
            Form::Table => {
                let headings = std::mem::replace(&mut self.headings, Headings::Omitted);
                let metadata = json!({ "resourceVersion": object::metadata(value, "resourceVersion") });
                table::render(kind, &metadata, &[value], self.include, headings, now)
            }
            Form::Metadata | Form::MetadataList => partial::object(value),
        };
        rendered.to_string().into()
    }

    pub(crate) fn bookmark(&mut self, kind: &Kind, value: Value) -> Bytes {
        match self.accept.form {
            Form::Object | Form::AggregatedDiscovery => value.to_string().into(),
            Form::Metadata | Form::MetadataList => partial::object(&value).to_string().into(),
            Form::Table => {
                // A bookmark has no object to show; clients only read the row's metadata.
                let headings = std::mem::replace(&mut self.headings, Headings::Omitted);
                let metadata = json!({ "resourceVersion": object::metadata(&value, "resourceVersion") });
                table::render(kind, &metadata, &[&value], self.include, headings, Timestamp::UNIX_EPOCH).to_string().into()
            }
        }
    }
}
