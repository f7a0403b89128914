//! The objects that a plugin may read.

use std::time::SystemTime;

use serde::de::DeserializeOwned;

use crate::dynamic::DynamicObject;
use crate::host::{Error, Imports};
use crate::kind::Kind;

/// The objects that a plugin may read. Answers come from synced caches, never from live calls; every one is recorded, and a change to
/// anything that was read (also that something was absent) calls the plugin again.
///
/// In a component it is the host. In native tests it is a [`testing::Cluster`](crate::testing::Cluster).
#[derive(Debug)]
pub struct Cluster {
    imports: Imports,
}

impl Cluster {
    pub(crate) fn new(imports: Imports) -> Self {
        Self { imports }
    }

    /// The objects of a child kind that exist because of this parent, by namespace and name.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn children<T: DeserializeOwned>(&self, kind: Kind) -> Result<Vec<T>, Error> {
        parse_all(kind, self.imports.children(kind)?)
    }

    /// The child of this kind and name; none if it does not exist. Of several in different namespaces, the first.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn child(&self, kind: Kind, name: &str) -> Result<Option<DynamicObject>, Error> {
        Ok(self.children::<DynamicObject>(kind)?.into_iter().find(|child| child.name() == name))
    }

    /// One object of a declared kind; none if it does not exist. A namespaced kind without a namespace means the parent's.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn get<T: DeserializeOwned>(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<T>, Error> {
        self.imports.get(kind, namespace, name)?.map(|object| parse(kind, &object)).transpose()
    }

    /// The objects of a declared kind that match, by namespace and name. A namespaced kind without a namespace means all that
    /// are granted; the label selector has the syntax of `kubectl get -l`.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn list<T: DeserializeOwned>(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        label_selector: Option<&str>,
    ) -> Result<Vec<T>, Error> {
        parse_all(kind, self.imports.list(kind, namespace, label_selector)?)
    }

    /// The time of the call. It does not change during the call. [`clock::rfc3339`](crate::clock::rfc3339) formats it.
    ///
    /// The host notes that it was read, and then never takes this answer for a later one: a plugin that reads it without need is
    /// called every time that its object is looked at. Nor is a plugin called because time went by;
    /// [`Response::requeue_after`](crate::Response::requeue_after) is for that.
    ///
    /// # Panics
    ///
    /// In native tests, if the test set no time with [`testing::Cluster::at`](crate::testing::Cluster::at): so it has shown that the
    /// clock is not read.
    pub fn now(&self) -> SystemTime {
        self.imports.now()
    }
}

fn parse_all<T: DeserializeOwned>(kind: Kind, objects: Vec<Vec<u8>>) -> Result<Vec<T>, Error> {
    objects.iter().map(|object| parse(kind, object)).collect()
}

fn parse<T: DeserializeOwned>(kind: Kind, object: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(object).map_err(|error| Error::Unexpected(kind, error.to_string()))
}
