//! The objects that a plugin may read.

use serde::de::DeserializeOwned;

use crate::dynamic::DynamicObject;
use crate::host::{Error, Imports};
use crate::kind::Kind;
use crate::resource::Resource;
use crate::selector::Selector;
use crate::time::Time;

/// The name of an object that is read: a text, or an optional one, e.g. `spec.secret_name` or
/// `metadata.namespace`.
pub trait Name {
    /// Returns the name.
    fn name(&self) -> Option<&str>;
}

impl Name for str {
    fn name(&self) -> Option<&str> {
        Some(self)
    }
}

impl Name for String {
    fn name(&self) -> Option<&str> {
        Some(self)
    }
}

impl<T: Name> Name for Option<T> {
    fn name(&self) -> Option<&str> {
        self.as_ref().and_then(Name::name)
    }
}

impl<T: Name + ?Sized> Name for &T {
    fn name(&self) -> Option<&str> {
        (**self).name()
    }
}

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
///     let web = cluster.list::<Pod>("app=web")?;
///     let pods_of_a_team = cluster.in_namespace("team-a").list::<Pod>([("app", "web")])?;
///     let job: Option<Job> = cluster.child("migration")?;
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
    #[doc(alias = "list_children")]
    pub fn children<T: Resource>(&self) -> Result<Vec<T>, Error> {
        parse_all(T::KIND, self.imports.children(T::KIND)?)
    }

    /// Returns the child of this type and name, or `None` if it does not exist. If several
    /// namespaces have one, it is the first.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    #[doc(alias = "get_child")]
    pub fn child<T: Resource>(&self, name: &str) -> Result<Option<T>, Error> {
        let children = self.imports.children(T::KIND)?;
        let child = children.iter().find(|child| name_of(child).is_some_and(|of| of == name));
        child.map(|child| parse(T::KIND, child)).transpose()
    }

    /// Returns an object of a kind that the manifest [reads](crate::Manifest::reads), in the
    /// parent's namespace or, for a kind without namespaces, in the cluster; `None` if it does not
    /// exist, or if the [`Name`] is `None`. See [`Self::child`] for children.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    #[doc(alias = "get_opt")]
    pub fn get<T: Resource>(&self, name: impl Name) -> Result<Option<T>, Error> {
        get(&self.imports, T::KIND, None, name.name())
    }

    /// Returns the objects with these labels in all namespaces that are granted, by namespace and
    /// name. By default, the parent's namespace is granted alone.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    #[doc(alias = "ListParams")]
    #[doc(alias = "MatchingLabels")]
    pub fn list<T: Resource>(&self, selector: impl Into<Selector>) -> Result<Vec<T>, Error> {
        list(&self.imports, T::KIND, None, Some(&selector.into()))
    }

    /// Like [`Self::list`], with any labels.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn list_all<T: Resource>(&self) -> Result<Vec<T>, Error> {
        list(&self.imports, T::KIND, None, None)
    }

    /// Returns the reads in another namespace than the parent's.
    #[doc(alias = "Api::namespaced")]
    pub fn in_namespace<'a>(&'a self, namespace: &'a str) -> Reads<'a> {
        Reads { imports: &self.imports, namespace }
    }

    /// Returns the reads of a kind that has no type.
    pub fn dynamic(&self, kind: Kind) -> DynamicReads<'_> {
        DynamicReads { imports: &self.imports, kind, namespace: None }
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

impl Reads<'_> {
    /// Like [`Cluster::get`], in this namespace.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn get<T: Resource>(self, name: impl Name) -> Result<Option<T>, Error> {
        get(self.imports, T::KIND, Some(self.namespace), name.name())
    }

    /// Like [`Cluster::list`], in this namespace.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn list<T: Resource>(self, selector: impl Into<Selector>) -> Result<Vec<T>, Error> {
        list(self.imports, T::KIND, Some(self.namespace), Some(&selector.into()))
    }

    /// Like [`Cluster::list_all`], in this namespace.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn list_all<T: Resource>(self) -> Result<Vec<T>, Error> {
        list(self.imports, T::KIND, Some(self.namespace), None)
    }
}

/// The objects of a kind that has no type.
#[derive(Clone, Copy, Debug)]
pub struct DynamicReads<'a> {
    imports: &'a Imports,
    kind: Kind,
    namespace: Option<&'a str>,
}

impl<'a> DynamicReads<'a> {
    /// Returns the reads in one namespace.
    pub fn in_namespace(self, namespace: &'a str) -> Self {
        Self { namespace: Some(namespace), ..self }
    }

    /// Returns the children of the parent, by namespace and name.
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn children(self) -> Result<Vec<DynamicObject>, Error> {
        parse_all(self.kind, self.imports.children(self.kind)?)
    }

    /// Like [`Cluster::get`].
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn get(self, name: impl Name) -> Result<Option<DynamicObject>, Error> {
        get(self.imports, self.kind, self.namespace, name.name())
    }

    /// Like [`Cluster::list`].
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn list(self, selector: impl Into<Selector>) -> Result<Vec<DynamicObject>, Error> {
        list(self.imports, self.kind, self.namespace, Some(&selector.into()))
    }

    /// Like [`Cluster::list_all`].
    ///
    /// # Errors
    ///
    /// See [`ReadError`](crate::ReadError).
    pub fn list_all(self) -> Result<Vec<DynamicObject>, Error> {
        list(self.imports, self.kind, self.namespace, None)
    }
}

fn list<T: DeserializeOwned>(
    imports: &Imports,
    kind: Kind,
    namespace: Option<&str>,
    selector: Option<&Selector>,
) -> Result<Vec<T>, Error> {
    parse_all(kind, imports.list(kind, namespace, selector.map(Selector::as_str))?)
}

fn get<T: DeserializeOwned>(
    imports: &Imports,
    kind: Kind,
    namespace: Option<&str>,
    name: Option<&str>,
) -> Result<Option<T>, Error> {
    let Some(name) = name else { return Ok(None) };
    imports.get(kind, namespace, name)?.map(|object| parse(kind, &object)).transpose()
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
