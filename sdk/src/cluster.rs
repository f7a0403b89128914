//! The objects that a plugin may read.

use serde::de::DeserializeOwned;

use crate::dynamic::DynamicObject;
use crate::host::{Error, Imports};
use crate::kind::Kind;
use crate::resource::Resource;
use crate::time::Time;

/// The objects that a plugin may read: the caches of the host or, in native tests, a
/// [`testing::Cluster`](crate::testing::Cluster).
///
/// The type says which kind is read. The plugin is called again when a result changes, also that an
/// object does not exist.
///
/// ```
/// use gyre_sdk::k8s::{Job, Pod, Secret};
/// use gyre_sdk::{Cluster, ReadError};
///
/// fn read(cluster: &Cluster) -> Result<(), ReadError> {
///     let secret: Option<Secret> = cluster.get("credentials")?;
///     let shared = cluster.in_namespace("shared").get::<Secret>("credentials")?;
///     let web = cluster.labels("app=web").list::<Pod>()?;
///     let jobs = cluster.children::<Job>()?;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Cluster {
    imports: Imports,
}

impl Cluster {
    pub(crate) fn new(imports: Imports) -> Self {
        Self { imports }
    }

    /// Returns the children of the parent of this type, by namespace and name.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn children<T: Resource>(&self) -> Result<Vec<T>, Error> {
        parse_all(T::KIND, self.imports.children(T::KIND)?)
    }

    /// Returns the child of this type and name, or `None` if it does not exist. If several
    /// namespaces have one, it is the first.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn child<T: Resource>(&self, name: &str) -> Result<Option<T>, Error> {
        let children = self.imports.children(T::KIND)?;
        let child = children.iter().find(|child| name_of(child).is_some_and(|of| of == name));
        child.map(|child| parse(T::KIND, child)).transpose()
    }

    /// Returns an object of a declared kind in the parent's namespace or, for a kind without
    /// namespaces, in the cluster; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn get<T: Resource>(&self, name: &str) -> Result<Option<T>, Error> {
        get(self.imports.get(T::KIND, None, name), T::KIND)
    }

    /// Returns the objects of a declared kind in all namespaces that are granted, by namespace and
    /// name.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn list<T: Resource>(&self) -> Result<Vec<T>, Error> {
        parse_all(T::KIND, self.imports.list(T::KIND, None, None)?)
    }

    /// Returns the reads in another namespace than the parent's.
    pub fn in_namespace<'a>(&'a self, namespace: &'a str) -> Reads<'a> {
        Reads { imports: &self.imports, namespace }
    }

    /// Returns the reads of objects that match a label selector, in the syntax of `kubectl get -l`.
    pub fn labels<'a>(&'a self, selector: &'a str) -> Selected<'a> {
        Selected { imports: &self.imports, namespace: None, selector: Some(selector) }
    }

    /// Returns the reads of a kind that has no type.
    pub fn dynamic(&self, kind: Kind) -> DynamicReads<'_> {
        DynamicReads { kind, selected: Selected { imports: &self.imports, namespace: None, selector: None } }
    }

    /// Returns the time of the call, which is constant during the call.
    ///
    /// The result of a call that reads the clock is never reused, so read it only if it is needed.
    /// Time alone does not cause a call; use [`Plan::requeue_after`](crate::Plan::requeue_after).
    ///
    /// # Panics
    ///
    /// In native tests without [`testing::Cluster::at`](crate::testing::Cluster::at).
    pub fn now(&self) -> Time {
        self.imports.now().into()
    }
}

/// The objects of one namespace.
#[derive(Clone, Copy, Debug)]
pub struct Reads<'a> {
    imports: &'a Imports,
    namespace: &'a str,
}

impl<'a> Reads<'a> {
    /// Returns an object of a declared kind, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn get<T: Resource>(self, name: &str) -> Result<Option<T>, Error> {
        get(self.imports.get(T::KIND, Some(self.namespace), name), T::KIND)
    }

    /// Returns the objects of a declared kind, by name.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn list<T: Resource>(self) -> Result<Vec<T>, Error> {
        parse_all(T::KIND, self.imports.list(T::KIND, Some(self.namespace), None)?)
    }

    /// Returns the reads of objects that match a label selector, in the syntax of `kubectl get -l`.
    pub fn labels(self, selector: &'a str) -> Selected<'a> {
        Selected { imports: self.imports, namespace: Some(self.namespace), selector: Some(selector) }
    }
}

/// The objects that match a label selector.
#[derive(Clone, Copy, Debug)]
pub struct Selected<'a> {
    imports: &'a Imports,
    namespace: Option<&'a str>,
    selector: Option<&'a str>,
}

impl<'a> Selected<'a> {
    /// Restricts the reads to one namespace.
    pub fn in_namespace(self, namespace: &'a str) -> Self {
        Self { namespace: Some(namespace), ..self }
    }

    /// Returns the objects of a declared kind, by namespace and name.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn list<T: Resource>(self) -> Result<Vec<T>, Error> {
        parse_all(T::KIND, self.imports.list(T::KIND, self.namespace, self.selector)?)
    }
}

/// The objects of a kind that has no type.
#[derive(Clone, Copy, Debug)]
pub struct DynamicReads<'a> {
    kind: Kind,
    selected: Selected<'a>,
}

impl<'a> DynamicReads<'a> {
    /// Restricts the reads to one namespace.
    pub fn in_namespace(self, namespace: &'a str) -> Self {
        Self { selected: self.selected.in_namespace(namespace), ..self }
    }

    /// Restricts [`Self::list`] to objects that match a label selector.
    pub fn labels(self, selector: &'a str) -> Self {
        Self { selected: Selected { selector: Some(selector), ..self.selected }, ..self }
    }

    /// Returns the children of the parent, by namespace and name.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn children(self) -> Result<Vec<DynamicObject>, Error> {
        parse_all(self.kind, self.selected.imports.children(self.kind)?)
    }

    /// Returns an object, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn get(self, name: &str) -> Result<Option<DynamicObject>, Error> {
        get(self.selected.imports.get(self.kind, self.selected.namespace, name), self.kind)
    }

    /// Returns the objects, by namespace and name.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn list(self) -> Result<Vec<DynamicObject>, Error> {
        let Selected { imports, namespace, selector } = self.selected;
        parse_all(self.kind, imports.list(self.kind, namespace, selector)?)
    }
}

fn get<T: DeserializeOwned>(found: Result<Option<Vec<u8>>, Error>, kind: Kind) -> Result<Option<T>, Error> {
    found?.map(|object| parse(kind, &object)).transpose()
}

fn parse_all<T: DeserializeOwned>(kind: Kind, objects: Vec<Vec<u8>>) -> Result<Vec<T>, Error> {
    objects.iter().map(|object| parse(kind, object)).collect()
}

fn parse<T: DeserializeOwned>(kind: Kind, object: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(object).map_err(|error| Error::Unexpected(kind, error.to_string()))
}

/// The name of an object in JSON. Not inlined, so that a component contains it only once.
#[inline(never)]
fn name_of(object: &[u8]) -> Option<String> {
    Some(serde_json::from_slice::<DynamicObject>(object).ok()?.name().to_owned())
}
