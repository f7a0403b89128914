//! An object as the API server sent it: its JSON text without `metadata.managedFields`, and where in that text the few
//! metadata fields lie that the store indexes.
//!
//! No DOM and no typed struct is built. From a watch event to the memory of a plugin is: find the metadata, copy the bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::plan::{OWNER_UID_LABEL, PLUGIN_LABEL};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ApiResource;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// What the field managers of plugins' writes begin with; the plugin's name follows.
pub(crate) const FIELD_MANAGER_PREFIX: &str = "gyre/";

/// A part of the JSON text. Objects are far below 4 GiB: etcd takes 1.5 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    const EMPTY: Self = Self { start: 0, end: 0 };

    /// Where `part` lies in `text`; empty if it does not lie there, as for a string that had to be unescaped.
    fn of(part: &str, text: &str) -> Self {
        let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        match (u32::try_from(start), u32::try_from(start.saturating_add(part.len()))) {
            (Ok(start), Ok(end)) if end as usize <= text.len() => Self { start, end },
            _ => Self::EMPTY,
        }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Why a text is not an object of the cluster: it is not JSON, or a field that every object has is missing or of the wrong type.
#[derive(Debug, thiserror::Error)]
#[error("not a Kubernetes object")]
pub struct Error(#[source] serde_json::Error);

/// An object of the cluster. See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Shared with calls that read it.
    json: Arc<str>,
    namespace: Span,
    name: Span,
    uid: Span,
    controller: Span,
    owner_label: Span,
    labels: Span,
    resource_version: u64,
    generation: i64,
    deleting: bool,
    typed: bool,
    update_entry: bool,
}

/// An object as the store shares it.
pub type SharedObject = Arc<Object>;

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow, rename = "apiVersion", default)]
    api_version: Option<&'a RawValue>,
}

/// Names, UIDs and versions are taken as they stand in the text: no API server accepts one that would have to be escaped.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    name: &'a str,
    #[serde(default)]
    namespace: Option<&'a str>,
    #[serde(default)]
    uid: Option<&'a str>,
    #[serde(default)]
    resource_version: Option<&'a str>,
    #[serde(default)]
    generation: Option<i64>,
    #[serde(borrow, default)]
    deletion_timestamp: Option<&'a RawValue>,
    #[serde(borrow, default)]
    labels: Option<&'a RawValue>,
    #[serde(borrow, default)]
    owner_references: Option<Vec<OwnerReference<'a>>>,
    #[serde(borrow, default)]
    managed_fields: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OwnerReference<'a> {
    uid: &'a str,
    #[serde(default)]
    controller: Option<bool>,
}

impl Object {
    /// Takes an object as the API server sent it.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn parse(json: impl Into<Box<str>>) -> Result<Self, Error> {
        let (json, update_entry) = without_managed_fields(json.into())?;
        let json: Arc<str> = json.into();
        let head: Head<'_> = serde_json::from_str(&json).map_err(Error)?;
        let metadata = &head.metadata;
        let span = |text: &str| Span::of(text, &json);
        let optional = |text: Option<&str>| text.map_or(Span::EMPTY, span);
        let mut references = metadata.owner_references.iter().flatten();
        let controller = references.find(|reference| reference.controller == Some(true)).map(|reference| reference.uid);
        let mut object = Self {
            namespace: optional(metadata.namespace),
            name: span(metadata.name),
            uid: optional(metadata.uid),
            controller: optional(controller),
            owner_label: Span::EMPTY,
            labels: optional(metadata.labels.map(RawValue::get)),
            resource_version: metadata.resource_version.and_then(|version| version.parse().ok()).unwrap_or(0),
            generation: metadata.generation.unwrap_or(0),
            deleting: metadata.deletion_timestamp.is_some_and(|timestamp| timestamp.get() != "null"),
            typed: head.api_version.is_some(),
            update_entry,
            json: Arc::clone(&json),
        };
        if let Some(Cow::Borrowed(owner)) = object.label(OWNER_UID_LABEL) {
            object.owner_label = Span::of(owner, &object.json);
        }
        Ok(object)
    }

    /// As [`Object::parse`], and if the text lacks `apiVersion` and `kind`, as the items of lists of built-in kinds do, with these.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn with_kind(self, kind: &GroupVersionKind) -> Result<Self, Error> {
        match self.json.strip_prefix('{') {
            Some(rest) if !self.typed => {
                let (api_version, kind) = (Value::from(kind.api_version()), Value::from(kind.kind.as_str()));
                let with_kind = Self::parse(format!(r#"{{"apiVersion":{api_version},"kind":{kind},{rest}"#))?;
                Ok(Self { update_entry: self.update_entry, ..with_kind })
            }
            _ => Ok(self),
        }
    }

    /// The object's `apiVersion`, `kind` and `metadata` alone; a `PartialObjectMetadata` thereby gets the kind that it is of.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn metadata_alone(&self, kind: &GroupVersionKind) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Head<'a> {
            #[serde(borrow)]
            metadata: &'a RawValue,
        }
        let head: Head<'_> = serde_json::from_str(&self.json).map_err(Error)?;
        let (api_version, kind) = (Value::from(kind.api_version()), Value::from(kind.kind.as_str()));
        Self::parse(format!(r#"{{"apiVersion":{api_version},"kind":{kind},"metadata":{}}}"#, head.metadata))
    }

    /// The JSON text, without `metadata.managedFields`.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The same text, to be kept.
    pub fn shared_json(&self) -> Arc<str> {
        Arc::clone(&self.json)
    }

    /// Whether this is the same as another state of the object but for its resource version.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let [mine, others] = [self, other].map(|object| split_at_resource_version(&object.json));
        mine == others
    }

    /// The text before and after the object's own resource version.
    pub(crate) fn around_resource_version(&self) -> (&str, &str) {
        split_at_resource_version(&self.json)
    }

    /// Whether `metadata.managedFields` has an entry that a POST of the plugin which made the object left there (or another write of its that
    /// is no apply). It has to be turned into that of an apply before the object is applied; see `gyre_core::managed_fields`.
    pub fn has_update_entry(&self) -> bool {
        self.update_entry
    }

    /// `metadata.finalizers`.
    pub fn finalizers(&self) -> Vec<String> {
        #[derive(Deserialize)]
        struct Head {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        struct Metadata {
            #[serde(default)]
            finalizers: Option<Vec<String>>,
        }
        if !self.json.contains(r#""finalizers""#) {
            return Vec::new();
        }
        serde_json::from_str::<Head>(&self.json).ok().and_then(|head| head.metadata.finalizers).unwrap_or_default()
    }

    /// The value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Head {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        struct Metadata {
            #[serde(default)]
            annotations: Option<BTreeMap<String, String>>,
        }
        if !self.json.contains(name) {
            return None;
        }
        serde_json::from_str::<Head>(&self.json).ok()?.metadata.annotations?.remove(name)
    }

    /// The object without an annotation; none if it has none of that name.
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

    /// `metadata.namespace`; none for a cluster-scoped object.
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

    /// The UID of the object that this one exists because of: its controller's or, where Kubernetes allows no owner
    /// reference, the one that the host's label names.
    pub fn owner_uid(&self) -> Option<&str> {
        self.text(self.controller).or_else(|| self.text(self.owner_label))
    }

    /// `metadata.resourceVersion` as a number. Kubernetes promises since 1.35 (KEP-5504) what had always held: versions of one
    /// kind compare as decimal numbers. 0 where it is not one.
    pub fn resource_version(&self) -> u64 {
        self.resource_version
    }

    /// `metadata.generation`; 0 for kinds that have none.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Whether it has a `deletionTimestamp`.
    pub fn is_deleting(&self) -> bool {
        self.deleting
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        self.labels().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// All labels, in the order of the text.
    pub fn labels(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        let labels = self.text(self.labels).and_then(|text| serde_json::from_str::<Labels<'_>>(text).ok());
        labels.into_iter().flat_map(|labels| labels.0)
    }

    /// How many bytes this object takes in memory, its JSON text included.
    pub fn footprint(&self) -> usize {
        size_of::<Self>() + self.json.len()
    }

    fn text(&self, span: Span) -> Option<&str> {
        if span == Span::EMPTY { None } else { self.json.get(span.range()) }
    }
}

/// Labels in the order of the text, borrowed where they have no escapes.
struct Labels<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<'a>(Cow<'a, str>);
        impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(Deserialize)]
                struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
                Ok(Self(Borrowed::deserialize(deserializer)?.0))
            }
        }
        struct Visitor<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> serde::de::Visitor<'de> for Visitor<'a> {
            type Value = Labels<'a>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a map of labels")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut labels = Vec::new();
                while let Some((key, value)) = map.next_entry::<Text<'a>, Text<'a>>()? {
                    labels.push((key.0, value.0));
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_map(Visitor(std::marker::PhantomData))
    }
}

/// Cuts `metadata.managedFields` out of the text, and says what [`Object::has_update_entry`] says. They are about half of a typical object,
/// and no plugin and no plan needs them.
fn without_managed_fields(json: Box<str>) -> Result<(Box<str>, bool), Error> {
    let (cut, update_entry) = {
        let head: Head<'_> = serde_json::from_str(&json).map_err(Error)?;
        match head.metadata.managed_fields {
            Some(entries) => (
                member_around(&json, Span::of(entries.get(), &json).range()),
                has_update_entry(entries.get(), head.metadata.labels.map(RawValue::get)),
            ),
            None => (None, false),
        }
    };
    let Some(cut) = cut else { return Ok((json, update_entry)) };
    let mut json = String::from(json);
    json.drain(cut);
    Ok((json.into_boxed_str(), update_entry))
}

/// See [`Object::has_update_entry`]. Where the label is missing that says which plugin made the object, any plugin counts.
fn has_update_entry(entries: &str, labels: Option<&str>) -> bool {
    #[derive(Deserialize)]
    struct Entry<'a> {
        #[serde(borrow, default)]
        manager: Cow<'a, str>,
        #[serde(borrow, default)]
        operation: Cow<'a, str>,
        #[serde(borrow, default)]
        subresource: Cow<'a, str>,
    }
    // Most objects are of others, and their entries need not be read.
    if !entries.contains(FIELD_MANAGER_PREFIX) {
        return false;
    }
    let labels = labels.and_then(|labels| serde_json::from_str::<Labels<'_>>(labels).ok());
    let plugin =
        labels.and_then(|labels| labels.0.into_iter().find(|(label, _)| label == PLUGIN_LABEL)).map(|(_, plugin)| plugin);
    let entries: Vec<Entry<'_>> = serde_json::from_str(entries).unwrap_or_default();
    entries.iter().any(|entry| {
        let writer = entry.manager.strip_prefix(FIELD_MANAGER_PREFIX);
        let is_its_plugin = writer.is_some_and(|writer| plugin.as_deref().is_none_or(|plugin| plugin == writer));
        is_its_plugin && entry.operation == "Update" && entry.subresource.is_empty()
    })
}

/// The first one is the object's own: metadata comes before spec and status in what the API server sends. Where it does not, what is
/// left out is the version of something else, and the object's own makes the texts differ.
fn split_at_resource_version(json: &str) -> (&str, &str) {
    match json.split_once("\"resourceVersion\":\"") {
        Some((before, after)) => (before, after.split_once('"').map_or(after, |(_, rest)| rest)),
        None => (json, ""),
    }
}

/// The range of the object member whose value lies at `value`, with the one comma that goes with it.
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

/// What kube makes of each object that it receives: the object, or why it is none. One odd object must not end a watch.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    metadata: ObjectMeta,
    pub(crate) object: Result<SharedObject, Arc<Error>>,
}

impl<'de> Deserialize<'de> for Received {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        let object = Object::parse(json);
        // The watcher resumes from the resource version of the last item.
        let metadata = ObjectMeta {
            resource_version: object.as_ref().ok().map(|object| object.resource_version().to_string()),
            ..ObjectMeta::default()
        };
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
        assert!(object(1, "x").says_the_same_as(&object(22, "x")));
        assert!(!object(1, "x").says_the_same_as(&object(1, "y")));
    }

    #[test]
    fn it_is_known_which_objects_have_an_update_entry() {
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
        for rubbish in ["null", "{}", r#"["gyre/"]"#, r#"[{"manager":"gyre/it","operation":7}]"#] {
            let json = format!(r#"{{"metadata":{{"name":"a","managedFields":{rubbish}}}}}"#);
            assert!(!Object::parse(json).unwrap().has_update_entry(), "{rubbish}");
        }
    }

    #[test]
    fn rubbish_is_an_error() {
        for json in ["", "[]", "{}", r#"{"metadata":{}}"#, r#"{"metadata":{"name":7}}"#, r#"{"metadata":{"name":"a\u0062"}}"#] {
            assert!(Object::parse(json).is_err(), "{json}");
        }
    }
}
