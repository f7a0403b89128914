//! Plugins as native code, for tests: with a debugger, without WebAssembly.
//!
//! ```text
//!   Input ──▶ CallState (log, clock, limits) ──▶ Native ──▶ answer ──▶ wit ──▶ Call
//!                                                │  ▲
//!                                                ▼  │ Imports
//!                                              HostImports
//! ```
//!
//! The calls have the same state as those of a component. Native code gets [`Imports`], and answers
//! in the contract's own types, which the same functions read.
//!
//! What is absent: a deadline, a memory limit, and control over code that does not use [`Imports`]
//! for clocks and random numbers. stdout and stderr are those of the process. No configuration
//! leads here: a host mounts components.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use gyre_core::manifest::Manifest;
use gyre_core::object::GroupVersionKind;
use gyre_core::text::cut;

use crate::call::{self, Start, Usage};
use crate::console::LAST_WORDS;
use crate::digest::Digest;
use crate::execution::{Context, Execution};
use crate::host_imports::{Bytes, LogLevel, LogLine, LogSource, ReadError};
use crate::limits::Limits;
use crate::load;
use crate::state::{Access, CallState};
use crate::wit::latest;
pub use crate::wit::latest::types;

/// The exports of a component with one reconciler, as native code. A panic ends the call like a
/// trap.
pub trait Native: Send + Sync + 'static {
    /// Like `describe`.
    fn describe(&self) -> types::Manifest;

    /// Like `validate-settings`.
    ///
    /// # Errors
    /// The reason why the settings are invalid.
    fn validate_settings(&self, settings: &[u8]) -> Result<(), String>;

    /// Like `reconcile`.
    fn reconcile(&self, request: types::Request<'_>, imports: &Imports) -> Result<types::Response, types::Failure>;

    /// Like `finalize`.
    fn finalize(&self, request: types::Request<'_>, imports: &Imports) -> Result<types::Teardown, types::Failure>;
}

/// The imports of native code. Clones share the call; after it, they have no effect. The errors of
/// reads are those that the plugin gets.
#[derive(Clone)]
pub struct Imports(Rc<RefCell<CallState>>);

/// The payload that unwinds a call, as a trap would.
struct Ended(call::Error);

impl Imports {
    /// Like `cluster.children`.
    pub fn children(&self, kind: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError> {
        self.read(|state| state.children(kind))
    }

    /// Like `cluster.get`.
    pub fn get(&self, kind: &GroupVersionKind, namespace: Option<&str>, name: &str) -> Result<Option<Bytes>, ReadError> {
        self.read(|state| state.get(kind, namespace, name))
    }

    /// Like `cluster.list`.
    pub fn list(
        &self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        label_selector: Option<&str>,
    ) -> Result<Vec<Bytes>, ReadError> {
        self.read(|state| state.list(kind, namespace, label_selector))
    }

    /// Like `log.log`.
    pub fn log(&self, level: LogLevel, message: String, fields: Vec<(String, String)>) {
        let mut state = self.0.borrow_mut();
        let (console, imports) = state.console();
        let taken = console.line(LogLine { source: LogSource::Log, level, message, fields }, imports);
        drop(state);
        taken.unwrap_or_else(|error| end(error));
    }

    /// The time of the call. Reading it is recorded.
    pub fn now(&self) -> SystemTime {
        let since_1970: Duration = self.0.borrow_mut().clock.read();
        SystemTime::UNIX_EPOCH.checked_add(since_1970).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    fn read<T>(&self, ask: impl FnOnce(&mut CallState) -> Result<Result<T, ReadError>, call::Error>) -> Result<T, ReadError> {
        let mut state = self.0.borrow_mut();
        let answer = ask(&mut state);
        drop(state);
        answer.unwrap_or_else(|error| end(error))
    }
}

/// Unwinds without a panic, so that no panic hook prints anything.
fn end(error: call::Error) -> ! {
    panic::resume_unwind(Box::new(Ended(error)))
}

pub(crate) struct Code {
    pub(crate) digest: Digest,
    native: Box<dyn Native>,
}

impl Code {
    pub(crate) fn new(identity: &str, native: impl Native) -> Self {
        Self { digest: Digest::of(identity.as_bytes()), native: Box::new(native) }
    }

    pub(crate) fn describe(&self) -> Result<Manifest, load::Error> {
        let limits = Limits::default();
        let described =
            self.run(closed(), &limits, |native, _| native.describe(), |_, raw, limits| latest::manifests(vec![raw], limits));
        let manifests = described.result.map_err(load::Error::Describe)?;
        let manifest = manifests.into_iter().next().ok_or(load::Error::NoReconciler)?;
        manifest.validate().map_err(load::Error::Manifest)?;
        Ok(manifest)
    }

    pub(crate) fn validate_settings(&self, settings: &[u8], limits: &Limits) -> Result<Result<(), String>, call::Error> {
        self.run(closed(), limits, |native, _| native.validate_settings(settings), |_, raw, _| Ok(latest::checked(raw))).result
    }

    pub(crate) fn run<Raw, T>(
        &self,
        context: Context<'_>,
        limits: &Limits,
        ask: impl FnOnce(&dyn Native, &Imports) -> Raw,
        read: impl FnOnce(&mut CallState, Raw, &Limits) -> Result<T, call::Error>,
    ) -> Execution<T> {
        let started = Instant::now();
        let Context { seed, now, access } = context;
        let mut state = CallState::new();
        state.begin(seed, now, limits, access);
        let imports = Imports(Rc::new(RefCell::new(state)));
        // The state of an interrupted call is dropped with the call.
        let answered = panic::catch_unwind(AssertUnwindSafe(|| ask(&*self.native, &imports)));
        let mut state = imports.0.borrow_mut();
        let result = match answered {
            Ok(raw) => read(&mut state, raw, limits),
            Err(thrown) => Err(why(&*thrown)),
        };
        let imports = state.end();
        let usage = Usage {
            memory_peak_bytes: 0,
            clock: state.clock.used,
            start: Start::Fresh,
            waited: Duration::ZERO,
            duration: started.elapsed(),
            output_bytes: state.output_bytes,
            log_bytes: state.console.bytes(),
            log_lines: state.console.lines(),
            undeclared_read: state.undeclared_read.clone(),
        };
        Execution { result, usage, imports }
    }
}

fn closed() -> Context<'static> {
    Context { seed: "", now: SystemTime::UNIX_EPOCH, access: Access::Closed }
}

fn why(thrown: &(dyn Any + Send)) -> call::Error {
    if let Some(Ended(error)) = thrown.downcast_ref() {
        return error.clone();
    }
    let said =
        thrown.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| thrown.downcast_ref::<String>().cloned());
    let message = said.map_or_else(
        || "it panicked".to_owned(),
        |text| {
            // As for a component: the rest is in the log.
            format!("it panicked: {}", cut(text.lines().next().unwrap_or_default(), LAST_WORDS))
        },
    );
    call::Error::Trapped { message, backtrace: Vec::new() }
}
