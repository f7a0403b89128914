//! The reconcilers of a loaded plugin, and their calls.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use gyre_core::manifest::Manifest;
use gyre_core::response::Response;

use crate::call::{self, Call, Input, Usage};
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

/// A reconciler of a component, or native code in tests, that is loaded and described. Cheap to
/// clone.
#[derive(Clone)]
pub struct Plugin {
    reconciler: Arc<Reconciler>,
    component: Arc<Loaded>,
}

/// All reconcilers of a component: at least one, each with a name of its own. Cheap to clone.
#[derive(Clone)]
pub struct Reconcilers(Arc<Loaded>);

struct Loaded {
    reconcilers: Vec<Arc<Reconciler>>,
    imports: Vec<String>,
    compile: CompileReport,
}

struct Reconciler {
    code: Code,
    manifest: Arc<Manifest>,
}

enum Code {
    Component(Linked),
    Native(native::Code),
}

impl Reconcilers {
    pub(crate) fn new(
        described: Vec<(Linked, Manifest)>,
        imports: Vec<String>,
        compile: CompileReport,
    ) -> Result<Self, load::Error> {
        if described.is_empty() {
            return Err(load::Error::NoReconciler);
        }
        let reconciler = |(linked, manifest): (Linked, Manifest)| {
            Arc::new(Reconciler { code: Code::Component(linked), manifest: Arc::new(manifest) })
        };
        let reconcilers = described.into_iter().map(reconciler).collect();
        Ok(Self(Arc::new(Loaded { reconcilers, imports, compile })))
    }

    /// Each of them, in the order of `describe`.
    pub fn iter(&self) -> impl Iterator<Item = Plugin> {
        let component = &self.0;
        component
            .reconcilers
            .iter()
            .map(|reconciler| Plugin { reconciler: Arc::clone(reconciler), component: Arc::clone(component) })
    }

    /// The reconciler of this name, or the only one.
    ///
    /// # Errors
    /// The names that could be given.
    pub fn select(&self, name: Option<&str>) -> Result<Plugin, load::Error> {
        let reconcilers = || self.iter().map(|plugin| plugin.manifest().name.clone()).collect();
        let mut all = self.iter();
        match (name, all.next(), all.next()) {
            (Some(name), ..) => self
                .iter()
                .find(|plugin| plugin.manifest().name == name)
                .ok_or_else(|| load::Error::NoSuchReconciler { name: name.to_owned(), reconcilers: reconcilers() }),
            (None, Some(only), None) => Ok(only),
            (None, Some(_), Some(_)) => Err(load::Error::ReconcilerNotNamed { reconcilers: reconcilers() }),
            (None, None, _) => Err(load::Error::NoReconciler),
        }
    }
}

impl Plugin {
    /// Makes a plugin of native code, for tests. `identity` distinguishes it from other versions.
    ///
    /// # Errors
    /// When its manifest is invalid.
    pub fn native(identity: &str, native: impl Native) -> Result<Self, load::Error> {
        let started = Instant::now();
        let code = native::Code::new(identity, native);
        let manifest = Arc::new(code.describe()?);
        let compile = CompileReport { source: CodeSource::Native, duration: started.elapsed() };
        let reconciler = Arc::new(Reconciler { code: Code::Native(code), manifest });
        let component = Loaded { reconcilers: vec![Arc::clone(&reconciler)], imports: Vec::new(), compile };
        Ok(Self { reconciler, component: Arc::new(component) })
    }

    /// All reconcilers of its component.
    pub fn siblings(&self) -> Reconcilers {
        Reconcilers(Arc::clone(&self.component))
    }

    /// Returns whether both are the same reconciler of the same bytes.
    pub fn is_same(&self, other: &Self) -> bool {
        self.digest() == other.digest() && self.manifest().name == other.manifest().name
    }

    /// The identity of the plugin.
    pub fn digest(&self) -> &Digest {
        match &self.reconciler.code {
            Code::Component(linked) => &linked.digest,
            Code::Native(code) => &code.digest,
        }
    }

    /// The manifest, which is valid.
    pub fn manifest(&self) -> &Manifest {
        &self.reconciler.manifest
    }

    /// The version of the contract (`gyre:plugin`) that it was built for.
    pub fn contract(&self) -> &'static str {
        latest::VERSION
    }

    /// The names and versions of the imported interfaces, in order; empty for native code.
    pub fn imports(&self) -> &[String] {
        &self.component.imports
    }

    /// The source of its machine code, and the time that it took.
    pub fn compile(&self) -> CompileReport {
        self.component.compile
    }

    /// The number of its idle instances.
    pub fn idle_instances(&self) -> usize {
        match &self.reconciler.code {
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
        let result = match &self.reconciler.code {
            Code::Component(linked) => {
                let context = Context { seed: "", now: SystemTime::UNIX_EPOCH, access: Access::Closed };
                let name = &self.manifest().name;
                linked.run(context, limits, |instance, store| instance.validate_settings(store, name, settings)).result
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
        if let Err(error) = check_members(input.members, limits) {
            return Call { result: Err(error), usage: Usage::default(), imports };
        }
        let request = self.request(input);
        let context = self.context(input, imports);
        let outcome = match &self.reconciler.code {
            Code::Component(linked) => {
                linked.run(context, limits, |instance, store| instance.reconcile(store, request, limits))
            }
            Code::Native(code) => {
                code.run(context, limits, |native, imports| native.reconcile(request, imports), latest::reconciled)
            }
        };
        outcome.into_call()
    }

    /// Asks for the desired children of a parent that is being deleted. Like [`Plugin::reconcile`].
    pub fn finalize(&self, input: &Input<'_>, limits: &Limits, imports: Box<dyn HostImports>) -> Call<Response> {
        let request = self.request(input);
        let context = self.context(input, imports);
        let outcome = match &self.reconciler.code {
            Code::Component(linked) => linked.run(context, limits, |instance, store| instance.finalize(store, request, limits)),
            Code::Native(code) => {
                code.run(context, limits, |native, imports| native.finalize(request, imports), latest::finalized)
            }
        };
        outcome.into_call()
    }

    fn request<'a>(&'a self, input: &Input<'a>) -> types::Request<'a> {
        let Input { parent, members, settings, .. } = *input;
        types::Request { reconciler: &self.manifest().name, parent, members, settings }
    }

    fn context<'a>(&self, input: &Input<'a>, imports: Box<dyn HostImports>) -> Context<'a> {
        let access = Access::Open { imports, manifest: Arc::clone(&self.reconciler.manifest) };
        Context { seed: input.seed, now: input.now, access }
    }
}

/// The share of the memory of a call that members may take: a plugin parses them into objects of
/// about the same size, and needs some more.
const SHARE_OF_MEMBERS: usize = 4;

/// Checks that the members of a group leave room for a plugin's work: it could not answer for them.
fn check_members(members: &[&[u8]], limits: &Limits) -> Result<(), call::Error> {
    let bytes = members.iter().map(|member| member.len()).fold(0, usize::saturating_add);
    if bytes > limits.memory_bytes / SHARE_OF_MEMBERS {
        return Err(call::Error::GroupTooLarge { members: members.len(), bytes, limit: limits.memory_bytes });
    }
    Ok(())
}
