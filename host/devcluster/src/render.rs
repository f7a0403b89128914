//! Renders objects in the form that a request wants: whole, as Tables or metadata alone; and the objects of a watch in that form.

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

/// The form in which one request wants its objects.
#[derive(Debug)]
pub(crate) struct Rendering {
    pub(crate) accept: Accept,
    pub(crate) include: IncludeObject,
    /// The next Table of a watch comes with its headings.
    headings: Headings,
}

impl Rendering {
    pub(crate) fn new(accept: Accept, include: IncludeObject) -> Self {
        Self { accept, include, headings: Headings::Shown }
    }

    /// The form in which a table's objects are wanted.
    ///
    /// # Errors
    ///
    /// `BadRequest` about a value that there is not.
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

    /// The object of a watch event.
    pub(crate) fn watched(&mut self, kinds: &Kinds, kind: &Kind, object: &Stored, now: Timestamp) -> Bytes {
        match convert(kinds, kind, &object.value) {
            Cow::Borrowed(_) if self.accept.form == Form::Object => object.json().clone(),
            value => self.watched_value(kind, &value, now),
        }
    }

    /// As [`Self::watched`], of an object that is stored nowhere.
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

    /// The object of a bookmark.
    pub(crate) fn bookmark(&mut self, kind: &Kind, value: Value) -> Bytes {
        match self.accept.form {
            Form::Object | Form::AggregatedDiscovery => value.to_string().into(),
            Form::Metadata | Form::MetadataList => partial::object(&value).to_string().into(),
            Form::Table => {
                // No cells are worth making of an object that is none; clients read the row's metadata.
                let headings = std::mem::replace(&mut self.headings, Headings::Omitted);
                let metadata = json!({ "resourceVersion": object::metadata(&value, "resourceVersion") });
                table::render(kind, &metadata, &[&value], self.include, headings, Timestamp::UNIX_EPOCH).to_string().into()
            }
        }
    }
}
