//! What one call may look at and say, on the host's side.

use std::collections::{BTreeMap, BTreeSet};

use gyre_core::object::GroupVersionKind;
use gyre_sandbox::{Bytes, LogLevel, LogLine, ReadError, World};
use tracing::{Level, Span, event};

use crate::object::SharedObject;

/// The children of one parent, as the caches have them when the call begins, and the span that its log lines go into.
pub(crate) struct CallWorld {
    span: Span,
    children: BTreeMap<GroupVersionKind, Vec<SharedObject>>,
    served: BTreeSet<GroupVersionKind>,
}

impl CallWorld {
    pub(crate) fn new<'a>(
        span: Span,
        children: &[(GroupVersionKind, SharedObject)],
        served: impl Iterator<Item = &'a GroupVersionKind>,
    ) -> Self {
        let mut by_kind: BTreeMap<GroupVersionKind, Vec<SharedObject>> = BTreeMap::new();
        for (kind, child) in children {
            by_kind.entry(kind.clone()).or_default().push(child.clone());
        }
        Self { span, children: by_kind, served: served.cloned().collect() }
    }
}

impl World for CallWorld {
    fn children(&mut self, kind: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError> {
        if !self.served.contains(kind) {
            return Err(ReadError::NotServed);
        }
        let children = self.children.get(kind).map(Vec::as_slice).unwrap_or_default();
        Ok(children.iter().map(|child| Bytes::from(child.json().as_bytes())).collect())
    }

    // A plugin that declares reads is not mounted yet (see `host::Error::NotSupported`), so the sandbox has said no before.
    fn get(&mut self, _: &GroupVersionKind, _: Option<&str>, _: &str) -> Result<Option<Bytes>, ReadError> {
        Err(ReadError::NotDeclared)
    }

    fn list(&mut self, _: &GroupVersionKind, _: Option<&str>, _: Option<&str>) -> Result<Vec<Bytes>, ReadError> {
        Err(ReadError::NotDeclared)
    }

    fn log(&mut self, line: LogLine) {
        let LogLine { level, message, fields, .. } = line;
        let fields = fields.iter().map(|(key, value)| format!("{key}={value:?}")).collect::<Vec<_>>().join(" ");
        let _entered = self.span.enter();
        // A level is part of a call site, so each has its own.
        macro_rules! line {
            ($level:expr) => {
                if fields.is_empty() { event!(target: "plugin", $level, "{message}") } else { event!(target: "plugin", $level, fields, "{message}") }
            };
        }
        match level {
            LogLevel::Trace => line!(Level::TRACE),
            LogLevel::Debug => line!(Level::DEBUG),
            LogLevel::Info => line!(Level::INFO),
            LogLevel::Warn => line!(Level::WARN),
            LogLevel::Error => line!(Level::ERROR),
        }
    }
}
