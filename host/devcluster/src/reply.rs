use std::borrow::Cow;
use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::conversion::convert;
use crate::kinds::{Kind, Kinds, Origin};
use crate::partial;
use crate::render::Rendering;
use crate::request::accept::{Encoding, Form};
use crate::status::Status;
use crate::store::Stored;
use crate::table::{self, Headings};

#[derive(Clone, Debug, Default)]
pub(crate) struct ListMetadata {
    pub(crate) resource_version: u64,
    pub(crate) r#continue: String,
    pub(crate) remaining: Option<usize>,
}

impl ListMetadata {
    fn to_json(&self, kind: &Kind) -> Value {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".to_owned(), Value::from(self.resource_version.to_string()));
        // Lists of custom kinds have another encoder, which omits nothing.
        if !self.r#continue.is_empty() || matches!(kind.origin, Origin::Custom(_)) {
            metadata.insert("continue".to_owned(), Value::from(self.r#continue.as_str()));
        }
        if let Some(remaining) = self.remaining {
            metadata.insert("remainingItemCount".to_owned(), Value::from(remaining));
        }
        Value::Object(metadata)
    }
}

impl Rendering {
    pub(crate) fn one(&self, status: StatusCode, kind: &Kind, value: &Value, now: Timestamp) -> Answer {
        match self.accept.form {
            Form::Object | Form::AggregatedDiscovery => self.answer(status, value),
            Form::Table => {
                let metadata = json!({ "resourceVersion": crate::object::metadata(value, "resourceVersion") });
                self.answer(status, &table::render(kind, &metadata, &[value], self.include, Headings::Shown, now))
            }
            Form::Metadata | Form::MetadataList => self.answer(status, &partial::object(value)),
        }
    }

    pub(crate) fn scale(&self, status: StatusCode, scale: &Value, now: Timestamp) -> Answer {
        match self.accept.form {
            Form::Table => self.answer(status, &table::of_scale(scale, self.include, now)),
            Form::Metadata | Form::MetadataList => self.answer(status, &partial::object(scale)),
            Form::Object | Form::AggregatedDiscovery => self.answer(status, scale),
        }
    }

    pub(crate) fn stored(&self, status: StatusCode, kinds: &Kinds, kind: &Kind, object: &Stored, now: Timestamp) -> Answer {
        match convert(kinds, kind, &object.value) {
            Cow::Borrowed(_) if self.is_plain() => Answer::new(status, "application/json", object.json().clone()),
            value => self.one(status, kind, &value, now),
        }
    }

    pub(crate) fn list(
        &self,
        kinds: &Kinds,
        kind: &Kind,
        metadata: &ListMetadata,
        objects: &[Arc<Stored>],
        now: Timestamp,
    ) -> Answer {
        let metadata = metadata.to_json(kind);
        let convert = |object| convert(kinds, kind, object);
        match self.accept.form {
            Form::Object | Form::AggregatedDiscovery if self.is_plain() => {
                let body = list_bytes(kinds, kind, &metadata, objects);
                Answer::new(StatusCode::OK, "application/json", body)
            }
            Form::Object | Form::AggregatedDiscovery => {
                let items: Vec<Value> = objects.iter().map(|object| convert(&object.value).into_owned()).collect();
                let list = json!({
                    "kind": &*kind.list_kind, "apiVersion": kind.api_version(), "metadata": metadata, "items": items,
                });
                self.answer(StatusCode::OK, &list)
            }
            Form::Table => {
                let values: Vec<Cow<'_, Value>> = objects.iter().map(|object| convert(&object.value)).collect();
                let values: Vec<&Value> = values.iter().map(Cow::as_ref).collect();
                let mut metadata = partial::list_metadata(&metadata);
                if let Some(metadata) = metadata.as_object_mut() {
                    metadata.retain(|_, value| value != "");
                }
                let table = table::render(kind, &metadata, &values, self.include, Headings::Shown, now);
                self.answer(StatusCode::OK, &table)
            }
            Form::Metadata | Form::MetadataList => {
                let values: Vec<Cow<'_, Value>> = objects.iter().map(|object| convert(&object.value)).collect();
                let values: Vec<&Value> = values.iter().map(Cow::as_ref).collect();
                let items: Vec<Value> = values.into_iter().map(partial::object).collect();
                let list = json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items,
                });
                self.answer(StatusCode::OK, &list)
            }
        }
    }

    fn is_plain(&self) -> bool {
        self.accept.form == Form::Object && self.accept.encoding == Encoding::Json
    }

    pub(crate) fn answer(&self, status: StatusCode, value: &Value) -> Answer {
        match self.accept.encoding {
            Encoding::Json => Answer::json(status, value),
            Encoding::Yaml => match serde_saphyr::to_string(value) {
                Ok(text) => Answer::new(status, "application/yaml", text),
                Err(error) => Status::internal(error).into(),
            },
        }
    }
}

/// Joins the cached JSON of objects to a list.
fn list_bytes(kinds: &Kinds, kind: &Kind, metadata: &Value, objects: &[Arc<Stored>]) -> Vec<u8> {
    let api_version = kind.api_version();
    // Go omits apiVersion and kind from the items of built-in lists, but not of custom ones.
    let is_bare = matches!(kind.origin, Origin::Builtin);
    let head = format!("{{\"apiVersion\":{},\"kind\":{},", Value::from(api_version.as_str()), Value::from(&*kind.kind));
    let mut list = format!(
        "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
        Value::from(&*kind.list_kind),
        Value::from(api_version.as_str())
    )
    .into_bytes();
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            list.push(b',');
        }
        let json = match convert(kinds, kind, &object.value) {
            Cow::Borrowed(_) => object.json().clone(),
            Cow::Owned(value) => crate::store::to_json(&value).into(),
        };
        match json.strip_prefix(head.as_bytes()).filter(|_| is_bare) {
            Some(rest) => {
                list.push(b'{');
                list.extend_from_slice(rest);
            }
            None => list.extend_from_slice(&json),
        }
    }
    list.extend_from_slice(b"]}");
    list
}
