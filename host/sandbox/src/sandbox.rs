//! The sandbox: an engine, shared by all plugins.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use gyre_core::manifest::validate_all;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use crate::cache::Cache;
use crate::component::Linked;
use crate::digest::Digest;
use crate::engine;
use crate::execution::Context;
use crate::gate::{Gate, Ticker};
use crate::idle::Idle;
use crate::limits::Limits;
use crate::load;
use crate::options::{Error, Options};
use crate::plugin::{CodeSource, CompileReport, Plugin, Reconcilers};
use crate::shared::Shared;
use crate::state::{Access, CallState};
use crate::wasi;
use crate::wit::latest;

/// Runs plugins. Its thread ends with the sandbox and the last of its plugins.
pub struct Sandbox {
    shared: Arc<Shared>,
    linker: Linker<CallState>,
    cache: Option<Cache>,
    /// The caches that are only read.
    compiled: Vec<Cache>,
}

impl Sandbox {
    /// Starts the engine, and the thread that enforces deadlines.
    ///
    /// # Errors
    /// If this machine cannot run WebAssembly. An unusable cache is not an error.
    pub fn new(options: Options) -> Result<Self, Error> {
        let engine = engine::start(&options)?;
        let mut linker = Linker::new(&engine);
        wasi::add_to_linker(&mut linker)
            .and_then(|()| latest::add_to_linker(&mut linker))
            .map_err(|error| Error::Engine(format!("{error:#}")))?;
        let gate = Arc::new(Gate::new(options.concurrent_calls));
        let ticker = Ticker::start(Arc::clone(&gate), engine.clone()).map_err(Error::Ticker)?;
        let idle = Idle::new(options.concurrent_calls);
        let shared = Shared { engine, gate, idle, max_memory_bytes: options.max_memory_bytes, _ticker: ticker };
        let compiled = options.compiled_dirs.into_iter().map(Cache::new).collect();
        Ok(Self { shared: Arc::new(shared), linker, cache: options.cache_dir.map(Cache::new), compiled })
    }

    /// Loads a component that has one reconciler: see [`Sandbox::load_all`].
    ///
    /// # Errors
    /// The defect of the bytes, or the names of the reconcilers if there are several.
    pub fn load(&self, bytes: &[u8]) -> Result<Plugin, load::Error> {
        self.load_all(bytes)?.select(None)
    }

    /// Compiles a component, or loads it from the cache, and calls `describe`. Blocks the thread:
    /// compiling takes about 100 ms for a plugin in Rust, and seconds for JavaScript or Python.
    ///
    /// # Errors
    /// The defect of the bytes.
    pub fn load_all(&self, bytes: &[u8]) -> Result<Reconcilers, load::Error> {
        self.load_lazily(&Digest::of(bytes), || Ok::<_, load::Error>(bytes))
    }

    /// Loads the component with this digest, as [`Sandbox::load_all`] does. The bytes are asked for
    /// only if its code is not on disk, because some components have tens of megabytes.
    ///
    /// # Assumptions
    /// The bytes have the digest.
    ///
    /// # Errors
    /// The error of `bytes`, or what is wrong with the component.
    pub fn load_lazily<B, E>(&self, digest: &Digest, bytes: impl FnOnce() -> Result<B, E>) -> Result<Reconcilers, E>
    where
        B: AsRef<[u8]>,
        E: From<load::Error>,
    {
        let started = Instant::now();
        let (component, source) = match self.find_compiled(digest) {
            Some(component) => (component, CodeSource::Cache),
            None => (self.compile(bytes()?.as_ref(), digest)?, CodeSource::Compiled),
        };
        let compile = CompileReport { source, duration: started.elapsed() };
        Ok(self.reconcilers(&component, digest, compile)?)
    }

    /// Links a compiled component, and calls `describe`.
    fn reconcilers(&self, component: &Component, digest: &Digest, compile: CompileReport) -> Result<Reconcilers, load::Error> {
        let prepared = load::link(&self.linker, component)?;
        let imports = component.component_type().imports(&self.shared.engine).map(|(name, _)| name.to_owned()).collect();
        let linked = Linked { id: next_id(), digest: *digest, prepared, shared: Arc::clone(&self.shared) };
        // No mount limits the plugin yet.
        let limits = Limits { memory_bytes: self.shared.max_memory_bytes, ..Limits::default() };
        let context = Context { seed: "", now: SystemTime::UNIX_EPOCH, access: Access::Closed };
        let outcome = linked.run(context, &limits, |instance, store| instance.describe(store, &limits));
        let manifests = outcome.result.map_err(load::Error::Describe)?;
        validate_all(&manifests).map_err(load::Error::Manifest)?;
        // Reconcilers do not share instances: each has an identity of its own.
        let described = manifests.into_iter().map(|manifest| (linked.with_id(next_id()), manifest)).collect();
        Reconcilers::new(described, imports, compile)
    }

    /// Returns whether the code of the component with this digest is on disk.
    pub fn is_compiled(&self, digest: &Digest) -> bool {
        self.find_compiled(digest).is_some()
    }

    fn find_compiled(&self, digest: &Digest) -> Option<Component> {
        self.cache.iter().chain(&self.compiled).find_map(|cache| cache.load(&self.shared.engine, digest))
    }

    /// Compiles a component, and stores its code.
    fn compile(&self, bytes: &[u8], digest: &Digest) -> Result<Component, load::Error> {
        load::check_header(bytes)?;
        let component = compile(&self.shared.engine, bytes).map_err(|error| load::compile_error(&error))?;
        if let Some(cache) = &self.cache {
            cache.store(&component, digest);
        }
        Ok(component)
    }
}

/// Compiles a component. A panic of the compiler is an error: it has some for components whose
/// features are switched off, and anybody can write such a component.
fn compile(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Component> {
    let compiled = catch_unwind(AssertUnwindSafe(|| Component::from_binary(engine, bytes)));
    compiled.unwrap_or_else(|_| {
        Err(wasmtime::Error::msg(
            "wasmtime cannot compile it, e.g. because components in it call each other with values in memory",
        ))
    })
}

/// An identity for each loaded plugin: equal bytes do not share instances.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gyre_artifacts::guests;
    use gyre_core::object::GroupVersionKind;

    use super::*;
    use crate::call::{self, Input};
    use crate::gate::TICK;
    use crate::host_imports::{Bytes, HostImports, LogLine, ReadError};

    /// A simulated clock: each read takes one tick.
    struct Ticking {
        engine: Engine,
        reads: u32,
    }

    impl HostImports for Ticking {
        fn children(&mut self, _kind: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError> {
            Ok(Vec::new())
        }

        fn get(&mut self, _kind: &GroupVersionKind, _namespace: Option<&str>, _name: &str) -> Result<Option<Bytes>, ReadError> {
            self.engine.increment_epoch();
            self.reads += 1;
            Ok(None)
        }

        fn list(
            &mut self,
            _kind: &GroupVersionKind,
            _namespace: Option<&str>,
            _label_selector: Option<&str>,
        ) -> Result<Vec<Bytes>, ReadError> {
            Ok(Vec::new())
        }

        fn log(&mut self, _line: LogLine) {}
    }

    fn sandbox() -> Sandbox {
        Sandbox::new(Options { concurrent_calls: 1, ..Options::default() }).unwrap()
    }

    fn load(sandbox: &Sandbox, path: &str) -> Plugin {
        sandbox.load(&std::fs::read(path).unwrap()).unwrap()
    }

    /// Calls between components in a component need an adapter with two memories.
    const NESTED: &str = r#"(component
        (component $callee
            (core module $code
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable)
                (func (export "take") (param i32 i32)))
            (core instance $code (instantiate $code))
            (func (export "take") (param "text" string)
                (canon lift (core func $code "take") (memory $code "memory") (realloc (func $code "realloc")))))
        (component $caller
            (import "take" (func $take (param "text" string)))
            (core module $memory (memory (export "memory") 1))
            (core instance $memory (instantiate $memory))
            (core func $take (canon lower (func $take) (memory $memory "memory")))
            (core module $code (import "" "take" (func (param i32 i32))))
            (core instance (instantiate $code (with "" (instance (export "take" (func $take)))))))
        (instance $callee (instantiate $callee))
        (instance (instantiate $caller (with "take" (func $callee "take")))))"#;

    #[test]
    fn a_component_on_which_the_compiler_panics_is_refused() {
        let error = sandbox().load_all(&wat::parse_str(NESTED).unwrap()).map(|_| ()).unwrap_err();
        assert!(matches!(&error, load::Error::Corrupt { message } if message.contains("cannot compile it")), "{error}");
    }

    fn input() -> Input<'static> {
        let parent = br#"{"apiVersion":"v1","kind":"Any","metadata":{"name":"it","namespace":"default","uid":"1"},"spec":{}}"#;
        Input { parent, members: &[], settings: b"{}", seed: "", now: SystemTime::UNIX_EPOCH }
    }

    #[test]
    fn a_call_ends_at_the_first_tick_after_its_deadline() {
        let mut sandbox = sandbox();
        let shared = Arc::get_mut(&mut sandbox.shared).unwrap();
        // Stops the real ticks, so that time passes only with reads.
        shared._ticker = Ticker::start(Arc::new(Gate::new(1)), Engine::default()).unwrap();
        let plugin = load(&sandbox, guests::ENDLESS_READS);
        for ticks in [1, 20, 300] {
            let limits = Limits { deadline: TICK * ticks, reads: 1_000, ..Limits::default() };
            let imports = Ticking { engine: sandbox.shared.engine.clone(), reads: 0 };
            let call = plugin.reconcile(&input(), &limits, Box::new(imports));
            assert_eq!(call.result, Err(call::Error::DeadlineExceeded { deadline: limits.deadline }));
            // The tick during which the call began does not count.
            assert_eq!(call.imports.downcast::<Ticking>().unwrap_or_else(|_| panic!("another world")).reads, ticks + 1);
        }
    }

    #[test]
    fn a_call_that_ends_in_an_error_gives_its_place_in_the_pool_back() {
        let sandbox = sandbox();
        let metrics = sandbox.shared.engine.pooling_allocator_metrics().unwrap();
        for (guest, reason) in gyre_artifacts::CALLS_THAT_FAIL {
            // Only the endless loop reaches its deadline, however slow the machine is.
            let deadline = Duration::from_millis(if guest == guests::ENDLESS_LOOP { 50 } else { 600_000 });
            let plugin = load(&sandbox, guest);
            let imports = Box::new(crate::host_imports::NoImports);
            let call = plugin.reconcile(&input(), &Limits { deadline, ..Limits::default() }, imports);
            assert_eq!(call.result.map_err(|error| error.reason()).err(), Some(reason), "{guest}");
            let held = (metrics.component_instances(), metrics.core_instances(), metrics.memories(), metrics.tables());
            assert_eq!(held, (0, 0, 0, 0), "{guest}");
            assert_eq!(metrics.unused_memory_bytes_resident(), 0, "{guest}");
        }
    }
}
