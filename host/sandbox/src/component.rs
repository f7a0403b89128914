//! A compiled component: calls in a fresh instance, or in an idle one if the limits allow it.

use std::sync::Arc;
use std::time::Instant;

use wasmtime::Store;

use crate::call::{self, Start, Usage};
use crate::classify::{self, Phase};
use crate::digest::Digest;
use crate::execution::{Context, Execution};
use crate::gate::TICK;
use crate::handles::MAX_HANDLES;
use crate::idle::Warm;
use crate::limits::{Limits, Reuse};
use crate::shared::Shared;
use crate::state::CallState;
use crate::wit::latest::{Instance, Prepared};

/// The largest ratio of the host's copy of an answer to the answer, while it is read. Small
/// children take more than their bytes, and should be reported as too many, not as too large.
const LIFTING: usize = 4;

/// A component that is compiled and linked, but has not described itself yet.
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
    /// The same component with another identity, so with other instances.
    pub(crate) fn with_id(&self, id: u64) -> Self {
        Self { id, digest: self.digest, prepared: self.prepared.clone(), shared: Arc::clone(&self.shared) }
    }

    pub(crate) fn run<T>(
        &self,
        context: Context<'_>,
        limits: &Limits,
        ask: impl FnOnce(&Instance, &mut Store<CallState>) -> wasmtime::Result<T>,
    ) -> Execution<T> {
        let asked = Instant::now();
        let Some(_permit) = self.shared.gate.enter(limits.deadline) else {
            let waited = asked.elapsed();
            let usage = Usage { waited, ..Usage::default() };
            return Execution {
                result: Err(call::Error::PoolSaturated { waited }),
                usage,
                imports: context.access.into_imports(),
            };
        };
        let started = Instant::now();
        let waited = started - asked;
        let limits = &self.effective(limits);
        let mut call_store = self.idle_or_new(limits);
        call_store.arm(context, limits);
        let result = call_store
            .instance(&self.prepared)
            .map_err(|error| (Phase::Start, error))
            .and_then(|(instance, store)| ask(instance, store).map_err(|error| (Phase::Call, error)));
        let imports = call_store.store.data_mut().end();
        let state = call_store.store.data();
        let result = result.map_err(|(phase, error)| classify::error(&error, phase, state, limits, waited));
        let usage = Usage {
            memory_peak_bytes: state.limiter.peak(),
            clock: state.clock.used,
            start: if call_store.calls == 0 { Start::Fresh } else { Start::Warm },
            waited,
            duration: started.elapsed(),
            output_bytes: state.output_bytes,
            log_bytes: state.console.bytes(),
            log_lines: state.console.lines(),
            undeclared_read: state.undeclared_read.clone(),
        };
        if matches!(result, Ok(_) | Err(call::Error::Failed(_))) {
            self.keep_instance(call_store, limits.reuse);
        }
        Execution { result, usage, imports }
    }

    fn effective(&self, limits: &Limits) -> Limits {
        Limits { memory_bytes: limits.memory_bytes.min(self.shared.max_memory_bytes), ..limits.clone() }
    }

    fn idle_or_new(&self, limits: &Limits) -> CallStore {
        let warm = match limits.reuse {
            Reuse::Never => None,
            Reuse::UpTo(_) => self.shared.idle.take(self.id),
        };
        match warm {
            Some(warm) if warm.store.data().limiter.held() <= limits.memory_bytes => {
                CallStore { store: warm.store, instance: Some(warm.instance), calls: warm.calls }
            }
            Some(_) | None => {
                let mut store = Store::new(&self.shared.engine, CallState::new());
                store.limiter(|state| &mut state.limiter);
                store.set_max_component_handles(MAX_HANDLES);
                CallStore { store, instance: None, calls: 0 }
            }
        }
    }

    fn keep_instance(&self, call_store: CallStore, reuse: Reuse) {
        let Reuse::UpTo(most) = reuse else { return };
        let calls = call_store.calls.saturating_add(1);
        if let Some(instance) = call_store.instance.filter(|_| calls < most) {
            self.shared.idle.put(Warm { plugin: self.id, store: call_store.store, instance, calls });
        }
    }
}

struct CallStore {
    store: Store<CallState>,
    instance: Option<Instance>,
    calls: u32,
}

impl CallStore {
    fn arm(&mut self, context: Context<'_>, limits: &Limits) {
        let Context { seed, now, access } = context;
        self.store.data_mut().begin(seed, now, limits, access);
        self.store.set_hostcall_fuel(limits.output_bytes.saturating_mul(LIFTING));
        // The current tick has partly passed.
        let ticks = limits.deadline.as_nanos().div_ceil(TICK.as_nanos()).saturating_add(1);
        // The engine adds this to its epoch, which wraps; centuries are enough.
        self.store.set_epoch_deadline(u64::try_from(ticks).unwrap_or(u64::MAX).min(u64::from(u32::MAX)));
    }

    fn instance(&mut self, prepared: &Prepared) -> wasmtime::Result<(&Instance, &mut Store<CallState>)> {
        let instance = match self.instance.take() {
            Some(instance) => instance,
            None => prepared.instantiate(&mut self.store)?,
        };
        Ok((self.instance.insert(instance), &mut self.store))
    }
}
