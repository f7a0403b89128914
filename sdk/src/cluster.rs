//! The objects that a plugin may read.

use std::time::SystemTime;

use serde::de::DeserializeOwned;

use crate::dynamic::DynamicObject;
use crate::host::{Error, Imports};
use crate::kind::Kind;

/// The objects that a plugin may read: the caches of the host or, in native tests, a
/// [`testing::Cluster`](crate::testing::Cluster).
///
/// The plugin is called again when a result changes, also that an object does not exist.
#[derive(Debug)]
pub struct Cluster {
    imports: Imports,
}

impl Cluster {
    pub(crate) fn new(imports: Imports) -> Self {
        Self { imports }
    }

    /// Returns the children of the parent of this kind, by namespace and name.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn children<T: DeserializeOwned>(&self, kind: Kind) -> Result<Vec<T>, Error> {
        parse_all(kind, self.imports.children(kind)?)
    }

    /// Returns the child of this kind and name, or `None` if it does not exist. If several
    /// namespaces have one, it is the first.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn child(&self, kind: Kind, name: &str) -> Result<Option<DynamicObject>, Error> {
        Ok(self.children::<DynamicObject>(kind)?.into_iter().find(|child| child.name() == name))
    }

    /// Returns an object of a declared kind, or `None` if it does not exist. For a namespaced kind,
    /// the default namespace is the parent's.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn get<T: DeserializeOwned>(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<T>, Error> {
        self.imports.get(kind, namespace, name)?.map(|object| parse(kind, &object)).transpose()
    }

    /// Returns the matching objects of a declared kind, by namespace and name. Without a namespace,
    /// it searches all that are granted. The label selector has the syntax of `kubectl get -l`.
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

    /// Returns the time of the call, which is constant during the call.
    /// [`clock::rfc3339`](crate::clock::rfc3339) formats it.
    ///
    /// The result of a call that reads the clock is never reused, so read it only if it is needed.
    /// Time alone does not cause a call; use
    /// [`Response::requeue_after`](crate::Response::requeue_after).
    ///
    /// # Panics
    ///
    /// In native tests without [`testing::Cluster::at`](crate::testing::Cluster::at).
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
