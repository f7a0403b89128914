//! An object as the API server sent it: its JSON text without `metadata.managedFields`, and the
//! positions of the metadata fields that the store indexes. No DOM is built.
//!
//! Everything that an API server accepts must be readable, because all objects of a kind share one
//! watch. See `cluster::raw`.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::plan::{OWNER_UID_LABEL, PLUGIN_LABEL};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ApiResource;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cluster::raw;

pub(crate) const FIELD_MANAGER_PREFIX: &str = "gyre/";

/// A part of the JSON text or, beyond its end, of [`Object::unescaped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The span of absent and empty texts, and of those that begin or end beyond 4 GiB.
    const EMPTY: Self = Self { start: 0, end: 0 };

    fn new(start: usize, length: usize) -> Self {
        match (u32::try_from(start), u32::try_from(start.saturating_add(length))) {
            (Ok(start), Ok(end)) => Self { start, end },
            _ => Self::EMPTY,
        }
    }

    fn of(part: &str, text: &str) -> Self {
        let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        if start.saturating_add(part.len()) <= text.len() { Self::new(start, part.len()) } else { Self::EMPTY }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The maximum length of a UID in an error, in characters: a UID has 36, but any text may be sent.
const UID_SHOWN: usize = 64;

/// The reason why a text is not an object of the cluster.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not a JSON object.
    #[error("not a JSON object")]
    Syntax(#[source] serde_json::Error),
    /// It has no `metadata`.
    #[error("a JSON object without metadata is not a Kubernetes object")]
    NoMetadata,
    /// It has no name.
    #[error("an object without metadata.name is not a Kubernetes object (metadata.uid: {uid:?})")]
    NoName {
        /// Its UID, if any.
        uid: String,
    },
}

/// An object of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    json: Arc<str>,
    /// The texts below that are escaped in the JSON text. Hardly any object has some.
    unescaped: Option<Box<str>>,
    namespace: Span,
    name: Span,
    uid: Span,
    resource_version_text: Span,
    controller: Span,
    owner_label: Span,
    labels: Span,
    /// The text as a number, or 0 if it is not a number.
    resource_version: u64,
    generation: i64,
    is_deleting: bool,
    /// Whether the JSON text has an `apiVersion`.
    is_typed: bool,
    has_update_entry: bool,
}

/// An object as the store shares it.
pub type SharedObject = Arc<Object>;

#[derive(Default)]
struct Metadata<'a> {
    name: Option<&'a str>,
    namespace: Option<&'a str>,
    uid: Option<&'a str>,
    resource_version: Option<&'a str>,
    generation: Option<&'a str>,
    deletion_timestamp: Option<&'a str>,
    labels: Option<&'a str>,
    owner_references: Option<&'a str>,
}

impl<'a> Metadata<'a> {
    fn read(metadata: &'a str) -> Result<Self, Error> {
        let mut found = Self::default();
        let read = raw::members(metadata, |key, value| {
            let field = match &*key {
                "name" => &mut found.name,
                "namespace" => &mut found.namespace,
                "uid" => &mut found.uid,
                "resourceVersion" => &mut found.resource_version,
                "generation" => &mut found.generation,
                "deletionTimestamp" => &mut found.deletion_timestamp,
                "labels" => &mut found.labels,
                "ownerReferences" => &mut found.owner_references,
                _ => return,
            };
            *field = Some(value);
        });
        read.map_err(|_| Error::NoMetadata)?;
        Ok(found)
    }

    /// The controller's UID. API servers accept at most one controller.
    fn controller(&self) -> Option<&'a str> {
        let is_controller = |reference: &&'a str| raw::member(reference, "controller") == Some("true");
        let controller = raw::elements(self.owner_references?).into_iter().find(is_controller)?;
        raw::member(controller, "uid")
    }
}

/// Turns JSON strings into spans, and collects those that are escaped.
struct Texts<'a> {
    json: &'a str,
    unescaped: String,
}

impl<'a> Texts<'a> {
    fn span(&mut self, value: Option<&'a str>) -> Span {
        match value.and_then(raw::text) {
            Some(Cow::Borrowed(text)) if !text.is_empty() => Span::of(text, self.json),
            Some(Cow::Owned(text)) if !text.is_empty() => {
                let start = self.json.len() + self.unescaped.len();
                self.unescaped.push_str(&text);
                Span::new(start, text.len())
            }
            _ => Span::EMPTY,
        }
    }
}

impl Object {
    /// Parses an object that the API server sent.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn parse(json: impl AsRef<str>) -> Result<Self, Error> {
        let WithoutManagedFields { json, has_update_entry } = without_managed_fields(json.as_ref())?;
        let json: Arc<str> = json.into();
        let Head { metadata, is_typed } = head(&json)?;
        let metadata = Metadata::read(metadata)?;
        let mut texts = Texts { json: &json, unescaped: String::new() };
        let name = texts.span(metadata.name);
        let uid = texts.span(metadata.uid);
        let resource_version_text = texts.span(metadata.resource_version);
        if name == Span::EMPTY {
            let uid = metadata.uid.and_then(raw::text).unwrap_or_default();
            return Err(Error::NoName { uid: uid.chars().take(UID_SHOWN).collect() });
        }
        let namespace = texts.span(metadata.namespace);
        let controller = texts.span(metadata.controller());
        let owner_label = texts.span(metadata.labels.and_then(|labels| raw::member(labels, OWNER_UID_LABEL)));
        let unescaped = Some(texts.unescaped).filter(|texts| !texts.is_empty()).map(String::into_boxed_str);
        let resource_version = metadata.resource_version.and_then(raw::text).and_then(|version| version.parse().ok());
        Ok(Self {
            namespace,
            name,
            uid,
            resource_version_text,
            controller,
            owner_label,
            labels: metadata.labels.map_or(Span::EMPTY, |labels| Span::of(labels, &json)),
            resource_version: resource_version.unwrap_or(0),
            generation: metadata.generation.and_then(|generation| generation.parse().ok()).unwrap_or(0),
            is_deleting: metadata.deletion_timestamp.is_some_and(|timestamp| timestamp != "null"),
            is_typed,
            unescaped,
            has_update_entry,
            json: Arc::clone(&json),
        })
    }

    /// Adds `apiVersion` and `kind` if they are missing, as in lists of built-in kinds.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn with_kind(self, kind: &GroupVersionKind) -> Result<Self, Error> {
        match self.json.strip_prefix('{') {
            Some(rest) if !self.is_typed => {
                let (api_version, kind) = (Value::from(kind.api_version()), Value::from(kind.kind.as_str()));
                let with_kind = Self::parse(format!(r#"{{"apiVersion":{api_version},"kind":{kind},{rest}"#))?;
                Ok(Self { has_update_entry: self.has_update_entry, ..with_kind })
            }
            _ => Ok(self),
        }
    }

    /// Returns the object with only `apiVersion`, `kind` and `metadata`. A `PartialObjectMetadata`
    /// gets its real kind.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn metadata_alone(&self, kind: &GroupVersionKind) -> Result<Self, Error> {
        let metadata = head(&self.json)?.metadata;
        let (api_version, kind) = (Value::from(kind.api_version()), Value::from(kind.kind.as_str()));
        Self::parse(format!(r#"{{"apiVersion":{api_version},"kind":{kind},"metadata":{metadata}}}"#))
    }

    /// The JSON text, without `metadata.managedFields`.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The JSON text, shared.
    pub fn shared_json(&self) -> Arc<str> {
        Arc::clone(&self.json)
    }

    /// Returns whether two states of an object differ only in their resource version.
    pub fn equal_ignoring_resource_version(&self, other: &Self) -> bool {
        self.around_resource_version() == other.around_resource_version()
    }

    /// The JSON text before and after the resource version.
    pub(crate) fn around_resource_version(&self) -> (&str, &str) {
        let Range { start, end } = self.resource_version_text.range();
        match (self.json.get(..start), self.json.get(end..)) {
            (Some(before), Some(after)) => (before, after),
            _ => (&self.json, ""),
        }
    }

    /// Returns whether `metadata.managedFields` has an Update entry of the plugin that created the
    /// object. It must be converted before an apply; see `gyre_core::managed_fields`.
    pub fn has_update_entry(&self) -> bool {
        self.has_update_entry
    }

    /// `metadata.finalizers`.
    pub fn finalizers(&self) -> Vec<String> {
        if !self.json.contains(r#""finalizers""#) {
            return Vec::new();
        }
        let finalizers = raw::member(&self.json, "metadata").and_then(|metadata| raw::member(metadata, "finalizers"));
        let finalizers = finalizers.map(raw::elements).unwrap_or_default();
        finalizers.into_iter().filter_map(raw::text).map(Cow::into_owned).collect()
    }

    /// The value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<String> {
        if !self.json.contains(name) {
            return None;
        }
        let annotations = raw::member(raw::member(&self.json, "metadata")?, "annotations")?;
        raw::member(annotations, name).and_then(raw::text).map(Cow::into_owned)
    }

    /// Returns the object without an annotation; `None` if it has none of that name.
    pub fn without_annotation(&self, name: &str) -> Option<Self> {
        if !self.json.contains(name) {
            return None;
        }
        let mut object: Value = serde_json::from_str(&self.json).ok()?;
        let metadata = object.get_mut("metadata")?.as_object_mut()?;
        let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
        annotations.remove(name)?;
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
        Self::parse(object.to_string()).ok()
    }

    /// `metadata.namespace`; `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.text(self.namespace)
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        self.text(self.name).unwrap_or_default()
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        self.text(self.uid).unwrap_or_default()
    }

    /// Namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }

    /// The UID of its controller or, where Kubernetes allows no owner reference, of the owner in
    /// the host's label.
    pub fn owner_uid(&self) -> Option<&str> {
        self.text(self.controller).or_else(|| self.text(self.owner_label))
    }

    /// Returns whether `metadata.ownerReferences` name this UID, as the controller or not.
    pub fn refers_to(&self, uid: &str) -> bool {
        self.text(self.controller) == Some(uid) || self.json.contains(uid) && self.has_reference(uid)
    }

    fn has_reference(&self, uid: &str) -> bool {
        let references = raw::member(&self.json, "metadata").and_then(|metadata| raw::member(metadata, "ownerReferences"));
        let mut uids =
            references.map(raw::elements).into_iter().flatten().filter_map(|reference| raw::member(reference, "uid"));
        uids.any(|found| raw::text(found).as_deref() == Some(uid))
    }

    /// `metadata.resourceVersion`, or 0 if it is not a number. Versions of one kind compare as
    /// decimal numbers, which Kubernetes guarantees since 1.35 (KEP-5504).
    pub fn resource_version(&self) -> u64 {
        self.resource_version
    }

    /// `metadata.generation`; 0 for kinds that have none.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Returns whether it has a `deletionTimestamp`.
    pub fn is_deleting(&self) -> bool {
        self.is_deleting
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        raw::member(self.text(self.labels)?, name).and_then(raw::text)
    }

    /// All labels, in the order of the text.
    pub fn labels(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        let mut labels = Vec::new();
        if let Some(text) = self.text(self.labels) {
            let add = |key, value| labels.extend(raw::text(value).map(|value| (key, value)));
            if raw::members(text, add).is_err() {
                labels.clear();
            }
        }
        labels.into_iter()
    }

    /// The memory use in bytes, including the JSON text.
    pub fn footprint(&self) -> usize {
        size_of::<Self>() + self.json.len() + self.unescaped.as_ref().map_or(0, |texts| texts.len())
    }

    fn text(&self, span: Span) -> Option<&str> {
        if span == Span::EMPTY {
            return None;
        }
        let Range { start, end } = span.range();
        match start.checked_sub(self.json.len()) {
            None => self.json.get(start..end),
            Some(start) => self.unescaped.as_ref()?.get(start..end - self.json.len()),
        }
    }
}

struct Head<'a> {
    metadata: &'a str,
    is_typed: bool,
}

fn head(json: &str) -> Result<Head<'_>, Error> {
    let (mut metadata, mut is_typed) = (None, false);
    let read = raw::members(json, |key, value| match &*key {
        "metadata" => metadata = Some(value),
        "apiVersion" => is_typed = true,
        _ => {}
    });
    read.map_err(Error::Syntax)?;
    Ok(Head { metadata: metadata.ok_or(Error::NoMetadata)?, is_typed })
}

struct WithoutManagedFields<'a> {
    json: Cow<'a, str>,
    /// See [`Object::has_update_entry`].
    has_update_entry: bool,
}

/// Removes `metadata.managedFields`, which are about half of a typical object.
fn without_managed_fields(json: &str) -> Result<WithoutManagedFields<'_>, Error> {
    let metadata = head(json)?.metadata;
    let (mut found, mut labels) = (Vec::new(), None);
    let read = raw::members(metadata, |key, value| match &*key {
        MANAGED_FIELDS => found.push(value),
        "labels" => labels = Some(value),
        _ => {}
    });
    read.map_err(|_| Error::NoMetadata)?;
    let has_update_entry = found.last().is_some_and(|entries| contains_update_entry(entries, labels));
    let cut = match *found {
        [] => return Ok(WithoutManagedFields { json: Cow::Borrowed(json), has_update_entry }),
        [value] => member_around(json, Span::of(value, json).range()),
        _ => None,
    };
    let (cut, put) = match cut {
        Some(cut) => (cut, String::new()),
        // Duplicate keys, which no API server of Kubernetes sends.
        None => (Span::of(metadata, json).range(), rebuilt_without_managed_fields(metadata)),
    };
    let (before, after) = (json.get(..cut.start).unwrap_or_default(), json.get(cut.end..).unwrap_or_default());
    Ok(WithoutManagedFields { json: Cow::Owned([before, &put, after].concat()), has_update_entry })
}

/// See [`Object::has_update_entry`]. Without a plugin's label, entries of any plugin count.
fn contains_update_entry(entries: &str, labels: Option<&str>) -> bool {
    if !entries.contains(FIELD_MANAGER_PREFIX) {
        return false;
    }
    let plugin = labels.and_then(|labels| raw::member(labels, PLUGIN_LABEL)).and_then(raw::text);
    raw::elements(entries).into_iter().any(|entry| {
        let text = |name| raw::member(entry, name).and_then(raw::text).unwrap_or_default();
        let manager = text("manager");
        let writer = manager.strip_prefix(FIELD_MANAGER_PREFIX);
        let is_its_plugin = writer.is_some_and(|writer| plugin.as_deref().is_none_or(|plugin| plugin == writer));
        is_its_plugin && text("operation") == "Update" && text("subresource").is_empty()
    })
}

const MANAGED_FIELDS: &str = "managedFields";

fn rebuilt_without_managed_fields(metadata: &str) -> String {
    let mut kept = Vec::new();
    let keep = |key: Cow<'_, str>, value: &str| {
        if key != MANAGED_FIELDS {
            kept.push(format!("{}:{value}", Value::from(&*key)));
        }
    };
    let _ = raw::members(metadata, keep);
    format!("{{{}}}", kept.join(","))
}

/// The range of an object member, with one comma, by the range of its value.
fn member_around(json: &str, value: Range<usize>) -> Option<Range<usize>> {
    let before = json.get(..value.start)?.trim_end().strip_suffix(':')?.trim_end().strip_suffix('"')?;
    let start = before.rfind('"')?;
    let after = json.get(value.end..)?;
    match after.trim_start().strip_prefix(',') {
        Some(rest) => Some(start..json.len() - rest.len()),
        None => {
            let kept = json.get(..start)?.trim_end();
            Some(kept.strip_suffix(',').unwrap_or(kept).len()..value.end)
        }
    }
}

/// An object that kube received, or why it is none: one odd object must not end a watch.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    metadata: ObjectMeta,
    pub(crate) object: Result<SharedObject, Arc<Error>>,
}

impl<'de> Deserialize<'de> for Received {
    /// Never fails on valid JSON: the resource version is kept even of unreadable objects.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let object = Object::parse(json.get());
        let resource_version = match &object {
            Ok(object) => object.text(object.resource_version_text).map(str::to_owned),
            Err(_) => {
                let version = raw::member(json.get(), "metadata").and_then(|metadata| raw::member(metadata, "resourceVersion"));
                version.and_then(raw::text).map(Cow::into_owned)
            }
        };
        let metadata = ObjectMeta { resource_version, ..ObjectMeta::default() };
        Ok(Self { metadata, object: object.map(Arc::new).map_err(Arc::new) })
    }
}

impl kube::Resource for Received {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        let object = Object::parse(json).unwrap();
        assert_eq!(object.json(), expected);
        assert_eq!(object.name(), "hello");
    }

    #[test]
    fn managed_fields_are_cut_out_wherever_they_stand() {
        check(r#"{"metadata":{"name":"hello"}}"#, r#"{"metadata":{"name":"hello"}}"#);
        check(r#"{"metadata":{"managedFields":[{"a":"}"}],"name":"hello"}}"#, r#"{"metadata":{"name":"hello"}}"#);
        check(r#"{"metadata":{"name":"hello","managedFields":[]}}"#, r#"{"metadata":{"name":"hello"}}"#);
        check(
            r#"{ "metadata" : { "name" : "hello" , "managedFields" : [ 1 ] , "uid" : "u" } }"#,
            r#"{ "metadata" : { "name" : "hello" ,  "uid" : "u" } }"#,
        );
        check(
            r#"{"spec":{"managedFields":[1]},"metadata":{"name":"hello","managedFields":[2]}}"#,
            r#"{"spec":{"managedFields":[1]},"metadata":{"name":"hello"}}"#,
        );
    }

    #[test]
    fn metadata_is_found() {
        let object = Object::parse(
            r#"{"kind":"Job","metadata":{"name":"n","namespace":"ns","uid":"u-1","resourceVersion":"42","generation":3,
                "deletionTimestamp":"2026-01-01T00:00:00Z","labels":{"a":"b","gyre.dev/owner-uid":"o-2","q":"\"x\""},
                "ownerReferences":[{"uid":"not"},{"uid":"o-1","controller":true}]}}"#,
        )
        .unwrap();
        assert_eq!((object.namespace(), object.name(), object.uid()), (Some("ns"), "n", "u-1"));
        assert_eq!((object.resource_version(), object.generation(), object.is_deleting()), (42, 3, true));
        assert_eq!(object.owner_uid(), Some("o-1"));
        assert_eq!(object.label("q").as_deref(), Some("\"x\""));
        assert_eq!(object.label("absent"), None);
    }

    #[test]
    fn the_label_names_the_owner_where_there_is_no_controller() {
        let object = Object::parse(r#"{"metadata":{"name":"n","labels":{"gyre.dev/owner-uid":"o-2"}}}"#).unwrap();
        assert_eq!(object.owner_uid(), Some("o-2"));
    }

    #[test]
    fn every_reference_names_an_owner_and_a_label_does_not() {
        let object = Object::parse(
            r#"{"metadata":{"name":"n","labels":{"gyre.dev/owner-uid":"o-3"},"ownerReferences":[
                {"uid":"o-1"},{"uid":"o-2","controller":true},null,{"name":"o-4"}]}}"#,
        )
        .unwrap();
        assert_eq!(["o-1", "o-2", "o-3", "o-4", ""].map(|uid| object.refers_to(uid)), [true, true, false, false, false]);
    }

    #[test]
    fn items_of_lists_get_the_kind_that_they_lack() {
        let kind = GroupVersionKind::new("batch", "v1", "Job");
        let with_kind = |json: &str| Object::parse(json).unwrap().with_kind(&kind).unwrap().json().to_owned();
        let expected = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"}}"#;
        assert_eq!(with_kind(r#"{"metadata":{"name":"a"}}"#), expected);
        assert_eq!(with_kind(expected), expected);
    }

    #[test]
    fn partial_objects_get_the_kind_that_they_are_of() {
        let partial = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}"#;
        let object = Object::parse(partial).unwrap().metadata_alone(&GroupVersionKind::new("", "v1", "Secret")).unwrap();
        assert_eq!(object.json(), r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}"#);
    }

    #[test]
    fn finalizers_and_annotations_are_found() {
        let object =
            r#"{"metadata":{"name":"a","finalizers":["x/y","gyre.dev/echo"],"annotations":{"gyre.dev/release":"true"}}}"#;
        let object = Object::parse(object).unwrap();
        assert_eq!(object.finalizers(), ["x/y", "gyre.dev/echo"]);
        assert_eq!(object.annotation("gyre.dev/release").as_deref(), Some("true"));
        assert_eq!(object.annotation("absent"), None);
        let bare = Object::parse(r#"{"metadata":{"name":"finalizers"}}"#).unwrap();
        assert_eq!((bare.finalizers().len(), bare.annotation("gyre.dev/release")), (0, None));
    }

    #[test]
    fn versions_alone_are_no_difference() {
        let object = |version: u32, text: &str| {
            Object::parse(format!(r#"{{"metadata":{{"name":"a","resourceVersion":"{version}"}},"data":"{text}"}}"#)).unwrap()
        };
        assert!(object(1, "x").equal_ignoring_resource_version(&object(22, "x")));
        assert!(!object(1, "x").equal_ignoring_resource_version(&object(1, "y")));
    }

    #[test]
    fn update_entries_of_the_plugin_are_detected() {
        let entry = |manager: &str, operation: &str, subresource: &str| {
            format!(
                r#"{{"manager":"{manager}","operation":"{operation}","subresource":"{subresource}","fieldsV1":{{"f:a":{{}}}}}}"#
            )
        };
        let object = |labels: &str, entries: &[String]| {
            let entries = entries.join(",");
            let json = format!(r#"{{"metadata":{{"name":"a","labels":{labels},"managedFields":[{entries}]}}}}"#);
            Object::parse(json).unwrap()
        };
        let ours = r#"{"gyre.dev/plugin":"it"}"#;
        for (entries, expected) in [
            (&[][..], false),
            (&[entry("gyre/it", "Apply", "")], false),
            (&[entry("gyre/it", "Update", "status")], false),
            (&[entry("kubectl", "Update", ""), entry("gyre/other", "Update", "")], false),
            (&[entry("gyre/it", "Update", "")], true),
            (&[entry("gyre/it", "Apply", ""), entry("gyre/it", "Update", "")], true),
        ] {
            assert_eq!(object(ours, entries).has_update_entry(), expected, "{entries:?}");
        }
        assert!(object("{}", &[entry("gyre/other", "Update", "")]).has_update_entry(), "it does not say whose it is");
        let with_kind = object(ours, &[entry("gyre/it", "Update", "")]).with_kind(&GroupVersionKind::new("", "v1", "Secret"));
        assert!(with_kind.unwrap().has_update_entry(), "nor is it forgotten when the kind is added");
        let odd =
            r#"["gyre/",7,{"manager":"gyre/it","operation":"Update","subresource":{},"time":1e999,"operation":"Update"}]"#;
        for (rubbish, expected) in [
            ("null", false),
            ("{}", false),
            (r#"["gyre/"]"#, false),
            (r#"[{"manager":"gyre/it","operation":7}]"#, false),
            (r#"[{"manager":"gyre/it\ud800","operation":"Update","subresource":"status"}]"#, false),
            (odd, true),
        ] {
            let json = format!(r#"{{"metadata":{{"name":"a","managedFields":{rubbish}}}}}"#);
            assert_eq!(Object::parse(json).unwrap().has_update_entry(), expected, "{rubbish}");
        }
    }

    #[test]
    fn escaped_texts_are_unescaped() {
        let object = Object::parse(
            r#"{"metadata":{"name":"a\u003cb","namespace":"n\"s","uid":"u\\1","resourceVersion":"4\u0032","labels":{"gyre.dev/owner-uid":"o\"2"},
                "ownerReferences":[{"uid":"x\"y","controller":true}]}}"#,
        )
        .unwrap();
        assert_eq!((object.namespace(), object.name(), object.uid()), (Some("n\"s"), "a<b", "u\\1"));
        assert_eq!((object.resource_version(), object.owner_uid()), (42, Some("x\"y")));
        assert_eq!(object.label(OWNER_UID_LABEL).as_deref(), Some("o\"2"));
        let plain = Object::parse(r#"{"metadata":{"name":"a"}}"#).unwrap();
        let texts = "a<bn\"su\\142x\"yo\"2".len();
        assert_eq!(object.footprint() - object.json().len(), plain.footprint() - plain.json().len() + texts);
    }

    #[test]
    fn fields_of_an_unexpected_type_count_as_absent() {
        let object = Object::parse(
            r#"{"metadata":{"name":"a","namespace":"","uid":null,"resourceVersion":7,"generation":1e999,"labels":{"a":1,"b":"c","b":"d"},
                "ownerReferences":[null,7,{"uid":{},"controller":true}],"finalizers":"x","annotations":[]}}"#,
        )
        .unwrap();
        assert_eq!((object.namespace(), object.uid(), object.owner_uid()), (None, "", None));
        assert_eq!((object.resource_version(), object.generation(), object.is_deleting()), (0, 0, false));
        assert_eq!((object.label("a"), object.label("b").as_deref()), (None, Some("d")));
        assert_eq!((object.finalizers().len(), object.annotation("a")), (0, None));
        for labels in ["null", "[]", "7"] {
            let json = format!(r#"{{"metadata":{{"name":"a","labels":{labels},"ownerReferences":null}}}}"#);
            assert_eq!(Object::parse(json).unwrap().labels().count(), 0, "{labels}");
        }
    }

    #[test]
    fn the_last_of_duplicate_keys_counts() {
        check(
            r#"{"metadata":{"name":"other"},"metadata":{"name":"x","name":"hello"}}"#,
            r#"{"metadata":{"name":"other"},"metadata":{"name":"x","name":"hello"}}"#,
        );
        check(r#"{"metadata":{"managedFields":[1],"name":"hello","managedFields":[2]}}"#, r#"{"metadata":{"name":"hello"}}"#);
        check(
            r#"{"metadata":{"name":"hello","a":1,"managedFields":[1],"managedFields":[2]}}"#,
            r#"{"metadata":{"name":"hello","a":1}}"#,
        );
    }

    #[test]
    fn malformed_objects_are_an_error() {
        let without_a_name = [r#"{"metadata":{}}"#, r#"{"metadata":{"name":7}}"#, r#"{"metadata":{"name":""}}"#];
        for json in ["", "[]", "{}", r#"{"metadata":[]}"#].into_iter().chain(without_a_name) {
            assert!(Object::parse(json).is_err(), "{json}");
        }
    }
}
