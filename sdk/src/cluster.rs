//! What a plugin may look at.

use std::fmt;
#[cfg(not(target_family = "wasm"))]
use std::rc::Rc;
use std::time::SystemTime;

use serde::de::DeserializeOwned;

#[cfg(target_family = "wasm")]
use crate::component::reads;
use crate::json;
use crate::kind::Kind;
#[cfg(not(target_family = "wasm"))]
use crate::testing::hosted::Host;

/// What a plugin may look at. Answers come from synced caches, never from live calls; every one is recorded, and a change to
/// anything that was read (also that something was absent) calls the plugin again.
///
/// In a component it is the host, called statically, so that a plugin that never reads does not even import the means to. In
/// native tests it is a [`testing::Cluster`](crate::testing::Cluster).
#[derive(Debug)]
pub struct Cluster {
    #[cfg(not(target_family = "wasm"))]
    pub(crate) reads: Rc<dyn Host>,
}

impl Cluster {
    /// The objects of a child kind that exist because of this parent, by namespace and name.
    ///
    /// # Errors
    ///
    /// As [`Error`] says.
    pub fn children<T: DeserializeOwned>(&self, kind: Kind) -> Result<Vec<T>, Error> {
        parse_all(kind, self.reads().children(kind)?)
    }

    /// One object of a declared kind; none if it does not exist. A namespaced kind without a namespace means the parent's.
    ///
    /// # Errors
    ///
    /// As [`Error`] says.
    pub fn get<T: DeserializeOwned>(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<T>, Error> {
        self.reads().get(kind, namespace, name)?.map(|object| parse(kind, &object)).transpose()
    }

    /// The objects of a declared kind that match, by namespace and name. A namespaced kind without a namespace means all that
    /// are granted; the label selector has the syntax of `kubectl get -l`.
    ///
    /// # Errors
    ///
    /// As [`Error`] says.
    pub fn list<T: DeserializeOwned>(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        label_selector: Option<&str>,
    ) -> Result<Vec<T>, Error> {
        parse_all(kind, self.reads().list(kind, namespace, label_selector)?)
    }

    /// What time it is: the same moment throughout a call. [`clock::rfc3339`](crate::clock::rfc3339) writes it down.
    ///
    /// The host notes that it was read, and then never takes this answer for a later one: a plugin that reads it without need is
    /// called every time that its object is looked at. Nor is a plugin called because time went by;
    /// [`Response::requeue_after`](crate::Response::requeue_after) is for that.
    #[cfg(target_family = "wasm")]
    pub fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    /// What time it is, as [`testing::Cluster::at`](crate::testing::Cluster::at) set it.
    ///
    /// # Panics
    ///
    /// If the test set no time: so it has shown that the clock is not read.
    #[cfg(not(target_family = "wasm"))]
    pub fn now(&self) -> SystemTime {
        self.reads.now()
    }

    #[cfg(target_family = "wasm")]
    fn reads(&self) -> reads::Host {
        reads::Host
    }

    #[cfg(not(target_family = "wasm"))]
    fn reads(&self) -> &dyn Host {
        &*self.reads
    }
}

/// Why something was not read. `?` turns it into a [`Failure`](crate::Failure).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The manifest does not name this kind.
    NotDeclared(Kind),
    /// The mount may not read this kind, or not in this namespace.
    NotGranted(Kind),
    /// The API server does not serve this kind, e.g. because its CRD is not installed.
    NotServed(Kind),
    /// The label selector does not parse; the text says where.
    InvalidSelector(String),
    /// An object is not as the plugin expects it; the text says where.
    Unexpected(Kind, String),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDeclared(kind) => write!(formatter, "{kind} was read, which the plugin's manifest does not declare"),
            Self::NotGranted(kind) => write!(formatter, "{kind} was read, which is not granted"),
            Self::NotServed(kind) => write!(formatter, "the API server does not serve {kind}"),
            Self::InvalidSelector(message) => write!(formatter, "the label selector does not parse: {message}"),
            Self::Unexpected(kind, message) => write!(formatter, "a {kind} is not as expected: {message}"),
        }
    }
}

impl std::error::Error for Error {}

fn parse_all<T: DeserializeOwned>(kind: Kind, objects: Vec<Vec<u8>>) -> Result<Vec<T>, Error> {
    objects.iter().map(|object| parse(kind, object)).collect()
}

fn parse<T: DeserializeOwned>(kind: Kind, object: &[u8]) -> Result<T, Error> {
    json::read(object).map_err(|error| Error::Unexpected(kind, error.to_string()))
}
