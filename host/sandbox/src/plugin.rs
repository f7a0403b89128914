//! A plugin that is loaded, and calling it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use gyre_core::manifest::Manifest;
use gyre_core::response::Response;

use crate::call::{Call, Input};
use crate::component::Linked;
use crate::digest::Digest;
use crate::execution::Context;
use crate::host_imports::HostImports;
use crate::limits::Limits;
use crate::load;
use crate::native::{self, Native};
use crate::settings;
use crate::state::Access;
use crate::wit::latest::{self, types};

/// The source of machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeSource {
    /// It was compiled.
    Compiled,
    /// An earlier compilation was found on disk.
    Cache,
    /// It is that of the process itself.
    Native,
}

/// The source of a plugin's machine code, and the time that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileReport {
    /// The source.
    pub source: CodeSource,
    /// The time that it took.
    pub duration: Duration,
}

/// A component that is compiled, linked and has described itself; or, in tests, native code that has. Cheap to clone; calls may run at the
/// same time.
#[derive(Clone)]
pub struct Plugin(Arc<Inner>);

struct Inner {
    code: Code,
    manifest: Arc<Manifest>,
    imports: Vec<String>,
    compile: CompileReport,
}

/// The code.
enum Code {
    Component(Linked),
    Native(native::Code),
}

impl Plugin {
    pub(crate) fn new(linked: Linked, manifest: Manifest, imports: Vec<String>, compile: CompileReport) -> Self {
        let code = Code::Component(linked);
        Self(Arc::new(Inner { code, manifest: Arc::new(manifest), imports, compile }))
    }

    /// Native code as a plugin, for tests. Its digest is that of `identity`, which tells it from other versions.
    ///
    /// # Errors
    /// When it does not describe itself as a plugin has to.
    pub fn native(identity: &str, native: impl Native) -> Result<Self, load::Error> {
        let started = Instant::now();
        let code = native::Code::new(identity, native);
        let manifest = Arc::new(code.describe()?);
        let compile = CompileReport { source: CodeSource::Native, duration: started.elapsed() };
        Ok(Self(Arc::new(Inner { code: Code::Native(code), manifest, imports: Vec::new(), compile })))
    }

    /// The identity of the plugin.
    pub fn digest(&self) -> &Digest {
        match &self.0.code {
            Code::Component(linked) => &linked.digest,
            Code::Native(code) => &code.digest,
        }
    }

    /// The manifest, which is valid.
    pub fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    /// The version of the contract (`gyre:plugin`) that it was built for.
    pub fn contract(&self) -> &'static str {
        latest::VERSION
    }

    /// The interfaces that it imports, by name and version, in order: what it can touch. None of native code.
    pub fn imports(&self) -> &[String] {
        &self.0.imports
    }

    /// The source of its machine code, and the time that it took.
    pub fn compile(&self) -> CompileReport {
        self.0.compile
    }

    /// The number of its idle instances.
    pub fn idle_instances(&self) -> usize {
        match &self.0.code {
            Code::Component(linked) => linked.shared.idle.count(linked.id),
            Code::Native(_) => 0,
        }
    }

    /// Asks the plugin whether these settings, as JSON, are right. It checks beyond the manifest's schema, which is the
    /// caller's to check first. Blocks like [`Plugin::reconcile`].
    ///
    /// # Errors
    /// What the plugin has against them, or why it gave no answer.
    pub fn validate_settings(&self, settings: &[u8], limits: &Limits) -> Result<(), settings::Error> {
        let result = match &self.0.code {
            Code::Component(linked) => {
                let context = Context { seed: "", now: SystemTime::UNIX_EPOCH, access: Access::Closed };
                linked.run(context, limits, |instance, store| instance.validate_settings(store, settings)).result
            }
            Code::Native(code) => code.validate_settings(settings, limits),
        };
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(message)) => Err(settings::Error::Rejected(message)),
            Err(error) => Err(settings::Error::Call(error)),
        }
    }

    /// Asks what should exist while the parent is not being deleted.
    ///
    /// Blocks the thread: for a free instance, then while the plugin runs, each for at most [`Limits::deadline`].
    ///
    /// # Guarantees
    /// The result depends on nothing but `input`, `limits` and what `imports` answered, unless instances are reused and the
    /// plugin keeps state.
    pub fn reconcile(&self, input: &Input<'_>, limits: &Limits, imports: Box<dyn HostImports>) -> Call<Response> {
        let Input { parent, settings, .. } = *input;
        let context = self.context(input, imports);
        let outcome = match &self.0.code {
            Code::Component(linked) => {
                linked.run(context, limits, |instance, store| instance.reconcile(store, parent, settings, limits))
            }
            Code::Native(code) => {
                let request = types::Request { parent, settings };
                code.run(context, limits, |native, imports| native.reconcile(request, imports), latest::reconciled)
            }
        };
        outcome.into_call()
    }

    /// Asks what should still exist while the parent, which has a `deletionTimestamp`, goes. As [`Plugin::reconcile`].
    pub fn finalize(&self, input: &Input<'_>, limits: &Limits, imports: Box<dyn HostImports>) -> Call<Response> {
        let Input { parent, settings, .. } = *input;
        let context = self.context(input, imports);
        let outcome = match &self.0.code {
            Code::Component(linked) => {
                linked.run(context, limits, |instance, store| instance.finalize(store, parent, settings, limits))
            }
            Code::Native(code) => {
                let request = types::Request { parent, settings };
                code.run(context, limits, |native, imports| native.finalize(request, imports), latest::finalized)
            }
        };
        outcome.into_call()
    }

    fn context<'a>(&self, input: &Input<'a>, imports: Box<dyn HostImports>) -> Context<'a> {
        let access = Access::Open { imports, manifest: Arc::clone(&self.0.manifest) };
        Context { seed: input.seed, now: input.now, access }
    }
}
