//! A loaded plugin, and its calls.

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
    /// It was compiled now.
    Compiled,
    /// It was found on disk.
    Cache,
    /// It is part of this process.
    Native,
}

/// The source of a plugin's machine code, and the time that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileReport {
    /// The source.
    pub source: CodeSource,
    /// The duration.
    pub duration: Duration,
}

/// A component, or native code in tests, that is loaded and described. Cheap to clone.
#[derive(Clone)]
pub struct Plugin(Arc<Inner>);

struct Inner {
    code: Code,
    manifest: Arc<Manifest>,
    imports: Vec<String>,
    compile: CompileReport,
}

enum Code {
    Component(Linked),
    Native(native::Code),
}

impl Plugin {
    pub(crate) fn new(linked: Linked, manifest: Manifest, imports: Vec<String>, compile: CompileReport) -> Self {
        let code = Code::Component(linked);
        Self(Arc::new(Inner { code, manifest: Arc::new(manifest), imports, compile }))
    }

    /// Makes a plugin of native code, for tests. `identity` distinguishes it from other versions.
    ///
    /// # Errors
    /// When its manifest is invalid.
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

    /// The names and versions of the imported interfaces, in order; empty for native code.
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

    /// Asks the plugin to check settings, as JSON, beyond the manifest's schema, which the caller
    /// checks first. Blocks like [`Plugin::reconcile`].
    ///
    /// # Errors
    /// The plugin's objection, or the reason why it gave no answer.
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

    /// Asks for the desired children and status of a parent that is not being deleted.
    ///
    /// Blocks the thread for at most twice [`Limits::deadline`]: for an instance, and an answer.
    ///
    /// # Guarantees
    /// The result depends only on `input`, `limits` and the answers of `imports`, unless instances
    /// are reused and the plugin keeps state.
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

    /// Asks for the desired children of a parent that is being deleted. Like [`Plugin::reconcile`].
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
