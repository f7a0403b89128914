//! The imports of native calls, which a stand-in for the host implements.

use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::SystemTime;

use super::{Error, Level};
use crate::kind::Kind;

/// The imports of a component.
pub trait Host: Debug {
    /// The import `cluster.children`.
    ///
    /// # Errors
    ///
    /// The error that the plugin gets.
    fn children(&self, kind: Kind) -> Result<Vec<Vec<u8>>, Error>;

    /// The import `cluster.get`.
    ///
    /// # Errors
    ///
    /// The error that the plugin gets.
    fn get(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<Vec<u8>>, Error>;

    /// The import `cluster.list`.
    ///
    /// # Errors
    ///
    /// The error that the plugin gets.
    fn list(&self, kind: Kind, namespace: Option<&str>, label_selector: Option<&str>) -> Result<Vec<Vec<u8>>, Error>;

    /// Returns the time of the call.
    fn now(&self) -> SystemTime;

    /// The import `log.log`.
    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]);
}

#[derive(Clone, Debug)]
pub(crate) struct Imports(pub(crate) Rc<dyn Host>);

impl Imports {
    pub(crate) fn children(&self, kind: Kind) -> Result<Vec<Vec<u8>>, Error> {
        self.0.children(kind)
    }

    pub(crate) fn get(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.0.get(kind, namespace, name)
    }

    pub(crate) fn list(&self, kind: Kind, namespace: Option<&str>, selector: Option<&str>) -> Result<Vec<Vec<u8>>, Error> {
        self.0.list(kind, namespace, selector)
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.0.now()
    }
}

thread_local! {
    static HOST: RefCell<Option<Rc<dyn Host>>> = const { RefCell::new(None) };
    static LOG: RefCell<Vec<LogLine>> = const { RefCell::new(Vec::new()) };
}

/// Directs the log lines of this thread to a host until it is dropped, also by a panic.
pub(crate) struct LoggingTo(Option<Rc<dyn Host>>);

impl LoggingTo {
    pub(crate) fn host(host: &Rc<dyn Host>) -> Self {
        Self(HOST.replace(Some(Rc::clone(host))))
    }
}

impl Drop for LoggingTo {
    fn drop(&mut self) {
        HOST.replace(self.0.take());
    }
}

/// A log line of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The severity.
    pub level: Level,
    /// The text.
    pub message: String,
    /// The fields, for programs.
    pub fields: Vec<(String, String)>,
}

/// Returns the lines that this thread has logged since the last call of this function.
pub fn take_log() -> Vec<LogLine> {
    LOG.take()
}

pub(crate) fn write_log(level: Level, message: &str, fields: &[(&str, &str)]) {
    match HOST.with_borrow(Option::clone) {
        Some(host) => host.log(level, message, fields),
        None => keep_log(level, message, fields),
    }
}

pub(crate) fn keep_log(level: Level, message: &str, fields: &[(&str, &str)]) {
    let fields = fields.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    LOG.with_borrow_mut(|log| log.push(LogLine { level, message: message.to_owned(), fields }));
}
