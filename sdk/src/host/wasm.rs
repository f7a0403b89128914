//! The imports of a component: the host's.

use std::time::SystemTime;

use super::{Error, Level};
use crate::bindings::gyre::plugin::{cluster, log, types};
use crate::kind::Kind;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Imports;

impl Imports {
    pub(crate) fn children(self, kind: Kind) -> Result<Vec<Vec<u8>>, Error> {
        cluster::children(borrowed(kind)).map_err(|error| error_of(kind, error))
    }

    pub(crate) fn get(self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<Vec<u8>>, Error> {
        cluster::get(borrowed(kind), namespace, name).map_err(|error| error_of(kind, error))
    }

    pub(crate) fn list(self, kind: Kind, namespace: Option<&str>, selector: Option<&str>) -> Result<Vec<Vec<u8>>, Error> {
        cluster::list(borrowed(kind), namespace, selector).map_err(|error| error_of(kind, error))
    }

    pub(crate) fn now(self) -> SystemTime {
        SystemTime::now()
    }
}

fn borrowed(kind: Kind) -> types::GroupVersionKindParam<'static> {
    types::GroupVersionKindParam { group: kind.group(), version: kind.version(), kind: kind.kind }
}

fn error_of(kind: Kind, error: cluster::ReadError) -> Error {
    match error {
        cluster::ReadError::NotDeclared => Error::NotDeclared(kind),
        cluster::ReadError::NotGranted => Error::NotGranted(kind),
        cluster::ReadError::NotServed => Error::NotServed(kind),
        cluster::ReadError::InvalidSelector(message) => Error::InvalidSelector(message),
    }
}

pub(crate) fn write_log(level: Level, message: &str, fields: &[(&str, &str)]) {
    let level = match level {
        Level::Trace => log::Level::Trace,
        Level::Debug => log::Level::Debug,
        Level::Info => log::Level::Info,
        Level::Warn => log::Level::Warn,
        Level::Error => log::Level::Error,
    };
    log::log(level, message, fields);
}
