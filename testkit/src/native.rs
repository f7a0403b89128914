//! Runs a reconciler as native code in the sandbox, like the SDK does in a component.

mod convert;

use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::SystemTime;

use gyre_core::object::GroupVersionKind;
use gyre_sandbox::native::{Imports, Native, types};
use gyre_sandbox::{Bytes, LogLevel};
use gyre_sdk::log::Level;
use gyre_sdk::testing::hosted;
use gyre_sdk::{Kind, ReadError, Reconciler};

pub(crate) struct Adapter<R>(PhantomData<fn() -> R>);

impl<R> Adapter<R> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<R: Reconciler> Native for Adapter<R> {
    fn describe(&self) -> types::Manifest {
        convert::manifest(hosted::manifest::<R>())
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<(), String> {
        hosted::validate_settings::<R>(settings)
    }

    fn reconcile(&self, request: types::Request<'_>, imports: &Imports) -> Result<types::Response, types::Failure> {
        let answered = hosted::reconcile::<R>(request.parent, request.settings, Rc::new(Host(imports.clone())));
        answered.map(convert::response).map_err(convert::failure)
    }

    fn finalize(&self, request: types::Request<'_>, imports: &Imports) -> Result<types::Teardown, types::Failure> {
        let answered = hosted::finalize::<R>(request.parent, request.settings, Rc::new(Host(imports.clone())));
        answered.map(convert::teardown).map_err(convert::failure)
    }
}

struct Host(Imports);

impl fmt::Debug for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Host")
    }
}

impl hosted::Host for Host {
    fn children(&self, kind: Kind) -> Result<Vec<Vec<u8>>, ReadError> {
        self.0.children(&named(kind)).map(copied).map_err(|error| read_error(kind, error))
    }

    fn get(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let found = self.0.get(&named(kind), namespace, name);
        found.map(|found| found.map(|object| object.to_vec())).map_err(|error| read_error(kind, error))
    }

    fn list(&self, kind: Kind, namespace: Option<&str>, label_selector: Option<&str>) -> Result<Vec<Vec<u8>>, ReadError> {
        self.0.list(&named(kind), namespace, label_selector).map(copied).map_err(|error| read_error(kind, error))
    }

    fn now(&self) -> SystemTime {
        self.0.now()
    }

    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let level = match level {
            Level::Trace => LogLevel::Trace,
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warn => LogLevel::Warn,
            Level::Error => LogLevel::Error,
        };
        let fields = fields.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        self.0.log(level, message.to_owned(), fields);
    }
}

fn named(kind: Kind) -> GroupVersionKind {
    GroupVersionKind::new(kind.group(), kind.version(), kind.kind)
}

fn copied(objects: Vec<Bytes>) -> Vec<Vec<u8>> {
    objects.iter().map(|object| object.to_vec()).collect()
}

fn read_error(kind: Kind, error: gyre_sandbox::ReadError) -> ReadError {
    match error {
        gyre_sandbox::ReadError::NotDeclared => ReadError::NotDeclared(kind),
        gyre_sandbox::ReadError::NotGranted => ReadError::NotGranted(kind),
        gyre_sandbox::ReadError::NotServed => ReadError::NotServed(kind),
        gyre_sandbox::ReadError::InvalidSelector(message) => ReadError::InvalidSelector(message),
    }
}
