//! Selects the objects of a list or a watch.

use std::borrow::Cow;

use gyre_core::selector::Selector;
use serde_json::Value;

use crate::kinds::Kind;
use crate::object;
use crate::request::options::ListOptions;
use crate::selector::FieldSelector;
use crate::status::Status;

/// A label selector and a field selector together, and the name of the object if the path has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    labels: Selector,
    fields: FieldSelector,
    name: Option<String>,
}

impl Selection {
    /// Parses the selectors of a request, for the object `name` only if given.
    ///
    /// # Errors
    ///
    /// `BadRequest` about an invalid selector, or about a field that cannot be selected by.
    pub(crate) fn parse(kind: &Kind, options: &ListOptions, name: Option<&str>) -> Result<Self, Status> {
        let labels = options.label_selector.parse();
        let labels = labels.map_err(|why| Status::bad_request(format!("unable to parse requirement: {why}")))?;
        let fields = FieldSelector::parse(&options.field_selector)?;
        fields.check(kind)?;
        if let Some(name) = name
            && !fields.is_empty()
            && fields.required("metadata.name") != Some(name)
        {
            return Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"));
        }
        Ok(Self { labels, fields, name: name.map(str::to_owned) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty() && self.name.is_none()
    }

    pub(crate) fn matches(&self, kind: &Kind, value: &Value) -> bool {
        self.name.as_ref().is_none_or(|name| object::name(value) == name)
            && self.labels.matches(|label| object::label(value, label).map(Cow::from))
            && (self.fields.is_empty()
                || self.fields.matches(|field| match field {
                    "metadata.name" => Some(object::name(value).to_owned()),
                    "metadata.namespace" => Some(object::namespace(value).to_owned()),
                    field => kind.selectable_field(value, field),
                }))
    }
}
