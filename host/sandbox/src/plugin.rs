//! A plugin that is loaded, and calling it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use gyre_core::manifest::Manifest;
use gyre_core::response::{Response, Teardown};
use wasmtime::Store;

use crate::call::{self, Call, Input, Start, Usage};
use crate::digest::Digest;
use crate::idle::Warm;
use crate::limits::{Limits, Reuse};
use crate::load;
use crate::native::{self, Native};
use crate::sandbox::{Shared, TICK};
use crate::settings;
use crate::state::{Access, State};
use crate::verdict::{self, Phase};
use crate::wasi;
use crate::wit::latest::{self, Instance, Prepared, types};
use crate::world::{Nothing, World};

/// How much larger than the answer itself the host's copy of it may be while it is read. Many small children weigh more
/// than their bytes, and are to be reported as too many, not as too large.
const LIFTING: usize = 4;

/// Where machine code came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeSource {
    /// It was compiled.
    Compiled,
    /// An earlier compilation was found on disk.
    Cache,
    /// It is that of the process itself.
    Native,
}

/// How a plugin's machine code was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileReport {
    /// Where it came from.
    pub source: CodeSource,
    /// How long that took.
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

/// What is called.
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

    /// What identifies it.
    pub fn digest(&self) -> &Digest {
        match &self.0.code {
            Code::Component(linked) => &linked.digest,
            Code::Native(code) => &code.digest,
        }
    }

    /// What it says of itself; valid.
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

    /// How its machine code was come by.
    pub fn compile(&self) -> CompileReport {
        self.0.compile
    }

    /// How many instances of it wait to serve again.
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

    /// What should exist while the parent lives.
    ///
    /// Blocks the thread: for a free instance, then while the plugin runs, each for at most [`Limits::deadline`].
    ///
    /// # Guarantees
    /// The result depends on nothing but `input`, `limits` and what `world` answered, unless instances are reused and the
    /// plugin keeps state.
    pub fn reconcile(&self, input: &Input<'_>, limits: &Limits, world: Box<dyn World>) -> Call<Response> {
        let Input { parent, settings, .. } = *input;
        let context = self.context(input, world);
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

    /// What should still exist while the parent, which has a `deletionTimestamp`, goes. As [`Plugin::reconcile`].
    pub fn finalize(&self, input: &Input<'_>, limits: &Limits, world: Box<dyn World>) -> Call<Teardown> {
        let Input { parent, settings, .. } = *input;
        let context = self.context(input, world);
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

    fn context<'a>(&self, input: &Input<'a>, world: Box<dyn World>) -> Context<'a> {
        let access = Access::Open { world, manifest: Arc::clone(&self.0.manifest) };
        Context { seed: input.seed, now: input.now, access }
    }
}

/// What surrounds a call.
pub(crate) struct Context<'a> {
    pub(crate) seed: &'a str,
    pub(crate) now: SystemTime,
    pub(crate) access: Access,
}

/// How a call went.
pub(crate) struct Outcome<T> {
    pub(crate) result: Result<T, call::Error>,
    pub(crate) usage: Usage,
    pub(crate) world: Option<Box<dyn World>>,
}

impl<T> Outcome<T> {
    fn into_call(self) -> Call<T> {
        Call { result: self.result, usage: self.usage, world: self.world.unwrap_or_else(|| Box::new(Nothing)) }
    }
}

/// A component that is compiled and linked, but has not said yet what it is.
pub(crate) struct Linked {
    pub(crate) id: u64,
    pub(crate) digest: Digest,
    pub(crate) prepared: Prepared,
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Linked {
    fn drop(&mut self) {
        self.shared.idle.retire(self.id);
    }
}

impl Linked {
    /// Makes one call, in an instance of its own or in an idle one.
    pub(crate) fn run<T>(
        &self,
        context: Context<'_>,
        limits: &Limits,
        ask: impl FnOnce(&Instance, &mut Store<State>) -> wasmtime::Result<T>,
    ) -> Outcome<T> {
        let asked = Instant::now();
        let Some(_permit) = self.shared.gate.enter(limits.deadline) else {
            let waited = asked.elapsed();
            let usage = Usage { waited, ..Usage::default() };
            return Outcome { result: Err(call::Error::PoolSaturated { waited }), usage, world: context.access.into_world() };
        };
        let started = Instant::now();
        let waited = started - asked;
        let limits = &self.effective(limits);
        let mut place = self.place(limits);
        place.arm(context, limits);
        let result = place
            .instance(&self.prepared)
            .map_err(|error| (Phase::Start, error))
            .and_then(|(instance, store)| ask(instance, store).map_err(|error| (Phase::Call, error)));
        let world = place.store.data_mut().end();
        let state = place.store.data();
        let result = result.map_err(|(phase, error)| verdict::of(&error, phase, state, limits, waited));
        let usage = Usage {
            memory_peak_bytes: state.limiter.peak(),
            clock: state.clock.used,
            start: if place.calls == 0 { Start::Fresh } else { Start::Warm },
            waited,
            duration: started.elapsed(),
            output_bytes: state.output_bytes,
            log_bytes: state.console.bytes(),
            log_lines: state.console.lines(),
            undeclared_read: state.undeclared_read.clone(),
        };
        if matches!(result, Ok(_) | Err(call::Error::Failed(_))) {
            self.keep(place, limits.reuse);
        }
        Outcome { result, usage, world }
    }

    fn effective(&self, limits: &Limits) -> Limits {
        Limits { memory_bytes: limits.memory_bytes.min(self.shared.max_memory_bytes), ..limits.clone() }
    }

    /// An idle instance that fits the limits, or a new store.
    fn place(&self, limits: &Limits) -> Place {
        let warm = match limits.reuse {
            Reuse::Never => None,
            Reuse::UpTo(_) => self.shared.idle.take(self.id),
        };
        match warm {
            Some(warm) if warm.store.data().limiter.held() <= limits.memory_bytes => {
                Place { store: warm.store, instance: Some(warm.instance), calls: warm.calls }
            }
            Some(_) | None => {
                let mut store = Store::new(&self.shared.engine, State::new());
                store.limiter(|state| &mut state.limiter);
                store.set_max_component_handles(wasi::MAX_HANDLES);
                Place { store, instance: None, calls: 0 }
            }
        }
    }

    fn keep(&self, place: Place, reuse: Reuse) {
        let Reuse::UpTo(most) = reuse else { return };
        let calls = place.calls.saturating_add(1);
        if let Some(instance) = place.instance.filter(|_| calls < most) {
            self.shared.idle.put(Warm { plugin: self.id, store: place.store, instance, calls });
        }
    }
}

/// Where a call runs.
struct Place {
    store: Store<State>,
    instance: Option<Instance>,
    calls: u32,
}

impl Place {
    fn arm(&mut self, context: Context<'_>, limits: &Limits) {
        let Context { seed, now, access } = context;
        self.store.data_mut().begin(seed, now, limits, access);
        self.store.set_hostcall_fuel(limits.output_bytes.saturating_mul(LIFTING));
        // The tick that is under way has partly passed.
        let ticks = limits.deadline.as_nanos().div_ceil(TICK.as_nanos()).saturating_add(1);
        // The engine adds it to its epoch, which wraps; centuries are enough.
        self.store.set_epoch_deadline(u64::try_from(ticks).unwrap_or(u64::MAX).min(u64::from(u32::MAX)));
    }

    fn instance(&mut self, prepared: &Prepared) -> wasmtime::Result<(&Instance, &mut Store<State>)> {
        let instance = match self.instance.take() {
            Some(instance) => instance,
            None => prepared.instantiate(&mut self.store)?,
        };
        Ok((self.instance.insert(instance), &mut self.store))
    }
}
