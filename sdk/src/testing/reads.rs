//! Decides which objects of a test a call may read, by the rules of the contract.

use std::time::SystemTime;

use gyre_core::plan::OWNER_UID_LABEL;
use gyre_core::selector::Selector;
use serde_json::Value;

use super::Cluster;
use crate::host::{Error, Host, Level, keep_log};
use crate::kind::Kind;
use crate::manifest::{Manifest, ReadKind};
use crate::time::Time;
use crate::typed::fields::set_inside;

/// The objects from which [`crate::Cluster`] reads in native tests.
#[derive(Debug)]
pub(crate) struct Reads {
    objects: Vec<Stored>,
    cluster: Cluster,
    manifest: Manifest,
    parent_namespace: Option<String>,
    parent_uid: Option<String>,
}

#[derive(Debug)]
struct Stored {
    namespace: Option<String>,
    name: String,
    object: Value,
    json: Vec<u8>,
}

impl Reads {
    pub(crate) fn new(cluster: &Cluster, manifest: Manifest, parent: &Value) -> Self {
        let mut objects: Vec<Stored> = cluster.objects.iter().map(|object| Stored::new(object, cluster.now)).collect();
        objects.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
        Self {
            objects,
            cluster: cluster.clone(),
            manifest,
            parent_namespace: text(parent, "/metadata/namespace"),
            parent_uid: text(parent, "/metadata/uid"),
        }
    }

    /// Returns the children of the parent, of all kinds.
    pub(crate) fn all_children(&self) -> Vec<Value> {
        self.objects.iter().filter(|stored| self.owns(stored)).map(|stored| stored.object.clone()).collect()
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Stored> {
        self.objects.iter().filter(move |stored| stored.is(kind))
    }

    fn declared(&self, kind: Kind) -> Result<&ReadKind, Error> {
        let read = self.manifest.reads.iter().find(|read| read.kind == kind).ok_or(Error::NotDeclared(kind))?;
        self.check_served_and_granted(kind)?;
        Ok(read)
    }

    fn check_served_and_granted(&self, kind: Kind) -> Result<(), Error> {
        if self.cluster.not_granted.contains(&kind) {
            Err(Error::NotGranted(kind))
        } else if self.cluster.not_served.contains(&kind) {
            Err(Error::NotServed(kind))
        } else {
            Ok(())
        }
    }

    fn visible<'a>(&'a self, read: &'a ReadKind) -> Result<impl Iterator<Item = &'a Stored>, Error> {
        let selector = parse_selector(read.label_selector.as_deref())?;
        Ok(self
            .of_kind(read.kind)
            .filter(|stored| read.namespace.is_none() || stored.namespace.is_none() || stored.namespace == read.namespace)
            .filter(move |stored| stored.matches(&selector)))
    }

    /// Decides by the controller or, without one, by the label for children in other namespaces.
    fn owns(&self, stored: &Stored) -> bool {
        let Some(uid) = self.parent_uid.as_deref() else { return false };
        let owners = stored.object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let mut controllers = owners.into_iter().flatten().filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
        match controllers.next() {
            Some(controller) => controller.get("uid").and_then(Value::as_str) == Some(uid),
            None => {
                let labels = stored.object.pointer("/metadata/labels");
                labels.and_then(|labels| labels.get(OWNER_UID_LABEL)?.as_str()) == Some(uid)
            }
        }
    }
}

impl Host for Reads {
    fn children(&self, kind: Kind) -> Result<Vec<Vec<u8>>, Error> {
        if !self.manifest.children.iter().any(|child| child.kind == kind) {
            return Err(Error::NotDeclared(kind));
        }
        self.check_served_and_granted(kind)?;
        Ok(self.of_kind(kind).filter(|stored| self.owns(stored)).map(|stored| stored.json.clone()).collect())
    }

    fn get(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let read = self.declared(kind)?;
        let namespace = namespace.or(self.parent_namespace.as_deref());
        if read.namespace.is_some() && read.namespace.as_deref() != namespace {
            return Err(Error::NotGranted(kind));
        }
        let mut visible = self.visible(read)?;
        // The namespace does not matter for a cluster-scoped object.
        let is_meant =
            |stored: &&Stored| stored.name == name && (stored.namespace.is_none() || stored.namespace.as_deref() == namespace);
        Ok(visible.find(is_meant).map(|stored| stored.read(read)))
    }

    fn list(&self, kind: Kind, namespace: Option<&str>, selector: Option<&str>) -> Result<Vec<Vec<u8>>, Error> {
        let read = self.declared(kind)?;
        if namespace.is_some() && read.namespace.is_some() && read.namespace.as_deref() != namespace {
            return Err(Error::NotGranted(kind));
        }
        let selector = parse_selector(selector)?;
        let visible = self.visible(read)?.filter(|stored| namespace.is_none() || stored.namespace.as_deref() == namespace);
        Ok(visible.filter(|stored| stored.matches(&selector)).map(|stored| stored.read(read)).collect())
    }

    #[expect(clippy::panic, reason = "a test should fail at an answer that depends on the clock unawares")]
    fn now(&self) -> SystemTime {
        match self.cluster.now {
            Some(now) => now.into(),
            None => panic!("the plugin read the clock, and the test did not set it: add `.at(\"2026-01-01T00:00:00Z\")`"),
        }
    }

    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        keep_log(level, message, fields);
    }
}

impl Stored {
    /// An object of which the test does not say when it was created was created at the time of the
    /// test, if that is known.
    fn new(object: &Value, now: Option<Time>) -> Self {
        let mut object = object.clone();
        if let (Some(now), None) = (now, object.pointer("/metadata/creationTimestamp")) {
            set_inside(&mut object, "metadata", "creationTimestamp", now.to_second().to_string().into());
        }
        Self {
            namespace: text(&object, "/metadata/namespace"),
            name: text(&object, "/metadata/name").unwrap_or_default(),
            json: object.to_string().into_bytes(),
            object,
        }
    }

    fn is(&self, kind: Kind) -> bool {
        let is = |field: &str, expected: &str| self.object.get(field).and_then(Value::as_str) == Some(expected);
        is("apiVersion", kind.api_version) && is("kind", kind.kind)
    }

    fn matches(&self, selector: &Selector) -> bool {
        let labels = self.object.pointer("/metadata/labels");
        selector.matches(|key| labels?.get(key)?.as_str().map(Into::into))
    }

    fn read(&self, read: &ReadKind) -> Vec<u8> {
        match &self.object {
            Value::Object(fields) if read.metadata_only => {
                let mut slim = fields.clone();
                slim.retain(|field, _| matches!(field.as_str(), "apiVersion" | "kind" | "metadata"));
                Value::Object(slim).to_string().into_bytes()
            }
            _ => self.json.clone(),
        }
    }
}

fn parse_selector(selector: Option<&str>) -> Result<Selector, Error> {
    selector.unwrap_or_default().parse().map_err(|error: gyre_core::selector::Error| Error::InvalidSelector(error.to_string()))
}

fn text(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}
