//! The parts that tests need to call a plugin: a sandbox, imports and a parent.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gyre_core::object::GroupVersionKind;
use gyre_core::response::Response;
use gyre_sandbox::{Bytes, Call, HostImports, Input, Limits, LogLine, Options, Plugin, ReadError, Sandbox};

/// Imports with one object that every read finds, which record log lines and answers.
#[derive(Default)]
pub(crate) struct Small {
    pub(crate) object: Option<&'static str>,
    pub(crate) lines: Vec<LogLine>,
    pub(crate) texts: Vec<Vec<u8>>,
}

impl Small {
    fn object(&self) -> Option<Bytes> {
        self.object.map(|text| Arc::from(text.as_bytes()))
    }
}

impl HostImports for Small {
    fn children(&mut self, _kind: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError> {
        Ok(self.object().into_iter().collect())
    }

    fn get(&mut self, _kind: &GroupVersionKind, _namespace: Option<&str>, _name: &str) -> Result<Option<Bytes>, ReadError> {
        Ok(self.object())
    }

    fn list(
        &mut self,
        _kind: &GroupVersionKind,
        _namespace: Option<&str>,
        _label_selector: Option<&str>,
    ) -> Result<Vec<Bytes>, ReadError> {
        Ok(self.object().into_iter().collect())
    }

    fn log(&mut self, line: LogLine) {
        self.lines.push(line);
    }

    fn answered(&mut self, texts: &[&[u8]]) {
        self.texts.extend(texts.iter().map(|text| text.to_vec()));
    }
}

pub(crate) fn sandbox() -> Sandbox {
    let cache_dir = Some(gyre_artifacts::CODE_CACHE.into());
    Sandbox::new(Options { concurrent_calls: 2, cache_dir, ..Options::default() }).unwrap()
}

pub(crate) fn load(sandbox: &Sandbox, path: &str) -> Plugin {
    sandbox.load(&std::fs::read(path).unwrap()).unwrap()
}

/// Limits with a deadline that a plugin does not reach even on a busy machine.
pub(crate) fn limits() -> Limits {
    Limits { deadline: Duration::from_secs(60), ..Limits::default() }
}

/// Limits with a short deadline, for calls that do not end before it.
pub(crate) fn short_limits() -> Limits {
    Limits { deadline: Duration::from_millis(50), ..limits() }
}

pub(crate) const PARENT: &[u8] =
    br#"{"apiVersion":"mmontes.io/v1alpha1","kind":"Echo","metadata":{"name":"hello","namespace":"default","uid":"1"},"spec":{"message":"hi","schedule":"* * * * *"}}"#;

pub(crate) fn reconcile(plugin: &Plugin, limits: &Limits) -> Call<Response> {
    reconcile_in(plugin, limits, Box::new(Small::default()))
}

pub(crate) fn reconcile_in(plugin: &Plugin, limits: &Limits, imports: Box<dyn HostImports>) -> Call<Response> {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let input = Input { parent: PARENT, members: &[], settings: b"{}", seed: "uid-1", now };
    plugin.reconcile(&input, limits, imports)
}
